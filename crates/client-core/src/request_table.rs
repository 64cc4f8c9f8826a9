//! The requests of a session: one per slot, and one for metadata.

/// The only property of a request that the table has to know. It decides how the receiver treats the reply.
pub trait TrackedRequest: Copy {
    /// True if the request is a READ whose data should be received straight into its slot.
    fn is_direct_read(&self) -> bool;
}

#[derive(Debug, Clone, Copy)]
enum State<R> {
    Idle,
    /// The slot is taken by a request that has not been sent.
    Reserved,
    InFlight(R),
}

#[derive(Debug, Clone, Copy)]
struct Entry<Id, R> {
    id: Id,
    state: State<R>,
}

/// The table of requests of one connection.
///
/// It has one entry per slot, and one entry (at [`Self::metadata_index`]) for the single request about names and
/// attributes that may be in flight. An entry is idle, reserved (its request waits to be sent) or in flight, in that
/// order; a protocol that sends at once skips the reservation. The table is allocated once, so that neither starting
/// nor finishing a request allocates.
///
/// Replies arrive in any order and name their request by the protocol's id (a message id or an xid). How an id leads to
/// an index differs between the protocols, so each client computes a likely index itself, confirms it with [`Self::get`],
/// and may fall back to [`Self::search`].
#[derive(Debug)]
pub struct RequestTable<Id, R> {
    entries: Vec<Entry<Id, R>>,
    in_flight: usize,
    direct_reads: usize,
}

impl<Id: Copy + Default + PartialEq, R: TrackedRequest> RequestTable<Id, R> {
    /// Makes a table for `slots` data operations and one metadata request.
    pub fn new(slots: usize) -> Self {
        let idle = Entry { id: Id::default(), state: State::Idle };
        // One more entry than slots: the metadata request has no slot and must not wait for one.
        Self { entries: vec![idle; slots + 1], in_flight: 0, direct_reads: 0 }
    }

    /// Index of the metadata request, which is also the number of slots.
    pub fn metadata_index(&self) -> usize {
        self.entries.len() - 1
    }

    /// Requests that were sent and not answered.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// True if a request can be submitted at `index`.
    pub fn is_idle(&self, index: usize) -> bool {
        self.entries.get(index).is_some_and(|entry| matches!(entry.state, State::Idle))
    }

    /// True while a READ is in flight whose data should not pass through the receive buffer.
    pub fn expects_direct_read(&self) -> bool {
        self.direct_reads > 0
    }

    /// Reserves `index` for a request that cannot be sent yet.
    #[inline]
    pub fn reserve(&mut self, index: usize) {
        self.entries[index].state = State::Reserved;
    }

    /// Records that the request at `index` is sent under `id`.
    #[inline]
    pub fn start(&mut self, index: usize, id: Id, request: R) {
        self.entries[index] = Entry { id, state: State::InFlight(request) };
        self.in_flight += 1;
        self.direct_reads += usize::from(request.is_direct_read());
    }

    /// The id under which the request at `index` is in flight.
    pub fn id(&self, index: usize) -> Option<Id> {
        match self.entries.get(index)? {
            Entry { id, state: State::InFlight(_) } => Some(*id),
            _ => None,
        }
    }

    /// The request at `index`, if it is in flight under `id`.
    #[inline]
    pub fn get(&self, index: usize, id: Id) -> Option<R> {
        match self.entries.get(index)? {
            Entry { id: sent_id, state: State::InFlight(request) } if *sent_id == id => Some(*request),
            _ => None,
        }
    }

    /// Searches all entries for the request in flight under `id`.
    pub fn search(&self, id: Id) -> Option<(usize, R)> {
        (0..self.entries.len()).find_map(|index| Some((index, self.get(index, id)?)))
    }

    /// Makes the entry at `index` idle and returns its request if that was in flight.
    #[inline]
    pub fn finish(&mut self, index: usize) -> Option<R> {
        let entry = self.entries.get_mut(index)?;
        match std::mem::replace(&mut entry.state, State::Idle) {
            State::Idle | State::Reserved => None,
            State::InFlight(request) => {
                self.in_flight -= 1;
                self.direct_reads -= usize::from(request.is_direct_read());
                Some(request)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MIN_DIRECT_BYTES;

    impl TrackedRequest for u32 {
        fn is_direct_read(&self) -> bool {
            *self >= MIN_DIRECT_BYTES
        }
    }

    #[test]
    fn a_request_is_found_by_its_id_only_while_it_is_in_flight() {
        let mut table = RequestTable::<u64, u32>::new(3);
        assert_eq!((table.metadata_index(), table.is_idle(3), table.is_idle(4)), (3, true, false));
        table.reserve(1);
        assert!(!table.is_idle(1));
        assert_eq!((table.get(1, 0), table.in_flight()), (None, 0));
        table.start(1, 7, 100);
        assert_eq!((table.get(1, 7), table.get(0, 7), table.search(7)), (Some(100), None, Some((1, 100))));
        assert_eq!((table.finish(1), table.finish(1)), (Some(100), None));
        assert_eq!((table.search(7), table.in_flight(), table.is_idle(1)), (None, 0, true));
        table.reserve(2);
        assert_eq!((table.finish(2), table.is_idle(2)), (None, true));
    }

    #[test]
    fn direct_reads_are_counted_only_while_they_are_in_flight() {
        let mut table = RequestTable::<u32, u32>::new(2);
        table.reserve(0);
        assert!(!table.expects_direct_read());
        table.start(0, 1, MIN_DIRECT_BYTES);
        table.start(1, 2, MIN_DIRECT_BYTES - 1);
        assert!(table.expects_direct_read());
        table.finish(0);
        assert!(!table.expects_direct_read());
    }
}
