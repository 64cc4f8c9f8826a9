//! An open file of a session.

use sharebench_model::IoPolicy;

use crate::wire::FileId;

/// A file that the server opened for this session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenFile {
    pub(crate) id: FileId,
    /// Policy that the file was opened with. It decides the flags of each READ and WRITE.
    pub(crate) policy: IoPolicy,
}
