//! Timers of a thread: a second thread waits for an alarm of the system and wakes the tasks of the first.
//!
//! One alarm is set for the earliest wait and wakes every wait that is due or nearly due, as on Linux. A wake-up from
//! another thread costs one more switch of threads than a timer that the runtime watches.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Waker};
use std::thread;
use std::time::Instant;

use super::NEAR_NS;
use crate::system::Alarm;

thread_local! {
    static TIMERS: RefCell<Option<Timers>> = const { RefCell::new(None) };
}

/// One wait with a resolution of nanoseconds.
#[derive(Debug)]
pub(crate) struct FineTimer {
    key: Key,
    shared: Arc<Shared>,
}

/// The end of a wait in nanoseconds since the first one of the process, and a number that distinguishes waits with the
/// same end.
type Key = (u64, u64);

impl FineTimer {
    /// Fires `nanos` from now on.
    pub fn after(nanos: u64) -> io::Result<Self> {
        TIMERS.with_borrow_mut(|timers| {
            let timers = match timers {
                Some(timers) => timers,
                None => timers.insert(Timers::start()?),
            };
            let shared = Arc::clone(&timers.shared);
            let key = shared.queue().add(now().saturating_add(nanos), &shared.alarm)?;
            Ok(Self { key, shared })
        })
    }

    /// True once it has fired, at most [`NEAR_NS`] early.
    pub fn poll_fired(&self, cx: &Context<'_>) -> bool {
        match self.shared.queue().waits.get_mut(&self.key) {
            Some(waiting) => {
                waiting.clone_from(cx.waker());
                false
            }
            None => true,
        }
    }
}

impl Drop for FineTimer {
    fn drop(&mut self) {
        self.shared.queue().waits.remove(&self.key);
    }
}

/// The timers of a thread; dropping them ends the thread that waits.
#[derive(Debug)]
struct Timers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    alarm: Alarm,
}

#[derive(Debug)]
struct Queue {
    waits: BTreeMap<Key, Waker>,
    number: u64,
    /// The instant for which the alarm is set; the largest value while it is not set.
    set: u64,
    ends: bool,
}

impl Timers {
    fn start() -> io::Result<Self> {
        let queue = Queue { waits: BTreeMap::new(), number: 0, set: u64::MAX, ends: false };
        let shared = Arc::new(Shared { queue: Mutex::new(queue), alarm: Alarm::new()? });
        let theirs = Arc::clone(&shared);
        thread::Builder::new().name("timer".into()).spawn(move || theirs.run())?;
        Ok(Self { shared })
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.shared.queue().ends = true;
        // If it cannot be set, the thread stays until the process ends.
        let _ = self.shared.alarm.set(0);
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            self.alarm.wait();
            let due = {
                let mut queue = self.queue();
                if queue.ends {
                    return;
                }
                queue.fire(&self.alarm)
            };
            // Without the lock, because a task that wakes may set the next timer at once.
            due.into_iter().for_each(Waker::wake);
        }
    }
}

impl Queue {
    fn add(&mut self, until: u64, alarm: &Alarm) -> io::Result<Key> {
        // Only an earlier wait costs a system call; later ones are found when the alarm rings.
        if until < self.set {
            self.set_for(until, alarm)?;
        }
        self.number += 1;
        let key = (until, self.number);
        self.waits.insert(key, Waker::noop().clone());
        Ok(key)
    }

    fn set_for(&mut self, until: u64, alarm: &Alarm) -> io::Result<()> {
        alarm.set(until.saturating_sub(now()))?;
        self.set = until;
        Ok(())
    }

    /// Removes every wait that is due or nearly due, and sets the alarm for the next one.
    fn fire(&mut self, alarm: &Alarm) -> Vec<Waker> {
        let later = self.waits.split_off(&(now() + NEAR_NS + 1, 0));
        let mut due: Vec<Waker> = std::mem::replace(&mut self.waits, later).into_values().collect();
        self.set = u64::MAX;
        if let Some(((until, _), _)) = self.waits.first_key_value()
            && self.set_for(*until, alarm).is_err()
        {
            // Without an alarm every wait is woken; each reads the clock and waits in another way.
            due.extend(std::mem::take(&mut self.waits).into_values());
        }
        due
    }
}

/// Nanoseconds since the first call in this process.
fn now() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
