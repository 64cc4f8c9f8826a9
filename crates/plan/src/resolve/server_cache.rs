//! Fills and checks the state of the server's cache in a sweep or depth study.

use sharebench_model::units::ByteSize;

use super::Resolver;
use crate::values::{Cold, MAX_FILE, Policies, ServerCacheState};

/// Least bytes of other data that displace anything.
const MIN_DISPLACED: u64 = 1 << 20;

impl Resolver<'_> {
    /// Fills the states of the server's cache, and the size of the data that displaces it, of a study whose largest file is
    /// `largest`.
    ///
    /// A pre-step command may purge the server's cache, which a read before the first pass would undo, so its plans take the
    /// cache as it is unless the user requests another state.
    pub(crate) fn complete_server_cache(
        &mut self,
        section: &str,
        policies: &mut Policies,
        largest: ByteSize,
    ) {
        let command = self.plan.pre_step_cmd.is_some();
        let usual = if command { ServerCacheState::AsIs } else { ServerCacheState::Warm };
        let states = policies.server_cache.get_or_insert_with(|| vec![usual]).clone();
        let field = format!("{section}.server_cache");
        if states.is_empty() {
            self.blame(&field, "the list is empty", "name at least one state");
        }
        self.check_distinct(&field, &states);
        let field = format!("{section}.displace");
        let cold = states.contains(&ServerCacheState::Cold);
        match policies.displace {
            Some(_) if !cold => {
                self.blame(&field, "no cell is measured with a cold cache", "add server_cache = [\"cold\"]");
            }
            Some(_) if command => {
                let why = "the pre_step_cmd empties the server's cache";
                self.blame(&field, why, "leave one of the two out");
            }
            Some(size) => self.within(&field, size.0, MIN_DISPLACED, MAX_FILE),
            None if cold && !command => {
                // The user has stated already what exceeds the server's cache.
                let known = self.plan.cache_probes.as_ref().and_then(|probes| match probes.cold {
                    Some(Cold::PushedOut(size)) => Some(size),
                    _ => None,
                });
                let size = known.unwrap_or_else(|| Policies::displaced_by_default(largest.0));
                policies.displace = Some(size);
            }
            None => {}
        }
    }
}
