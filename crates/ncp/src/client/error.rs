//! Errors of client calls.

use crate::wire::{Completion, WireError};

/// A failed call, with the step that failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The transport failed, or no reply arrived before the deadline.
    #[error("{step}: {source}")]
    Io {
        /// The step.
        step: &'static str,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// A malformed packet, or a value that no packet can carry.
    #[error("{step}: {source}")]
    Wire {
        /// The step.
        step: &'static str,
        /// The violated rule.
        #[source]
        source: WireError,
    },
    /// The server refused the request.
    #[error("{step}: {completion}")]
    Refused {
        /// The step.
        step: &'static str,
        /// The server's completion code.
        completion: Completion,
    },
    /// The server no longer has this connection.
    #[error("{step}: the server has dropped the connection")]
    ConnectionLost {
        /// The step.
        step: &'static str,
    },
    /// A reply with a wrong signature: it was modified in transit, or the two sides have different passwords.
    #[error("{step}: the reply has a wrong signature")]
    BadSignature {
        /// The step.
        step: &'static str,
    },
    /// The server aborted a burst.
    #[error("{step}: the server aborted the burst")]
    BurstAborted {
        /// The step.
        step: &'static str,
    },
    /// The options require signatures, but the server does not support them.
    #[error("{step}: the server does not support packet signatures")]
    SignaturesUnavailable {
        /// The step.
        step: &'static str,
    },
    /// The options require checksums, but the server or the transport does not support them.
    #[error("{step}: the connection does not support IPX checksums")]
    ChecksumsUnavailable {
        /// The step.
        step: &'static str,
    },
    /// An offset beyond the range of the calls that the server supports.
    #[error("{step}: offset {offset} exceeds the 32-bit offsets of this server")]
    OffsetTooLarge {
        /// The step.
        step: &'static str,
        /// The offset in bytes.
        offset: u64,
    },
}
