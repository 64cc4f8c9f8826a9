//! NFSv3 (RFC 1813) over ONC RPC.

mod rpc;
mod v3;
mod xdr;

use std::collections::HashMap;

use self::rpc::{Protection, Reply};
use crate::input::protocols::{Decoder, Ends, Message, Side};
use crate::input::recorder::Recorder;
use crate::operation::{Operation, Outcome, Protocol};

pub(super) use self::rpc::sender;

/// Most calls of a connection that wait for a reply; more are those of a capture without replies.
const MAX_PENDING: usize = 1 << 16;

/// A call that waits for its reply.
struct Pending {
    user: u32,
    start: u64,
    protection: Protection,
    call: v3::Call,
}

pub(super) struct NfsDecoder {
    ends: Ends,
    pending: HashMap<u32, Pending>,
}

impl NfsDecoder {
    pub(super) fn new(ends: Ends) -> Self {
        Self { ends, pending: HashMap::new() }
    }

    fn call(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
        let Some(call) = rpc::call(message.head) else {
            let cut = message.head.len() < message.len;
            let unseen = recorder.unseen();
            *(if cut { &mut unseen.cut } else { &mut unseen.not_understood }) += 1;
            return;
        };
        if call.version != 3 {
            recorder.unseen().not_understood += 1;
            return;
        }
        let Some(body) = call.protection.open(call.body) else {
            recorder.unseen().encrypted += 1;
            return;
        };
        let decoded = v3::Call::decode(call.procedure, body, self.ends.server, recorder);
        let Some(decoded) = decoded else {
            let cut = message.head.len() < message.len;
            let unseen = recorder.unseen();
            *(if cut { &mut unseen.cut } else { &mut unseen.not_understood }) += 1;
            return;
        };
        let user = recorder.user(self.ends.client.ip(), call.identity, Protocol::Nfs3);
        if self.pending.len() >= MAX_PENDING {
            self.end(recorder);
        }
        let pending = Pending { user, start: message.start, protection: call.protection, call: decoded };
        // A call that is sent again began the first time.
        self.pending.entry(call.xid).or_insert(pending);
    }

    fn reply(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
        let Some(Reply { xid, rejected, body }) = rpc::reply(message.head) else {
            recorder.unseen().not_understood += 1;
            return;
        };
        let Some(Pending { user, start, protection, call }) = self.pending.remove(&xid) else {
            recorder.unseen().without_request += 1;
            return;
        };
        let end = Some(message.end.max(start));
        let (action, outcome) = match rejected {
            Some(why) => (call.action(), Outcome::Failed(why)),
            None => call.finish(protection.open(body), self.ends.server, recorder),
        };
        let Some(action) = action else { return };
        recorder.add(self.ends.server, Operation { user, start, end, action, outcome });
    }
}

impl Decoder for NfsDecoder {
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
        match (message.side, rpc::is_call(message.head)) {
            (Side::Client, true) => self.call(message, recorder),
            (Side::Server, false) => self.reply(message, recorder),
            // Calls of the server, and their replies.
            _ => {}
        }
    }

    fn end(&mut self, recorder: &mut Recorder) {
        let mut pending: Vec<(u32, Pending)> = self.pending.drain().collect();
        pending.sort_by_key(|(xid, pending)| (pending.start, *xid));
        for (_, Pending { user, start, call, .. }) in pending {
            let Some(action) = call.action() else { continue };
            let operation = Operation { user, start, end: None, action, outcome: Outcome::NoReply };
            recorder.add(self.ends.server, operation);
        }
    }
}
