//! NEGOTIATE, `SESSION_SETUP_ANDX`, `TREE_CONNECT_ANDX` and `LOGOFF_ANDX` (MS-CIFS 2.2.4.52 to 2.2.4.55, MS-SMB 2.2.4.5 to 2.2.4.7).

use super::message::words;

/// `Capabilities` (MS-CIFS 2.2.4.52.2, MS-SMB 2.2.4.5.2.1).
#[expect(missing_docs, reason = "the names are the specification's")]
pub mod capability {
    pub const UNICODE: u32 = 0x0000_0004;
    pub const LARGE_FILES: u32 = 0x0000_0008;
    pub const NT_SMBS: u32 = 0x0000_0010;
    pub const NT_STATUS: u32 = 0x0000_0040;
    pub const LEVEL_II_OPLOCKS: u32 = 0x0000_0080;
    pub const LOCK_AND_READ: u32 = 0x0000_0100;
    pub const NT_FIND: u32 = 0x0000_0200;
    pub const PASSTHROUGH_LEVELS: u32 = 0x0000_2000;
    pub const LARGE_READX: u32 = 0x0000_4000;
    pub const LARGE_WRITEX: u32 = 0x0000_8000;
    pub const EXTENDED_SECURITY: u32 = 0x8000_0000;
}

/// `SecurityMode`: each user logs in, with a response to a challenge.
pub const USER_CHALLENGES: u8 = 0x03;
/// `SecurityMode`: the server signs if the client wants it.
pub const SIGNING_ENABLED: u8 = 0x04;
/// `SecurityMode`: the server requires signatures.
pub const SIGNING_REQUIRED: u8 = 0x08;
/// Flag of a tree connect: the response has the rights of the user.
pub const EXTENDED_RESPONSE: u16 = 0x0008;
/// `Action` of a session setup: the user is logged in as guest.
pub const GUEST: u16 = 1;

words! {
    /// NEGOTIATE response with extended security (MS-SMB 2.2.4.5.2.1); its bytes are the GUID of the server and a GSS token.
    NegotiateResponse, 17 {
        /// Index of the chosen dialect; 0xFFFF: none.
        dialect: u16,
        /// See [`SIGNING_ENABLED`] and [`SIGNING_REQUIRED`].
        security_mode: u8,
        /// Most requests in flight.
        max_mpx: u16,
        /// Most virtual circuits.
        max_vcs: u16,
        /// Largest message that the server accepts, bytes; large writes may exceed it.
        max_buffer: u32,
        /// Largest raw transfer.
        max_raw: u32,
        /// Number of the connection at the server.
        session_key: u32,
        /// See [`capability`].
        capabilities: u32,
        /// Clock of the server: 100 ns since 1601.
        system_time: u64,
        /// Its time zone, minutes.
        time_zone: u16,
        /// 0 with extended security.
        challenge_len: u8,
    }
}

words! {
    /// `SESSION_SETUP_ANDX` request with extended security (MS-SMB 2.2.4.6.1); its bytes are the token and two texts.
    SessionSetupRequest, 12 {
        /// No further command.
        andx: [u8; 4],
        /// Largest message that the client accepts.
        max_buffer: u16,
        /// Most requests in flight.
        max_mpx: u16,
        /// Number of the virtual circuit; 0 would end the client's other sessions.
        vc: u16,
        /// Of the NEGOTIATE response.
        session_key: u32,
        /// Bytes of the token.
        token_len: u16,
        /// Zero.
        reserved: u32,
        /// See [`capability`].
        capabilities: u32,
    }
}

words! {
    /// `SESSION_SETUP_ANDX` response with extended security (MS-SMB 2.2.4.6.2); its bytes start with the token.
    SessionSetupResponse, 4 {
        /// No further command.
        andx: [u8; 4],
        /// See [`GUEST`].
        action: u16,
        /// Bytes of the token.
        token_len: u16,
    }
}

words! {
    /// `TREE_CONNECT_ANDX` request (MS-CIFS 2.2.4.55.1); its bytes are a password, the path and the kind of service.
    TreeConnectRequest, 4 {
        /// No further command.
        andx: [u8; 4],
        /// See [`EXTENDED_RESPONSE`].
        flags: u16,
        /// Bytes of the password, which is one byte with user security.
        password_len: u16,
    }
}

words! {
    /// `TREE_CONNECT_ANDX` response (MS-CIFS 2.2.4.55.2); its bytes are the kind of service and the file system.
    TreeConnectResponse, 3 {
        /// Next command.
        andx: [u8; 4],
        /// Bit 0: the attributes of searches are exact.
        support: u16,
    }
}

words! {
    /// `TREE_CONNECT_ANDX` response with [`EXTENDED_RESPONSE`] (MS-SMB 2.2.4.7.2).
    TreeConnectExtended, 7 {
        /// Next command.
        andx: [u8; 4],
        /// Bit 0: the attributes of searches are exact.
        support: u16,
        /// Rights of the user.
        rights: u32,
        /// Rights of a guest.
        guest_rights: u32,
    }
}

words! {
    /// `LOGOFF_ANDX`, both directions (MS-CIFS 2.2.4.54).
    Logoff, 2 {
        /// No further command.
        andx: [u8; 4],
    }
}

words! {
    /// NEGOTIATE response that accepts no dialect (MS-CIFS 2.2.4.52.2).
    NoDialect, 1 {
        /// 0xFFFF.
        dialect: u16,
    }
}
