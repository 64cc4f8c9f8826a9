//! The limit on the memory for the state of clients.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a hash table, a tree or a vector per entry, besides the entry: spare capacity and the allocator's own bytes.
pub const ENTRY_BYTES: usize = 64;

/// The bytes that the state of all clients may have: what a client makes a server remember beyond the reply to its request, such
/// as sessions, open files and locks. The servers of one volume share one budget; a client that could use all of it has a
/// [`share`](Self::share).
///
/// State is charged before it is allocated, and a [`StateCharge`] in it returns the bytes when it is dropped. The buffers of
/// messages in progress are not state: they are bounded per connection.
#[derive(Clone)]
pub struct StateBudget(Arc<Inner>);

struct Inner {
    limit: usize,
    used: AtomicUsize,
    /// What is charged as well, for a share.
    whole: Option<StateBudget>,
    refused: Box<dyn Fn() + Send + Sync>,
}

impl StateBudget {
    /// The limit that servers have by default, in bytes.
    pub const DEFAULT_BYTES: usize = 192 << 20;

    /// A budget of `limit` bytes, which calls `refused` for each charge that exceeds it.
    pub fn new(limit: usize, refused: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { limit, used: AtomicUsize::new(0), whole: None, refused: Box::new(refused) }))
    }

    /// A budget for one client: half of this one at most, so that others get something.
    #[must_use]
    pub fn share(&self) -> Self {
        Self(Arc::new(Inner {
            limit: self.limit() / 2,
            used: AtomicUsize::new(0),
            whole: Some(self.clone()),
            refused: Box::new(|| {}),
        }))
    }

    /// Takes bytes; false, and nothing is taken, if there are less.
    fn take(&self, bytes: usize) -> bool {
        let Inner { limit, used, whole, .. } = &*self.0;
        let within = |used: usize| used.checked_add(bytes).filter(|sum| sum <= limit);
        if used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_err() {
            self.note_refusal();
            return false;
        }
        let taken = whole.as_ref().is_none_or(|whole| whole.take(bytes));
        if !taken {
            used.fetch_sub(bytes, Ordering::Relaxed);
        }
        taken
    }

    fn note_refusal(&self) {
        match &self.0.whole {
            Some(whole) => whole.note_refusal(),
            None => (self.0.refused)(),
        }
    }

    fn give_back(&self, bytes: usize) {
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.0.whole {
            whole.give_back(bytes);
        }
    }

    /// Charges `bytes`; none if the budget has less.
    pub fn charge(&self, bytes: usize) -> Option<StateCharge> {
        let mut charge = self.nothing();
        charge.grow(bytes).then_some(charge)
    }

    /// A charge of 0 bytes, which can grow.
    pub fn nothing(&self) -> StateCharge {
        StateCharge { budget: self.clone(), bytes: 0 }
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.0.limit
    }
}

impl Default for StateBudget {
    fn default() -> Self {
        Self::new(Self::DEFAULT_BYTES, || {})
    }
}

impl fmt::Debug for StateBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateBudget({} of {} bytes)", self.used(), self.limit())
    }
}

/// Bytes of a budget that some state has, until it is dropped.
#[derive(Debug)]
pub struct StateCharge {
    budget: StateBudget,
    bytes: usize,
}

impl StateCharge {
    /// Charges further bytes; false, and nothing is charged, if the budget has less.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let charged = self.budget.take(bytes);
        if charged {
            self.bytes += bytes;
        }
        charged
    }

    /// Returns bytes that were charged before.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.budget.give_back(bytes);
    }

    /// Grows or shrinks to `bytes`; false, and nothing changes, if the budget has less.
    pub fn resize(&mut self, bytes: usize) -> bool {
        if bytes > self.bytes {
            return self.grow(bytes - self.bytes);
        }
        self.shrink(self.bytes - bytes);
        true
    }

    /// Moves bytes to another charge.
    #[must_use]
    pub fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { budget: self.budget.clone(), bytes }
    }

    /// The budget.
    pub fn budget(&self) -> &StateBudget {
        &self.budget
    }
}

impl Drop for StateCharge {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_end_at_the_limit_and_return_exactly_what_they_had() {
        let refusals = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&refusals);
        let budget = StateBudget::new(100, move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let mut charge = budget.charge(60).unwrap();
        assert!(budget.charge(41).is_none() && !charge.grow(41) && !charge.resize(101));
        assert!(budget.charge(usize::MAX).is_none(), "an overflow");
        assert_eq!((budget.used(), refusals.load(Ordering::Relaxed)), (60, 4));
        let mut other = budget.charge(40).unwrap();
        assert!(charge.resize(10) && charge.resize(60));
        charge.shrink(1000);
        assert_eq!(budget.used(), 40, "not those of the other");
        drop(other.split(30));
        assert_eq!(budget.used(), 10);
        drop(other);
        assert!(charge.grow(100));
        drop(charge);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_share_has_half_of_the_budget_and_no_more_than_others_leave() {
        let refusals = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&refusals);
        let budget = StateBudget::new(100, move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let shares = [budget.share(), budget.share(), budget.share()];
        let mut first = shares[0].charge(50).unwrap();
        assert!(shares[0].charge(1).is_none() && !first.grow(1), "a client has its share");
        let second = shares[1].charge(40).unwrap();
        assert!(shares[2].charge(11).is_none(), "the others have the rest");
        assert_eq!((budget.used(), refusals.load(Ordering::Relaxed)), (90, 3));
        assert_eq!(
            shares.each_ref().map(StateBudget::used),
            [50, 40, 0],
            "the refused bytes are not counted"
        );
        drop(second);
        assert!(first.resize(20) && shares[2].charge(50).is_some());
        drop(first);
        assert_eq!((budget.used(), shares[0].used()), (0, 0));
    }
}
