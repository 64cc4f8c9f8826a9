//! Leases: what a client may cache of a file (MS-SMB2 2.2.13.2.8, 2.2.13.2.10, 2.2.23.2, 2.2.24.2).

use super::bytes::body;
use super::{Field, Reader, WireError};

/// `OplockLevel` of a CREATE that requests or grants a lease.
pub const LEVEL: u8 = 0xFF;
/// The client may cache what it reads.
pub const READ: u32 = 1;
/// The client may keep the file open after its user has closed it.
pub const HANDLE: u32 = 2;
/// The client may cache what it writes.
pub const WRITE: u32 = 4;
/// Flag of [`LeaseBreak`]: the server waits for an acknowledgment.
pub const ACKNOWLEDGMENT_REQUIRED: u32 = 1;
/// Flag of [`LeaseContext`] in a response: the lease is being broken.
pub const BREAK_IN_PROGRESS: u32 = 2;
/// Flag of [`LeaseContext`] of version 2: the key of the directory's lease is set.
pub const PARENT_KEY_SET: u32 = 4;
/// Bytes of a context in version 1 and in version 2.
const VERSION_1: usize = 32;
const VERSION_2: usize = 52;

/// The data of a context `RqLs`, in a request and in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeaseContext {
    /// The client's name for the lease, which all its opens of the file share.
    pub key: [u8; 16],
    /// What may be cached: [`READ`] and others.
    pub state: u32,
    /// [`BREAK_IN_PROGRESS`] and [`PARENT_KEY_SET`].
    pub flags: u32,
    /// Key of the lease of the directory, and number of changes of the state. Version 1 has neither.
    pub version_2: Option<([u8; 16], u16)>,
}

impl LeaseContext {
    /// The encoded data.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(VERSION_2);
        self.key.put(&mut out);
        self.state.put(&mut out);
        self.flags.put(&mut out);
        // A duration that is always 0.
        0u64.put(&mut out);
        if let Some((parent, epoch)) = self.version_2 {
            parent.put(&mut out);
            epoch.put(&mut out);
            0u16.put(&mut out);
        }
        out
    }

    /// Decodes the data; its length is that of its version.
    pub fn decode(data: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(data, "lease");
        if ![VERSION_1, VERSION_2].contains(&data.len()) {
            return Err(reader.bad("length", data.len() as u64));
        }
        let key = reader.get()?;
        let state = reader.get()?;
        let flags = reader.get()?;
        let _duration: u64 = reader.get()?;
        let version_2 = if data.len() == VERSION_2 { Some((reader.get()?, reader.get()?)) } else { None };
        Ok(Self { key, state, flags, version_2 })
    }
}

body! {
    /// SMB2 `OPLOCK_BREAK` notification of a lease (MS-SMB2 2.2.23.2).
    LeaseBreak, 44 {
        /// Number of changes of the state; 0 in version 1.
        epoch: u16,
        /// [`ACKNOWLEDGMENT_REQUIRED`], or zero.
        flags: u32,
        /// Key of the lease.
        key: [u8; 16],
        /// What the client could cache.
        current: u32,
        /// What it may cache from now on.
        new: u32,
        /// Zero.
        reason: u32,
        /// Zero.
        access_hint: u32,
        /// Zero.
        share_hint: u32,
    }
}

body! {
    /// SMB2 `OPLOCK_BREAK` acknowledgment of a lease, and its response, which share one layout (MS-SMB2 2.2.24.2, 2.2.25.2).
    LeaseAcknowledgment, 36 {
        /// Zero.
        reserved: u16,
        /// Zero.
        flags: u32,
        /// Key of the lease.
        key: [u8; 16],
        /// What the client may cache from now on.
        state: u32,
        /// Zero.
        duration: u64,
    }
}
