//! NFS versions 3 (RFC 1813) and 4.0 to 4.2 (RFC 7530, RFC 8881, RFC 7862): calls and replies to operations.

mod handles;
mod rpc;
mod status;
mod v3;
mod v4;

use std::collections::HashSet;

use sharebench_nfs::protocol::NFS_VERSION;
use sharebench_nfs::rpc::{get_reply, is_call};
use sharebench_nfs::v4::compound::NFS4_VERSION;
use sharebench_nfs::xdr::Reader;

use self::rpc::Protection;
use super::calls_in_flight::{CallsInFlight, Sent};
use super::decoder::Decoder;
use crate::input::message::{Message, Side};
use crate::input::performed::Exchange;
use crate::input::recorder::Recording;
use crate::operation::{Outcome, Protocol};

pub(super) use self::rpc::sender;

/// Most calls of a connection that wait for a reply.
const MAX_CALLS: usize = 1 << 16;

/// What is kept of a call until its reply.
struct Call {
    user: u32,
    protection: Protection,
    arguments: Arguments,
}

enum Arguments {
    /// NULL of version 3, which does nothing.
    Null,
    V3(v3::Call),
    V4(Vec<v4::CompoundStep>),
}

impl Arguments {
    /// Adds what is known without results.
    fn without_results(&self, outcome: Outcome, exchange: Exchange, recorder: &mut Recording<'_>) {
        match self {
            Self::Null => {}
            Self::V3(call) => recorder.add(exchange, call.without_results(outcome)),
            Self::V4(steps) => v4::without_results(steps, outcome, exchange, recorder),
        }
    }
}

pub(super) struct NfsDecoder {
    calls: CallsInFlight<u32, Call>,
    /// Calls that are no operation and wait for a reply: those of other programs, and NULL of version 4.
    others: HashSet<u32>,
}

impl NfsDecoder {
    pub(super) fn new() -> Self {
        Self { calls: CallsInFlight::new(MAX_CALLS), others: HashSet::new() }
    }

    /// Notes a call whose reply is of no interest.
    fn ignore(&mut self, xid: u32) {
        if self.others.len() >= MAX_CALLS {
            self.others.clear();
        }
        self.others.insert(xid);
    }

    fn call(&mut self, message: &Message<'_>, recorder: &mut Recording<'_>) {
        let mut body = Reader::of_capture(message.head);
        if let Ok(Some(xid)) = rpc::call_of_other_program(body) {
            self.ignore(xid);
            return;
        }
        let Ok(rpc::Call { header, identity, protection }) = rpc::Call::get(&mut body) else {
            recorder.not_decoded(message);
            return;
        };
        if !protection.open(&mut body) {
            recorder.unseen().encrypted += 1;
            return;
        }
        let (protocol, arguments) = match (header.version, header.procedure) {
            (NFS_VERSION, 0) => (Protocol::Nfs3, Some(Arguments::Null)),
            (NFS_VERSION, procedure) => {
                (Protocol::Nfs3, v3::Call::decode(procedure, body, recorder).map(Arguments::V3))
            }
            (NFS4_VERSION, 0) => {
                self.ignore(header.xid);
                return;
            }
            (NFS4_VERSION, procedure) => {
                (Protocol::Nfs4, v4::call(procedure, &mut body, recorder).map(Arguments::V4))
            }
            _ => {
                recorder.unseen().not_understood += 1;
                return;
            }
        };
        let Some(arguments) = arguments else {
            recorder.not_decoded(message);
            return;
        };
        let user = recorder.connection_user(identity, protocol);
        if self.calls.is_full() {
            self.end(recorder);
        }
        self.calls.send(header.xid, message.start, Call { user, protection, arguments });
    }

    fn reply(&mut self, message: &Message<'_>, recorder: &mut Recording<'_>) {
        let mut body = Reader::of_capture(message.head);
        let Ok((xid, performed)) = get_reply(&mut body) else {
            recorder.unseen().not_understood += 1;
            return;
        };
        let Some(Sent { start, call }) = self.calls.answer(xid) else {
            recorder.unseen().without_request += u64::from(!self.others.remove(&xid));
            return;
        };
        let Call { user, protection, arguments } = call;
        let exchange = Exchange::new(user, start, message.end);
        if let Err(rejection) = performed {
            let outcome = Outcome::Failed(rpc::number_of(rejection));
            arguments.without_results(outcome, exchange, recorder);
        } else if !protection.open(&mut body) {
            arguments.without_results(Outcome::Done, exchange, recorder);
        } else {
            match arguments {
                Arguments::Null => {}
                Arguments::V3(call) => {
                    let performed = call.finish(&mut body, recorder);
                    recorder.add(exchange, performed);
                }
                Arguments::V4(steps) => {
                    if !v4::reply(&steps, &mut body, exchange, recorder) {
                        recorder.not_decoded(message);
                    }
                }
            }
        }
    }
}

impl Decoder for NfsDecoder {
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recording<'_>) {
        match (message.side, is_call(message.head)) {
            (Side::Client, true) => self.call(message, recorder),
            (Side::Server, false) => self.reply(message, recorder),
            // Calls of the server, and their replies.
            _ => {}
        }
    }

    fn waiting(&self) -> usize {
        self.calls.len() + self.others.len()
    }

    fn end(&mut self, recorder: &mut Recording<'_>) {
        for Sent { start, call } in self.calls.take_all() {
            let exchange = Exchange::unanswered(call.user, start);
            call.arguments.without_results(Outcome::NoReply, exchange, recorder);
        }
    }
}
