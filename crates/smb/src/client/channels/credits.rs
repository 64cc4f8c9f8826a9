//! Credits and message ids (MS-SMB2 3.2.4.1.2, 3.2.4.1.5, 3.2.4.1.6).

/// One credit pays for this many bytes of payload.
const BYTES_PER_CREDIT: u32 = 64 << 10;

/// The credits of a connection, and the next message id.
///
/// The server limits how much a client has in flight by granting credits. Each request costs credits by its size and
/// takes as many message ids; each response grants new ones. Every request also requests credits, so that the
/// connection reaches its target and stays there.
#[derive(Debug, Clone)]
pub(crate) struct Credits {
    next_id: u64,
    available: u32,
    /// Credits paid for requests that are in flight.
    spent: u32,
    target: u32,
    /// Requests cost credits by their size (`SMB2_GLOBAL_CAP_LARGE_MTU`); otherwise each costs one.
    pub(crate) by_size: bool,
}

impl Credits {
    /// A new connection has one credit; `target` is the number to request.
    pub(crate) fn new(target: u32) -> Self {
        // Every connection starts with one credit, which NEGOTIATE uses.
        Self { next_id: 0, available: 1, spent: 0, target, by_size: false }
    }

    /// The credits that a request with `bytes` of payload costs.
    #[inline]
    pub(crate) fn charge(&self, bytes: u32) -> u16 {
        if !self.by_size {
            return 1;
        }
        // A request without payload costs one credit as well (MS-SMB2 3.1.5.2).
        u16::try_from(bytes.div_ceil(BYTES_PER_CREDIT).max(1)).unwrap_or(u16::MAX)
    }

    /// Pays for a request and returns its message id; none if too few credits are available.
    #[inline]
    pub(crate) fn pay(&mut self, charge: u16) -> Option<u64> {
        let charge = u32::from(charge);
        self.available = self.available.checked_sub(charge)?;
        self.spent = self.spent.saturating_add(charge);
        let id = self.next_id;
        // A request of several credits consumes as many consecutive ids (MS-SMB2 3.2.4.1.3).
        self.next_id += u64::from(charge);
        Some(id)
    }

    /// The number of credits that the request being sent should request.
    #[inline]
    pub(crate) fn request(&self, charge: u16) -> u16 {
        // Paid credits return with the replies, so they count as owned. Each request also requests its own
        // cost, which replaces what it spends.
        let missing = self.target.saturating_sub(self.available.saturating_add(self.spent));
        u16::try_from(missing.saturating_add(u32::from(charge))).unwrap_or(u16::MAX)
    }

    /// Adds what a response grants.
    #[inline]
    pub(crate) fn granted(&mut self, credits: u16) {
        self.available = self.available.saturating_add(u32::from(credits));
    }

    /// Records that a request that cost `charge` was answered.
    #[inline]
    pub(crate) fn answered(&mut self, charge: u16) {
        self.spent = self.spent.saturating_sub(u32::from(charge));
    }

    /// Requests more credits from now on, if a request needs more than the connection was set up for.
    pub(crate) fn raise_target(&mut self, credits: u32) {
        self.target = self.target.max(credits);
    }

    /// Bytes that the available credits pay for in one request.
    pub(crate) fn affordable_bytes(&self) -> u32 {
        if self.by_size { self.available.saturating_mul(BYTES_PER_CREDIT) } else { BYTES_PER_CREDIT }
    }

    pub(crate) fn available(&self) -> u32 {
        self.available
    }

    /// True if fewer credits are available than the connection can use.
    pub(crate) fn below_target(&self) -> bool {
        self.available < self.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_costs_credits_by_its_size_and_takes_as_many_message_ids() {
        let mut credits = Credits::new(64);
        assert_eq!((credits.charge(1 << 20), credits.pay(1)), (1, Some(0)));
        credits.by_size = true;
        let charges = [0, 1, 65_536, 65_537, 1 << 20].map(|bytes| credits.charge(bytes));
        assert_eq!(charges, [1, 1, 1, 2, 16]);
        assert_eq!(credits.pay(1), None);
        credits.granted(20);
        credits.answered(1);
        assert_eq!((credits.pay(16), credits.pay(16), credits.pay(4)), (Some(1), None, Some(17)));
        assert_eq!(credits.available(), 0);
    }

    #[test]
    fn a_request_asks_for_the_missing_credits_and_for_its_own_cost() {
        let mut credits = Credits::new(10);
        credits.pay(1).unwrap();
        assert_eq!(credits.request(1), 10);
        credits.granted(10);
        credits.answered(1);
        credits.pay(4).unwrap();
        assert_eq!(credits.request(4), 4);
    }
}
