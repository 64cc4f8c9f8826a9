//! Kinds of operations that a load counts apart.

use sharebench_model::{MetaOp, OpenHow};

/// Kinds of operations that a load counts and times separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperationKind {
    Open,
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
    Space,
    Connect,
    Read,
    Write,
    ReadFile,
}

impl OperationKind {
    /// Names as tables show them, in the order of the variants.
    pub const NAMES: [&'static str; 16] = [
        "open",
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
            | MetaOp::OpenSemaphore { .. }
            | MetaOp::OpenLeased { .. }
            | MetaOp::OpenDelegated { .. } => Self::Open,
            MetaOp::Close { .. } | MetaOp::CloseSemaphore => Self::Close,
            MetaOp::SetSize { .. } => Self::SetSize,
            MetaOp::CopyRange { .. } | MetaOp::CloneRange { .. } | MetaOp::PunchHole { .. } => Self::Write,
            MetaOp::ReadSparse { .. } => Self::Read,
            MetaOp::List { .. } | MetaOp::ListPage { .. } => Self::List,
            MetaOp::Remove { .. } | MetaOp::RemoveDir { .. } => Self::Delete,
            MetaOp::Rename { .. } => Self::Rename,
            MetaOp::Lock { .. } | MetaOp::WaitSemaphore => Self::Lock,
            MetaOp::Unlock { .. } | MetaOp::SignalSemaphore => Self::Unlock,
            MetaOp::Space => Self::Space,
            MetaOp::Stat { .. }
            | MetaOp::SetModified { .. }
            | MetaOp::Watch { .. }
            | MetaOp::AwaitChange { .. }
            | MetaOp::AwaitRecall { .. }
            | MetaOp::Map { .. }
            | MetaOp::DropCache { .. }
            | MetaOp::Residency { .. } => Self::Stat,
        }
    }
}
