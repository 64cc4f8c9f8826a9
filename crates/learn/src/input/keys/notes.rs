//! What the user learns about keys that were of no use. A session is named by its number, a key never.

use super::file::SessionKey;
use super::keyring::{KeyUse, Keyring};

/// What to do about encrypted messages without keys.
pub(in crate::input) const ADVICE: &str = "give the keys of their sessions with --keys FILE";
/// Most sessions that are named.
const MAX_NAMED: usize = 20;

impl Keyring {
    /// Sentences about the keys that do not fit.
    pub(crate) fn notes(&self) -> Vec<String> {
        let name = &self.table.name;
        let all = self.table.keys.len();
        let mut notes = Vec::new();
        let unused = self.uses.iter().filter(|used| !used.seen).count();
        if unused > 0 {
            let verb = if unused == 1 { "fits" } else { "fit" };
            notes.push(format!("{unused} of {all} keys of {name} {verb} no session of the capture"));
        }
        let mut problems = self.table.keys.iter().zip(&self.uses).filter_map(|(key, used)| {
            self.problem(key, *used).map(|problem| format!("{name}, line {}: {problem}", key.line))
        });
        notes.extend(problems.by_ref().take(MAX_NAMED));
        let more = problems.count();
        if more > 0 {
            notes.push(format!("{name}: the same is true of {more} more keys"));
        }
        notes
    }

    fn problem(&self, key: &SessionKey, used: KeyUse) -> Option<String> {
        if !used.encrypted {
            return None;
        }
        let session = format!("session {:#018x}", key.session);
        // Another line may have the key of the same session.
        let fits = |sender: usize| {
            let of_session = self.table.by_session.get(&key.session).into_iter().flatten();
            of_session
                .filter_map(|index| self.uses.get(*index))
                .any(|used| used.fits.get(sender) == Some(&true))
        };
        let stated = [key.to_server.is_some(), key.to_client.is_some()];
        let rejected = |sender: usize| {
            let exists = key.base.is_some() || stated.get(sender) == Some(&true);
            exists && !fits(sender) && used.rejected.get(sender) == Some(&true)
        };
        let is_derived = |sender: usize| stated.get(sender) == Some(&false);
        let (name, derived) = match (rejected(0), rejected(1)) {
            (true, true) => ("key", is_derived(0) || is_derived(1)),
            (true, false) => ("c2s key", is_derived(0)),
            (false, true) => ("s2c key", is_derived(1)),
            (false, false) if fits(0) || fits(1) => return None,
            (false, false) => {
                return Some(format!(
                    "the key of {session} was not tested, because no encrypted message that it is for is complete in the capture"
                ));
            }
        };
        if derived && used.without_log_on {
            return Some(format!(
                "the session key of {session} does not fit; with SMB 3.1.1 it needs the complete log-on, which the capture lacks; the s2c and c2s keys do not"
            ));
        }
        Some(format!("the {name} of {session} does not fit"))
    }
}
