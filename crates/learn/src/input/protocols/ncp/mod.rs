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

use self::burst::{Bursts, Ended};
use self::call::Call;
use self::finish::Reply;
use self::packet::Packet;
use self::places::{Places, Scope};
use super::calls_in_flight::Sent;
use super::decoder::Decoder;
use crate::input::message::{Message, Side};
use crate::input::performed::{Exchange, Performed};
use crate::input::recorder::Recording;
use crate::operation::Protocol;

pub(super) use self::packet::{sender, sender_of_datagram};

/// The request of a connection that was sent last. A connection has one at a time (docs/protocols/ncp.md 1.4).
struct LastRequest {
    sequence: u8,
    /// None after its reply.
    waiting: Option<Sent<Call>>,
}

/// Decodes what a client and a server send each other.
#[derive(Default)]
pub(super) struct NcpDecoder {
    /// By the number of the connection, which has 16 bits.
    requests: HashMap<u16, LastRequest>,
    /// The sequence number of a request for a connection that has no number yet.
    creating: Option<u8>,
    places: Places,
    bursts: Bursts,
}

fn add(connection: u16, start: u64, end: Option<u64>, performed: Performed, recorder: &mut Recording<'_>) {
    if !performed.is_nothing() {
        let user = recorder.user(u64::from(connection), Protocol::Ncp);
        recorder.add(Exchange { user, start, end }, performed);
    }
}

impl NcpDecoder {
    fn request(
        &mut self,
        sequence: u8,
        connection: u16,
        body: &[u8],
        message: &Message<'_>,
        recorder: &mut Recording<'_>,
    ) {
        if self.requests.get(&connection).is_some_and(|last| last.sequence == sequence) {
            // Sent again.
            return;
        }
        let scope = &mut Scope { connection, places: &mut self.places, recorder };
        let Some(call) = Call::decode(body, scope) else {
            recorder.not_decoded(message);
            return;
        };
        self.sent(connection, sequence, Some(Sent { start: message.start, call }), recorder);
    }

    /// Notes a request that was sent: one that still waits has no reply.
    fn sent(
        &mut self,
        connection: u16,
        sequence: u8,
        waiting: Option<Sent<Call>>,
        recorder: &mut Recording<'_>,
    ) {
        let earlier = self.requests.insert(connection, LastRequest { sequence, waiting });
        self.unanswered(connection, earlier, recorder);
    }

    fn unanswered(&mut self, connection: u16, request: Option<LastRequest>, recorder: &mut Recording<'_>) {
        if let Some(LastRequest { waiting: Some(Sent { start, call }), .. }) = request {
            let scope = &mut Scope { connection, places: &mut self.places, recorder };
            let performed = call.finish(Reply::UNSEEN, scope);
            add(connection, start, None, performed, recorder);
        }
    }

    fn reply(
        &mut self,
        sequence: u8,
        connection: u16,
        reply: Reply<'_>,
        end: u64,
        recorder: &mut Recording<'_>,
    ) {
        let last = self.requests.get_mut(&connection).filter(|last| last.sequence == sequence);
        let Some(last) = last else {
            if self.creating != Some(sequence) {
                recorder.unseen().without_request += 1;
            }
            return;
        };
        // Without one, the reply is sent again.
        let Some(Sent { start, call }) = last.waiting.take() else { return };
        if let Call::OfferBurst(OfferBurst { id, .. }) = call
            && reply.is_success()
            && Reader::new(reply.body).get::<AcceptedBurst>().is_ok()
        {
            self.bursts.agreed(id, connection);
        }
        let performed = call.finish(reply, &mut Scope { connection, places: &mut self.places, recorder });
        add(connection, start, Some(end.max(start)), performed, recorder);
    }

    fn burst(&mut self, ended: &Ended, recorder: &mut Recording<'_>) {
        let connection = ended.connection;
        let performed = ended.performed(&mut Scope { connection, places: &mut self.places, recorder });
        add(connection, ended.start, ended.end, performed, recorder);
    }
}

impl Decoder for NcpDecoder {
    fn message(&mut self, message: &Message<'_>, recorder: &mut Recording<'_>) {
        let head = packet::with_data(message);
        match Packet::read(&head, message.side) {
            Some(Packet::Request { sequence, connection, body }) => {
                self.request(sequence, connection, body, message, recorder);
            }
            Some(Packet::Reply { kind: ServerKind::Reply, sequence, connection, completion, body }) => {
                let reply = Reply { completion: Some(completion), body };
                self.reply(sequence, connection, reply, message.end, recorder);
            }
            Some(Packet::Burst(packet)) => {
                if let Some(ended) = self.bursts.packet(&packet, message) {
                    self.burst(&ended, recorder);
                }
            }
            Some(Packet::Create { sequence }) => self.creating = Some(sequence),
            Some(Packet::End { sequence, connection }) => {
                // Its reply is expected, and no operation.
                self.sent(connection, sequence, None, recorder);
                self.places.disconnect(connection);
            }
            // Busy, watchdogs.
            Some(Packet::Reply { .. } | Packet::Other) => {}
            None => recorder.unseen().not_understood += u64::from(message.side == Side::Client),
        }
    }

    fn waiting(&self) -> usize {
        self.requests.len()
    }

    fn end(&mut self, recorder: &mut Recording<'_>) {
        let mut requests: Vec<_> = self.requests.drain().collect();
        requests.sort_unstable_by_key(|(connection, _)| *connection);
        for (connection, request) in requests {
            self.unanswered(connection, Some(request), recorder);
        }
        for ended in self.bursts.end() {
            self.burst(&ended, recorder);
        }
    }
}

#[cfg(test)]
mod tests;
