//! SMB 2 and 3 (MS-SMB2), plain, signed, and encrypted where the input comes with keys. Other encrypted messages are counted.

mod encrypted;
mod finish;
mod header;
mod log_on;
mod numbers;
mod request;

use std::collections::HashSet;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::header::command::NEGOTIATE;
use sharebench_smb::wire::header::{Header, UNSOLICITED, flags};

use self::finish::Reply;
use self::header::{Part, messages};
use self::log_on::LogOns;
use self::numbers::{Smb2Scope, Smb2Shares, Tree};
use self::request::Request;
use super::calls_in_flight::{CallsInFlight, Sent};
use super::decoder::Decoder;
use super::smb::codes::outcome_of;
use super::smb::shares::Shares;
use crate::input::message::{Message, Side};
use crate::input::performed::{Exchange, Performed};
use crate::input::recorder::Recording;
use crate::operation::{Action, Outcome, Protocol};

pub(crate) use self::encrypted::{is_encrypted, sender_of_encrypted};
pub(super) use self::header::sender;

/// Most requests of a connection that wait for a reply, and most sessions.
const MAX_CALLS: usize = 1 << 16;

/// What is kept of a request until its reply.
struct Call {
    tree: Tree,
    request: Request,
}

pub(super) struct Smb2Decoder {
    calls: CallsInFlight<u64, Call>,
    shares: Smb2Shares,
    /// Sessions whose log-on was seen.
    sessions: HashSet<u64>,
    /// The file of the last reply, for related requests of one compound.
    last: FileId,
    /// What keys of encrypted sessions are derived with.
    log_ons: LogOns,
}

impl Smb2Decoder {
    pub(super) fn new() -> Self {
        Self {
            calls: CallsInFlight::new(MAX_CALLS),
            shares: Shares::new(),
            sessions: HashSet::new(),
            last: FileId::PREVIOUS,
            log_ons: LogOns::default(),
        }
    }

    /// Notes what a message that is not encrypted contributes to the keys of a session.
    fn note_log_on(&mut self, message: &Message<'_>, recorder: &mut Recording<'_>) {
        if recorder.keyring().has_keys()
            && let Some((session, derivation)) = self.log_ons.message(message)
        {
            let server = recorder.ends.server.ip();
            recorder.keyring().log_on(server, session, &derivation);
        }
    }

    /// A message, or several in one, after decryption.
    fn compound(&mut self, message: &Message<'_>, recorder: &mut Recording<'_>) {
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

    fn encrypted(&mut self, message: &Message<'_>, recorder: &mut Recording<'_>) {
        let server = recorder.ends.server.ip();
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
        recorder: &mut Recording<'_>,
    ) {
        let Some(request) = Request::decode(header.command, part) else {
            recorder.not_decoded(message);
            return;
        };
        if self.calls.is_full() {
            self.end(recorder);
        }
        // Related requests take over session and tree (MS-SMB2 3.3.5.2.7.2).
        let owner = if header.is(flags::RELATED) { before.unwrap_or(header) } else { header };
        *before = Some(owner);
        let tree = Tree { session: owner.session_id, id: owner.tree_id };
        self.calls.send(header.message_id, message.start, Call { tree, request });
    }

    fn reply(&mut self, header: Header, part: Part<'_>, message: &Message<'_>, recorder: &mut Recording<'_>) {
        // A notification of the server that an oplock or a lease is broken (MS-SMB2 2.2.23.1, 2.2.23.2) answers nothing.
        let is_notification = header.message_id == UNSOLICITED;
        let status = NtStatus(header.status);
        if is_notification || status == NtStatus::PENDING && header.is(flags::ASYNC) {
            return;
        }
        let Some(Sent { start, call: Call { tree, request } }) = self.calls.answer(header.message_id) else {
            // A NEGOTIATE of SMB 1 has a reply of SMB 2 (MS-SMB2 3.3.5.3).
            recorder.unseen().without_request += u64::from(header.command != NEGOTIATE);
            return;
        };
        let session = if tree.session == 0 { header.session_id } else { tree.session };
        match request {
            Request::Setup => {
                let ended = status != NtStatus::MORE_PROCESSING_REQUIRED;
                let is_new = self.sessions.len() < MAX_CALLS && !self.sessions.contains(&session);
                if ended && is_new {
                    let outcome = outcome_of(status);
                    if outcome == Outcome::Done {
                        self.sessions.insert(session);
                    }
                    let user = recorder.user(session, Protocol::Smb2);
                    recorder.add(
                        Exchange::new(user, start, message.end),
                        Performed::one(Action::Connect, outcome),
                    );
                }
            }
            Request::Tree { share } => {
                if status == NtStatus::SUCCESS {
                    self.shares.connect(Tree { session, id: header.tree_id }, &share);
                }
            }
            Request::Nothing => {}
            request => {
                let user = recorder.user(session, Protocol::Smb2);
                let tree = Tree { session, ..tree };
                let scope = &mut Smb2Scope { tree, shares: &mut self.shares, recorder };
                let performed = request.finish(Reply { status, part }, &mut self.last, scope);
                recorder.add(Exchange::new(user, start, message.end), performed);
            }
        }
    }
}

impl Decoder for Smb2Decoder {
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recording<'_>) {
        recorder.keyring().smb();
        match message.head {
            [0xFD, b'S', b'M', b'B', ..] => self.encrypted(message, recorder),
            [0xFF, b'S', b'M', b'B', ..] => {}
            [0xFE, b'S', b'M', b'B', ..] => {
                self.note_log_on(message, recorder);
                self.compound(message, recorder);
            }
            _ => recorder.unseen().not_understood += 1,
        }
    }

    fn waiting(&self) -> usize {
        self.calls.len()
    }

    fn end(&mut self, recorder: &mut Recording<'_>) {
        for Sent { start, call: Call { tree, request } } in self.calls.take_all() {
            let scope = &mut Smb2Scope { tree, shares: &mut self.shares, recorder };
            let Some(action) = request.attempted(scope) else { continue };
            let user = recorder.user(tree.session, Protocol::Smb2);
            recorder.add(Exchange::unanswered(user, start), Performed::one(action, Outcome::NoReply));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::message::Ends;
    use crate::input::recorder::Recorder;

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
        let mut decoder = Smb2Decoder::new();
        let mut recorder = Recorder::default();
        let mut recorder = recorder.connection(ends);
        for (bytes, missed) in
            [(of_server(OPLOCK_BREAK, u64::MAX), 0), (of_server(0, 0), 0), (of_server(READ, 7), 1)]
        {
            let message = Message { side: Side::Server, start: 1, end: 1, len: bytes.len(), head: &bytes };
            decoder.message(&message, &mut recorder);
            assert_eq!(recorder.unseen().without_request, missed);
        }
    }
}
