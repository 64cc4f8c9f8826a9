//! CREATE (MS-SMB2 2.2.13, 2.2.14).

use super::bytes::body;
use super::create_context::{CreateContext, contexts, put_contexts};
use super::{Field, FileId, HEADER_LEN, Reader, WireError, from_utf16, utf16};

/// Bits of `DesiredAccess` (MS-SMB2 2.2.13.1).
#[expect(missing_docs, reason = "the names are the specification's")]
pub mod access {
    pub const READ_DATA: u32 = 0x1;
    pub const WRITE_DATA: u32 = 0x2;
    pub const APPEND_DATA: u32 = 0x4;
    pub const READ_EA: u32 = 0x8;
    pub const WRITE_EA: u32 = 0x10;
    pub const EXECUTE: u32 = 0x20;
    pub const DELETE_CHILD: u32 = 0x40;
    pub const READ_ATTRIBUTES: u32 = 0x80;
    pub const WRITE_ATTRIBUTES: u32 = 0x100;
    pub const DELETE: u32 = 0x1_0000;
    pub const READ_CONTROL: u32 = 0x2_0000;
    pub const WRITE_DAC: u32 = 0x4_0000;
    pub const WRITE_OWNER: u32 = 0x8_0000;
    pub const SYNCHRONIZE: u32 = 0x10_0000;
    pub const SYSTEM_SECURITY: u32 = 0x100_0000;
    pub const MAXIMUM_ALLOWED: u32 = 0x200_0000;
    pub const GENERIC_ALL: u32 = 0x1000_0000;
    pub const GENERIC_EXECUTE: u32 = 0x2000_0000;
    pub const GENERIC_WRITE: u32 = 0x4000_0000;
    pub const GENERIC_READ: u32 = 0x8000_0000;
}

/// Values of `CreateDisposition`.
#[expect(missing_docs, reason = "the names are the specification's")]
pub mod disposition {
    pub const SUPERSEDE: u32 = 0;
    pub const OPEN: u32 = 1;
    pub const CREATE: u32 = 2;
    pub const OPEN_IF: u32 = 3;
    pub const OVERWRITE: u32 = 4;
    pub const OVERWRITE_IF: u32 = 5;
}

/// Bits of `CreateOptions`.
#[expect(missing_docs, reason = "the names are the specification's")]
pub mod options {
    pub const DIRECTORY_FILE: u32 = 0x1;
    pub const WRITE_THROUGH: u32 = 0x2;
    pub const NO_INTERMEDIATE_BUFFERING: u32 = 0x8;
    pub const NON_DIRECTORY_FILE: u32 = 0x40;
    pub const CREATE_TREE_CONNECTION: u32 = 0x80;
    pub const DELETE_ON_CLOSE: u32 = 0x1000;
    pub const OPEN_BY_FILE_ID: u32 = 0x2000;
    pub const RESERVE_OPFILTER: u32 = 0x10_0000;
    pub const OPEN_REPARSE_POINT: u32 = 0x20_0000;
}

/// Attribute bit of a directory.
pub const ATTRIBUTE_DIRECTORY: u32 = 0x10;
/// Share access: others may read, write and delete.
pub const SHARE_ALL: u32 = 7;

/// `ImpersonationLevel`: 0 anonymous, 1 identification, 2 impersonation, 3 delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Impersonation(pub u32);

impl Default for Impersonation {
    fn default() -> Self {
        Self(2)
    }
}

/// SMB2 CREATE request (MS-SMB2 2.2.13): opens or creates a file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CreateRequest {
    /// Oplock that the client requests; 0: none.
    pub oplock: u8,
    /// How the server may act for the user.
    pub impersonation: Impersonation,
    /// See [`access`].
    pub access: u32,
    /// Attributes of a new file.
    pub attributes: u32,
    /// Access that other opens of the file may have.
    pub share: u32,
    /// See [`disposition`].
    pub disposition: u32,
    /// See [`options`].
    pub options: u32,
    /// Path below the share, with `\` between names and none in front.
    pub name: String,
    /// Parameters of further features.
    pub contexts: Vec<CreateContext>,
}

impl CreateRequest {
    /// Encodes the body and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let name = utf16(&self.name);
        let start = out.len();
        57u16.put(out);
        // No security flags.
        0u8.put(out);
        self.oplock.put(out);
        self.impersonation.0.put(out);
        0u64.put(out);
        0u64.put(out);
        self.access.put(out);
        self.attributes.put(out);
        self.share.put(out);
        self.disposition.put(out);
        self.options.put(out);
        (HEADER_LEN as u16 + 56).put(out);
        (name.len() as u16).put(out);
        if self.contexts.is_empty() {
            0u64.put(out);
            out.extend_from_slice(&name);
            if name.is_empty() {
                // The variable part must have at least one byte.
                0u8.put(out);
            }
            return;
        }
        let mut list = Vec::new();
        put_contexts(&self.contexts, &mut list);
        let offset = (HEADER_LEN + 56 + name.len()).next_multiple_of(8);
        (offset as u32).put(out);
        (list.len() as u32).put(out);
        out.extend_from_slice(&name);
        out.resize(start + offset - HEADER_LEN, 0);
        out.append(&mut list);
    }

    /// Decodes the body of a message.
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let (request, list) = Self::decode_up_to_contexts(message)?;
        Ok(Self { contexts: contexts(list?)?, ..request })
    }

    /// Decodes the body of a message without its contexts, of which a captured message may have a part; the encoded
    /// contexts, or why they are not in the message.
    pub fn decode_up_to_contexts(message: &[u8]) -> Result<(Self, Result<&[u8], WireError>), WireError> {
        let mut reader = Reader::body(message, 57, "CreateRequest")?;
        let _security_flags: u8 = reader.get()?;
        let oplock = reader.get()?;
        let impersonation = Impersonation(reader.get()?);
        reader.take(16)?;
        let access = reader.get()?;
        let attributes = reader.get()?;
        let share = reader.get()?;
        let disposition = reader.get()?;
        let options = reader.get()?;
        let offset: u16 = reader.get()?;
        let len: u16 = reader.get()?;
        let contexts_offset: u32 = reader.get()?;
        let contexts_len: u32 = reader.get()?;
        let name = from_utf16(reader.slice(usize::from(offset), usize::from(len))?);
        let list = reader.slice(contexts_offset as usize, contexts_len as usize);
        let contexts = Vec::new();
        let request =
            Self { oplock, impersonation, access, attributes, share, disposition, options, name, contexts };
        Ok((request, list))
    }
}

body! {
    /// SMB2 CREATE response (MS-SMB2 2.2.14): the open file and its attributes.
    CreateResponse, 89 {
        /// Oplock granted.
        oplock: u8,
        /// Flags.
        flags: u8,
        /// Action: 1 opened, 2 created.
        action: u32,
        /// Creation, last access, last write, change: 100 ns since 1601.
        times: [u8; 32],
        /// Bytes allocated.
        allocation: u64,
        /// Length in bytes.
        end_of_file: u64,
        /// Attributes.
        attributes: u32,
        /// Zero.
        reserved: u32,
        /// The open file.
        file: FileId,
        /// Where create contexts start, or 0.
        contexts_offset: u32,
        /// Bytes of create contexts.
        contexts_len: u32,
    }
}
