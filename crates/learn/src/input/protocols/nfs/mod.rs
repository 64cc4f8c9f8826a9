//! NFS versions 3 (RFC 1813) and 4.0 to 4.2 (RFC 7530, RFC 8881, RFC 7862): calls and replies to operations.

mod place;
mod rpc;
mod v3;
mod v4;

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use sharebench_nfs::protocol::NFS_VERSION;
use sharebench_nfs::rpc::{get_reply, is_call};
use sharebench_nfs::v4::compound::NFS4_VERSION;
use sharebench_nfs::xdr::Reader;

use self::rpc::Protection;
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
    call: Call,
}

/// The arguments of a call.
enum Call {
    V3(v3::Call),
    V4(Vec<v4::Step>),
}

impl Call {
    /// What is known without results.
    fn without_results(
        &self,
        outcome: Outcome,
        server: SocketAddr,
        recorder: &mut Recorder,
    ) -> Vec<v4::Done> {
        match self {
            Self::V3(call) => call.action().map(|action| (action, outcome)).into_iter().collect(),
            Self::V4(steps) => v4::without_results(steps, outcome, server, recorder),
        }
    }
}

pub(super) struct NfsDecoder {
    ends: Ends,
    pending: HashMap<u32, Pending>,
    /// Calls that are no operation and wait for a reply: those of other programs, and NULL of version 4.
    others: HashSet<u32>,
}

impl NfsDecoder {
    pub(super) fn new(ends: Ends) -> Self {
        Self { ends, pending: HashMap::new(), others: HashSet::new() }
    }

    /// Notes a call whose reply is of no interest.
    fn ignore(&mut self, xid: u32) {
        if self.others.len() >= MAX_PENDING {
            self.others.clear();
        }
        self.others.insert(xid);
    }

    fn call(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
        let mut body = Reader::of_capture(message.head);
        if let Ok(Some(xid)) = rpc::call_of_other_program(body) {
            self.ignore(xid);
            return;
        }
        let Ok(call) = rpc::Call::get(&mut body) else {
            not_decoded(message, recorder);
            return;
        };
        let xid = call.header.xid;
        if !call.protection.open(&mut body) {
            recorder.unseen().encrypted += 1;
            return;
        }
        let server = self.ends.server;
        let (protocol, decoded) = match (call.header.version, call.header.procedure) {
            (NFS_VERSION, procedure) => {
                (Protocol::Nfs3, v3::Call::decode(procedure, body, server, recorder).map(Call::V3))
            }
            (NFS4_VERSION, 0) => {
                self.ignore(xid);
                return;
            }
            (NFS4_VERSION, procedure) => {
                (Protocol::Nfs4, v4::call(procedure, &mut body, server, recorder).map(Call::V4))
            }
            _ => {
                recorder.unseen().not_understood += 1;
                return;
            }
        };
        let Some(decoded) = decoded else {
            not_decoded(message, recorder);
            return;
        };
        let user = recorder.connection_user(self.ends.client, call.identity, protocol);
        if self.pending.len() >= MAX_PENDING {
            self.end(recorder);
        }
        let pending = Pending { user, start: message.start, protection: call.protection, call: decoded };
        // A call that is sent again began the first time.
        self.pending.entry(xid).or_insert(pending);
    }

    fn reply(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
        let mut body = Reader::of_capture(message.head);
        let Ok((xid, performed)) = get_reply(&mut body) else {
            recorder.unseen().not_understood += 1;
            return;
        };
        let Some(Pending { user, start, protection, call }) = self.pending.remove(&xid) else {
            recorder.unseen().without_request += u64::from(!self.others.remove(&xid));
            return;
        };
        let server = self.ends.server;
        let is_readable = protection.open(&mut body);
        let done = match (performed, call) {
            (Err(rejection), call) => {
                call.without_results(Outcome::Failed(rpc::number_of(rejection)), server, recorder)
            }
            (Ok(()), Call::V3(call)) if is_readable => {
                let (action, outcome) = call.finish(&mut body, server, recorder);
                action.map(|action| (action, outcome)).into_iter().collect()
            }
            (Ok(()), Call::V4(steps)) if is_readable => {
                let mut complete = true;
                let done = v4::reply(&steps, &mut body, &mut complete, server, recorder);
                if !complete {
                    not_decoded(message, recorder);
                }
                done
            }
            (Ok(()), call) => call.without_results(Outcome::Done, server, recorder),
        };
        let end = Some(message.end.max(start));
        for (action, outcome) in done {
            let end = end.filter(|_| outcome != Outcome::NoReply);
            recorder.add(server, Operation { user, start, end, action, outcome });
        }
    }
}

/// How an operation ended, by the status of either version.
fn outcome(status: u32) -> Outcome {
    const NOT_FOUND: u32 = 2;
    match status {
        0 => Outcome::Done,
        NOT_FOUND => Outcome::NotFound,
        status => Outcome::Failed(status),
    }
}

/// Counts a message that could not be decoded.
fn not_decoded(message: &Message<'_>, recorder: &mut Recorder) {
    let cut = message.head.len() < message.len;
    let unseen = recorder.unseen();
    *(if cut { &mut unseen.cut } else { &mut unseen.not_understood }) += 1;
}

impl Decoder for NfsDecoder {
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
        match (message.side, is_call(message.head)) {
            (Side::Client, true) => self.call(message, recorder),
            (Side::Server, false) => self.reply(message, recorder),
            // Calls of the server, and their replies.
            _ => {}
        }
    }

    fn waiting(&self) -> usize {
        self.pending.len() + self.others.len()
    }

    fn end(&mut self, recorder: &mut Recorder) {
        let mut pending: Vec<(u32, Pending)> = self.pending.drain().collect();
        pending.sort_by_key(|(xid, pending)| (pending.start, *xid));
        for (_, Pending { user, start, call, .. }) in pending {
            for (action, outcome) in call.without_results(Outcome::NoReply, self.ends.server, recorder) {
                recorder.add(self.ends.server, Operation { user, start, end: None, action, outcome });
            }
        }
    }
}
