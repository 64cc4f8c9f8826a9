//! Delays after failed logins.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use super::mutex::lock;
use super::peer::LoginSource;

/// Failures of a name from one address that have no consequence: people mistype.
const FREE_ATTEMPTS: u32 = 3;
/// Failures from one address under any names that have no consequence: many clients may share an address.
const FREE_ATTEMPTS_OF_ADDRESS: u32 = 30;
/// Delay after the first failure that has a consequence; every further failure doubles it.
const FIRST_DELAY: Duration = Duration::from_millis(500);
/// Longest delay.
const MAX_DELAY: Duration = Duration::from_secs(60);
/// Time after which a failure is forgotten.
const MEMORY: Duration = Duration::from_secs(900);
/// Largest number of entries; the oldest one is forgotten first.
const MAX_ENTRIES: usize = 4096;
/// Bytes of a name that are kept.
const MAX_NAME: usize = 48;

/// The failed logins of a server by address and name, and by address alone.
///
/// Each failure after a few free ones doubles the time in which further attempts with the same address and name are
/// rejected without a look at the password. Other addresses are not affected, so that nobody can lock out a user. A
/// successful login forgets the failures of its address and name.
#[derive(Debug, Default)]
pub struct LoginThrottle(Mutex<HashMap<Key, Failures>>);

type Key = (LoginSource, Option<Vec<u8>>);

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    last: Duration,
    until: Duration,
    /// True when a login was rejected since the last failure.
    rejected: bool,
}

fn keys(source: LoginSource, name: &[u8]) -> [(Key, u32); 2] {
    let name = name[..name.len().min(MAX_NAME)].to_ascii_uppercase();
    [((source, Some(name)), FREE_ATTEMPTS), ((source, None), FREE_ATTEMPTS_OF_ADDRESS)]
}

impl LoginThrottle {
    /// True while logins of this address and name are rejected.
    pub fn is_delayed(&self, source: LoginSource, name: &[u8], now: Duration) -> bool {
        let known = lock(&self.0);
        keys(source, name).iter().any(|(key, _)| known.get(key).is_some_and(|failures| now < failures.until))
    }

    /// Notes that a login was rejected; returns true for the first one of a delay.
    pub fn note_rejection(&self, source: LoginSource, name: &[u8], now: Duration) -> bool {
        let mut known = lock(&self.0);
        let mut first = false;
        for (key, _) in keys(source, name) {
            if let Some(failures) = known.get_mut(&key).filter(|failures| now < failures.until) {
                first |= !failures.rejected;
                failures.rejected = true;
            }
        }
        first
    }

    /// Counts a failure.
    pub fn note_failure(&self, source: LoginSource, name: &[u8], now: Duration) {
        if source == LoginSource::Unknown {
            return;
        }
        let mut known = lock(&self.0);
        for (key, free) in keys(source, name) {
            if known.len() >= MAX_ENTRIES && !known.contains_key(&key) {
                known.retain(|_, failures| now < failures.last + MEMORY);
                let oldest =
                    known.iter().min_by_key(|(_, failures)| failures.last).map(|(key, _)| key.clone());
                if let Some(oldest) = oldest.filter(|_| known.len() >= MAX_ENTRIES) {
                    known.remove(&oldest);
                }
            }
            let failures = known.entry(key).or_insert(Failures {
                count: 0,
                last: now,
                until: Duration::ZERO,
                rejected: false,
            });
            if now >= failures.last + MEMORY {
                failures.count = 0;
            }
            failures.count = failures.count.saturating_add(1);
            failures.last = now;
            failures.rejected = false;
            if failures.count >= free {
                let doublings = (failures.count - free).min(16);
                failures.until = now + (FIRST_DELAY * 2_u32.pow(doublings)).min(MAX_DELAY);
            }
        }
    }

    /// Forgets the failures of an address and name after a successful login.
    pub fn note_success(&self, source: LoginSource, name: &[u8]) {
        let mut known = lock(&self.0);
        let [(key, _), _] = keys(source, name);
        known.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn source(last: u8) -> LoginSource {
        LoginSource::Ip(IpAddr::from([192, 0, 2, last]))
    }

    #[test]
    fn delays_grow_per_address_and_name_and_spare_other_addresses() {
        let throttle = LoginThrottle::default();
        let mut now = Duration::ZERO;
        let mut waits = Vec::new();
        for _ in 0..14 {
            let start = now;
            let mut reported = 0;
            while throttle.is_delayed(source(1), b"Alice", now) {
                reported += usize::from(throttle.note_rejection(source(1), b"Alice", now));
                now += Duration::from_millis(100);
            }
            assert_eq!(reported, usize::from(now > start), "one rejection of each delay");
            waits.push(now.saturating_sub(start).as_millis());
            assert!(!throttle.is_delayed(source(2), b"alice", now), "another address");
            throttle.note_failure(source(1), b"alice", now);
        }
        assert_eq!(waits[..6], [0, 0, 0, 500, 1000, 2000]);
        assert_eq!(waits[13], 60_000);
        assert!(!throttle.is_delayed(source(1), b"bob", now), "another name");
        throttle.note_success(source(1), b"ALICE");
        assert!(!throttle.is_delayed(source(1), b"alice", now));
    }

    #[test]
    fn many_names_of_one_address_are_delayed_together_and_memory_is_bounded() {
        let throttle = LoginThrottle::default();
        for number in 0..10_000_u32 {
            throttle.note_failure(source(1), &number.to_be_bytes(), Duration::from_millis(number.into()));
        }
        assert!(throttle.0.lock().unwrap().len() <= MAX_ENTRIES);
        let now = Duration::from_secs(10);
        assert!(throttle.is_delayed(source(1), b"carol", now));
        assert!(!throttle.is_delayed(source(2), b"carol", now));
        assert!(!throttle.is_delayed(source(1), b"carol", now + MAX_DELAY));
    }
}
