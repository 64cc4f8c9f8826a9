//! Calls in flight: one per slot, and one for names and attributes; found again by their xid.

use sharebench_model::Stability;

/// What the reply of a call has to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// READ of this many bytes into the slot's buffer.
    Read { len: u32 },
    /// WRITE of this many bytes to an open file.
    Write { file: u32, len: u32, stability: Stability },
    /// COMMIT of an open file.
    Flush { file: u32 },
    /// Any other procedure: its whole result.
    Meta,
}

/// READ replies from this size on are received straight into the slot's buffer.
pub(crate) const DIRECT_BYTES: u32 = 16 << 10;

#[derive(Debug, Clone, Copy)]
struct Call {
    xid: u32,
    expected: Option<Expected>,
}

/// The table of calls. An xid is a generation above the call's index, so that finding a call takes no
/// search and an xid comes again only after all generations.
#[derive(Debug)]
pub(crate) struct Calls {
    table: Vec<Call>,
    generation: u32,
    index_bits: u32,
    in_flight: usize,
    direct_reads: usize,
}

impl Calls {
    /// Room for `slots` data operations and one other call; `seed` chooses the first xid, because a
    /// server may take an xid it has seen lately for a repetition.
    pub(crate) fn new(slots: usize, seed: u32) -> Self {
        let idle = Call { xid: 0, expected: None };
        let index_bits = usize::BITS - slots.leading_zeros();
        Self { table: vec![idle; slots + 1], generation: seed, index_bits, in_flight: 0, direct_reads: 0 }
    }

    /// Index of the call for names and attributes; also the number of slots.
    pub(crate) fn meta(&self) -> usize {
        self.table.len() - 1
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(crate) fn is_idle(&self, index: usize) -> bool {
        self.table.get(index).is_some_and(|call| call.expected.is_none())
    }

    /// True while a READ is in flight whose data should not pass through the receive buffer.
    pub(crate) fn expects_direct(&self) -> bool {
        self.direct_reads > 0
    }

    /// Begins a call on an idle index and gives its xid.
    #[inline]
    pub(crate) fn begin(&mut self, index: usize, expected: Expected) -> u32 {
        self.generation = self.generation.wrapping_add(1);
        let xid = (self.generation << self.index_bits) | index as u32;
        self.table[index] = Call { xid, expected: Some(expected) };
        self.in_flight += 1;
        self.direct_reads += usize::from(is_direct(expected));
        xid
    }

    /// The call in flight with this xid.
    #[inline]
    pub(crate) fn find(&self, xid: u32) -> Option<(usize, Expected)> {
        let index = (xid & ((1 << self.index_bits) - 1)) as usize;
        let call = self.table.get(index)?;
        if call.xid != xid {
            return None;
        }
        call.expected.map(|expected| (index, expected))
    }

    /// Ends the call at `index`; none when none was in flight.
    #[inline]
    pub(crate) fn end(&mut self, index: usize) -> Option<Expected> {
        let expected = self.table.get_mut(index)?.expected.take()?;
        self.in_flight -= 1;
        self.direct_reads -= usize::from(is_direct(expected));
        Some(expected)
    }
}

fn is_direct(expected: Expected) -> bool {
    matches!(expected, Expected::Read { len } if len >= DIRECT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_by_its_xid_and_only_while_in_flight() {
        for slots in [1, 2, 63, 64, 1024] {
            let mut calls = Calls::new(slots, u32::MAX - 3);
            let xids: Vec<u32> =
                (0..slots).map(|slot| calls.begin(slot, Expected::Read { len: slot as u32 })).collect();
            let meta = calls.begin(calls.meta(), Expected::Meta);
            assert_eq!(calls.find(meta), Some((slots, Expected::Meta)));
            for (slot, xid) in xids.iter().enumerate() {
                assert_eq!(calls.find(*xid), Some((slot, Expected::Read { len: slot as u32 })));
                assert!(calls.end(slot).is_some() && calls.end(slot).is_none());
                assert_eq!(calls.find(*xid), None);
            }
            assert_eq!(calls.in_flight(), 1);
            let again = calls.begin(0, Expected::Meta);
            assert!(!xids.contains(&again));
        }
    }

    #[test]
    fn large_reads_are_counted() {
        let mut calls = Calls::new(2, 0);
        calls.begin(0, Expected::Read { len: DIRECT_BYTES });
        assert!(calls.expects_direct());
        calls.end(0);
        assert!(!calls.expects_direct());
    }
}
