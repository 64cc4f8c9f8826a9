//! Why a run could not start.

use sharebench_model::OpError;
use sharebench_model::units::show_size;
use sharebench_target::ConnectError;

/// The reason why a run could not start. Nothing was measured, and nothing is left on any target.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StartError {
    /// A target cannot be reached or refused us.
    #[error("{0}")]
    Connect(#[from] ConnectError),
    /// Our directory cannot be created, or the free space cannot be queried.
    #[error("{target}: cannot prepare {directory}: {error}")]
    Prepare {
        /// Name of the target.
        target: String,
        /// The directory that was to be made.
        directory: String,
        /// The error of the target.
        error: OpError,
    },
    /// The target cannot be surveyed.
    #[error("{target}: {error}")]
    Survey {
        /// Name of the target.
        target: String,
        /// The error of the target.
        error: OpError,
    },
    /// The target has too little free space.
    #[error(
        "{target}: not enough space: the plan needs {}, but only {} are free; use smaller files or fewer users",
        show_size(*needed),
        show_size(*available)
    )]
    NoSpace {
        /// Name of the target.
        target: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
    /// The plan requires more than the target can do.
    #[error("{target}: {problem}")]
    Beyond {
        /// Name of the target.
        target: String,
        /// What exceeds the target's capabilities, and what would not.
        problem: String,
    },
    /// Other ranks cannot continue; each is named.
    #[error("{0}")]
    Ranks(String),
    /// The stop signal arrived while the targets were being connected.
    #[error("stopped before the first step")]
    Stopped,
    /// The engine's own machinery failed.
    #[error("cannot start the engine: {0}")]
    Runtime(String),
}
