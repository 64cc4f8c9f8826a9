//! The time of the last write of a file while it is open: at once, or delayed as on older servers.
//!
//! Windows Server 2019 and Samba 4.23 report the time of a write at once, which is what the volume stores. Windows Server
//! 2016, and Samba up to 4.22, report the first write of an open file 2 s later, and further ones when the file is closed.
//! Only what SMB clients see is delayed: the volume, and so the other protocols, have the time of every write.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Time from the first write of an open file until it is reported.
const DELAY: Duration = Duration::from_secs(2);

/// When SMB clients see the time of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteTimes {
    /// With the next request, as on Windows Server 2019.
    #[default]
    AtOnce,
    /// The first write after 2 s, a flush or a change of size or attributes; further ones at the close, as on Windows
    /// Server 2016.
    Delayed,
}

#[derive(Debug, Clone, Copy, Default)]
enum State {
    /// Clients see what the volume has.
    #[default]
    Current,
    /// Clients see the time before the first write.
    Pending { shown: SystemTime, until: Instant },
    /// Clients see the time of the first write until the file is closed.
    Settled { shown: SystemTime, written: bool },
}

/// What clients see of the time of the last write of an open file.
#[derive(Debug, Default)]
pub(crate) struct ShownWriteTime {
    /// True unless the state is `Current`, so that queries of other files need no lock.
    held: AtomicBool,
    state: Mutex<State>,
}

impl ShownWriteTime {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prepares a write. `modified` returns the time that the volume has before it.
    pub(crate) fn begin_write<E>(
        &self,
        now: Instant,
        modified: impl FnOnce() -> Result<SystemTime, E>,
    ) -> Result<(), E> {
        let mut state = self.state();
        match &mut *state {
            State::Pending { until, .. } if now < *until => {}
            State::Settled { written, .. } => *written = true,
            State::Pending { .. } => *state = State::Settled { shown: modified()?, written: true },
            State::Current => *state = State::Pending { shown: modified()?, until: now + DELAY },
        }
        self.held.store(true, Ordering::Release);
        Ok(())
    }

    /// The time that clients see when the volume has `modified`.
    pub(crate) fn shown(&self, now: Instant, modified: SystemTime) -> SystemTime {
        if !self.held.load(Ordering::Acquire) {
            return modified;
        }
        let mut state = self.state();
        match *state {
            State::Current => modified,
            State::Pending { shown, until } if now < until => shown,
            State::Pending { .. } => {
                *state = State::Settled { shown: modified, written: false };
                modified
            }
            State::Settled { shown, .. } => shown,
        }
    }

    /// Reports all writes from now on. True if writes were held back until a close, which sets the time itself.
    pub(crate) fn release(&self) -> bool {
        if !self.held.load(Ordering::Acquire) {
            return false;
        }
        let mut state = self.state();
        self.held.store(false, Ordering::Release);
        matches!(std::mem::take(&mut *state), State::Settled { written: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use super::{DELAY, ShownWriteTime};

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn write(time: &ShownWriteTime, now: Instant, before: u64) {
        time.begin_write::<Infallible>(now, || Ok(at(before))).unwrap();
    }

    #[test]
    fn the_first_write_is_reported_after_the_delay_and_the_second_at_the_close() {
        let time = ShownWriteTime::default();
        let start = Instant::now();
        assert_eq!(time.shown(start, at(1)), at(1));
        write(&time, start, 1);
        assert_eq!(time.shown(start + DELAY / 2, at(5)), at(1));
        assert_eq!(time.shown(start + DELAY, at(5)), at(5));
        write(&time, start + DELAY * 2, 5);
        assert_eq!(time.shown(start + DELAY * 9, at(7)), at(5));
        assert!(time.release());
        assert_eq!(time.shown(start + DELAY * 9, at(9)), at(9));
        assert!(!time.release());
    }

    #[test]
    fn a_write_after_the_delay_keeps_the_time_of_the_first_one() {
        let time = ShownWriteTime::default();
        let start = Instant::now();
        write(&time, start, 1);
        write(&time, start + DELAY, 5);
        assert_eq!(time.shown(start + DELAY, at(7)), at(5));
    }

    #[test]
    fn a_flush_reports_the_write() {
        let time = ShownWriteTime::default();
        let start = Instant::now();
        write(&time, start, 1);
        assert!(!time.release(), "the volume has the time of this write");
        assert_eq!(time.shown(start, at(5)), at(5));
    }
}
