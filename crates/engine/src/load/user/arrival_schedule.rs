//! The schedule of an open load: the instants at which transactions start, independent of the target.

use std::sync::{Mutex, PoisonError};

use sharebench_model::Random;
use sharebench_plan::Pace;

use crate::time::window::Window;

/// Intended starts, in order, each given to one user of the step.
///
/// A user that is free claims the next start and waits for it, so that starts are served in order by
/// whichever user is free first. The lock is held for one draw, between transactions, never within one.
#[derive(Debug)]
pub(crate) struct ArrivalSchedule {
    pace: Pace,
    /// Which of several ranks serves each start, in turn, and which one this is; every rank draws the same starts.
    ranks: Vec<u32>,
    own: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: Random,
    /// Sum of the gaps drawn so far: exact to far less than 1 ns for weeks.
    offset_ns: f64,
    claimed: bool,
    /// Starts drawn in this window.
    drawn: usize,
}

impl ArrivalSchedule {
    /// The schedule of one step, decided by its seed. Several ranks serve it together: start after start goes to the
    /// ranks in `turns`, over and over, and `own` is the one asking; a process that is alone gives no turns.
    pub fn new(pace: Pace, seed: u64, ranks: Vec<u32>, own: u32) -> Self {
        let random = Random::new(seed, 0xA221);
        let state = State { random, offset_ns: 0.0, claimed: true, drawn: 0 };
        Self { pace, ranks, own, state: Mutex::new(state) }
    }

    /// Starts again for the next window, with gaps that were not drawn before.
    pub fn restart(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.offset_ns, state.claimed, state.drawn) = (0.0, true, 0);
    }

    /// The next intended start within the window; none when there is no more, or when the load is closed.
    pub fn claim(&self, window: Window) -> Option<u64> {
        if let Pace::Closed(_) = self.pace {
            return None;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut due = window.start + state.offset_ns.round() as u64;
        let mut wanted = state.claimed;
        while wanted {
            // Every rank draws all gaps and takes only its own starts, so that all ranks together start what one
            // process would (docs/design/several-machines.md).
            let gap = self.pace.draw(&mut state.random);
            state.offset_ns += gap;
            due = window.start + state.offset_ns.round() as u64;
            wanted = !self.is_own(state.drawn) && due < window.end;
            state.drawn += 1;
        }
        let intended = due;
        // A start after the end stays unclaimed, so that nothing of the schedule is lost if the same window
        // claims again.
        state.claimed = intended < window.end;
        state.claimed.then_some(intended)
    }

    fn is_own(&self, start: usize) -> bool {
        self.ranks.is_empty() || self.ranks[start % self.ranks.len()] == self.own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { start: 1_000, measure: 1_000, end: 1_000 + 1_000_000_000 };

    fn starts(poisson: bool) -> Vec<u64> {
        let schedule = ArrivalSchedule::new(Pace::Open { poisson, rate: 3 }, 9, Vec::new(), 0);
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
    fn ranks_serve_every_start_of_one_schedule_once() {
        for poisson in [false, true] {
            let pace = Pace::Open { poisson, rate: 200 };
            let starts = |schedule: ArrivalSchedule| {
                std::iter::from_fn(move || schedule.claim(WINDOW)).collect::<Vec<_>>()
            };
            let whole = starts(ArrivalSchedule::new(pace.clone(), 5, Vec::new(), 0));
            let part = |own| starts(ArrivalSchedule::new(pace.clone(), 5, vec![0, 1, 2, 0], own));
            let mut parts = [part(0), part(1), part(2)].concat();
            assert!(part(3).is_empty(), "a rank without users serves nothing");
            parts.sort_unstable();
            assert_eq!(parts, whole);
        }
    }

    #[test]
    fn a_seed_repeats_a_poisson_schedule() {
        assert_eq!(starts(true), starts(true));
    }
}
