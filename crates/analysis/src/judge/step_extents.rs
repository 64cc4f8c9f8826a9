//! When the steps of a run were measured, as far as the starts and windows of all of them show it.

use std::collections::HashMap;

use sharebench_model::{Coordinates, StepResult};

/// The steps of one repetition of a cell, on all targets.
struct Repetition {
    first_start_ms: u64,
    last_start_ms: u64,
    own_ms: u64,
    /// True if one step started within the window of another: the targets took turns.
    has_turns: bool,
}

impl Repetition {
    fn from_steps(steps: &[&StepResult]) -> Self {
        let starts = || steps.iter().map(|step| step.started_unix_ms);
        let first = starts().min().unwrap_or(0);
        let last = starts().max().unwrap_or(0);
        Self {
            first_start_ms: first,
            last_start_ms: last,
            own_ms: steps.iter().map(|step| own_ms(step)).sum(),
            // Starts are rounded to milliseconds.
            has_turns: steps.len() > 1
                && (first == last
                    || steps.iter().any(|step| {
                        step.started_unix_ms < last
                            && step.started_unix_ms + step.measure.window_ns / 1_000_000 > last + 1
                    })),
        }
    }
}

/// Time that a step took itself.
fn own_ms(step: &StepResult) -> u64 {
    step.measure.window_ns.max(step.measure.busy_ns) / 1_000_000 + u64::from(step.unmeasured_ms)
}

/// The times in which the steps of a run were measured.
pub(super) struct StepExtents<'a> {
    repetitions: HashMap<(&'a Coordinates, u32), Repetition>,
    /// Starts after which something else is measured, in rising order.
    begins: Vec<u64>,
}

impl<'a> StepExtents<'a> {
    pub(super) fn new(steps: &'a [StepResult]) -> Self {
        let mut groups: HashMap<(&Coordinates, u32), Vec<&StepResult>> = HashMap::new();
        for step in steps {
            groups.entry((&step.coordinates, step.repetition)).or_default().push(step);
        }
        let repetitions: HashMap<_, Repetition> =
            groups.into_iter().map(|(key, steps)| (key, Repetition::from_steps(&steps))).collect();
        // Where targets take turns, the start of one says nothing about the end of the other.
        let mut begins: Vec<u64> = if repetitions.values().any(|repetition| repetition.has_turns) {
            repetitions.values().map(|repetition| repetition.first_start_ms).collect()
        } else {
            steps.iter().map(|step| step.started_unix_ms).collect()
        };
        begins.sort_unstable();
        begins.dedup();
        Self { repetitions, begins }
    }

    /// The start of the first step, milliseconds since 1970; none if all start at once.
    pub(super) fn first_ms(&self) -> Option<u64> {
        self.begins.first().copied().filter(|_| self.begins.len() > 1)
    }

    /// The time within which a step was measured, its preparation and the turns of other targets included: its start and end,
    /// milliseconds since 1970.
    pub(super) fn between(&self, step: &StepResult) -> (u64, u64) {
        let own = (step.started_unix_ms, step.started_unix_ms + own_ms(step));
        let Some(repetition) = self.repetitions.get(&(&step.coordinates, step.repetition)) else {
            return own;
        };
        // Targets that take turns are all prepared before the first of them is measured.
        let (from, least) = if repetition.has_turns {
            (repetition.last_start_ms, repetition.last_start_ms + repetition.own_ms)
        } else {
            own
        };
        let next = self.begins.partition_point(|begin| *begin <= step.started_unix_ms.max(from));
        (from, self.begins.get(next).map_or(least, |next| (*next).max(own.1)))
    }
}
