//! Slots: each call of a session is executed exactly once (RFC 8881, 2.10.6).

use std::sync::{Mutex, MutexGuard, PoisonError};

use sharebench_nfs::v4::status::Nfs4Status;

use crate::front_ends::state_budget::{StateBudget, StateCharge};

/// One slot of a session.
#[derive(Debug)]
struct Slot {
    /// Number of the last call that was accepted.
    sequence: u32,
    busy: bool,
    /// Results of the last call, if they are kept.
    reply: Option<Box<[u8]>>,
    /// That of the results.
    charge: StateCharge,
}

/// What to do with a call.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::nfs::v4) enum SlotUse {
    /// It is new: execute it, and pass the results to [`Slots::finish`].
    Execute,
    /// It was executed before: answer with these results.
    Repeat(Vec<u8>),
}

/// The slots of a session, each with its own lock, so that calls in different slots never wait for each other.
#[derive(Debug)]
pub(in crate::nfs::v4) struct Slots(Box<[Mutex<Slot>]>);

impl Slots {
    /// Bytes of one slot without results.
    pub(super) const BYTES: usize = size_of::<Mutex<Slot>>();

    /// This number of unused slots. Kept results are charged to `budget`.
    pub(super) fn new(count: u32, budget: &StateBudget) -> Self {
        let slot = || Slot { sequence: 0, busy: false, reply: None, charge: budget.nothing() };
        Self((0..count).map(|_| Mutex::new(slot())).collect())
    }

    /// Number of slots.
    pub(in crate::nfs::v4) fn count(&self) -> u32 {
        self.0.len() as u32
    }

    fn slot(&self, number: u32) -> Result<MutexGuard<'_, Slot>, Nfs4Status> {
        let slot = self.0.get(number as usize).ok_or(Nfs4Status::Badslot)?;
        Ok(slot.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Accepts a call by its number in the slot (RFC 8881, 2.10.6.1).
    pub(in crate::nfs::v4) fn begin(&self, number: u32, sequence: u32) -> Result<SlotUse, Nfs4Status> {
        let mut slot = self.slot(number)?;
        if sequence == slot.sequence.wrapping_add(1) {
            if slot.busy {
                // The client must wait for the reply in a slot before it uses the slot again.
                return Err(Nfs4Status::SeqMisordered);
            }
            slot.sequence = sequence;
            slot.busy = true;
            slot.reply = None;
            slot.charge.resize(0);
            return Ok(SlotUse::Execute);
        }
        if sequence != slot.sequence || sequence == 0 && slot.reply.is_none() {
            return Err(Nfs4Status::SeqMisordered);
        }
        if slot.busy {
            // The first one is still being executed, for example after a reconnection.
            return Err(Nfs4Status::Delay);
        }
        slot.reply.as_ref().map(|reply| SlotUse::Repeat(reply.to_vec())).ok_or(Nfs4Status::RetryUncachedRep)
    }

    /// Ends a call that [`Self::begin`] accepted, with the results that are kept for a repeated one. Without memory for them, a
    /// repeated call fails: every call is executed, because only calls such as CLOSE return memory.
    pub(in crate::nfs::v4) fn finish(&self, number: u32, reply: Option<&[u8]>) {
        if let Ok(mut slot) = self.slot(number) {
            slot.busy = false;
            let charged = slot.charge.resize(reply.map_or(0, <[u8]>::len));
            slot.reply = reply.filter(|_| charged).map(Box::from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_call_gets_the_kept_reply_and_is_not_executed() {
        let slots = Slots::new(2, &StateBudget::default());
        assert_eq!(slots.begin(0, 1), Ok(SlotUse::Execute));
        assert_eq!(slots.begin(0, 1), Err(Nfs4Status::Delay), "still in progress");
        assert_eq!(slots.begin(0, 2), Err(Nfs4Status::SeqMisordered), "before the reply to the first");
        slots.finish(0, Some(b"reply"));
        assert_eq!(slots.begin(0, 1), Ok(SlotUse::Repeat(b"reply".to_vec())));
        assert_eq!(slots.begin(0, 2), Ok(SlotUse::Execute));
        slots.finish(0, None);
        assert_eq!(slots.begin(0, 2), Err(Nfs4Status::RetryUncachedRep));
        assert_eq!(slots.begin(1, 1), Ok(SlotUse::Execute), "another slot counts by itself");
    }

    #[test]
    fn numbers_out_of_order_and_slots_out_of_range_are_errors() {
        let slots = Slots::new(1, &StateBudget::default());
        for sequence in [0, 2, u32::MAX] {
            assert_eq!(slots.begin(0, sequence), Err(Nfs4Status::SeqMisordered), "{sequence}");
        }
        assert_eq!(slots.begin(1, 1), Err(Nfs4Status::Badslot));
    }

    #[test]
    fn results_without_memory_are_not_kept() {
        let budget = StateBudget::new(100, || {});
        let slots = Slots::new(2, &budget);
        for slot in 0..2 {
            assert_eq!(slots.begin(slot, 1), Ok(SlotUse::Execute));
            slots.finish(slot, Some(&[7; 60]));
        }
        assert_eq!(slots.begin(0, 1), Ok(SlotUse::Repeat(vec![7; 60])));
        assert_eq!(slots.begin(1, 1), Err(Nfs4Status::RetryUncachedRep));
        assert_eq!((budget.used(), slots.begin(0, 2)), (60, Ok(SlotUse::Execute)));
        assert_eq!(budget.used(), 0);
        slots.finish(0, Some(&[7; 60]));
        drop(slots);
        assert_eq!(budget.used(), 0);
    }
}
