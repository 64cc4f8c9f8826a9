//! Precise waiting until an instant.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static PRECISE: Cell<bool> = const { Cell::new(false) };
}

/// Returns at or after `due`: sleeps, and spins for the last `spin` of the wait.
pub(super) fn wait_until(due: Instant, spin: Duration) {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        match left.checked_sub(spin) {
            Some(sleep) if !sleep.is_zero() => {
                be_precise();
                std::thread::sleep(sleep);
            }
            _ => std::hint::spin_loop(),
        }
    }
}

/// Makes the wake-ups of this thread precise; once per thread. If it fails, wake-ups are late, and the log shows it.
fn be_precise() {
    if !PRECISE.replace(true) {
        crate::system::be_precise();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::wait_until;

    #[test]
    fn never_returns_early() {
        for spin in [Duration::ZERO, Duration::from_micros(200)] {
            for wait in [0, 50, 300, 2_000] {
                let due = Instant::now() + Duration::from_micros(wait);
                wait_until(due, spin);
                assert!(Instant::now() >= due);
            }
        }
    }
}
