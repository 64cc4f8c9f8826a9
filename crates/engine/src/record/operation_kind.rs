//! Kinds of operations that a load counts apart.

use sharebench_model::{MetaOp, OpenHow, SessionOp};

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

    /// The kind of an operation that is not on data.
    pub fn of(op: &SessionOp) -> Self {
        match op {
            SessionOp::Basic(op) => Self::of_basic(op),
            SessionOp::OpenDenying { .. }
            | SessionOp::OpenDirectory { .. }
            | SessionOp::OpenSemaphore { .. } => Self::Open,
            SessionOp::OpenLeased { .. } => Self::OpenLeased,
            SessionOp::OpenDelegated { .. } => Self::OpenDelegated,
            SessionOp::CloseSemaphore => Self::Close,
            SessionOp::CopyRange { .. } | SessionOp::CloneRange { .. } | SessionOp::PunchHole { .. } => {
                Self::Write
            }
            SessionOp::ReadSparse { .. } => Self::Read,
            SessionOp::Lock { .. } => Self::Lock,
            SessionOp::Unlock { .. } => Self::Unlock,
            SessionOp::Watch { .. } => Self::Watch,
            SessionOp::AwaitChange { .. } => Self::Notify,
            SessionOp::WaitSemaphore => Self::Wait,
            SessionOp::SignalSemaphore => Self::Signal,
            SessionOp::AwaitRecall { .. }
            | SessionOp::GiveBack { .. }
            | SessionOp::Map { .. }
            | SessionOp::DropCache { .. }
            | SessionOp::Residency { .. } => Self::Stat,
        }
    }

    fn of_basic(op: &MetaOp) -> Self {
        match op {
            MetaOp::Open { how: OpenHow::CreateNew, .. } | MetaOp::MakeDir { .. } | MetaOp::Link { .. } => {
                Self::Create
            }
            MetaOp::Open { .. } => Self::Open,
            MetaOp::Close { .. } => Self::Close,
            MetaOp::SetSize { .. } => Self::SetSize,
            MetaOp::List { .. } | MetaOp::ListPage { .. } => Self::List,
            MetaOp::Remove { .. } | MetaOp::RemoveDir { .. } => Self::Delete,
            MetaOp::Rename { .. } => Self::Rename,
            MetaOp::Space => Self::Space,
            MetaOp::Stat { .. } | MetaOp::SetModified { .. } => Self::Stat,
        }
    }
}
