//! Why a call did not succeed.

use crate::wire::{Completion, WireError};

/// A failure, with the step that failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The transport failed, or nothing came before the deadline.
    #[error("{step}: {source}")]
    Io {
        /// What was being done.
        step: &'static str,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// A packet that is none, or a value that fits into none.
    #[error("{step}: {source}")]
    Wire {
        /// What was being done.
        step: &'static str,
        /// What is wrong with it.
        #[source]
        source: WireError,
    },
    /// The server refused.
    #[error("{step}: {completion}")]
    Refused {
        /// What was being done.
        step: &'static str,
        /// What the server says.
        completion: Completion,
    },
    /// The server knows this connection no more.
    #[error("{step}: the server has dropped the connection")]
    ConnectionLost {
        /// What was being done.
        step: &'static str,
    },
    /// A reply with a wrong signature: it was changed on the way, or the password differs on both sides.
    #[error("{step}: the reply has a wrong signature")]
    BadSignature {
        /// What was being done.
        step: &'static str,
    },
    /// The server gave a burst up.
    #[error("{step}: the server gave the burst up")]
    BurstAborted {
        /// What was being done.
        step: &'static str,
    },
    /// Signatures are required here and not offered there.
    #[error("{step}: the server does not sign packets")]
    SignaturesUnavailable {
        /// What was being done.
        step: &'static str,
    },
    /// Checksums are required here and not had there, or impossible on this transport.
    #[error("{step}: packets would have no checksums")]
    ChecksumsUnavailable {
        /// What was being done.
        step: &'static str,
    },
    /// An offset that the calls of this server cannot express.
    #[error("{step}: offset {offset} is beyond the 32 bits that this server takes")]
    OffsetTooLarge {
        /// What was being done.
        step: &'static str,
        /// The offset in bytes.
        offset: u64,
    },
}
