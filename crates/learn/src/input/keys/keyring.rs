//! The keys of an input, and which of them fit.
//!
//! The tag of a message decides which key and which cipher fit (MS-SMB2 3.1.4.3), and nothing is guessed. A message of which
//! only the head is in the input has no tag that could be tested: it is decrypted with the key that has opened a whole message of
//! the same session and direction before.

use std::collections::HashMap;
use std::net::IpAddr;

use super::candidate::{Candidate, Derivation, Sealed, add_candidates};
use super::file::SessionKeyTable;
use crate::input::message::Side;

/// Most sessions that are decrypted, over all servers. Messages of others stay encrypted.
const MAX_SESSIONS: usize = 1 << 14;
/// First bytes of what can be in an encrypted message: SMB 2, and compressed SMB 2.
const CONTENTS: [&[u8]; 2] = [b"\xFESMB", b"\xFCSMB"];

/// The session of a server.
type SessionOfServer = (IpAddr, u64);

/// The keys of an input.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    pub(super) table: SessionKeyTable,
    /// By the index of the key.
    pub(super) uses: Vec<KeyUse>,
    sessions: HashMap<SessionOfServer, Session>,
    /// SMB is in the input.
    smb: bool,
}

/// What has become of a key.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct KeyUse {
    /// Its session is in the input.
    pub(super) seen: bool,
    /// Encrypted messages of its session are.
    pub(super) encrypted: bool,
    /// It is a session key, and the log-on that it has to be combined with is not complete.
    pub(super) without_log_on: bool,
    /// By sender, client first.
    pub(super) fits: [bool; 2],
    /// It was tried with a whole message, by sender.
    pub(super) rejected: [bool; 2],
}

#[derive(Debug, Default)]
struct Session {
    candidates: Vec<Candidate>,
    /// Index of the candidate that has opened a message, by sender.
    fitting: [Option<usize>; 2],
}

impl Keyring {
    pub(crate) fn new(table: SessionKeyTable) -> Self {
        Self { uses: vec![KeyUse::default(); table.keys.len()], table, ..Self::default() }
    }

    /// Whether there is any key.
    pub(crate) const fn has_keys(&self) -> bool {
        !self.table.keys.is_empty()
    }

    /// Notes that the input has SMB.
    pub(crate) const fn smb(&mut self) {
        self.smb = true;
    }

    /// The file of the keys, if the input has no SMB.
    pub(crate) fn without_smb(&self) -> Option<String> {
        (self.has_keys() && !self.smb).then(|| self.table.name.clone())
    }

    /// Notes that the input has this session.
    pub(crate) fn session(&mut self, session: u64) {
        self.note(session, |used| used.seen = true);
    }

    /// Notes a log-on: a session that had the same number before has ended.
    pub(crate) fn log_on(&mut self, server: IpAddr, session: u64, derivation: &Derivation) {
        if self.table.by_session.contains_key(&session) {
            self.sessions.remove(&(server, session));
            self.add(server, session, derivation);
        }
    }

    /// Decrypts a message as far as it is in the input; none if no key fits. `derivation` is that of its connection, for a
    /// session whose log-on was not seen.
    pub(crate) fn decrypt(
        &mut self,
        sealed: &Sealed<'_>,
        sender: Side,
        server: IpAddr,
        derivation: &Derivation,
    ) -> Option<Vec<u8>> {
        self.note(sealed.session, |used| (used.seen, used.encrypted) = (true, true));
        if !self.sessions.contains_key(&(server, sealed.session)) {
            self.add(server, sealed.session, derivation);
        }
        let session = self.sessions.get_mut(&(server, sealed.session))?;
        let Some((candidate, content)) = session.decrypt(sealed, sender) else {
            if sealed.is_whole {
                self.note(sealed.session, |used| used.rejected[place(sender)] = true);
            }
            return None;
        };
        let fitting = session.candidates.get(candidate).map(|candidate| candidate.key);
        if let Some(used) = fitting.and_then(|key| self.uses.get_mut(key)) {
            used.fits[place(sender)] = true;
        }
        Some(content)
    }

    /// Who sends a message, by the key that opens it. `addresses` are those of the sender and the receiver.
    pub(crate) fn sender(&mut self, sealed: &Sealed<'_>, addresses: [IpAddr; 2]) -> Option<Side> {
        self.note(sealed.session, |used| (used.seen, used.encrypted) = (true, true));
        if !sealed.is_whole {
            return None;
        }
        let [from, to] = addresses;
        let opened = [(Side::Client, to), (Side::Server, from)].into_iter().find(|(side, server)| {
            let opens =
                |session: &Session| session.candidates.iter().any(|one| one.open(sealed, *side).is_some());
            match self.sessions.get(&(*server, sealed.session)) {
                Some(session) => opens(session),
                None => opens(&self.candidates(sealed.session, &Derivation::default())),
            }
        });
        if opened.is_none() {
            self.note(sealed.session, |used| used.rejected = [true, true]);
            // A log-on in the input would have shown who sends what.
            self.note_log_on(sealed.session, &Derivation::default());
        }
        opened.map(|(side, _)| side)
    }

    fn add(&mut self, server: IpAddr, session: u64, derivation: &Derivation) {
        if self.sessions.len() < MAX_SESSIONS && self.table.by_session.contains_key(&session) {
            let candidates = self.candidates(session, derivation);
            self.sessions.insert((server, session), candidates);
            self.note_log_on(session, derivation);
        }
    }

    fn candidates(&self, session: u64, derivation: &Derivation) -> Session {
        let mut candidates = Vec::new();
        for index in self.table.by_session.get(&session).into_iter().flatten() {
            if let Some(key) = self.table.keys.get(*index) {
                add_candidates(*index, key, derivation, &mut candidates);
            }
        }
        Session { candidates, fitting: [None, None] }
    }

    fn note(&mut self, session: u64, change: impl Fn(&mut KeyUse)) {
        for index in self.table.by_session.get(&session).into_iter().flatten() {
            if let Some(used) = self.uses.get_mut(*index) {
                change(used);
            }
        }
    }

    /// Notes whether session keys of dialect 3.1.1 lack the log-on.
    fn note_log_on(&mut self, session: u64, derivation: &Derivation) {
        let may_need = derivation.dialect.is_none_or(|dialect| dialect > 0x0302);
        let is_missing = may_need && derivation.preauth.is_none();
        self.note(session, |used| used.without_log_on = is_missing);
    }
}

impl Session {
    /// The content, and the candidate that opens it. The one that fitted before is tried first.
    fn decrypt(&mut self, sealed: &Sealed<'_>, sender: Side) -> Option<(usize, Vec<u8>)> {
        let fitting = self.fitting[place(sender)];
        if !sealed.is_whole {
            let content = self.candidates.get(fitting?)?.head(sealed, sender)?;
            // Another session of the server may have had the same number since.
            let is_message = CONTENTS.iter().any(|start| content.starts_with(start));
            return is_message.then_some((fitting?, content));
        }
        let others = (0..self.candidates.len()).filter(|index| Some(*index) != fitting);
        let opened = fitting.into_iter().chain(others).find_map(|index| {
            let content = self.candidates.get(index)?.open(sealed, sender)?;
            Some((index, content))
        })?;
        self.fitting[place(sender)] = Some(opened.0);
        Some(opened)
    }
}

/// Where the facts of a sender are.
pub(super) const fn place(sender: Side) -> usize {
    match sender {
        Side::Client => 0,
        Side::Server => 1,
    }
}
