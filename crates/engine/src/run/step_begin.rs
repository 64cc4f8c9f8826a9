//! When a step began, and how much of its time no window includes.

use crate::record::tally::Tally;
use crate::time::clock::Clock;

/// The start of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepBegin {
    /// Milliseconds since 1970.
    pub unix_ms: u64,
    now_ns: u64,
}

impl StepBegin {
    /// A step that begins now.
    pub fn now(clock: &Clock) -> Self {
        Self { unix_ms: clock.unix_ms(), now_ns: clock.now() }
    }

    /// Milliseconds of the step so far, less its window in `tally` and the `waited_ns` in which other targets had the turn.
    pub fn unmeasured_ms(self, clock: &Clock, waited_ns: u64, tally: &Tally) -> u32 {
        let own_ns = (clock.now() - self.now_ns).saturating_sub(waited_ns);
        let measured_ns = tally.window_ns.max(tally.busy_ns);
        u32::try_from(own_ns.saturating_sub(measured_ns) / 1_000_000).unwrap_or(u32::MAX)
    }
}
