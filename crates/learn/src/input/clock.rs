//! The time of inputs.

/// A step of the clock that is counted; packets of several interfaces may be out of order by less, ns.
const CLOCK_STEP: u64 = 1_000_000;
/// The time of packets, which never runs backwards.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Of the first packet, ns since 1970.
    pub(super) first: Option<u64>,
    /// What is added since the clock stepped back, ns.
    offset: u64,
    /// Since the first packet, ns.
    pub(super) now: u64,
    pub(super) steps: u64,
    /// Times are without a zone, or a year: their start is no wall clock.
    pub(super) is_local: bool,
}

impl Clock {
    /// The time of a packet since the first one.
    pub(super) fn advance(&mut self, time: u64) -> u64 {
        self.advance_within(time, CLOCK_STEP)
    }

    /// The same for lines that may be out of order by less than `disorder`, ns.
    pub(super) fn advance_within(&mut self, time: u64, disorder: u64) -> u64 {
        let first = *self.first.get_or_insert(time);
        let at = time.saturating_add(self.offset).saturating_sub(first);
        if at < self.now {
            let back = self.now - at;
            if back > disorder {
                self.steps += 1;
                self.offset = self
                    .offset
                    .saturating_add(self.now.saturating_add(first).saturating_sub(time + self.offset));
            }
            return self.now;
        }
        self.now = at;
        at
    }
}
