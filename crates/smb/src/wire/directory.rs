//! `QUERY_DIRECTORY` (MS-SMB2 2.2.33) and `FileDirectoryInformation` (MS-FSCC 2.4.10).

use super::{Field, FileId, HEADER_LEN, Reader, WireError, from_utf16, utf16};

/// `FileDirectoryInformation`.
pub const CLASS_DIRECTORY: u8 = 1;

/// SMB2 `QUERY_DIRECTORY` request (MS-SMB2 2.2.33); the response is an [`super::info::InfoResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryDirectoryRequest {
    /// The directory.
    pub file: FileId,
    /// Pattern of the names, such as `*`.
    pub pattern: String,
    /// Maximum size of the response's information, in bytes.
    pub output_len: u32,
}

impl QueryDirectoryRequest {
    /// Encodes the body and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let pattern = utf16(&self.pattern);
        33u16.put(out);
        CLASS_DIRECTORY.put(out);
        0u8.put(out);
        0u32.put(out);
        self.file.put(out);
        (HEADER_LEN as u16 + 32).put(out);
        (pattern.len() as u16).put(out);
        self.output_len.put(out);
        out.extend_from_slice(&pattern);
    }

    /// Decodes the body of a message.
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::body(message, 33, "QueryDirectoryRequest")?;
        reader.take(6)?;
        let file = reader.get()?;
        let offset: u16 = reader.get()?;
        let len: u16 = reader.get()?;
        let output_len = reader.get()?;
        let pattern = from_utf16(reader.slice(usize::from(offset), usize::from(len))?);
        Ok(Self { file, pattern, output_len })
    }
}

/// One entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Last path component.
    pub name: String,
    /// Attributes.
    pub attributes: u32,
}

/// Decodes the entries of one response's information.
pub fn entries(information: &[u8]) -> Result<Vec<DirectoryEntry>, WireError> {
    let mut found = Vec::new();
    let mut rest = information;
    while !rest.is_empty() {
        let mut reader = Reader::new(rest, "FileDirectoryInformation");
        let next: u32 = reader.get()?;
        reader.take(52)?;
        let attributes: u32 = reader.get()?;
        let len: u32 = reader.get()?;
        found.push(DirectoryEntry { name: from_utf16(reader.take(len as usize)?), attributes });
        rest = match next as usize {
            0 => &[],
            // A step shorter than the fixed part of an entry would read the same bytes again.
            step if step < 64 => return Err(reader.bad("NextEntryOffset", step as u64)),
            step => reader.slice(step, rest.len().saturating_sub(step))?,
        };
    }
    Ok(found)
}
