//! Kinds of operations that a load counts apart.

use sharebench_model::{
    CacheRightOp, LockOp, MetaOp, OpenHow, SemaphoreOp, ServerSideOp, SessionOp, WatchOp,
};

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
            SessionOp::Lock(LockOp::Lock { .. }) => Self::Lock,
            SessionOp::Lock(LockOp::Unlock { .. }) => Self::Unlock,
            SessionOp::Lock(LockOp::OpenDenying { .. })
            | SessionOp::Watch(WatchOp::OpenDirectory { .. })
            | SessionOp::Semaphore(SemaphoreOp::Open { .. }) => Self::Open,
            SessionOp::CacheRight(CacheRightOp::OpenLeased { .. }) => Self::OpenLeased,
            SessionOp::CacheRight(CacheRightOp::OpenDelegated { .. }) => Self::OpenDelegated,
            SessionOp::Watch(WatchOp::Watch { .. }) => Self::Watch,
            SessionOp::Watch(WatchOp::AwaitChange { .. }) => Self::Notify,
            SessionOp::ServerSide(ServerSideOp::ReadSparse { .. }) => Self::Read,
            SessionOp::ServerSide(_) => Self::Write,
            SessionOp::Semaphore(SemaphoreOp::Wait) => Self::Wait,
            SessionOp::Semaphore(SemaphoreOp::Signal) => Self::Signal,
            SessionOp::Semaphore(SemaphoreOp::Close) => Self::Close,
            SessionOp::CacheRight(CacheRightOp::AwaitRecall { .. } | CacheRightOp::GiveBack { .. })
            | SessionOp::ClientCache(_) => Self::Stat,
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
