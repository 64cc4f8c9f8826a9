//! Replies of SMB 1 in several messages: those of transactions (MS-CIFS 3.2.5.1.4) and of ECHO.

use sharebench_smb::nt1::command::{ECHO, NT_TRANSACT};

use super::header::{Blocks, Header, RequestId};
use super::transactions::Part;
use crate::input::message::Message;
use crate::input::performed::{Exchange, Performed};
use crate::input::protocols::calls_in_flight::CallsInFlight;
use crate::input::recorder::Recording;

/// Most replies of a connection of which parts are missing.
const MAX_UNFINISHED: usize = 1 << 10;

/// What a request did, according to the first part of its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfinished {
    /// Its end is that of the last part that has arrived.
    pub(super) exchange: Exchange,
    pub(super) performed: Performed,
    /// Bytes, or replies to an ECHO, that have not arrived.
    pub(super) missing: u64,
}

/// Requests whose reply has begun.
#[derive(Debug)]
pub(super) struct UnfinishedReplies(CallsInFlight<RequestId, Unfinished>);

impl UnfinishedReplies {
    pub(super) fn new() -> Self {
        Self(CallsInFlight::new(MAX_UNFINISHED))
    }

    /// Adds the operations of a request, now or when the last part of its reply has arrived.
    pub(super) fn add(&mut self, id: RequestId, reply: Unfinished, recorder: &mut Recording<'_>) {
        if reply.missing == 0 || self.0.is_full() {
            recorder.add(reply.exchange, reply.performed);
        } else if let Some(earlier) = self.0.replace(id, reply.exchange.start, reply) {
            recorder.add(earlier.call.exchange, earlier.call.performed);
        }
    }

    /// Takes a reply that is not the first one to its request.
    pub(super) fn further_reply(
        &mut self,
        header: &Header,
        message: &Message<'_>,
        recorder: &mut Recording<'_>,
    ) {
        let Some(mut reply) = self.0.answer(header.id).map(|sent| sent.call) else {
            recorder.unseen().without_request += 1;
            return;
        };
        let here = if header.command == ECHO {
            1
        } else {
            let block = Blocks::new(message.head, header.command).next();
            let is_nt = header.command == NT_TRANSACT;
            let part = block.and_then(|block| Part::decode(is_nt, block.words, message.head));
            part.map_or(reply.missing, |part| part.here)
        };
        reply.exchange.end = reply.exchange.end.max(Some(message.end));
        reply.missing = reply.missing.saturating_sub(here);
        self.add(header.id, reply, recorder);
    }

    /// Nothing follows.
    pub(super) fn end(&mut self, recorder: &mut Recording<'_>) {
        for reply in self.0.take_all() {
            recorder.add(reply.call.exchange, reply.call.performed);
        }
    }
}
