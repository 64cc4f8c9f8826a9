//! The slots of a session (RFC 8881, 2.10.6.1): which are in use, and the number of the next call in each.

use crate::v4::session::SessionId;

/// The slot and the number of a call, as SEQUENCE states them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) slot: u32,
    pub(crate) sequence: u32,
    /// Highest slot in use when the call was sent.
    pub(crate) highest: u32,
}

/// The slot table of a session, which makes the server perform each call exactly once.
///
/// A slot carries one call at a time. The number of a call in its slot is one more than that of the last call that the
/// server has performed, so that a repeated call has the number of the first attempt and is answered from the server's
/// cache. A call that the server rejected in SEQUENCE, before it did anything, leaves its number unused.
#[derive(Debug)]
pub(crate) struct SlotTable {
    pub(crate) session: SessionId,
    /// Number of the next call of each slot.
    next: Vec<u32>,
    /// One bit per slot in use.
    used: Vec<u64>,
}

impl SlotTable {
    /// A new session with this many slots, at least one.
    pub(crate) fn new(session: SessionId, slots: u32) -> Self {
        let slots = slots.max(1) as usize;
        Self { session, next: vec![1; slots], used: vec![0; slots.div_ceil(64)] }
    }

    /// Takes the lowest free slot: low numbers let a server shrink its table. None if all are in use.
    #[inline]
    pub(crate) fn acquire(&mut self) -> Option<Position> {
        let (word, bits) = self.used.iter_mut().enumerate().find(|(_, bits)| **bits != u64::MAX)?;
        let bit = bits.trailing_ones();
        let slot = word as u32 * 64 + bit;
        let sequence = *self.next.get(slot as usize)?;
        *bits |= 1 << bit;
        Some(Position { slot, sequence, highest: self.highest() })
    }

    /// Frees a slot. `performed` is true if the server has accepted the number of the call.
    #[inline]
    pub(crate) fn release(&mut self, position: Position, performed: bool) {
        if let Some(bits) = self.used.get_mut(position.slot as usize / 64) {
            *bits &= !(1 << (position.slot % 64));
        }
        if performed && let Some(next) = self.next.get_mut(position.slot as usize) {
            *next = position.sequence.wrapping_add(1);
        }
    }

    #[inline]
    fn highest(&self) -> u32 {
        let highest = self.used.iter().enumerate().rev().find(|(_, bits)| **bits != 0);
        highest.map_or(0, |(word, bits)| word as u32 * 64 + 63 - bits.leading_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_counts_only_the_calls_that_the_server_performed() {
        let mut slots = SlotTable::new([0; 16], 2);
        let first = slots.acquire().unwrap();
        let second = slots.acquire().unwrap();
        assert_eq!(first, Position { slot: 0, sequence: 1, highest: 0 });
        assert_eq!(second, Position { slot: 1, sequence: 1, highest: 1 });
        assert_eq!(slots.acquire(), None);
        slots.release(first, true);
        let again = slots.acquire().unwrap();
        assert_eq!((again.slot, again.sequence, again.highest), (0, 2, 1));
        slots.release(again, false);
        assert_eq!(slots.acquire().unwrap().sequence, 2);
        slots.release(second, true);
        assert_eq!(slots.acquire().unwrap(), Position { slot: 1, sequence: 2, highest: 1 });
    }

    #[test]
    fn a_table_of_many_words_has_exactly_its_slots() {
        for count in [1, 63, 64, 65, 129] {
            let mut slots = SlotTable::new([0; 16], count);
            let taken: Vec<u32> =
                std::iter::from_fn(|| slots.acquire()).map(|position| position.slot).collect();
            assert_eq!(taken, (0..count).collect::<Vec<_>>());
        }
    }
}
