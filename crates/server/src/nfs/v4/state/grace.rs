//! The grace period after a restart, in which clients reclaim what they had (RFC 8881, 8.4.2).

use std::collections::BTreeSet;

use sharebench_nfs::v4::status::Nfs4Status;

/// The clients of the earlier start that may still reclaim.
#[derive(Debug, Default)]
pub(super) struct Grace {
    /// Clients that have not completed their reclaims.
    expected: BTreeSet<Box<[u8]>>,
    until_ms: u64,
    over: bool,
}

impl Grace {
    /// A grace period for these clients; none if there are none.
    pub(super) fn new(expected: BTreeSet<Box<[u8]>>, until_ms: u64) -> Self {
        Self { over: expected.is_empty(), expected, until_ms }
    }

    /// True while only reclaims are allowed. The period ends at its time, or when every client is done.
    pub(super) fn is_on(&mut self, now_ms: u64) -> bool {
        if !self.over && (self.expected.is_empty() || now_ms >= self.until_ms) {
            self.over = true;
        }
        !self.over
    }

    /// Checks that a client may reclaim.
    pub(super) fn may_reclaim(&mut self, owner: &[u8], now_ms: u64) -> Result<(), Nfs4Status> {
        if !self.is_on(now_ms) || !self.expected.contains(owner) {
            return Err(Nfs4Status::NoGrace);
        }
        Ok(())
    }

    /// Notes that a client has reclaimed everything.
    pub(super) fn complete(&mut self, owner: &[u8]) {
        self.expected.remove(owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grace() -> Grace {
        Grace::new([Box::from(&b"a"[..]), Box::from(&b"b"[..])].into(), 1000)
    }

    #[test]
    fn the_period_ends_when_every_client_is_done() {
        let mut grace = grace();
        assert_eq!(grace.may_reclaim(b"a", 10), Ok(()));
        assert_eq!(grace.may_reclaim(b"unknown", 10), Err(Nfs4Status::NoGrace));
        grace.complete(b"a");
        assert!(grace.is_on(20));
        assert_eq!(grace.may_reclaim(b"a", 20), Err(Nfs4Status::NoGrace));
        grace.complete(b"b");
        assert!(!grace.is_on(30));
    }

    #[test]
    fn the_period_ends_at_its_time_and_a_new_server_has_none() {
        assert!(grace().is_on(999));
        let mut late = grace();
        assert!(!late.is_on(1000));
        assert_eq!(late.may_reclaim(b"a", 1000), Err(Nfs4Status::NoGrace));
        assert!(!Grace::new(BTreeSet::new(), 1000).is_on(0));
    }
}
