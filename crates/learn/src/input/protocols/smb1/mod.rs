//! SMB 1 (MS-CIFS, MS-SMB). Messages that the UNIX extensions encrypt are counted.

mod attributes;
mod bytes;
mod data;
mod entry;
mod files;
mod header;
mod listing;
mod names;
mod open;
mod reply;
mod request;
mod target;
mod transactions;
mod unfinished;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use sharebench_smb::nt1::command::{NEGOTIATE, NT_TRANSACT};

use self::bytes::short;
use self::data::{AfterWrite, DataRequest, ReadReply};
use self::files::Files;
use self::header::{Block, Blocks, Header, RequestId, Status};
use self::reply::{Actions, Reply};
use self::request::Request;
use self::transactions::{Part, is_transaction};
use self::unfinished::{Performed, UnfinishedReplies};
use crate::input::protocols::{Decoder, Ends, Message, Side};
use crate::input::recorder::Recorder;
use crate::operation::{Action, Operation, Outcome, Protocol};

pub(super) use self::header::sender;

/// Most requests of a connection that wait for a reply; servers usually permit 50 (`MaxMpxCount`).
const MAX_PENDING: usize = 1 << 10;
const WRITE_RAW: u8 = 0x1D;

/// A request that waits for its reply.
struct Pending {
    command: u8,
    uid: u16,
    tid: u16,
    start: u64,
    /// The commands of the message.
    requests: Vec<Request>,
}

pub(super) struct Smb1Decoder {
    ends: Ends,
    /// A message that is not NEGOTIATE was decoded.
    decided: bool,
    pending: HashMap<RequestId, Pending>,
    unfinished: UnfinishedReplies,
    files: Files,
    /// UIDs whose log-on was seen.
    sessions: HashSet<u16>,
    /// The `READ_RAW` whose reply is the next message of the server: data without a header.
    raw_read: Option<RequestId>,
    /// The next message of the client is the data of a `WRITE_RAW`.
    raw_write: bool,
}

impl Smb1Decoder {
    pub(super) fn new(ends: Ends) -> Self {
        Self {
            ends,
            decided: false,
            pending: HashMap::new(),
            unfinished: UnfinishedReplies::default(),
            files: Files::new(ends),
            sessions: HashSet::new(),
            raw_read: None,
            raw_write: false,
        }
    }

    /// Only the negotiation was seen: the connection may be one of SMB 2.
    pub(super) const fn is_undecided(&self) -> bool {
        !self.decided
    }

    /// UIDs are those of a connection.
    fn user(&self, uid: u16, recorder: &mut Recorder) -> u32 {
        let client = self.ends.client;
        recorder.user(client.ip(), u64::from(client.port()) << 16 | u64::from(uid), Protocol::Smb1)
    }

    fn request(&mut self, header: &Header, message: &Message<'_>, recorder: &mut Recorder) {
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
            let unseen = recorder.unseen();
            let is_cut = message.head.len() < message.len;
            *(if is_cut { &mut unseen.cut } else { &mut unseen.not_understood }) += 1;
        }
        match requests.as_slice() {
            [Request::Unanswered | Request::Echo(0)] => return,
            // What cannot be decoded has a reply too.
            [] => requests.push(Request::Nothing),
            [Request::Data(DataRequest::Read { reply: ReadReply::Raw, .. })] => {
                self.raw_read = Some(header.id);
            }
            _ => {}
        }
        if self.pending.len() >= MAX_PENDING {
            self.end(recorder);
        }
        let Header { command, uid, tid, id, .. } = *header;
        let pending = Pending { command, uid, tid, start: message.start, requests };
        // Numbers are used again: the earlier request has no reply.
        if let Some(earlier) = self.pending.insert(id, pending) {
            self.unanswered(&earlier, recorder);
        }
    }

    fn reply(&mut self, header: &Header, message: &Message<'_>, recorder: &mut Recorder) {
        let Some(pending) = self.pending.remove(&header.id) else {
            self.unfinished.further_reply(header, message, self.ends.server, recorder);
            return;
        };
        let mut blocks = Blocks::new(message.head, header.command);
        let first = blocks.next();
        let is_empty = first.is_some_and(|block| block.words.is_empty());
        if is_transaction(pending.command) && is_empty && header.status.is_success() {
            // The interim reply, which requests the other parts of the request (MS-CIFS 3.2.5.1.4).
            self.pending.insert(header.id, pending);
            return;
        }
        if header.command == WRITE_RAW && header.status.is_success() {
            self.raw_write = true;
            if let [Request::Data(DataRequest::Write { stable: true, after: AfterWrite::Raw, .. })] =
                *pending.requests
            {
                // WRITE_COMPLETE follows (2.2.4.25.3).
                self.pending.insert(header.id, pending);
                return;
            }
        }
        self.finish(pending, header, message, (first, blocks), recorder);
    }

    /// Adds the operations of a request with its reply: each command of the chain, up to the one that failed.
    fn finish(
        &mut self,
        pending: Pending,
        header: &Header,
        message: &Message<'_>,
        (first, rest): (Option<Block<'_>>, Blocks<'_>),
        recorder: &mut Recorder,
    ) {
        let Pending { command, mut uid, mut tid, start, requests } = pending;
        let mut blocks = first.into_iter().chain(rest).peekable();
        let mut opened = None;
        for (number, mut request) in requests.into_iter().enumerate() {
            let block = blocks.next();
            if block.is_none() && number > 0 && header.status.outcome() != Outcome::Done {
                // The chain ended with the error of the command before (3.3.5.2.4): this one was not performed.
                return;
            }
            let block = block.unwrap_or_default();
            let outcome = if blocks.peek().is_none() { header.status.outcome() } else { Outcome::Done };
            match &request {
                Request::Setup => {
                    uid = if header.uid == 0 { uid } else { header.uid };
                    self.log_on(uid, header, outcome, (start, message.end), recorder);
                    continue;
                }
                Request::Logoff => {
                    self.sessions.remove(&uid);
                    continue;
                }
                Request::Tree { share } => {
                    // The reply of TREE_CONNECT has it in its words (2.2.4.50.2).
                    let core = (command == 0x70).then(|| short(block.words, 2)).flatten();
                    tid = core.unwrap_or(header.tid);
                    if outcome == Outcome::Done {
                        self.files.connect(tid, share);
                    }
                    continue;
                }
                Request::Echo(count) if *count > 1 && outcome == Outcome::Done => {
                    let part = Part { total: u64::from(*count), here: 1, ..Part::default() };
                    let actions = [Some(Action::Other("ECHO")), None];
                    self.add(header.id, uid, (start, message.end), (actions, outcome), &part, recorder);
                    continue;
                }
                _ => request.use_fid(opened),
            }
            let part = if is_transaction(command) {
                Part::decode(command == NT_TRANSACT, block.words, message.head).unwrap_or_default()
            } else {
                Part::default()
            };
            let reply = Reply {
                outcome,
                message: message.head,
                words: block.words,
                bytes: block.data,
                parameters: part.parameters,
                data: part.data,
                unicode: header.unicode,
                tid,
            };
            let actions = request.finish(&reply, &mut opened, &mut self.files, recorder);
            self.add(header.id, uid, (start, message.end), (actions, outcome), &part, recorder);
        }
    }

    /// Adds the operations of a command, now or when the last part of its reply has arrived.
    fn add(
        &mut self,
        id: RequestId,
        uid: u16,
        (start, end): (u64, u64),
        (actions, outcome): (Actions, Outcome),
        part: &Part<'_>,
        recorder: &mut Recorder,
    ) {
        if actions == [None, None] {
            return;
        }
        let user = self.user(uid, recorder);
        let missing = part.total.saturating_sub(part.here);
        let performed = Performed { user, start, end: end.max(start), actions, outcome };
        self.unfinished.add(id, performed, missing, self.ends.server, recorder);
    }

    /// The end of a `SESSION_SETUP_ANDX`, unless another one continues it.
    fn log_on(
        &mut self,
        uid: u16,
        header: &Header,
        outcome: Outcome,
        (start, end): (u64, u64),
        recorder: &mut Recorder,
    ) {
        if header.status == Status::MORE_PROCESSING_REQUIRED || self.sessions.contains(&uid) {
            return;
        }
        if outcome == Outcome::Done {
            self.sessions.insert(uid);
        }
        let user = self.user(uid, recorder);
        let end = Some(end.max(start));
        recorder.add(self.ends.server, Operation { user, start, end, action: Action::Connect, outcome });
    }

    /// A message of the server that is not the data of a `READ_RAW`: the break of an oplock, or the reply to another
    /// request, where the data are not in the input.
    fn is_known(&self, header: &Header) -> bool {
        !header.is_reply || self.pending.contains_key(&header.id) && self.raw_read != Some(header.id)
    }

    /// The data of a `READ_RAW`.
    fn raw_data(&mut self, id: RequestId, message: &Message<'_>, recorder: &mut Recorder) {
        let Some(Pending { uid, tid, start, requests, .. }) = self.pending.remove(&id) else { return };
        let user = self.user(uid, recorder);
        for request in requests {
            let [action, _] = request.attempted(tid, &mut self.files, recorder);
            let Some(Action::Read { file, offset, asked, .. }) = action else { continue };
            let action = Action::Read { file, offset, asked, bytes: message.len as u32 };
            let end = Some(message.end.max(start));
            let outcome = Outcome::Done;
            recorder.add(self.ends.server, Operation { user, start, end, action, outcome });
        }
    }

    fn unanswered(&mut self, pending: &Pending, recorder: &mut Recorder) {
        for request in &pending.requests {
            let actions = request.attempted(pending.tid, &mut self.files, recorder);
            for action in actions.into_iter().flatten() {
                let user = self.user(pending.uid, recorder);
                let start = pending.start;
                let outcome = Outcome::NoReply;
                recorder.add(self.ends.server, Operation { user, start, end: None, action, outcome });
            }
            if matches!(request, Request::Open(_)) {
                // The file of the commands that follow in the chain is in the reply alone.
                return;
            }
        }
    }
}

impl Decoder for Smb1Decoder {
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
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
            let unseen = recorder.unseen();
            match message.head {
                // [FF]ENC of the UNIX extensions.
                [0xFF, b'E', ..] => unseen.encrypted += 1,
                head if head.len() < message.len => unseen.cut += 1,
                _ => unseen.not_understood += 1,
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
        self.pending.len()
    }

    fn end(&mut self, recorder: &mut Recorder) {
        self.unfinished.end(self.ends.server, recorder);
        let mut pending: Vec<_> = self.pending.drain().collect();
        pending.sort_by_key(|(id, pending)| (pending.start, *id));
        for (_, pending) in pending {
            self.unanswered(&pending, recorder);
        }
        self.raw_read = None;
    }
}
