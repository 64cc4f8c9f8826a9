//! Control codes of sparse files: `FSCTL_SET_SPARSE`, `FSCTL_SET_ZERO_DATA` and `FSCTL_QUERY_ALLOCATED_RANGES`
//! (MS-FSCC 2.3.64, 2.3.67, 2.3.48).

use super::{Field, Reader, WireError};

/// `FSCTL_SET_SPARSE`.
pub const SET_SPARSE: u32 = 0x0009_00C4;
/// `FSCTL_SET_ZERO_DATA`.
pub const SET_ZERO_DATA: u32 = 0x0009_80C8;
/// `FSCTL_QUERY_ALLOCATED_RANGES`.
pub const QUERY_ALLOCATED_RANGES: u32 = 0x0009_40CF;
/// Bytes of a range.
pub const RANGE_BYTES: usize = 16;

/// Two offsets, or an offset and a length.
pub fn pair(input: &[u8]) -> Result<(u64, u64), WireError> {
    let mut reader = Reader::new(input, "file range");
    Ok((reader.get()?, reader.get()?))
}

/// Appends an allocated range: its offset and length.
pub fn put_range(offset: u64, len: u64, out: &mut Vec<u8>) {
    offset.put(out);
    len.put(out);
}
