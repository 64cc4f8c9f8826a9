//! Input and output of `FSCTL_VALIDATE_NEGOTIATE_INFO` (MS-SMB2 2.2.31.4, 2.2.32.6).

use super::{Field, Reader, WireError};

/// What a client offered in NEGOTIATE, repeated under the protection of the session (MS-SMB2 2.2.31.4).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ValidateNegotiateRequest {
    /// Capabilities of the client.
    pub capabilities: u32,
    /// Identity of the client.
    pub client_guid: [u8; 16],
    /// 1: signing enabled, 2: signing required.
    pub security_mode: u16,
    /// Dialects that the client offered.
    pub dialects: Vec<u16>,
}

impl ValidateNegotiateRequest {
    /// Encodes the input and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.capabilities.put(out);
        self.client_guid.put(out);
        self.security_mode.put(out);
        (self.dialects.len() as u16).put(out);
        self.dialects.iter().for_each(|dialect| dialect.put(out));
    }

    /// Decodes the input.
    pub fn decode(input: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(input, "VALIDATE_NEGOTIATE_INFO request");
        let capabilities = reader.get()?;
        let client_guid = reader.get()?;
        let security_mode = reader.get()?;
        let count: u16 = reader.get()?;
        let dialects = (0..count).map(|_| reader.get()).collect::<Result<_, _>>()?;
        Ok(Self { capabilities, client_guid, security_mode, dialects })
    }
}

/// What the server chose in NEGOTIATE (MS-SMB2 2.2.32.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ValidateNegotiateResponse {
    /// Capabilities of the server.
    pub capabilities: u32,
    /// Identity of the server.
    pub server_guid: [u8; 16],
    /// 1: signing enabled, 2: signing required.
    pub security_mode: u16,
    /// The dialect that the server chose.
    pub dialect: u16,
}

impl ValidateNegotiateResponse {
    /// Length of the output, in bytes.
    pub const LEN: u32 = 24;

    /// Encodes the output and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.capabilities.put(out);
        self.server_guid.put(out);
        self.security_mode.put(out);
        self.dialect.put(out);
    }

    /// Decodes the output.
    pub fn decode(output: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(output, "VALIDATE_NEGOTIATE_INFO response");
        Ok(Self {
            capabilities: reader.get()?,
            server_guid: reader.get()?,
            security_mode: reader.get()?,
            dialect: reader.get()?,
        })
    }
}
