//! `QUERY_DIRECTORY` (MS-SMB2 2.2.33) and `FileDirectoryInformation` (MS-FSCC 2.4.10).

use super::{Field, FileId, HEADER_LEN, Reader, WireError, from_utf16, utf16};

/// `FileDirectoryInformation`.
pub const CLASS_DIRECTORY: u8 = 1;

/// Flags of a request (MS-SMB2 2.2.33).
pub mod flags {
    /// Start again with the first entry.
    pub const RESTART_SCANS: u8 = 0x01;
    /// Return one entry.
    pub const RETURN_SINGLE_ENTRY: u8 = 0x02;
    /// Continue at the index of the request.
    pub const INDEX_SPECIFIED: u8 = 0x04;
    /// Start again with the pattern of the request.
    pub const REOPEN: u8 = 0x10;
}

/// SMB2 `QUERY_DIRECTORY` request (MS-SMB2 2.2.33); the response is an [`super::info::InfoResponse`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueryDirectoryRequest {
    /// Information class of the entries, such as [`CLASS_DIRECTORY`].
    pub class: u8,
    /// See [`flags`].
    pub flags: u8,
    /// Where to continue, with [`flags::INDEX_SPECIFIED`].
    pub file_index: u32,
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
        self.class.put(out);
        self.flags.put(out);
        self.file_index.put(out);
        self.file.put(out);
        (HEADER_LEN as u16 + 32).put(out);
        (pattern.len() as u16).put(out);
        self.output_len.put(out);
        out.extend_from_slice(&pattern);
    }

    /// Decodes the body of a message.
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::body(message, 33, "QueryDirectoryRequest")?;
        let class = reader.get()?;
        let flags = reader.get()?;
        let file_index = reader.get()?;
        let file = reader.get()?;
        let offset: u16 = reader.get()?;
        let len: u16 = reader.get()?;
        let output_len = reader.get()?;
        let pattern = from_utf16(reader.slice(usize::from(offset), usize::from(len))?);
        Ok(Self { class, flags, file_index, file, pattern, output_len })
    }
}

/// One entry of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Last path component.
    pub name: String,
    /// Attributes.
    pub attributes: u32,
    /// Length in bytes.
    pub end_of_file: u64,
}

/// Bytes of an entry before its name.
const FIXED_BYTES: usize = 64;

/// Decodes the entries of one response's information.
pub fn entries(information: &[u8]) -> Result<Vec<DirectoryEntry>, WireError> {
    let mut found = Vec::new();
    let mut rest = information;
    while !rest.is_empty() {
        let mut reader = Reader::new(rest, "FileDirectoryInformation");
        let next: u32 = reader.get()?;
        // FileIndex and four times.
        reader.take(36)?;
        let end_of_file: u64 = reader.get()?;
        // AllocationSize.
        reader.take(8)?;
        let attributes: u32 = reader.get()?;
        let len: u32 = reader.get()?;
        let step = match next as usize {
            0 => rest.len(),
            // A step shorter than the fixed part of an entry would read the same bytes again.
            step if step < FIXED_BYTES => return Err(reader.bad("NextEntryOffset", step as u64)),
            step => step,
        };
        // Names that overlap the next entry would make a response fill far more memory than it has bytes.
        if len as usize > step.min(rest.len()) - FIXED_BYTES {
            return Err(reader.bad("FileNameLength", u64::from(len)));
        }
        let name = from_utf16(reader.take(len as usize)?);
        found.push(DirectoryEntry { name, attributes, end_of_file });
        rest = rest.get(step..).ok_or_else(|| reader.bad("NextEntryOffset", step as u64))?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry (MS-FSCC 2.4.10) of a file with 7 bytes.
    fn entry(next: u32, name_len: u32, name: &str) -> Vec<u8> {
        let mut bytes = next.to_le_bytes().to_vec();
        bytes.extend([0; 36]);
        bytes.extend(7u64.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(0x20u32.to_le_bytes());
        bytes.extend(name_len.to_le_bytes());
        bytes.extend(utf16(name));
        bytes
    }

    #[test]
    fn entries_have_their_names_sizes_and_attributes() {
        let information = [entry(72, 4, "ab--"), entry(0, 2, "c")].concat();
        let of = |name: &str| DirectoryEntry { name: name.into(), attributes: 0x20, end_of_file: 7 };
        assert_eq!(entries(&information), Ok(vec![of("ab"), of("c")]));
        assert_eq!(entries(&[]), Ok(Vec::new()));
    }

    #[test]
    fn steps_and_names_that_leave_their_entry_are_errors() {
        for (next, name_len) in [(1, 2), (63, 2), (64, 2), (72, 10), (1000, 2), (u32::MAX, 2), (72, u32::MAX)]
        {
            let information = [entry(next, name_len, "abcd"), entry(0, 2, "c")].concat();
            assert!(entries(&information).is_err(), "{next}, {name_len}");
        }
        assert!(entries(&entry(0, 4, "a")).is_err());
    }
}
