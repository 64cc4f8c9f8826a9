//! Direct TCP framing (MS-SMB2 2.1): a zero byte and a 24-bit big-endian length before each message.

/// Bytes before each message.
pub const PREFIX_LEN: usize = 4;
/// Largest message that the length field can express.
pub const MAX_LEN: usize = 0x00FF_FFFF;

/// The prefix of a message of `len` bytes; none if the length exceeds the field.
pub fn prefix(len: usize) -> Option<[u8; PREFIX_LEN]> {
    let len = u32::try_from(len).ok().filter(|len| *len as usize <= MAX_LEN)?;
    Some(len.to_be_bytes())
}

/// The length in a prefix; none if the prefix does not start with a zero byte.
pub fn length(prefix: [u8; PREFIX_LEN]) -> Option<usize> {
    (prefix[0] == 0).then(|| u32::from_be_bytes(prefix) as usize)
}
