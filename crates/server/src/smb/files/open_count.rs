//! The number of files that a connection has open, and the memory that they are charged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sharebench_smb::NtStatus;

use crate::front_ends::state_budget::{StateBudget, StateCharge};
use crate::smb::status::Outcome;

/// Counts an open file of a connection as long as it is open.
#[derive(Debug)]
pub(crate) struct OpenCount {
    count: Arc<AtomicUsize>,
    charge: StateCharge,
}

impl OpenCount {
    /// Counts one more of this many bytes, up to a limit of their number and the budget of the client.
    pub(crate) fn new(
        count: &Arc<AtomicUsize>,
        max: usize,
        budget: &StateBudget,
        bytes: usize,
    ) -> Outcome<Self> {
        let charge = budget.charge(bytes).ok_or(NtStatus::INSUFFICIENT_RESOURCES)?;
        let counted =
            count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| (open < max).then_some(open + 1));
        counted
            .map(|_| Self { count: Arc::clone(count), charge })
            .map_err(|_| NtStatus::INSUFFICIENT_RESOURCES)
    }

    /// A charge for what the open makes the server remember later.
    pub(crate) fn further_charge(&self) -> StateCharge {
        self.charge.budget().nothing()
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
