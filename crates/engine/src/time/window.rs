//! The window of a load: when its users start, when counting begins, and when both end.

/// The measured part of a step, in nanoseconds of the engine's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// When users may begin.
    pub start: u64,
    /// When measuring begins.
    pub measure: u64,
    /// When everything ends.
    pub end: u64,
}
