//! IOCTL (MS-SMB2 2.2.31, 2.2.32), for control codes that concern a connection or a pipe.

use super::{Field, FileId, HEADER_LEN, Reader, WireError};

/// `FSCTL_VALIDATE_NEGOTIATE_INFO`.
pub const VALIDATE_NEGOTIATE_INFO: u32 = 0x0014_0204;
/// `FSCTL_PIPE_TRANSCEIVE`: writes to a pipe and reads the answer.
pub const PIPE_TRANSCEIVE: u32 = 0x0011_C017;

/// SMB2 IOCTL request (MS-SMB2 2.2.31) with a file system control code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IoctlRequest {
    /// Control code.
    pub code: u32,
    /// The file; [`FileId::PREVIOUS`] if the code concerns none.
    pub file: FileId,
    /// Its input.
    pub input: Vec<u8>,
    /// Maximum size of the output, in bytes.
    pub max_output: u32,
}

impl IoctlRequest {
    /// Encodes the body and appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        57u16.put(out);
        0u16.put(out);
        self.code.put(out);
        self.file.put(out);
        (HEADER_LEN as u32 + 56).put(out);
        (self.input.len() as u32).put(out);
        0u32.put(out);
        0u64.put(out);
        self.max_output.put(out);
        // SMB2_0_IOCTL_IS_FSCTL
        1u32.put(out);
        0u32.put(out);
        out.extend_from_slice(&self.input);
    }

    /// Decodes the body of a message.
    pub fn decode(message: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::body(message, 57, "IoctlRequest")?;
        reader.take(2)?;
        let code = reader.get()?;
        let file = reader.get()?;
        let offset: u32 = reader.get()?;
        let len: u32 = reader.get()?;
        reader.take(12)?;
        let input = reader.slice(offset as usize, len as usize)?.to_vec();
        Ok(Self { code, file, input, max_output: reader.get()? })
    }
}

/// Encodes the body of an SMB2 IOCTL response (MS-SMB2 2.2.32) with its output and appends it.
pub fn put_output(code: u32, file: FileId, output: &[u8], out: &mut Vec<u8>) {
    49u16.put(out);
    0u16.put(out);
    code.put(out);
    file.put(out);
    // No input: its offset is that of the output.
    (HEADER_LEN as u32 + 48).put(out);
    0u32.put(out);
    (HEADER_LEN as u32 + 48).put(out);
    (output.len() as u32).put(out);
    0u64.put(out);
    out.extend_from_slice(output);
}

/// The output of an SMB2 IOCTL response (MS-SMB2 2.2.32).
pub fn output(message: &[u8]) -> Result<&[u8], WireError> {
    let mut reader = Reader::body(message, 49, "IoctlResponse")?;
    reader.take(30)?;
    let offset: u32 = reader.get()?;
    let len: u32 = reader.get()?;
    reader.slice(offset as usize, len as usize)
}
