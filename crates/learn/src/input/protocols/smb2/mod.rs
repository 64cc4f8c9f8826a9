//! SMB 2 and 3 (MS-SMB2), plain, signed, and encrypted where the input comes with keys. Other encrypted messages are counted.

mod encrypted;
mod files;
mod header;
mod log_on;
mod requests;

use std::collections::{HashMap, HashSet};

use sharebench_smb::NtStatus;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::header::command::NEGOTIATE;
use sharebench_smb::wire::header::{Header, UNSOLICITED, flags};

use self::files::Files;
use self::header::{Part, messages};
use self::log_on::LogOns;
use self::requests::Request;
use crate::input::protocols::smb::outcome_of;
use crate::input::protocols::{Decoder, Ends, Message, Side};
use crate::input::recorder::Recorder;
use crate::operation::{Action, Operation, Outcome, Protocol};

pub(crate) use self::encrypted::{is_encrypted, sender_of_encrypted};
pub(super) use self::header::sender;

/// Most requests of a connection that wait for a reply, and most sessions.
const MAX_PENDING: usize = 1 << 16;

/// A request that waits for its reply.
struct Pending {
    session: u64,
    tree: u32,
    start: u64,
    request: Request,
}

pub(super) struct Smb2Decoder {
    ends: Ends,
    pending: HashMap<u64, Pending>,
    files: Files,
    /// Sessions whose log-on was seen.
    sessions: HashSet<u64>,
    /// The file of the last reply, for related requests of one compound.
    last: FileId,
    /// What keys of encrypted sessions are derived with.
    log_ons: LogOns,
}

impl Smb2Decoder {
    pub(super) fn new(ends: Ends) -> Self {
        Self {
            ends,
            pending: HashMap::new(),
            files: Files::default(),
            sessions: HashSet::new(),
            last: FileId::PREVIOUS,
            log_ons: LogOns::default(),
        }
    }

    /// A message that is not encrypted: it may be a part of a log-on.
    fn plain(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
        if recorder.keyring().has_keys()
            && let Some((session, derivation)) = self.log_ons.message(message)
        {
            recorder.keyring().log_on(self.ends.server.ip(), session, &derivation);
        }
        self.compound(message, recorder);
    }

    /// A message, or several in one, after decryption.
    fn compound(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
        let mut before = None;
        let is_whole = messages(message.head, message.len, |header, part| {
            recorder.keyring().session(header.session_id);
            match message.side {
                Side::Client => self.request(header, part, message, &mut before, recorder),
                Side::Server => self.reply(header, part, message, recorder),
            }
        });
        if !is_whole {
            recorder.unseen().cut += 1;
        }
    }

    fn encrypted(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
        let server = self.ends.server.ip();
        let decrypted = encrypted::decrypt(message, server, self.log_ons.derivation(), recorder.keyring());
        let Some(head) = decrypted else {
            recorder.unseen().encrypted += 1;
            return;
        };
        if head.starts_with(b"\xFESMB") {
            let len = message.len - encrypted::HEADER_BYTES;
            self.compound(&Message { head: &head, len, ..*message }, recorder);
        } else {
            // Compressed (2.2.42), or what no client sends.
            recorder.unseen().not_understood += 1;
        }
    }

    fn request(
        &mut self,
        header: Header,
        part: Part<'_>,
        message: &Message<'_>,
        before: &mut Option<Header>,
        recorder: &mut Recorder,
    ) {
        let Some(request) = Request::decode(header.command, part) else {
            let unseen = recorder.unseen();
            *(if message.head.len() < message.len { &mut unseen.cut } else { &mut unseen.not_understood }) +=
                1;
            return;
        };
        if self.pending.len() >= MAX_PENDING {
            self.end(recorder);
        }
        // Related requests take over session and tree (MS-SMB2 3.3.5.2.7.2).
        let owner = if header.is(flags::RELATED) { before.unwrap_or(header) } else { header };
        *before = Some(owner);
        let pending =
            Pending { session: owner.session_id, tree: owner.tree_id, start: message.start, request };
        self.pending.entry(header.message_id).or_insert(pending);
    }

    fn reply(&mut self, header: Header, part: Part<'_>, message: &Message<'_>, recorder: &mut Recorder) {
        // A notification of the server that an oplock or a lease is broken (MS-SMB2 2.2.23.1, 2.2.23.2) answers nothing.
        let is_notification = header.message_id == UNSOLICITED;
        let status = NtStatus(header.status);
        if is_notification || status == NtStatus::PENDING && header.is(flags::ASYNC) {
            return;
        }
        let Some(Pending { session, tree, start, request }) = self.pending.remove(&header.message_id) else {
            // A NEGOTIATE of SMB 1 has a reply of SMB 2 (MS-SMB2 3.3.5.3).
            recorder.unseen().without_request += u64::from(header.command != NEGOTIATE);
            return;
        };
        let server = self.ends.server;
        let end = Some(message.end.max(start));
        let session = if session == 0 { header.session_id } else { session };
        match request {
            Request::Setup => {
                let ended = status != NtStatus::MORE_PROCESSING_REQUIRED;
                let is_new = self.sessions.len() < MAX_PENDING && !self.sessions.contains(&session);
                if ended && is_new {
                    let outcome = outcome_of(status);
                    if outcome == Outcome::Done {
                        self.sessions.insert(session);
                    }
                    let user = recorder.user(self.ends.client.ip(), session, Protocol::Smb2);
                    recorder.add(server, Operation { user, start, end, action: Action::Connect, outcome });
                }
                return;
            }
            Request::Tree { share } => {
                if status == NtStatus::SUCCESS {
                    self.files.connect(session, header.tree_id, &share);
                }
                return;
            }
            Request::Nothing => return,
            _ => {}
        }
        let reply = requests::Reply { status, part, session, tree };
        let user = recorder.user(self.ends.client.ip(), session, Protocol::Smb2);
        let done = request.finish(&reply, &mut self.files, &mut self.last, server, recorder);
        for (action, outcome) in done.into_iter().flatten() {
            recorder.add(server, Operation { user, start, end, action, outcome });
        }
    }
}

impl Decoder for Smb2Decoder {
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
        recorder.keyring().smb();
        match message.head {
            [0xFD, b'S', b'M', b'B', ..] => self.encrypted(message, recorder),
            [0xFF, b'S', b'M', b'B', ..] => {}
            [0xFE, b'S', b'M', b'B', ..] => self.plain(message, recorder),
            _ => recorder.unseen().not_understood += 1,
        }
    }

    fn waiting(&self) -> usize {
        self.pending.len()
    }

    fn end(&mut self, recorder: &mut Recorder) {
        let mut pending: Vec<(u64, Pending)> = self.pending.drain().collect();
        pending.sort_by_key(|(message, pending)| (pending.start, *message));
        for (_, Pending { session, start, request, .. }) in pending {
            let Some(action) = request.unanswered(&mut self.files, self.ends.server, recorder) else {
                continue;
            };
            let user = recorder.user(self.ends.client.ip(), session, Protocol::Smb2);
            let operation = Operation { user, start, end: None, action, outcome: Outcome::NoReply };
            recorder.add(self.ends.server, operation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of the server: a header with this command and message id.
    fn of_server(command: u16, message: u64) -> Vec<u8> {
        let header = Header { command, flags: flags::RESPONSE, message_id: message, ..Header::default() };
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        bytes.resize(bytes.len() + 24, 0);
        bytes
    }

    #[test]
    fn breaks_of_oplocks_and_the_answer_to_a_negotiate_of_smb_1_miss_no_request() {
        const OPLOCK_BREAK: u16 = 18;
        const READ: u16 = 8;
        let ends = Ends { client: ([10, 0, 0, 1], 5000).into(), server: ([10, 0, 0, 2], 445).into() };
        let mut decoder = Smb2Decoder::new(ends);
        let mut recorder = Recorder::default();
        for (bytes, missed) in
            [(of_server(OPLOCK_BREAK, u64::MAX), 0), (of_server(0, 0), 0), (of_server(READ, 7), 1)]
        {
            let message = Message { side: Side::Server, start: 1, end: 1, len: bytes.len(), head: &bytes };
            decoder.message(&message, &mut recorder);
            assert_eq!(recorder.unseen().without_request, missed);
        }
    }
}
