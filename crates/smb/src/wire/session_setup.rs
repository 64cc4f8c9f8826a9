//! `SESSION_SETUP` (MS-SMB2 2.2.5, 2.2.6).

use super::{Field, HEADER_LEN, Reader, WireError};

/// Flags of a response.
pub mod flags {
    /// Logged in as guest.
    pub const IS_GUEST: u16 = 1;
    /// Logged in anonymously.
    pub const IS_NULL: u16 = 2;
    /// The server requires encryption.
    pub const ENCRYPT_DATA: u16 = 4;
}

/// Flag of a request: bind a further connection to a session of another one.
pub const BINDING: u8 = 1;

/// SMB2 `SESSION_SETUP` request (MS-SMB2 2.2.5): one token of the login.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionSetupRequest {
    /// [`BINDING`] or 0.
    pub flags: u8,
    /// 1: signing enabled, 2: signing required.
    pub security_mode: u8,
    /// Capabilities of the client.
    pub capabilities: u32,
    /// Session of a lost connection, which the server closes; 0: none.
    pub previous_session: u64,
    /// GSS token.
    pub token: Vec<u8>,
}

impl SessionSetupRequest {
    /// Encodes the body and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        25u16.put(out);
        self.flags.put(out);
        self.security_mode.put(out);
        self.capabilities.put(out);
        0u32.put(out);
        (HEADER_LEN as u16 + 24).put(out);
        (self.token.len() as u16).put(out);
        self.previous_session.put(out);
        out.extend_from_slice(&self.token);
    }

    /// Decodes the body of a message.
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::body(message, 25, "SessionSetupRequest")?;
        let flags: u8 = reader.get()?;
        let security_mode: u8 = reader.get()?;
        let capabilities: u32 = reader.get()?;
        let _channel: u32 = reader.get()?;
        let offset: u16 = reader.get()?;
        let len: u16 = reader.get()?;
        let previous_session: u64 = reader.get()?;
        let token = reader.slice(usize::from(offset), usize::from(len))?.to_vec();
        Ok(Self { flags, security_mode, capabilities, previous_session, token })
    }
}

/// SMB2 `SESSION_SETUP` response (MS-SMB2 2.2.6): the server's token, and flags of the session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionSetupResponse {
    /// See [`flags`].
    pub flags: u16,
    /// GSS token.
    pub token: Vec<u8>,
}

impl SessionSetupResponse {
    /// Encodes the body and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        9u16.put(out);
        self.flags.put(out);
        (HEADER_LEN as u16 + 8).put(out);
        (self.token.len() as u16).put(out);
        out.extend_from_slice(&self.token);
    }

    /// Decodes the body of a message.
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::body(message, 9, "SessionSetupResponse")?;
        let flags: u16 = reader.get()?;
        let offset: u16 = reader.get()?;
        let len: u16 = reader.get()?;
        Ok(Self { flags, token: reader.slice(usize::from(offset), usize::from(len))?.to_vec() })
    }
}
