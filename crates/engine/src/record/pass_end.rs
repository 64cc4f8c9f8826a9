//! Why a step ended before its end.

use sharebench_model::OpError;

/// A failure that ends the step: the target cannot be used any longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PassEnd {
    /// The user asked to stop.
    #[error("stopped")]
    Stopped,
    /// The target failed for good.
    #[error(transparent)]
    Lost(#[from] OpError),
    /// The user's own command between steps failed.
    #[error("{0}")]
    Hook(String),
    /// Our own machinery failed; what was measured is not to be trusted.
    #[error("{0}")]
    Broken(String),
}
