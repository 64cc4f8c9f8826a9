//! The environment of the server: clocks and random keys.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use sharebench_ncp::server::{Environment, LoginSource, StateBudget};
use sharebench_ncp::wire::server_info::DateAndTime;
use sharebench_ncp::wire::{Completion, DosTime};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::front_ends::front_end::EventLog;
use crate::front_ends::refusal_log::RefusalLog;
use crate::ncp::options::NcpServerOptions;

/// The clocks of the machine, and unpredictable keys.
#[derive(Debug)]
pub(super) struct SystemEnvironment {
    start: Instant,
    random: RandomState,
    keys: AtomicU64,
    released: Notify,
    log: EventLog,
    log_logins: bool,
    refusals: Arc<RefusalLog>,
    budget: StateBudget,
}

impl SystemEnvironment {
    pub(super) fn new(options: &NcpServerOptions, refusals: Arc<RefusalLog>) -> Self {
        Self {
            start: Instant::now(),
            random: RandomState::new(),
            keys: AtomicU64::new(0),
            released: Notify::new(),
            log: options.log.clone(),
            log_logins: options.log_logins,
            refusals,
            budget: options.budget.clone(),
        }
    }

    /// Ready when a lock is released after this call.
    pub(super) fn released(&self) -> Notified<'_> {
        self.released.notified()
    }
}

/// Seconds since 1970; negative before.
pub(super) fn unix_seconds(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |seconds| -seconds),
    }
}

impl Environment for SystemEnvironment {
    fn login_key(&self) -> [u8; 8] {
        // A keyed hash of a counter: keys do not repeat, and a key does not reveal the next.
        self.random.hash_one(self.keys.fetch_add(1, Ordering::Relaxed)).to_be_bytes()
    }

    fn date_and_time(&self) -> DateAndTime {
        let seconds = unix_seconds(SystemTime::now());
        let (year, month, day, hour, minute, _) = DosTime::from_unix(seconds).parts();
        DateAndTime {
            // Years since 1900; clients interpret small numbers as years of the next century.
            year: (year - 1900) as u8,
            month,
            day,
            hour,
            minute,
            second: seconds.rem_euclid(60) as u8,
            // 1970 began on a Thursday, day 4 when Sunday is 0.
            weekday: (seconds.div_euclid(86_400) + 4).rem_euclid(7) as u8,
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn login_failed(&self, source: LoginSource, name: &[u8]) {
        let name = String::from_utf8_lossy(name);
        self.log.write(&format!("ncp: failed login of {name:?} from {source}"));
    }

    fn logged_in(&self, source: LoginSource, name: &[u8]) {
        let name = String::from_utf8_lossy(name);
        // A load of many users logs in thousands of times, so that the operator's log has logins only on request.
        if self.log_logins {
            self.log.write(&format!("ncp: login of {name:?} from {source}"));
        } else {
            tracing::info!(user = ?name, %source, "ncp: login");
        }
    }

    fn login_rejected(&self, source: LoginSource, name: &[u8], completion: Completion) {
        let name = String::from_utf8_lossy(name);
        self.log.write(&format!("ncp: rejected login of {name:?} from {source}: {completion}"));
    }

    fn signatures_kept(&self, source: LoginSource) {
        self.log.write(&format!("ncp: {source} asked to end signatures after its login; they stay"));
    }

    fn connection_refused(&self) {
        self.refusals.note();
    }

    fn state_budget(&self) -> StateBudget {
        self.budget.clone()
    }

    fn released(&self) {
        self.released.notify_waiters();
    }
}
