//! What a server has granted for open files: opens, locks, delegations.

use sharebench_model::FileRef;

use crate::v4::data::{FileHandle4, StateId};

/// An open file: its handle, the state of its open, and the owner of the open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenState {
    pub(crate) handle: FileHandle4,
    pub(crate) state: StateId,
    pub(crate) owner: u32,
    /// Its locks; none before the first one.
    pub(crate) locks: Option<LockState>,
}

/// The locks of an open file: their owner, and the state by which the server knows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockState {
    /// Its sequence number is that of [`crate::client::v4::owners::Owners`].
    pub(crate) owner: u32,
    pub(crate) state: StateId,
    /// Ranges that are locked.
    pub(crate) held: u32,
}

/// The delegation of the file that was opened last with a request for one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldDelegation {
    pub(crate) file: FileRef,
    pub(crate) handle: FileHandle4,
    pub(crate) state: StateId,
}

/// How a session reads files with holes: what the server has not rejected yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SparseReads {
    /// `READ_PLUS`, whose reply contains data and holes.
    #[default]
    Segments,
    /// SEEK for the next hole and the next data, and READ between them.
    Seeks,
    /// The server has neither.
    Whole,
}
