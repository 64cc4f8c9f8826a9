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
