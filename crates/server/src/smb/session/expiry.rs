//! When a session expires (MS-SMB2 3.3.1.8, 3.3.5.2.9).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sharebench_smb::wire::header::command;

/// No limit.
pub(crate) const NEVER: u64 = u64::MAX;

/// The end of the current login of a session. The session and what it has opened stay; requests are rejected until the client
/// renews the login.
#[derive(Debug)]
pub(crate) struct Expiry {
    /// Milliseconds since the start of the server.
    end_ms: AtomicU64,
    /// Requests that are accepted until then.
    requests_left: AtomicU64,
}

impl Default for Expiry {
    fn default() -> Self {
        Self { end_ms: AtomicU64::new(NEVER), requests_left: AtomicU64::new(NEVER) }
    }
}

impl Expiry {
    /// Sets the end of a login: a time since the start of the server, and a number of requests.
    pub(crate) fn set(&self, end: Option<Duration>, requests: u64) {
        let end = end.map_or(NEVER, |end| u64::try_from(end.as_millis()).unwrap_or(NEVER));
        self.end_ms.store(end, Ordering::Relaxed);
        self.requests_left.store(requests, Ordering::Relaxed);
    }

    /// True if a request must be rejected because the session is expired. A client may always give back what it holds. The
    /// clock is read only if the session has an end.
    pub(crate) fn rejects(&self, request: u16, now: impl FnOnce() -> Duration) -> bool {
        if matches!(request, command::LOGOFF | command::CLOSE | command::LOCK) {
            return false;
        }
        let end = self.end_ms.load(Ordering::Relaxed);
        let is_past = end != NEVER && now().as_millis() >= u128::from(end);
        is_past || !self.count_request()
    }

    /// Counts a request; false if no more are accepted.
    fn count_request(&self) -> bool {
        // Nearly every session has no such limit, and writing to it would make its connections share a cache line.
        if self.requests_left.load(Ordering::Relaxed) == NEVER {
            return true;
        }
        let count = |left: u64| left.checked_sub(1);
        self.requests_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_expires_at_its_time_or_after_its_requests_and_may_always_be_closed() {
        let expiry = Expiry::default();
        let rejects = |request, now| expiry.rejects(request, || Duration::from_millis(now));
        assert!(!rejects(command::READ, u64::MAX - 1));
        expiry.set(Some(Duration::from_millis(10)), NEVER);
        assert!(!rejects(command::READ, 9) && rejects(command::READ, 10) && !rejects(command::CLOSE, 10));
        expiry.set(None, 2);
        let rejected = [(); 3].map(|()| rejects(command::WRITE, 0));
        assert_eq!(rejected, [false, false, true]);
        assert!(!rejects(command::LOGOFF, 0) && !rejects(command::LOCK, 0));
        expiry.set(None, NEVER);
        assert!(!rejects(command::WRITE, 0));
    }
}
