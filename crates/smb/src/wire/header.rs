//! The SMB2 header (MS-SMB2 2.2.1).

use super::{Field, HEADER_LEN, Reader, WireError};

/// First bytes of a plain message.
pub const PROTOCOL_ID: [u8; 4] = [0xFE, b'S', b'M', b'B'];
/// Position of the signature.
pub const SIGNATURE: std::ops::Range<usize> = 48..64;
/// Message id of an unsolicited message from the server.
pub const UNSOLICITED: u64 = u64::MAX;

/// Commands (MS-SMB2 2.2.1.2).
#[expect(missing_docs, reason = "the names are the specification's")]
pub mod command {
    pub const NEGOTIATE: u16 = 0;
    pub const SESSION_SETUP: u16 = 1;
    pub const LOGOFF: u16 = 2;
    pub const TREE_CONNECT: u16 = 3;
    pub const TREE_DISCONNECT: u16 = 4;
    pub const CREATE: u16 = 5;
    pub const CLOSE: u16 = 6;
    pub const FLUSH: u16 = 7;
    pub const READ: u16 = 8;
    pub const WRITE: u16 = 9;
    pub const LOCK: u16 = 10;
    pub const IOCTL: u16 = 11;
    pub const CANCEL: u16 = 12;
    pub const ECHO: u16 = 13;
    pub const QUERY_DIRECTORY: u16 = 14;
    pub const CHANGE_NOTIFY: u16 = 15;
    pub const QUERY_INFO: u16 = 16;
    pub const SET_INFO: u16 = 17;
    pub const OPLOCK_BREAK: u16 = 18;

    /// Name of a command in error messages.
    pub const fn name(command: u16) -> &'static str {
        match command {
            NEGOTIATE => "NEGOTIATE",
            SESSION_SETUP => "SESSION_SETUP",
            LOGOFF => "LOGOFF",
            TREE_CONNECT => "TREE_CONNECT",
            TREE_DISCONNECT => "TREE_DISCONNECT",
            CREATE => "CREATE",
            CLOSE => "CLOSE",
            FLUSH => "FLUSH",
            READ => "READ",
            WRITE => "WRITE",
            LOCK => "LOCK",
            IOCTL => "IOCTL",
            CANCEL => "CANCEL",
            ECHO => "ECHO",
            QUERY_DIRECTORY => "QUERY_DIRECTORY",
            CHANGE_NOTIFY => "CHANGE_NOTIFY",
            QUERY_INFO => "QUERY_INFO",
            SET_INFO => "SET_INFO",
            OPLOCK_BREAK => "OPLOCK_BREAK",
            _ => "unknown command",
        }
    }
}

/// Flags of a header.
pub mod flags {
    /// The message is a response.
    pub const RESPONSE: u32 = 1;
    /// The header carries an asynchronous id instead of a tree id.
    pub const ASYNC: u32 = 2;
    /// The request refers to the previous one in its compound.
    pub const RELATED: u32 = 4;
    /// The message is signed.
    pub const SIGNED: u32 = 8;
    /// The request was sent before, on a channel that was lost.
    pub const REPLAY_OPERATION: u32 = 0x2000_0000;
}

/// An SMB2 header, synchronous or asynchronous (MS-SMB2 2.2.1.1, 2.2.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// Credits that the request costs; 0 in dialect 2.0.2.
    pub credit_charge: u16,
    /// Status of a response; channel sequence of a request.
    pub status: u32,
    /// The command, see [`command`].
    pub command: u16,
    /// Credits that a request requests, or that a response grants.
    pub credits: u16,
    /// See [`flags`].
    pub flags: u32,
    /// Offset of the next message of a compound, 0 in the last.
    pub next: u32,
    /// Identifier that matches a response with its request.
    pub message_id: u64,
    /// Tree in the upper half (with a reserved lower half), or the asynchronous id.
    pub tree_id: u32,
    /// Asynchronous id, if [`flags::ASYNC`] is set.
    pub async_id: u64,
    /// Session.
    pub session_id: u64,
    /// Signature; zeros if the message is not signed.
    pub signature: [u8; 16],
}

impl Header {
    /// Encodes the header and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        PROTOCOL_ID.put(out);
        (HEADER_LEN as u16).put(out);
        self.credit_charge.put(out);
        self.status.put(out);
        self.command.put(out);
        self.credits.put(out);
        self.flags.put(out);
        self.next.put(out);
        self.message_id.put(out);
        if self.flags & flags::ASYNC == 0 {
            (u64::from(self.tree_id) << 32).put(out);
        } else {
            self.async_id.put(out);
        }
        self.session_id.put(out);
        self.signature.put(out);
    }

    /// Reads the header of a message.
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(message, "SMB2 header");
        let protocol: [u8; 4] = reader.get()?;
        if protocol != PROTOCOL_ID {
            return Err(reader.bad("ProtocolId", u64::from(u32::from_le_bytes(protocol))));
        }
        let size: u16 = reader.get()?;
        if usize::from(size) != HEADER_LEN {
            return Err(reader.bad("StructureSize", u64::from(size)));
        }
        let mut header = Self {
            credit_charge: reader.get()?,
            status: reader.get()?,
            command: reader.get()?,
            credits: reader.get()?,
            flags: reader.get()?,
            next: reader.get()?,
            message_id: reader.get()?,
            ..Self::default()
        };
        let id: u64 = reader.get()?;
        if header.is(flags::ASYNC) {
            header.async_id = id;
        } else {
            header.tree_id = (id >> 32) as u32;
        }
        header.session_id = reader.get()?;
        header.signature = reader.get()?;
        Ok(header)
    }

    /// True if `flag` is set.
    pub fn is(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}
