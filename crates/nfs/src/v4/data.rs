//! Handles, stateids and operations of file data (RFC 7530, 16.2, 16.3, 16.20, 16.23 and 16.36).

use crate::protocol::StableHow;
use crate::results::WriteVerifier;
use crate::v4::item::{Item, Opaque, message};
use crate::xdr::{Reader, Writer, XdrError};

/// Longest file handle (RFC 7530, 2.1: `NFS4_FHSIZE`).
pub const MAX_HANDLE_BYTES: usize = 128;

/// A file handle of NFSv4 (RFC 7530, 2.2.2: `nfs_fh4`).
pub type FileHandle4 = crate::protocol::Handle<MAX_HANDLE_BYTES>;

message! {
    /// Identity of an open or a lock (RFC 7530, 2.2.16: `stateid4`).
    StateId {
        /// Counts the changes of the state.
        sequence: u32,
        /// Identifies the state.
        other: [u8; 12],
    }
}

impl StateId {
    /// No state (RFC 7530, 9.1.4.3): READ and WRITE without an open.
    pub const ANONYMOUS: Self = Self { sequence: 0, other: [0; 12] };
    /// The state that an earlier operation of the same COMPOUND has returned (RFC 8881, 16.2.3.1.2).
    pub const CURRENT: Self = Self { sequence: 1, other: [0; 12] };
    /// READ that passes share reservations (RFC 7530, 9.1.4.3).
    pub const READ_BYPASS: Self = Self { sequence: u32::MAX, other: [0xff; 12] };
}

impl Item<'_> for StableHow {
    #[inline]
    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        Self::get(reader)
    }

    #[inline]
    fn put(&self, writer: &mut Writer) {
        writer.u32(*self as u32);
    }
}

message! {
    /// Arguments of `PUTFH`.
    PutFh<'a> {
        /// Becomes the current handle.
        handle: Opaque<'a, MAX_HANDLE_BYTES>,
    }
}

message! {
    /// Arguments of `READ`.
    Read {
        /// The open file.
        state: StateId,
        /// First byte.
        offset: u64,
        /// Bytes wanted.
        count: u32,
    }
}

message! {
    /// Result of `READ` up to the data, which follow, padded. A client receives them in place.
    ReadHead {
        /// True if the data reach the end of the file.
        eof: bool,
        /// Bytes of data.
        count: u32,
    }
}

message! {
    /// Arguments of `WRITE` up to the data, which follow, padded. A client sends them from where they are.
    WriteHead {
        /// The open file.
        state: StateId,
        /// First byte.
        offset: u64,
        /// How durably the data are written.
        stable: StableHow,
        /// Bytes of data.
        count: u32,
    }
}

message! {
    /// Result of `WRITE`.
    Written {
        /// Bytes written.
        count: u32,
        /// How durably they are stored.
        committed: StableHow,
        /// Identifies the boot of the server.
        verifier: WriteVerifier,
    }
}

message! {
    /// Arguments of `COMMIT`; offset and count 0 commit the whole file.
    Commit {
        /// First byte.
        offset: u64,
        /// Bytes to commit.
        count: u32,
    }
}

message! {
    /// Result of `COMMIT`.
    Committed {
        /// Identifies the boot of the server.
        verifier: WriteVerifier,
    }
}

message! {
    /// Arguments of `CLOSE`; its result is a [`StateId`].
    Close {
        /// Sequence number of the open-owner; 0 from minor version 1 on.
        sequence: u32,
        /// The open file.
        state: StateId,
    }
}
