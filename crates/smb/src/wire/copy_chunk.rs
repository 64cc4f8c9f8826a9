//! `FSCTL_SRV_COPYCHUNK` and its resume key (MS-SMB2 2.2.31.1, 2.2.32.1, 2.2.32.3), and `FSCTL_DUPLICATE_EXTENTS_TO_FILE`
//! (MS-FSCC 2.3.7.2).

use super::{Field, FileId, Reader, WireError};

/// `FSCTL_SRV_REQUEST_RESUME_KEY`.
pub const REQUEST_RESUME_KEY: u32 = 0x0014_0078;
/// `FSCTL_SRV_COPYCHUNK`: the target needs read access.
pub const COPY_CHUNK: u32 = 0x0014_40F2;
/// `FSCTL_SRV_COPYCHUNK_WRITE`: the target needs no read access.
pub const COPY_CHUNK_WRITE: u32 = 0x0014_80F2;
/// `FSCTL_DUPLICATE_EXTENTS_TO_FILE`.
pub const DUPLICATE_EXTENTS: u32 = 0x0009_8344;

/// A range to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// First byte in the source.
    pub source: u64,
    /// First byte in the target.
    pub target: u64,
    /// Number of bytes.
    pub len: u32,
}

/// Input of a copy (MS-SMB2 2.2.31.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyChunkRequest {
    /// The source, from the resume key.
    pub source: FileId,
    /// Number of chunks, which may exceed what a server accepts.
    pub count: u32,
    /// At most `max` of them.
    pub chunks: Vec<Chunk>,
}

impl CopyChunkRequest {
    /// Decodes the input, up to `max` chunks.
    pub fn decode(input: &[u8], max: u32) -> Result<Self, WireError> {
        let mut reader = Reader::new(input, "SRV_COPYCHUNK_COPY");
        let source = reader.get()?;
        reader.take(8)?;
        let count: u32 = reader.get()?;
        let _reserved: u32 = reader.get()?;
        let mut chunk = || -> Result<Chunk, WireError> {
            let chunk = Chunk { source: reader.get()?, target: reader.get()?, len: reader.get()? };
            reader.take(4)?;
            Ok(chunk)
        };
        let chunks = (0..count.min(max)).map(|_| chunk()).collect::<Result<_, _>>()?;
        Ok(Self { source, count, chunks })
    }
}

/// The resume key of an open (MS-SMB2 2.2.32.3): its identifier.
pub fn put_resume_key(file: FileId, out: &mut Vec<u8>) {
    file.put(out);
    0u64.put(out);
    // No context.
    0u64.put(out);
}

/// The output of a copy (MS-SMB2 2.2.32.1): chunks and bytes that were copied, or the limits of the server.
pub fn put_copied(chunks: u32, chunk_bytes: u32, total_bytes: u32, out: &mut Vec<u8>) {
    for value in [chunks, chunk_bytes, total_bytes] {
        value.put(out);
    }
}

/// Input of `FSCTL_DUPLICATE_EXTENTS_TO_FILE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DuplicateExtents {
    /// The source.
    pub source: FileId,
    /// First byte in the source.
    pub source_offset: u64,
    /// First byte in the target.
    pub target_offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl DuplicateExtents {
    /// Decodes the input.
    pub fn decode(input: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(input, "DUPLICATE_EXTENTS_DATA");
        Ok(Self {
            source: reader.get()?,
            source_offset: reader.get()?,
            target_offset: reader.get()?,
            len: reader.get()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_names_its_source_by_the_resume_key() {
        let file = FileId { persistent: 1, volatile: 2 };
        let mut input = Vec::new();
        put_resume_key(file, &mut input);
        assert_eq!(input.len(), 32);
        input.truncate(24);
        2u32.put(&mut input);
        0u32.put(&mut input);
        for offset in [5u64, 6, 7, 8, 9, 10] {
            offset.put(&mut input);
        }
        let decoded = CopyChunkRequest::decode(&input, 16).unwrap();
        assert_eq!((decoded.source, decoded.count), (file, 2));
        assert_eq!(decoded.chunks[1], Chunk { source: 8, target: 9, len: 10 });
        assert!((0..input.len()).all(|len| CopyChunkRequest::decode(&input[..len], 16).is_err()));
        assert_eq!(CopyChunkRequest::decode(&input, 1).unwrap().chunks.len(), 1);
    }
}
