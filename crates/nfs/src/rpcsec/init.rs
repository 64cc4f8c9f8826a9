//! The result of a call that establishes a context (RFC 2203 5.2.3.1).

use crate::xdr::{Reader, Writer, XdrError};

/// Largest handle of a context: what fits into a credential with its other fields.
pub const MAX_HANDLE_BYTES: usize = 256;
/// Largest token. A ticket with the groups of a large directory has up to 64 KiB.
pub const MAX_TOKEN_BYTES: usize = 64 << 10;

/// The server's answer to a token (RFC 2203 5.2.3.1: `rpc_gss_init_res`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitResult<'a> {
    /// The server's name of the context.
    pub handle: &'a [u8],
    /// Major status (RFC 2743 1.2.1.1): 0 complete, 1 continue.
    pub major: u32,
    /// Status of the mechanism.
    pub minor: u32,
    /// How many sequence numbers back a call may arrive.
    pub window: u32,
    /// The server's token.
    pub token: &'a [u8],
}

impl<'a> InitResult<'a> {
    /// Decodes a result.
    pub fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        Ok(Self {
            handle: reader.opaque("context handle", MAX_HANDLE_BYTES)?,
            major: reader.u32()?,
            minor: reader.u32()?,
            window: reader.u32()?,
            token: reader.opaque("token", MAX_TOKEN_BYTES)?,
        })
    }

    /// Encodes a result.
    pub fn put(&self, writer: &mut Writer) {
        writer.opaque(self.handle);
        writer.words(&[self.major, self.minor, self.window]);
        writer.opaque(self.token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_round_trips() {
        let result = InitResult { handle: b"h", major: 0, minor: 5, window: 128, token: b"token" };
        let mut writer = Writer::default();
        result.put(&mut writer);
        assert_eq!(InitResult::get(&mut Reader::new(writer.as_slice())), Ok(result));
    }
}
