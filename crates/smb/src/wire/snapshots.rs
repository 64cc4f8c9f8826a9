//! `FSCTL_SRV_ENUMERATE_SNAPSHOTS`: the earlier versions of a share (MS-SMB2 2.2.32.2).

use super::{Reader, WireError};

/// `FSCTL_SRV_ENUMERATE_SNAPSHOTS`.
pub const ENUMERATE_SNAPSHOTS: u32 = 0x0014_4064;

/// Number of snapshots in the output, which states it also where it has no room for their names.
pub fn number_of_snapshots(output: &[u8]) -> Result<u32, WireError> {
    Reader::new(output, "SRV_SNAPSHOT_ARRAY").get()
}
