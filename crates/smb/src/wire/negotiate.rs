//! NEGOTIATE (MS-SMB2 2.2.3, 2.2.4) with its 3.1.1 contexts.

use super::{Field, HEADER_LEN, Reader, WireError};

/// Context: preauthentication integrity (MS-SMB2 2.2.3.1.1).
pub const PREAUTH_INTEGRITY: u16 = 1;
/// Context: ciphers (MS-SMB2 2.2.3.1.2).
pub const ENCRYPTION: u16 = 2;
/// Context: signing algorithms (MS-SMB2 2.2.3.1.7).
pub const SIGNING: u16 = 8;
/// Maximum number of contexts in a message; MS-SMB2 defines seven types.
const MAX_CONTEXTS: u16 = 32;

/// A negotiate context (MS-SMB2 2.2.3.1): parameters of one feature of dialect 3.1.1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// Its type.
    pub kind: u16,
    /// Its data.
    pub data: Vec<u8>,
}

impl Context {
    /// A list of algorithms: a count and their ids (MS-SMB2 2.2.3.1.2, 2.2.3.1.7).
    pub fn of_ids(kind: u16, ids: &[u16]) -> Self {
        let mut data = Vec::new();
        (ids.len() as u16).put(&mut data);
        for id in ids {
            id.put(&mut data);
        }
        Self { kind, data }
    }

    /// The algorithms that a client lists (MS-SMB2 2.2.3.1.1, 2.2.3.1.2, 2.2.3.1.7).
    pub fn ids(&self) -> Result<Vec<u16>, WireError> {
        let mut reader = Reader::new(&self.data, "negotiate context");
        let count: u16 = reader.get()?;
        if self.kind == PREAUTH_INTEGRITY {
            let _salt_len: u16 = reader.get()?;
        }
        (0..count).map(|_| reader.get()).collect()
    }
}

fn put_contexts(contexts: &[Context], start: usize, out: &mut Vec<u8>) {
    for context in contexts {
        pad(start, out);
        context.kind.put(out);
        (context.data.len() as u16).put(out);
        0u32.put(out);
        out.extend_from_slice(&context.data);
    }
}

fn pad(start: usize, out: &mut Vec<u8>) {
    out.resize(start + (out.len() - start).next_multiple_of(8), 0);
}

fn get_contexts(message: &[u8], offset: usize, count: u16) -> Result<Vec<Context>, WireError> {
    let mut reader = Reader::new(message, "negotiate contexts");
    if count > MAX_CONTEXTS {
        return Err(reader.bad("count", u64::from(count)));
    }
    reader.take(offset)?;
    let mut contexts = Vec::new();
    for index in 0..count {
        let kind: u16 = reader.get()?;
        let len: u16 = reader.get()?;
        let _reserved: u32 = reader.get()?;
        contexts.push(Context { kind, data: reader.take(usize::from(len))?.to_vec() });
        if index + 1 < count {
            reader.take(usize::from(len).next_multiple_of(8) - usize::from(len))?;
        }
    }
    Ok(contexts)
}

/// SMB2 NEGOTIATE request (MS-SMB2 2.2.3): the dialects and algorithms that a client offers; `encode` expects the
/// header at `out.len() - 64`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NegotiateRequest {
    /// 1: signing enabled, 2: signing required.
    pub security_mode: u16,
    /// Capabilities of the client.
    pub capabilities: u32,
    /// Identity of the client.
    pub client_guid: [u8; 16],
    /// Dialects that the client offers, such as 0x0311.
    pub dialects: Vec<u16>,
    /// Contexts; only with dialect 3.1.1.
    pub contexts: Vec<Context>,
}

impl NegotiateRequest {
    /// Encodes the body and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len().saturating_sub(HEADER_LEN);
        36u16.put(out);
        (self.dialects.len() as u16).put(out);
        self.security_mode.put(out);
        0u16.put(out);
        self.capabilities.put(out);
        self.client_guid.put(out);
        if self.contexts.is_empty() {
            0u64.put(out);
        } else {
            let offset = (HEADER_LEN + 36 + 2 * self.dialects.len()).next_multiple_of(8);
            (offset as u32).put(out);
            (self.contexts.len() as u16).put(out);
            0u16.put(out);
        }
        self.dialects.iter().for_each(|dialect| dialect.put(out));
        put_contexts(&self.contexts, start, out);
    }

    /// Decodes the body of a message.
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::body(message, 36, "NegotiateRequest")?;
        let count: u16 = reader.get()?;
        let security_mode: u16 = reader.get()?;
        let _reserved: u16 = reader.get()?;
        let capabilities = reader.get()?;
        let client_guid = reader.get()?;
        let offset: u32 = reader.get()?;
        let context_count: u16 = reader.get()?;
        let _reserved: u16 = reader.get()?;
        let dialects: Vec<u16> = reader
            .take(usize::from(count) * 2)?
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .collect();
        let contexts = if dialects.contains(&0x0311) {
            get_contexts(message, offset as usize, context_count)?
        } else {
            Vec::new()
        };
        Ok(Self { security_mode, capabilities, client_guid, dialects, contexts })
    }
}

/// SMB2 NEGOTIATE response (MS-SMB2 2.2.4): the dialect and limits that the server chose; `encode` expects the header
/// at `out.len() - 64`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NegotiateResponse {
    /// 1: signing enabled, 2: signing required.
    pub security_mode: u16,
    /// The dialect that the server chose.
    pub dialect: u16,
    /// Identity of the server.
    pub server_guid: [u8; 16],
    /// Capabilities of the server.
    pub capabilities: u32,
    /// Maximum size of a QUERY or SET, in bytes.
    pub max_transact: u32,
    /// Maximum size of a READ, in bytes.
    pub max_read: u32,
    /// Maximum size of a WRITE, in bytes.
    pub max_write: u32,
    /// The server's clock: 100 ns since 1601; 0 if it does not send it.
    pub system_time: u64,
    /// GSS token.
    pub token: Vec<u8>,
    /// Contexts; only with dialect 3.1.1.
    pub contexts: Vec<Context>,
}

impl NegotiateResponse {
    /// Encodes the body and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len().saturating_sub(HEADER_LEN);
        65u16.put(out);
        self.security_mode.put(out);
        self.dialect.put(out);
        (self.contexts.len() as u16).put(out);
        self.server_guid.put(out);
        self.capabilities.put(out);
        self.max_transact.put(out);
        self.max_read.put(out);
        self.max_write.put(out);
        self.system_time.put(out);
        // Server start time.
        0u64.put(out);
        (HEADER_LEN as u16 + 64).put(out);
        (self.token.len() as u16).put(out);
        let offset = (HEADER_LEN + 64 + self.token.len()).next_multiple_of(8);
        (if self.contexts.is_empty() { 0 } else { offset as u32 }).put(out);
        out.extend_from_slice(&self.token);
        put_contexts(&self.contexts, start, out);
    }

    /// Decodes the body of a message.
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::body(message, 65, "NegotiateResponse")?;
        let security_mode: u16 = reader.get()?;
        let dialect: u16 = reader.get()?;
        let count: u16 = reader.get()?;
        let server_guid = reader.get()?;
        let capabilities = reader.get()?;
        let max_transact = reader.get()?;
        let max_read = reader.get()?;
        let max_write = reader.get()?;
        let system_time = reader.get()?;
        let _start_time: u64 = reader.get()?;
        let offset: u16 = reader.get()?;
        let len: u16 = reader.get()?;
        let contexts_offset: u32 = reader.get()?;
        let token = reader.slice(usize::from(offset), usize::from(len))?.to_vec();
        let contexts = if dialect == 0x0311 {
            get_contexts(message, contexts_offset as usize, count)?
        } else {
            Vec::new()
        };
        Ok(Self {
            security_mode,
            dialect,
            server_guid,
            capabilities,
            max_transact,
            max_read,
            max_write,
            system_time,
            token,
            contexts,
        })
    }
}
