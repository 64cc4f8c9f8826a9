//! `FSCTL_SRV_ENUMERATE_SNAPSHOTS`: the earlier versions of a share (MS-SMB2 2.2.32.2).

use super::{Reader, WireError};

/// `FSCTL_SRV_ENUMERATE_SNAPSHOTS`.
pub const ENUMERATE_SNAPSHOTS: u32 = 0x0014_4064;

/// Number of snapshots in the output, which states it also where it has no room for their names.
pub fn number_of_snapshots(output: &[u8]) -> Result<u32, WireError> {
    Reader::new(output, "SRV_SNAPSHOT_ARRAY").get()
}

#[cfg(test)]
mod tests {
    use super::number_of_snapshots;

    /// MS-SMB2 2.2.32.2: the number, the number in the output, the bytes of their names.
    #[test]
    fn the_number_is_stated_without_room_for_the_names() {
        let output = [3, 0, 0, 0, 0, 0, 0, 0, 0x98, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(number_of_snapshots(&output), Ok(3));
        assert!(number_of_snapshots(&output[..3]).is_err());
    }
}
