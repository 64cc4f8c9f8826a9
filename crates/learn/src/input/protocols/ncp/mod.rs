//! NCP over TCP, UDP and IPX (docs/protocols/ncp.md): requests, replies and packet burst to operations.

mod burst;
mod call;
mod finish;
mod packet;
mod places;

use std::collections::HashMap;

use sharebench_ncp::wire::Reader;
use sharebench_ncp::wire::negotiate::{AcceptedBurst, OfferBurst};
use sharebench_ncp::wire::packet::ServerKind;

use self::burst::Bursts;
use self::call::Call;
use self::finish::{Done, Reply};
use self::packet::Packet;
use self::places::Places;
use crate::input::protocols::{Decoder, Ends, Message, Side};
use crate::input::recorder::Recorder;
use crate::operation::{Operation, Outcome, Protocol};

pub(super) use self::packet::{sender, sender_of_datagram};

/// The request of a connection that was sent last. A connection has one at a time (docs/protocols/ncp.md 1.4).
struct Exchange {
    sequence: u8,
    /// None after its reply.
    waiting: Option<Waiting>,
}

struct Waiting {
    start: u64,
    call: Call,
}

/// Decodes what a client and a server send each other.
pub(super) struct NcpDecoder {
    ends: Ends,
    /// By the number of the connection, which has 16 bits.
    exchanges: HashMap<u16, Exchange>,
    /// The sequence number of a request for a connection that has no number yet.
    creating: Option<u8>,
    places: Places,
    bursts: Bursts,
}

impl NcpDecoder {
    pub(super) fn new(ends: Ends) -> Self {
        Self {
            ends,
            exchanges: HashMap::new(),
            creating: None,
            places: Places::new(ends.server),
            bursts: Bursts::default(),
        }
    }

    fn user(&self, connection: u16, recorder: &mut Recorder) -> u32 {
        recorder.user(self.ends.client.ip(), u64::from(connection), Protocol::Ncp)
    }

    fn add(
        &self,
        connection: u16,
        start: u64,
        end: Option<u64>,
        done: impl IntoIterator<Item = Done>,
        recorder: &mut Recorder,
    ) {
        for (action, outcome) in done {
            let user = self.user(connection, recorder);
            let end = end.filter(|_| outcome != Outcome::NoReply);
            recorder.add(self.ends.server, Operation { user, start, end, action, outcome });
        }
    }

    fn request(
        &mut self,
        sequence: u8,
        connection: u16,
        body: &[u8],
        message: &Message<'_>,
        recorder: &mut Recorder,
    ) {
        if self.exchanges.get(&connection).is_some_and(|exchange| exchange.sequence == sequence) {
            // Sent again.
            return;
        }
        let Some(call) = Call::decode(body, connection, &mut self.places, recorder) else {
            let unseen = recorder.unseen();
            *(if message.head.len() < message.len { &mut unseen.cut } else { &mut unseen.not_understood }) +=
                1;
            return;
        };
        let waiting = Some(Waiting { start: message.start, call });
        let earlier = self.exchanges.insert(connection, Exchange { sequence, waiting });
        self.unanswered(connection, earlier.and_then(|exchange| exchange.waiting), recorder);
    }

    fn unanswered(&mut self, connection: u16, waiting: Option<Waiting>, recorder: &mut Recorder) {
        if let Some(Waiting { start, call }) = waiting {
            let done = call.unanswered(&mut self.places, recorder);
            self.add(connection, start, None, done, recorder);
        }
    }

    fn reply(&mut self, sequence: u8, connection: u16, reply: &Reply<'_>, end: u64, recorder: &mut Recorder) {
        let exchange = self.exchanges.get_mut(&connection).filter(|exchange| exchange.sequence == sequence);
        let Some(exchange) = exchange else {
            if self.creating != Some(sequence) {
                recorder.unseen().without_request += 1;
            }
            return;
        };
        // Without one, the reply is sent again.
        let Some(Waiting { start, call }) = exchange.waiting.take() else { return };
        if let Call::OfferBurst(OfferBurst { id, .. }) = call
            && reply.completion.is_success()
            && Reader::new(reply.body).get::<AcceptedBurst>().is_ok()
        {
            self.bursts.agreed(id, connection);
        }
        let done = call.finish(reply, connection, &mut self.places, recorder);
        self.add(connection, start, Some(end.max(start)), done, recorder);
    }
}

impl Decoder for NcpDecoder {
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recorder) {
        let head = packet::with_data(message);
        match Packet::read(&head, message.side) {
            Some(Packet::Request { sequence, connection, body }) => {
                self.request(sequence, connection, body, message, recorder);
            }
            Some(Packet::Reply { kind: ServerKind::Reply, sequence, connection, completion, body }) => {
                let reply = Reply { completion, body };
                self.reply(sequence, connection, &reply, message.end, recorder);
            }
            Some(Packet::Burst(packet)) => {
                let ended = self.bursts.packet(&packet, message, &mut self.places, recorder);
                for burst in ended {
                    self.add(burst.connection, burst.start, burst.end, [burst.done], recorder);
                }
            }
            Some(Packet::Create { sequence }) => self.creating = Some(sequence),
            Some(Packet::End { sequence, connection }) => {
                // Its reply is expected, and no operation.
                let exchange = self.exchanges.insert(connection, Exchange { sequence, waiting: None });
                self.unanswered(connection, exchange.and_then(|exchange| exchange.waiting), recorder);
                self.places.disconnect(connection);
            }
            // Busy, watchdogs.
            Some(Packet::Reply { .. } | Packet::Other) => {}
            None => recorder.unseen().not_understood += u64::from(message.side == Side::Client),
        }
    }

    fn waiting(&self) -> usize {
        self.exchanges.len()
    }

    fn end(&mut self, recorder: &mut Recorder) {
        let mut exchanges: Vec<_> = self.exchanges.drain().collect();
        exchanges.sort_unstable_by_key(|(connection, _)| *connection);
        for (connection, exchange) in exchanges {
            self.unanswered(connection, exchange.waiting, recorder);
        }
        for burst in self.bursts.end(&mut self.places, recorder) {
            self.add(burst.connection, burst.start, burst.end, [burst.done], recorder);
        }
    }
}

#[cfg(test)]
mod tests;
