//! Signals that stop a run or a server: SIGINT (Ctrl-C), SIGTERM of the system or a launcher, and SIGHUP of a closed
//! terminal; on Windows its control events.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use crate::exit::Failure;
use crate::live::restore_terminal;
use crate::output::message;

#[cfg(unix)]
use unix::{exit_stopped, monotonic_ms, register};
#[cfg(windows)]
use windows::{exit_stopped, monotonic_ms, register};

/// Signals that arrive within this time count as one: timeout(1) signals the process and then its group, and terminals
/// and launchers do the same. Nobody who gives up a run is faster.
const SAME_REQUEST: Duration = Duration::from_secs(1);
/// Longest time that the main thread has after the second signal to store the end of the run and to print what is left.
const GRACE: Duration = Duration::from_secs(3);
/// Longest time for the last message: the terminal may be stopped, and its reader may be gone.
const LAST_MESSAGE: Duration = Duration::from_millis(500);

/// The signals of this process.
///
/// The signal handlers only add to a counter and wake a thread, so they work while everything else hangs. They are
/// registered once per process; [`Interrupts::catch`] resets the counter for a new run. While the run measures, the
/// first signal is a request that the main thread passes to the engine, and a server passes it to its threads. In every
/// other state (while a run is prepared and after it) the process ends at the first signal, because nothing is on the
/// targets. At the second signal the process ends in every state: a server at once, and a run when the main thread has
/// not ended it within [`GRACE`].
#[derive(Debug, Clone, Default)]
pub struct Interrupts(Arc<State>);

#[derive(Debug, Default)]
struct State {
    count: AtomicUsize,
    /// Milliseconds of the monotonic clock at the last signal that counted; 0 before the first one.
    last_ms: AtomicU64,
    terminated: AtomicBool,
    /// One of the constants of [`phase`].
    phase: AtomicU8,
    /// Wakes a main thread that waits for a signal.
    arrived: (Mutex<()>, Condvar),
}

/// Who reacts to a signal.
mod phase {
    /// The process ends at the first signal.
    pub const IDLE: u8 = 0;
    /// The main thread reacts to the first signal, and has some time at the second one.
    pub const MEASURING: u8 = 1;
    /// The main thread reacts to the first signal. The process ends at the second one.
    pub const SERVING: u8 = 2;
}

/// The time in which the first signal is left to the main thread; it ends when this is dropped.
#[derive(Debug)]
pub struct Phase(Arc<State>);

impl Drop for Phase {
    fn drop(&mut self) {
        self.0.phase.store(phase::IDLE, Ordering::SeqCst);
    }
}

impl Interrupts {
    /// Counts signals from now on. An ignored SIGHUP stays ignored, as `nohup` requires.
    pub fn catch() -> Result<Self, Failure> {
        static REGISTERED: OnceLock<Interrupts> = OnceLock::new();
        if let Some(known) = REGISTERED.get() {
            known.0.reset();
            return Ok(known.clone());
        }
        let interrupts = Self::default();
        interrupts.register()?;
        Ok(REGISTERED.get_or_init(|| interrupts).clone())
    }

    fn register(&self) -> Result<(), Failure> {
        let (reader, writer) = std::io::pipe()?;
        register(&self.0, writer)?;
        let state = Arc::clone(&self.0);
        std::thread::Builder::new().name("signals".into()).spawn(move || react(reader, &state))?;
        Ok(())
    }

    /// Marks the time in which a run may leave something on its targets.
    pub fn measuring(&self) -> Phase {
        self.enter(phase::MEASURING)
    }

    /// Marks the time in which a server runs and stops.
    pub fn serving(&self) -> Phase {
        self.enter(phase::SERVING)
    }

    fn enter(&self, phase: u8) -> Phase {
        self.0.phase.store(phase, Ordering::SeqCst);
        Phase(Arc::clone(&self.0))
    }

    /// Waits for the first signal.
    pub fn wait(&self) {
        let (lock, arrived) = &self.0.arrived;
        let mut guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        while self.count() == 0 {
            guard = arrived.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Counts a key of the live view as an interrupt.
    pub fn press(&self) {
        self.0.add(monotonic_ms());
    }

    /// Number of requests by signals and keys so far.
    pub fn count(&self) -> usize {
        self.0.count.load(Ordering::SeqCst)
    }

    /// True after a SIGTERM, which launchers send to the remaining ranks of a failed run.
    pub fn by_system(&self) -> bool {
        self.0.terminated.load(Ordering::Relaxed)
    }
}

impl State {
    fn reset(&self) {
        self.count.store(0, Ordering::SeqCst);
        self.last_ms.store(0, Ordering::SeqCst);
        self.terminated.store(false, Ordering::Relaxed);
    }

    /// Counts a signal at this time, unless it belongs to the one before.
    fn add(&self, now_ms: u64) {
        let last_ms = self.last_ms.load(Ordering::SeqCst);
        if last_ms == 0 || now_ms.saturating_sub(last_ms) >= SAME_REQUEST.as_millis() as u64 {
            self.last_ms.store(now_ms.max(1), Ordering::SeqCst);
            self.count.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Ends the process where the main thread does not.
fn react(mut signals: impl Read, state: &State) {
    let mut byte = [0];
    while signals.read_exact(&mut byte).is_ok() {
        let phase = state.phase.load(Ordering::SeqCst);
        let is_second = state.count.load(Ordering::SeqCst) >= 2;
        match phase {
            phase::SERVING if is_second => end("stopped at the second signal"),
            phase::MEASURING if is_second => {
                std::thread::sleep(GRACE);
                end("stopped at the second signal; sharebench clean removes what is left on the targets");
            }
            phase::SERVING | phase::MEASURING => {}
            _ => end("stopped; nothing is on the targets"),
        }
        // Under the lock, so that a main thread between its check and its wait does not miss it.
        let _guard = state.arrived.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.arrived.1.notify_all();
    }
}

/// Ends the process with a message that may get lost.
fn end(text: &'static str) -> ! {
    let (done, written) = mpsc::channel();
    // Another thread may hold the lock of standard error, or the terminal may be stopped.
    let printer = std::thread::Builder::new().spawn(move || {
        restore_terminal();
        message(text);
        let _ = done.send(());
    });
    if printer.is_ok() {
        let _ = written.recv_timeout(LAST_MESSAGE);
    }
    exit_stopped()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_within_a_second_count_as_one_request() {
        let state = State::default();
        for (at_ms, count) in [(5_000, 1), (5_003, 1), (5_999, 1), (6_000, 2), (6_500, 2), (7_100, 3)] {
            state.add(at_ms);
            assert_eq!(state.count.load(Ordering::SeqCst), count, "{at_ms}");
        }
        state.reset();
        state.add(7_200);
        assert_eq!(state.count.load(Ordering::SeqCst), 1);
    }
}
