//! Failures of operations: their class, their step and what was found.

use serde::{Deserialize, Serialize};

use crate::OpStep;

/// The class of a failed operation. Failures are recorded as data and never stop the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorClass {
    /// Access denied, wrong credentials, export not permitted.
    Refused,
    /// Name, share or export does not exist.
    NotFound,
    /// Name exists already.
    Exists,
    /// Directory not empty.
    NotEmpty,
    /// No space or quota left.
    NoSpace,
    /// File system or share is read-only.
    ReadOnly,
    /// Handle no longer known to the server.
    Stale,
    /// Locked, in use, sharing violation, or the server requests a later retry.
    Busy,
    /// No reply within the deadline.
    Timeout,
    /// Connection refused, reset or closed.
    Disconnected,
    /// The peer broke the protocol.
    Protocol,
    /// Bytes read are not the bytes written.
    DataMismatch,
    /// The target cannot do this.
    Unsupported,
    /// Any other failure the server or system reported.
    Io,
}

impl ErrorClass {
    /// The class as users read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::NotFound => "not found",
            Self::Exists => "exists",
            Self::NotEmpty => "not empty",
            Self::NoSpace => "no space",
            Self::ReadOnly => "read-only",
            Self::Stale => "stale handle",
            Self::Busy => "busy",
            Self::Timeout => "timeout",
            Self::Disconnected => "disconnected",
            Self::Protocol => "protocol",
            Self::DataMismatch => "data mismatch",
            Self::Unsupported => "unsupported",
            Self::Io => "i/o",
        }
    }
}

impl ErrorClass {
    /// True if no later operation on the connection can be expected to succeed.
    pub const fn ends_connection(self) -> bool {
        matches!(self, Self::Timeout | Self::Disconnected)
    }
}

impl std::fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A failed operation: its class, the step that failed and the peer's own words or code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{step}: {class} ({detail})")]
pub struct OpError {
    /// For counting and for exit codes.
    pub class: ErrorClass,
    /// Which request or call failed, such as `READ` or `pread`.
    pub step: OpStep,
    /// Status name or code as the peer gave it, such as `NFS3ERR_STALE` or `errno 28 ENOSPC`.
    pub detail: String,
}

impl OpError {
    /// An error of `class` met in `step`.
    pub fn new(class: ErrorClass, step: OpStep, detail: impl Into<String>) -> Self {
        Self { class, step, detail: detail.into() }
    }

    /// There is no session to perform the operation on.
    #[cold]
    pub fn no_session() -> Self {
        Self::new(ErrorClass::Disconnected, OpStep::Session, "no session")
    }

    /// The file is closed, or belongs to another session.
    #[cold]
    pub fn not_open() -> Self {
        Self::new(ErrorClass::Stale, OpStep::OpenFile, "the file is not open in this session")
    }

    /// The session's table of open files is full.
    #[cold]
    pub fn too_many_open_files() -> Self {
        Self::new(ErrorClass::Unsupported, OpStep::OpenFile, "too many open files")
    }

    /// The slot already has an operation in flight, or the session has no such slot.
    #[cold]
    pub fn slot_not_idle() -> Self {
        Self::new(ErrorClass::Busy, OpStep::Submit, "the slot is in flight or does not exist")
    }

    /// A session performs the operation alone ([`crate::MetaOp::can_overlap`]).
    #[cold]
    pub fn cannot_overlap() -> Self {
        Self::unsupported("a session performs this operation alone")
    }

    /// The protocol has no hard links, or the client does not make them.
    #[cold]
    pub fn no_links() -> Self {
        Self::unsupported("this client makes no hard links")
    }

    /// The client cannot set times.
    #[cold]
    pub fn no_set_times() -> Self {
        Self::unsupported("this client does not set times")
    }

    /// A server returned that it had copied more than it was to copy.
    #[cold]
    pub fn copied_too_much(request: &'static str, copied: u64, requested: u64) -> Self {
        let detail = format!("{copied} bytes were copied where {requested} were requested");
        Self::new(ErrorClass::Protocol, OpStep::Request(request), detail)
    }

    /// The protocol, or the client, cannot perform the operation.
    #[cold]
    pub fn unsupported(detail: impl Into<String>) -> Self {
        Self::new(ErrorClass::Unsupported, OpStep::Submit, detail)
    }

    /// The directory is not watched, or another one of the session is.
    #[cold]
    pub fn not_watched(detail: &str) -> Self {
        Self::new(ErrorClass::Busy, OpStep::Submit, detail)
    }

    /// The session has no right to cache the file.
    #[cold]
    pub fn no_right() -> Self {
        Self::new(ErrorClass::Stale, OpStep::Submit, "the session has no right to cache the file")
    }

    /// The session has no open semaphore.
    #[cold]
    pub fn no_open_semaphore() -> Self {
        Self::new(ErrorClass::Stale, OpStep::Submit, "the session has no open semaphore")
    }
}
