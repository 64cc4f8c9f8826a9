//! `QUERY_INFO` and `SET_INFO` (MS-SMB2 2.2.37 to 2.2.40), and the information classes in use.

use super::bytes::body;
use super::{Field, FileId, HEADER_LEN, Reader, WireError, from_utf16, utf16};

/// `InfoType`: of a file.
pub const TYPE_FILE: u8 = 1;
/// `InfoType`: of a file system.
pub const TYPE_FILE_SYSTEM: u8 = 2;
/// `InfoType`: a security descriptor.
pub const TYPE_SECURITY: u8 = 3;
/// `FileRenameInformation` (MS-FSCC 2.4.37).
pub const RENAME: u8 = 10;
/// `FileLinkInformation` (MS-FSCC 2.4.27).
pub const LINK: u8 = 11;
/// `FileDispositionInformation` (MS-FSCC 2.4.11).
pub const DISPOSITION: u8 = 13;
/// `FileEndOfFileInformation` (MS-FSCC 2.4.13).
pub const END_OF_FILE: u8 = 20;
/// `FileFsFullSizeInformation` (MS-FSCC 2.5.4).
pub const FS_FULL_SIZE: u8 = 7;

body! {
    /// SMB2 `QUERY_INFO` request (MS-SMB2 2.2.37) without an input buffer.
    QueryInfoRequest, 41 {
        /// [`TYPE_FILE`] or [`TYPE_FILE_SYSTEM`].
        info_type: u8,
        /// Information class.
        class: u8,
        /// Maximum size of the response's information, in bytes.
        output_len: u32,
        /// Zero.
        input_offset: u16,
        /// Zero.
        reserved: u16,
        /// Zero.
        input_len: u32,
        /// Zero.
        additional: u32,
        /// Zero.
        flags: u32,
        /// The file.
        file: FileId,
    }
}

/// SMB2 `QUERY_INFO` response; `QUERY_DIRECTORY`'s has the same layout (MS-SMB2 2.2.34, 2.2.38).
pub struct InfoResponse;

impl InfoResponse {
    /// Encodes a body with its information and appends it.
    pub fn encode(information: &[u8], out: &mut Vec<u8>) {
        9u16.put(out);
        (HEADER_LEN as u16 + 8).put(out);
        (information.len() as u32).put(out);
        out.extend_from_slice(information);
    }

    /// The information of a message.
    pub fn decode(message: &[u8]) -> Result<&[u8], WireError> {
        let mut reader = Reader::body(message, 9, "InfoResponse")?;
        let offset: u16 = reader.get()?;
        let len: u32 = reader.get()?;
        reader.slice(usize::from(offset), len as usize)
    }
}

/// SMB2 `SET_INFO` request (MS-SMB2 2.2.39). The response (2.2.40) has no fields but its `StructureSize` 2.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetInfoRequest {
    /// [`TYPE_FILE`], [`TYPE_FILE_SYSTEM`] or [`TYPE_SECURITY`].
    pub info_type: u8,
    /// Information class.
    pub class: u8,
    /// The file.
    pub file: FileId,
    /// Parts of a security descriptor to set.
    pub additional: u32,
    /// The information.
    pub information: Vec<u8>,
}

impl SetInfoRequest {
    /// Encodes the body and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        33u16.put(out);
        self.info_type.put(out);
        self.class.put(out);
        (self.information.len() as u32).put(out);
        (HEADER_LEN as u16 + 32).put(out);
        0u16.put(out);
        self.additional.put(out);
        self.file.put(out);
        out.extend_from_slice(&self.information);
    }

    /// Decodes the body of a message.
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::body(message, 33, "SetInfoRequest")?;
        let info_type = reader.get()?;
        let class = reader.get()?;
        let len: u32 = reader.get()?;
        let offset: u16 = reader.get()?;
        let _reserved: u16 = reader.get()?;
        let additional = reader.get()?;
        let file = reader.get()?;
        let information = reader.slice(usize::from(offset), len as usize)?.to_vec();
        Ok(Self { info_type, class, file, additional, information })
    }
}

/// Encodes `FileRenameInformation` for SMB2: rename to `name` (below the share) and replace an existing file.
pub fn rename(name: &str) -> Vec<u8> {
    let name = utf16(name);
    let mut out = Vec::with_capacity(20 + name.len());
    out.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
    0u64.put(&mut out);
    (name.len() as u32).put(&mut out);
    out.extend_from_slice(&name);
    out
}

/// Decodes `FileRenameInformation` or `FileLinkInformation` for SMB2 (MS-FSCC 2.4.37.2, 2.4.27.2): whether an existing file is replaced, and the new path
/// below the share.
pub fn renamed(information: &[u8]) -> Result<(bool, String), WireError> {
    let mut reader = Reader::new(information, "FileRenameInformation");
    let replace: u8 = reader.get()?;
    // Reserved bytes and the root directory.
    reader.take(15)?;
    let len: u32 = reader.get()?;
    Ok((replace != 0, from_utf16(reader.take(len as usize)?)))
}

/// Decodes `FileFsFullSizeInformation`: size of the file system and space available to the caller, in bytes.
pub fn full_size(information: &[u8]) -> Result<(u64, u64), WireError> {
    let mut reader = Reader::new(information, "FileFsFullSizeInformation");
    let total: u64 = reader.get()?;
    let caller: u64 = reader.get()?;
    let _actual: u64 = reader.get()?;
    let sectors: u32 = reader.get()?;
    let bytes: u32 = reader.get()?;
    let unit = u64::from(sectors) * u64::from(bytes);
    Ok((total.saturating_mul(unit), caller.saturating_mul(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_decodes_the_new_name_of_the_client() {
        let information = rename("dir\\ü");
        assert_eq!(renamed(&information), Ok((true, "dir\\ü".to_owned())));
        assert!((0..information.len()).all(|len| renamed(&information[..len]).is_err()));
    }
}
