//! SMB 1 (MS-CIFS, MS-SMB). Messages that the UNIX extensions encrypt are counted.

mod attributes;
mod bytes;
mod data;
mod entry;
mod header;
mod listing;
mod names;
mod numbers;
mod open;
mod reply;
mod request;
mod target;
mod transactions;
mod unfinished;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use sharebench_smb::nt1::command::{NEGOTIATE, NT_TRANSACT};

use self::bytes::short;
use self::data::{DataForm, DataRequest};
use self::header::{Blocks, Header, RequestId, Status};
use self::numbers::{Searches, Smb1Scope, Smb1Shares, Tid};
use self::reply::Reply;
use self::request::Request;
use self::transactions::{Part, is_transaction};
use self::unfinished::{Unfinished, UnfinishedReplies};
use super::calls_in_flight::{CallsInFlight, Sent};
use super::decoder::Decoder;
use super::file_request::FileRequest;
use super::smb::shares::Shares;
use crate::input::message::{Message, Side};
use crate::input::performed::{Exchange, Performed};
use crate::input::recorder::Recording;
use crate::operation::{Action, Outcome, Protocol};

pub(super) use self::header::sender;

/// Most requests of a connection that wait for a reply; servers usually permit 50 (`MaxMpxCount`).
const MAX_CALLS: usize = 1 << 10;
const WRITE_RAW: u8 = 0x1D;

/// What is kept of a message until its reply.
struct Call {
    command: u8,
    uid: u16,
    tid: Tid,
    /// The commands of the message.
    requests: Vec<Request>,
}

pub(super) struct Smb1Decoder {
    /// A message that is not NEGOTIATE was decoded.
    decided: bool,
    calls: CallsInFlight<RequestId, Call>,
    unfinished: UnfinishedReplies,
    shares: Smb1Shares,
    searches: Searches,
    /// UIDs whose log-on was seen.
    sessions: HashSet<u16>,
    /// The `READ_RAW` whose reply is the next message of the server: data without a header.
    raw_read: Option<RequestId>,
    /// The next message of the client is the data of a `WRITE_RAW`.
    raw_write: bool,
}

/// UIDs are those of a connection.
fn user(uid: u16, recorder: &mut Recording<'_>) -> u32 {
    let port = recorder.ends.client.port();
    recorder.user(u64::from(port) << 16 | u64::from(uid), Protocol::Smb1)
}

impl Smb1Decoder {
    pub(super) fn new() -> Self {
        Self {
            decided: false,
            calls: CallsInFlight::new(MAX_CALLS),
            unfinished: UnfinishedReplies::new(),
            shares: Shares::new(),
            searches: Searches::default(),
            sessions: HashSet::new(),
            raw_read: None,
            raw_write: false,
        }
    }

    /// Only the negotiation was seen: the connection may be one of SMB 2.
    pub(super) const fn is_undecided(&self) -> bool {
        !self.decided
    }

    fn request(&mut self, header: &Header, message: &Message<'_>, recorder: &mut Recording<'_>) {
        let mut blocks = Blocks::new(message.head, header.command);
        let mut requests = Vec::new();
        let mut is_broken = false;
        for block in &mut blocks {
            let Some(request) = Request::decode(&block, message.head, header.unicode) else {
                is_broken = true;
                break;
            };
            if request == Request::Unknown {
                recorder.unseen().not_understood += 1;
            }
            requests.push(request);
        }
        if is_broken || blocks.broken {
            recorder.not_decoded(message);
        }
        match requests.as_slice() {
            [Request::Unanswered | Request::Echo(0)] => return,
            // What cannot be decoded has a reply too.
            [] => requests.push(Request::Nothing),
            [Request::Data(DataRequest { form: DataForm::ReadRaw, .. })] => {
                self.raw_read = Some(header.id);
            }
            _ => {}
        }
        if self.calls.is_full() {
            self.end(recorder);
        }
        let Header { command, uid, tid, id, .. } = *header;
        let call = Call { command, uid, tid: Tid(tid), requests };
        // Numbers are used again: the earlier request has no reply.
        if let Some(earlier) = self.calls.replace(id, message.start, call) {
            self.unanswered(&earlier, recorder);
        }
    }

    fn reply(&mut self, header: &Header, message: &Message<'_>, recorder: &mut Recording<'_>) {
        let Some(Sent { start, call }) = self.calls.answer(header.id) else {
            self.unfinished.further_reply(header, message, recorder);
            return;
        };
        let mut blocks = Blocks::new(message.head, header.command);
        let is_empty = blocks.next().is_some_and(|block| block.words.is_empty());
        let mut is_interim = false;
        if header.status.is_success() {
            // The interim reply, which requests the other parts of the request (MS-CIFS 3.2.5.1.4).
            is_interim = is_transaction(call.command) && is_empty;
            if header.command == WRITE_RAW {
                self.raw_write = true;
                // WRITE_COMPLETE follows a write to stable storage (2.2.4.25.3).
                is_interim |= matches!(
                    *call.requests,
                    [Request::Data(DataRequest {
                        form: DataForm::WriteRaw,
                        request: FileRequest::Write { stable: true, .. },
                        ..
                    })]
                );
            }
        }
        if is_interim {
            self.calls.send(header.id, start, call);
        } else {
            self.finish(Sent { start, call }, header, message, recorder);
        }
    }

    /// Adds the operations of a request with its reply: each command of the chain, up to the one that failed.
    fn finish(
        &mut self,
        sent: Sent<Call>,
        header: &Header,
        message: &Message<'_>,
        recorder: &mut Recording<'_>,
    ) {
        let Sent { start, call: Call { command, mut uid, mut tid, requests } } = sent;
        let mut blocks = Blocks::new(message.head, header.command).peekable();
        let mut opened = None;
        for (number, mut request) in requests.into_iter().enumerate() {
            let block = blocks.next();
            if block.is_none() && number > 0 && header.status.outcome() != Outcome::Done {
                // The chain ended with the error of the command before (3.3.5.2.4): this one was not performed.
                return;
            }
            let block = block.unwrap_or_default();
            let outcome = if blocks.peek().is_none() { header.status.outcome() } else { Outcome::Done };
            let mut part = Part::default();
            match &request {
                Request::Setup => {
                    uid = if header.uid == 0 { uid } else { header.uid };
                    if self.is_log_on(uid, header.status, outcome) {
                        let exchange = Exchange::new(user(uid, recorder), start, message.end);
                        recorder.add(exchange, Performed::one(Action::Connect, outcome));
                    }
                    continue;
                }
                Request::Logoff => {
                    self.sessions.remove(&uid);
                    continue;
                }
                Request::Tree { share } => {
                    // The reply of TREE_CONNECT has it in its words (2.2.4.50.2).
                    let core = (command == 0x70).then(|| short(block.words, 2)).flatten();
                    tid = Tid(core.unwrap_or(header.tid));
                    if outcome == Outcome::Done {
                        self.shares.connect(tid, share);
                    }
                    continue;
                }
                Request::Echo(count) if outcome == Outcome::Done => {
                    part = Part { total: u64::from(*count), here: 1, ..part };
                }
                _ if is_transaction(command) => {
                    let is_nt = command == NT_TRANSACT;
                    part = Part::decode(is_nt, block.words, message.head).unwrap_or_default();
                }
                _ => request.use_fid(opened),
            }
            let reply = Reply {
                outcome,
                message: message.head,
                words: block.words,
                bytes: block.data,
                parameters: part.parameters,
                data: part.data,
                unicode: header.unicode,
            };
            let scope = &mut Smb1Scope { tree: tid, shares: &mut self.shares, recorder };
            let performed = request.finish(&reply, &mut opened, &mut self.searches, scope);
            if !performed.is_nothing() {
                let exchange = Exchange::new(user(uid, recorder), start, message.end);
                let missing = part.total.saturating_sub(part.here);
                self.unfinished.add(header.id, Unfinished { exchange, performed, missing }, recorder);
            }
        }
    }

    /// Whether a `SESSION_SETUP_ANDX` ends a log-on: another one may continue it, and later ones repeat it.
    fn is_log_on(&mut self, uid: u16, status: Status, outcome: Outcome) -> bool {
        if status == Status::MORE_PROCESSING_REQUIRED || self.sessions.contains(&uid) {
            return false;
        }
        if outcome == Outcome::Done {
            self.sessions.insert(uid);
        }
        true
    }

    /// A message of the server that is not the data of a `READ_RAW`: the break of an oplock, or the reply to another
    /// request, where the data are not in the input.
    fn is_known(&self, header: &Header) -> bool {
        !header.is_reply || self.calls.contains(header.id) && self.raw_read != Some(header.id)
    }

    /// The data of a `READ_RAW`.
    fn raw_data(&mut self, id: RequestId, message: &Message<'_>, recorder: &mut Recording<'_>) {
        let Some(Sent { start, call }) = self.calls.answer(id) else { return };
        let exchange = Exchange::new(user(call.uid, recorder), start, message.end);
        for request in call.requests {
            let scope = &mut Smb1Scope { tree: call.tid, shares: &mut self.shares, recorder };
            let [action, _] = request.attempted(&mut self.searches, scope);
            let Some(Action::Read { file, offset, asked, .. }) = action else { continue };
            let action = Action::Read { file, offset, asked, bytes: message.len as u32 };
            recorder.add(exchange, Performed::one(action, Outcome::Done));
        }
    }

    fn unanswered(&mut self, sent: &Sent<Call>, recorder: &mut Recording<'_>) {
        let Call { uid, tid, requests, .. } = &sent.call;
        for request in requests {
            let scope = &mut Smb1Scope { tree: *tid, shares: &mut self.shares, recorder };
            let actions = request.attempted(&mut self.searches, scope);
            let performed = Performed { actions, outcome: Outcome::NoReply };
            if !performed.is_nothing() {
                let exchange = Exchange::unanswered(user(*uid, recorder), sent.start);
                recorder.add(exchange, performed);
            }
            if matches!(request, Request::Open(_)) {
                // The file of the commands that follow in the chain is in the reply alone.
                return;
            }
        }
    }
}

impl Decoder for Smb1Decoder {
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recording<'_>) {
        let header = Header::decode(message.head);
        if message.side == Side::Client && std::mem::take(&mut self.raw_write) && header.is_none() {
            return;
        }
        if message.side == Side::Server
            && let Some(id) = self.raw_read
            && !header.is_some_and(|header| self.is_known(&header))
        {
            self.raw_read = None;
            self.raw_data(id, message, recorder);
            return;
        }
        let Some(header) = header else {
            // [FF]ENC of the UNIX extensions.
            if message.head.starts_with(b"\xFFE") {
                recorder.unseen().encrypted += 1;
            } else {
                recorder.not_decoded(message);
            }
            return;
        };
        self.decided |= header.command != NEGOTIATE;
        match (message.side, header.is_reply) {
            (Side::Client, false) => self.request(&header, message, recorder),
            (Side::Server, true) => self.reply(&header, message, recorder),
            // An oplock is broken.
            (Side::Server, false) => {}
            (Side::Client, true) => recorder.unseen().not_understood += 1,
        }
    }

    fn waiting(&self) -> usize {
        self.calls.len()
    }

    fn end(&mut self, recorder: &mut Recording<'_>) {
        self.unfinished.end(recorder);
        for sent in self.calls.take_all() {
            self.unanswered(&sent, recorder);
        }
        self.raw_read = None;
    }
}
