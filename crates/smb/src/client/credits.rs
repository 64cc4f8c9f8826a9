//! Credits and message ids (MS-SMB2 3.2.4.1.2, 3.2.4.1.5, 3.2.4.1.6).

/// One credit pays for this many bytes of payload.
const BYTES_PER_CREDIT: u32 = 64 << 10;

/// What the client may send, and under which number.
#[derive(Debug, Clone)]
pub(crate) struct Credits {
    next_id: u64,
    available: u32,
    /// Credits paid for requests that were not answered.
    spent: u32,
    target: u32,
    /// Requests are charged by their size (`SMB2_GLOBAL_CAP_LARGE_MTU`).
    pub(crate) by_size: bool,
}

impl Credits {
    /// A new connection has one credit; `target` is how many to strive for.
    pub(crate) fn new(target: u32) -> Self {
        Self { next_id: 0, available: 1, spent: 0, target, by_size: false }
    }

    /// What a request that moves `bytes` of payload costs.
    #[inline]
    pub(crate) fn charge(&self, bytes: u32) -> u16 {
        if !self.by_size {
            return 1;
        }
        u16::try_from(bytes.div_ceil(BYTES_PER_CREDIT).max(1)).unwrap_or(u16::MAX)
    }

    /// Pays for a request and gives its message id; none while credits are short.
    #[inline]
    pub(crate) fn pay(&mut self, charge: u16) -> Option<u64> {
        let charge = u32::from(charge);
        self.available = self.available.checked_sub(charge)?;
        self.spent = self.spent.saturating_add(charge);
        let id = self.next_id;
        self.next_id += u64::from(charge);
        Some(id)
    }

    /// How many credits the request being sent should ask for.
    #[inline]
    pub(crate) fn wish(&self, charge: u16) -> u16 {
        let missing = self.target.saturating_sub(self.available.saturating_add(self.spent));
        u16::try_from(missing.saturating_add(u32::from(charge))).unwrap_or(u16::MAX)
    }

    /// Takes what a response grants.
    #[inline]
    pub(crate) fn granted(&mut self, credits: u16) {
        self.available = self.available.saturating_add(u32::from(credits));
    }

    /// Notes that a request of this charge has been answered.
    #[inline]
    pub(crate) fn answered(&mut self, charge: u16) {
        self.spent = self.spent.saturating_sub(u32::from(charge));
    }

    pub(crate) fn available(&self) -> u32 {
        self.available
    }

    /// True when more credits than there are would be of use.
    pub(crate) fn short(&self) -> bool {
        self.available < self.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_charged_by_its_size_and_takes_as_many_message_ids() {
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
    fn requests_ask_for_what_is_missing_and_for_what_they_cost() {
        let mut credits = Credits::new(10);
        credits.pay(1).unwrap();
        assert_eq!(credits.wish(1), 10);
        credits.granted(10);
        credits.answered(1);
        credits.pay(4).unwrap();
        assert_eq!(credits.wish(4), 4);
    }
}
