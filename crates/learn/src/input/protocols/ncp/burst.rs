//! Packet burst: reads and writes whose data take several packets (docs/protocols/ncp.md 4).

use std::collections::HashMap;

use sharebench_ncp::wire::Codec;
use sharebench_ncp::wire::burst::{
    BurstCall, BurstPacket, BurstReadReply, BurstWriteReply, READ, WRITE, flag,
};

use super::places::Scope;
use crate::input::message::{Message, Side};
use crate::input::performed::Performed;
use crate::operation::{Action, Outcome};

/// Most burst connections of a client.
const MAX_BURSTS: usize = 1 << 16;
/// Bytes before the data in the burst that answers a read.
const READ_HEAD_LEN: u64 = 8;

/// A request by packet burst.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    call: BurstCall,
    start: u64,
    /// How it ended, and the bytes of a read; none before the head of the answer.
    result: Option<(u32, u32)>,
    /// Bytes of the answer that have arrived, without repetitions.
    arrived: u64,
}

/// A request that has its answer, or will have none.
pub(super) struct Ended {
    /// The number of its NCP connection.
    pub(super) connection: u16,
    pub(super) start: u64,
    pub(super) end: Option<u64>,
    call: BurstCall,
    result: Option<(u32, u32)>,
}

/// A burst connection.
#[derive(Debug)]
struct Connection {
    /// The number of its NCP connection.
    number: u16,
    /// The burst of the client that was seen last.
    burst: Option<u16>,
    waiting: Option<Waiting>,
}

/// The burst connections of a client, by the id that it gave them.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    connections: HashMap<u32, Connection>,
}

impl Bursts {
    /// Client and server have agreed to use bursts.
    pub(super) fn agreed(&mut self, id: u32, number: u16) {
        if self.connections.len() < MAX_BURSTS {
            self.connections.insert(id, Connection { number, burst: None, waiting: None });
        }
    }

    /// Takes a packet; returns the request that it ends.
    pub(super) fn packet(&mut self, packet: &BurstPacket<'_>, message: &Message<'_>) -> Option<Ended> {
        let fields = packet.fields;
        if fields.flags & flag::SYSTEM != 0 {
            return None;
        }
        let by_client = message.side == Side::Client;
        let id = if by_client { fields.source } else { fields.destination };
        // Of a connection that began before the capture, the number is not known.
        if !self.connections.contains_key(&id) {
            self.agreed(id, u16::MAX);
        }
        let connection = self.connections.get_mut(&id)?;
        if by_client {
            let is_new = connection.burst != Some(fields.burst);
            let call = BurstCall::decode(packet.data()).ok().filter(|_| fields.offset == 0 && is_new)?;
            connection.burst = Some(fields.burst);
            let waiting = Waiting { call, start: message.start, result: None, arrived: 0 };
            let earlier = connection.waiting.replace(waiting)?;
            return Some(earlier.ended(connection.number, None));
        }
        let waiting = connection.waiting.as_mut()?;
        if fields.offset == 0 {
            waiting.result = match waiting.call.function {
                READ => BurstReadReply::decode(packet.data()).ok().map(|reply| (reply.result, reply.length)),
                _ => BurstWriteReply::decode(packet.data()).ok().map(|reply| (reply.result, 0)),
            };
        }
        // Fragments that are sent again count once: what was lost before them did not count.
        waiting.arrived = waiting.arrived.saturating_add(u64::from(fields.length));
        let wanted = match waiting.result {
            Some((0, bytes)) if waiting.call.function == READ => READ_HEAD_LEN + u64::from(bytes),
            Some(_) => 0,
            None => return None,
        };
        if waiting.arrived < wanted {
            return None;
        }
        let ended = connection.waiting.take()?;
        Some(ended.ended(connection.number, Some(message.end)))
    }

    /// The connection is over: requests that still wait have no answer.
    pub(super) fn end(&mut self) -> impl Iterator<Item = Ended> + use<> {
        let mut connections: Vec<_> = self.connections.drain().collect();
        connections.sort_unstable_by_key(|(id, _)| *id);
        connections
            .into_iter()
            .filter_map(|(_, connection)| Some(connection.waiting?.ended(connection.number, None)))
    }
}

impl Waiting {
    fn ended(self, connection: u16, end: Option<u64>) -> Ended {
        let Self { call, start, result, .. } = self;
        Ended { connection, start, end: end.map(|end| end.max(start)), call, result }
    }
}

impl Ended {
    pub(super) fn performed(&self, scope: &mut Scope<'_, '_>) -> Performed {
        let BurstCall { function, file, offset, length } = self.call;
        let open = scope.opened(file.0);
        let outcome = match (self.end, self.result) {
            (Some(_), Some((0, _))) => Outcome::Done,
            (Some(_), Some((result, _))) => Outcome::Failed(result),
            _ => Outcome::NoReply,
        };
        let offset = u64::from(offset);
        let action = if function == WRITE {
            scope.recorder.changed(open.file);
            Action::Write { file: open.file, offset, bytes: length, stable: open.through }
        } else {
            let bytes = match (outcome, self.result) {
                (Outcome::Done, Some((_, bytes))) => bytes.min(length),
                (Outcome::NoReply, _) => length,
                _ => 0,
            };
            Action::Read { file: open.file, offset, asked: length, bytes }
        };
        Performed::one(action, outcome)
    }
}
