//! Kinds of operations that a load counts apart.

use sharebench_model::{MetaOp, OpenHow};

/// Kinds of operations that a load counts and times separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperationKind {
    Open,
    OpenLeased,
    OpenDelegated,
    /// An open with a request for a right to cache, of which the server has granted none.
    OpenNotGranted,
    Create,
    Close,
    Stat,
    List,
    Rename,
    Delete,
    SetSize,
    Flush,
    Lock,
    Unlock,
    Watch,
    Notify,
    Wait,
    Signal,
    Space,
    Connect,
    Read,
    Write,
    ReadFile,
}

impl OperationKind {
    /// Names as tables show them, in the order of the variants.
    pub const NAMES: [&'static str; 23] = [
        "open",
        "open-leased",
        "open-delegated",
        "open-not-granted",
        "create",
        "close",
        "stat",
        "list",
        "rename",
        "delete",
        "set-size",
        "flush",
        "lock",
        "unlock",
        "watch",
        "notify",
        "wait",
        "signal",
        "space",
        "connect",
        "read",
        "write",
        "open-read-close",
    ];

    /// True if the operation reads file data.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadFile)
    }

    /// The kind of a metadata operation.
    pub fn of(op: &MetaOp) -> Self {
        match op {
            MetaOp::Open { how: OpenHow::CreateNew, .. } | MetaOp::MakeDir { .. } | MetaOp::Link { .. } => {
                Self::Create
            }
            MetaOp::Open { .. }
            | MetaOp::OpenDenying { .. }
            | MetaOp::OpenDirectory { .. }
            | MetaOp::OpenSemaphore { .. } => Self::Open,
            MetaOp::OpenLeased { .. } => Self::OpenLeased,
            MetaOp::OpenDelegated { .. } => Self::OpenDelegated,
            MetaOp::Close { .. } | MetaOp::CloseSemaphore => Self::Close,
            MetaOp::SetSize { .. } => Self::SetSize,
            MetaOp::CopyRange { .. } | MetaOp::CloneRange { .. } | MetaOp::PunchHole { .. } => Self::Write,
            MetaOp::ReadSparse { .. } => Self::Read,
            MetaOp::List { .. } | MetaOp::ListPage { .. } => Self::List,
            MetaOp::Remove { .. } | MetaOp::RemoveDir { .. } => Self::Delete,
            MetaOp::Rename { .. } => Self::Rename,
            MetaOp::Lock { .. } => Self::Lock,
            MetaOp::Unlock { .. } => Self::Unlock,
            MetaOp::Watch { .. } => Self::Watch,
            MetaOp::AwaitChange { .. } => Self::Notify,
            MetaOp::WaitSemaphore => Self::Wait,
            MetaOp::SignalSemaphore => Self::Signal,
            MetaOp::Space => Self::Space,
            MetaOp::Stat { .. }
            | MetaOp::SetModified { .. }
            | MetaOp::AwaitRecall { .. }
            | MetaOp::GiveBack { .. }
            | MetaOp::Map { .. }
            | MetaOp::DropCache { .. }
            | MetaOp::Residency { .. } => Self::Stat,
        }
    }
}
