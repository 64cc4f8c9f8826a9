//! Requests in flight: one per slot, and one for names and attributes; found again by their message id.

use sharebench_model::{CachePolicy, PolicyCount};

use crate::client::files::OpenFile;
use crate::wire::FileId;
use crate::wire::data::WRITE_THROUGH;
use crate::wire::header::command;

/// READ replies from this size on are received straight into the slot's buffer.
pub(crate) const DIRECT_BYTES: u32 = 16 << 10;

/// What is asked of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// READ into the slot's buffer, with the message's flags.
    Read { file: OpenFile, offset: u64, len: u32, flags: u8 },
    /// WRITE from the slot's buffer, with the message's flags.
    Write { file: OpenFile, offset: u64, len: u32, flags: u32 },
    /// FLUSH.
    Flush { file: FileId },
    /// Any other command, whose body waits in the channel.
    Meta { command: u16 },
}

impl Order {
    pub(crate) const fn command(self) -> u16 {
        match self {
            Self::Read { .. } => command::READ,
            Self::Write { .. } => command::WRITE,
            Self::Flush { .. } => command::FLUSH,
            Self::Meta { command } => command,
        }
    }

    /// Bytes of payload it moves, which decide its charge.
    pub(crate) const fn payload(self) -> u32 {
        match self {
            Self::Read { len, .. } | Self::Write { len, .. } => len,
            Self::Flush { .. } | Self::Meta { .. } => 0,
        }
    }

    /// What it says of policies, by its own flags or by those of its open file.
    pub(crate) fn policy_count(self) -> PolicyCount {
        let unbuffered = |file: OpenFile| u64::from(file.policy.cache == CachePolicy::Unbuffered);
        match self {
            Self::Read { file, .. } => PolicyCount { unbuffered: unbuffered(file), ..PolicyCount::default() },
            Self::Write { file, flags, .. } => {
                let through = file.policy.writes_through() || flags & WRITE_THROUGH != 0;
                let (through, unbuffered) = (u64::from(through), unbuffered(file));
                PolicyCount { through, unbuffered, ..PolicyCount::default() }
            }
            Self::Flush { .. } | Self::Meta { .. } => PolicyCount::default(),
        }
    }

    const fn is_direct(self) -> bool {
        matches!(self, Self::Read { len, .. } if len >= DIRECT_BYTES)
    }
}

/// A request on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) order: Order,
    pub(crate) charge: u16,
    /// It was signed, so its reply must be.
    pub(crate) signed: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Idle,
    Waiting(Order),
    Sent(Sent),
}

#[derive(Debug, Clone, Copy)]
struct Call {
    message_id: u64,
    state: State,
}

/// The table of requests. Message ids run on, so a ring finds almost every call; one that was overtaken by
/// a whole ring of others is searched for.
#[derive(Debug)]
pub(crate) struct Calls {
    table: Vec<Call>,
    ring: Vec<u32>,
    in_flight: usize,
    direct_reads: usize,
}

impl Calls {
    /// Room for `slots` data operations and one other request.
    pub(crate) fn new(slots: usize) -> Self {
        let ring = (4 * (slots + 1)).next_power_of_two();
        Self {
            table: vec![Call { message_id: 0, state: State::Idle }; slots + 1],
            ring: vec![0; ring],
            in_flight: 0,
            direct_reads: 0,
        }
    }

    /// Index of the request for names and attributes; also the number of slots.
    pub(crate) fn meta(&self) -> usize {
        self.table.len() - 1
    }

    /// Requests that were sent and not answered.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(crate) fn is_idle(&self, index: usize) -> bool {
        self.table.get(index).is_some_and(|call| matches!(call.state, State::Idle))
    }

    /// True while a READ is in flight whose data should not pass through the receive buffer.
    pub(crate) fn expects_direct(&self) -> bool {
        self.direct_reads > 0
    }

    /// Takes a request that has not been sent.
    #[inline]
    pub(crate) fn wait(&mut self, index: usize, order: Order) {
        self.table[index].state = State::Waiting(order);
    }

    /// The request at `index` that has not been sent.
    #[inline]
    pub(crate) fn waiting(&self, index: usize) -> Option<Order> {
        match self.table.get(index)?.state {
            State::Waiting(order) => Some(order),
            _ => None,
        }
    }

    /// Notes that a request is on its way.
    #[inline]
    pub(crate) fn sent(&mut self, index: usize, message_id: u64, sent: Sent) {
        self.table[index] = Call { message_id, state: State::Sent(sent) };
        let mask = self.ring.len() - 1;
        self.ring[message_id as usize & mask] = index as u32;
        self.in_flight += 1;
        self.direct_reads += usize::from(sent.order.is_direct());
    }

    /// The request in flight with this message id.
    #[inline]
    pub(crate) fn find(&self, message_id: u64) -> Option<(usize, Sent)> {
        let at = |index: usize| match self.table.get(index) {
            Some(Call { message_id: id, state: State::Sent(sent) }) if *id == message_id => {
                Some((index, *sent))
            }
            _ => None,
        };
        let likely = self.ring[message_id as usize & (self.ring.len() - 1)] as usize;
        at(likely).or_else(|| (0..self.table.len()).find_map(at))
    }

    /// Ends the request at `index` and tells how many requests it took on the wire; none when there was
    /// none.
    #[inline]
    pub(crate) fn end(&mut self, index: usize) -> Option<(Order, u32)> {
        let call = self.table.get_mut(index)?;
        match std::mem::replace(&mut call.state, State::Idle) {
            State::Idle => None,
            State::Waiting(order) => Some((order, 0)),
            State::Sent(Sent { order, .. }) => {
                self.in_flight -= 1;
                self.direct_reads -= usize::from(order.is_direct());
                Some((order, 1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(len: u32) -> Sent {
        let file = OpenFile { id: FileId::default(), policy: sharebench_model::IoPolicy::default() };
        Sent { order: Order::Read { file, offset: 0, len, flags: 0 }, charge: 1, signed: false }
    }

    #[test]
    fn a_call_is_found_by_its_message_id_and_only_while_in_flight() {
        let mut calls = Calls::new(3);
        // Ids that meet in the ring's place 5.
        for (index, id) in [(0, 5), (1, 5 + 16), (2, 5 + 32)] {
            calls.sent(index, id, read(index as u32));
        }
        for (index, id) in [(0, 5), (1, 5 + 16), (2, 5 + 32)] {
            assert_eq!(calls.find(id), Some((index, read(index as u32))));
            assert!(calls.end(index).is_some() && calls.end(index).is_none());
            assert_eq!(calls.find(id), None);
        }
        assert_eq!(calls.in_flight(), 0);
    }

    #[test]
    fn large_reads_are_counted_while_they_are_in_flight() {
        let mut calls = Calls::new(2);
        calls.wait(0, read(DIRECT_BYTES).order);
        assert!(!calls.expects_direct());
        calls.sent(0, 1, read(DIRECT_BYTES));
        assert!(calls.expects_direct());
        calls.end(0);
        assert!(!calls.expects_direct());
    }
}
