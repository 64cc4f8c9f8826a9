//! The window of a load: when its users start, when counting begins, and when both end.

/// The measured part of a step, in nanoseconds of the engine's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// The instant at which the first users may begin their warm-up.
    pub start: u64,
    /// The instant at which counting begins.
    pub measure: u64,
    /// The instant at which counting ends and users stop to start transactions.
    pub end: u64,
}

impl Window {
    /// The time before, between and after windows: nothing that ends in it is measured.
    pub const NONE: Self = Self { start: u64::MAX, measure: u64::MAX, end: u64::MAX };

    /// True for [`Self::NONE`].
    pub fn is_none(self) -> bool {
        self.end == u64::MAX
    }

    /// True if what ends at `instant` counts in this window.
    #[inline]
    pub fn measures(self, instant: u64) -> bool {
        instant >= self.measure && instant < self.end
    }

    /// The part of a time that lies in the measured part, in nanoseconds.
    pub fn overlap(self, from: u64, to: u64) -> u64 {
        to.min(self.end).saturating_sub(from.max(self.measure))
    }
}
