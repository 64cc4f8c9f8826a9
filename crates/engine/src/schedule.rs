//! The schedule of an open load: when transactions are to start, whatever the target does.

use std::sync::{Mutex, PoisonError};

use sharebench_model::Random;
use sharebench_plan::Pace;

use crate::motor::Window;

/// Intended starts, in order, each given to one motor of the step.
///
/// A motor that is free claims the next start and waits for it, so that starts are served in order by
/// whichever motor is free first. The lock is held for one draw, between transactions, never within one.
#[derive(Debug)]
pub(crate) struct Schedule {
    pace: Pace,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: Random,
    /// Sum of the gaps drawn so far: exact to far less than 1 ns for weeks.
    offset_ns: f64,
    claimed: bool,
}

impl Schedule {
    /// The schedule of one step, decided by its seed.
    pub fn new(pace: Pace, seed: u64) -> Self {
        let random = Random::new(seed, 0xA221);
        Self { pace, state: Mutex::new(State { random, offset_ns: 0.0, claimed: true }) }
    }

    /// Begins anew with the next window, with gaps not drawn before.
    pub fn restart(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.offset_ns, state.claimed) = (0.0, true);
    }

    /// The next intended start within the window; none when there is no more, or when the load is closed.
    pub fn claim(&self, window: Window) -> Option<u64> {
        if let Pace::Closed(_) = self.pace {
            return None;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.claimed {
            let gap = self.pace.draw(&mut state.random);
            state.offset_ns += gap;
        }
        let intended = window.start + state.offset_ns.round() as u64;
        state.claimed = intended < window.end;
        state.claimed.then_some(intended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { start: 1_000, measure: 1_000, end: 1_000 + 1_000_000_000 };

    fn starts(poisson: bool) -> Vec<u64> {
        let schedule = Schedule::new(Pace::Open { poisson, rate: 3 }, 9);
        let starts: Vec<u64> = std::iter::from_fn(|| schedule.claim(WINDOW)).collect();
        assert_eq!(schedule.claim(WINDOW), None, "the end stays the end");
        schedule.restart();
        assert_eq!(schedule.claim(WINDOW).is_some_and(|next| next == starts[0]), !poisson, "new gaps");
        starts
    }

    #[test]
    fn constant_gaps_do_not_drift() {
        assert_eq!(starts(false), [333_334_333, 666_667_667]);
    }

    #[test]
    fn a_seed_repeats_a_poisson_schedule() {
        assert_eq!(starts(true), starts(true));
    }
}
