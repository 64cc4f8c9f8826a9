//! What a CREATE requests and is granted to cache (MS-SMB2 2.2.13, 2.2.14).

use sharebench_smb::wire::lease::{HANDLE, LeaseContext, PARENT_KEY_SET, READ, WRITE};
use sharebench_smb::wire::oplock;

/// Identity of a lease: the client and its name for the lease.
pub(crate) type LeaseId = ([u8; 16], [u8; 16]);

/// What a CREATE requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheRequest {
    Nothing,
    /// An oplock of this level.
    Oplock(u8),
    Lease(LeaseRequest),
}

/// A lease that a CREATE requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseRequest {
    /// Identity of the client.
    pub(crate) client: [u8; 16],
    pub(crate) context: LeaseContext,
    /// The connection has negotiated leases of directories.
    pub(crate) directories: bool,
}

impl LeaseRequest {
    fn id(&self) -> LeaseId {
        (self.client, self.context.key)
    }

    /// The lease of the directory that the client names. What the client changes there over the open does not break it.
    pub(crate) fn parent(&self) -> Option<LeaseId> {
        let (parent, _) = self.context.version_2?;
        (self.context.flags & PARENT_KEY_SET != 0).then_some((self.client, parent))
    }
}

/// What a CREATE was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrantedCache {
    Nothing,
    Oplock(u8),
    Lease(LeaseContext),
}

impl GrantedCache {
    /// True if the client may keep the file open after its user has closed it.
    pub(crate) fn keeps_handle(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Oplock(level) => *level == oplock::BATCH,
            Self::Lease(lease) => lease.state & HANDLE != 0,
        }
    }
}

/// Who may cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// One open.
    Oplock,
    /// All opens with this lease.
    Lease(LeaseId),
}

/// The lease state of an oplock level.
pub(crate) fn state_of_level(level: u8) -> u32 {
    match level {
        oplock::LEVEL_II => READ,
        oplock::EXCLUSIVE => READ | WRITE,
        oplock::BATCH => READ | WRITE | HANDLE,
        _ => 0,
    }
}

/// The oplock level that gives at most a lease state.
pub(crate) fn level_of_state(state: u32) -> u8 {
    match (state & READ != 0, state & WRITE != 0, state & HANDLE != 0) {
        (true, true, true) => oplock::BATCH,
        (true, true, false) => oplock::EXCLUSIVE,
        (true, false, _) => oplock::LEVEL_II,
        _ => oplock::NONE,
    }
}

impl CacheRequest {
    /// The same request, if it requests no lease.
    pub(crate) fn without_lease(self) -> Self {
        if matches!(self, Self::Lease(..)) { Self::Nothing } else { self }
    }

    /// The lease that it requests.
    pub(crate) fn lease(&self) -> Option<LeaseId> {
        match self {
            Self::Lease(lease) => Some(lease.id()),
            Self::Nothing | Self::Oplock(_) => None,
        }
    }

    /// The lease of the directory that it names.
    pub(crate) fn parent(&self) -> Option<LeaseId> {
        if let Self::Lease(lease) = self { lease.parent() } else { None }
    }

    /// What it requests if it opens a directory: a lease of version 2 on reads and handles, or nothing (MS-SMB2 3.3.5.9.11).
    pub(crate) fn of_directory(&self) -> Self {
        match self {
            Self::Lease(lease) if lease.directories && lease.context.version_2.is_some() => {
                let context = LeaseContext { state: lease.context.state & !WRITE, ..lease.context };
                Self::Lease(LeaseRequest { context, ..*lease })
            }
            _ => Self::Nothing,
        }
    }

    /// The lease state that it requests.
    pub(crate) fn state(&self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Oplock(level) => state_of_level(*level),
            Self::Lease(lease) => lease.context.state & (READ | HANDLE | WRITE),
        }
    }
}
