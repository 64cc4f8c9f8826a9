//! A file of a user that stays open between transactions.

use sharebench_model::FileRef;

/// A file that stays open from one transaction to the next, and the offset of its next sequential request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenFile {
    pub handle: FileRef,
    pub at: u64,
}
