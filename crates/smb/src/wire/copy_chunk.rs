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

/// Bytes of a resume key (MS-SMB2 2.2.32.3).
pub const RESUME_KEY_BYTES: usize = 24;

/// The resume key of a source, which the server chose.
pub type ResumeKey = [u8; RESUME_KEY_BYTES];

/// Appends the input of a copy (MS-SMB2 2.2.31.1): the key of the source, and the chunks.
pub fn put_copy(source: &ResumeKey, chunks: &[Chunk], out: &mut Vec<u8>) {
    out.extend_from_slice(source);
    (chunks.len() as u32).put(out);
    0u32.put(out);
    for chunk in chunks {
        chunk.source.put(out);
        chunk.target.put(out);
        chunk.len.put(out);
        0u32.put(out);
    }
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

/// The resume key in the output of `FSCTL_SRV_REQUEST_RESUME_KEY` (MS-SMB2 2.2.32.3).
pub fn resume_key(output: &[u8]) -> Result<ResumeKey, WireError> {
    Reader::new(output, "SRV_REQUEST_RESUME_KEY").get()
}

/// What a server answers to a copy (MS-SMB2 2.2.32.1): what it copied, or with `STATUS_INVALID_PARAMETER` the most of each
/// that it accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyChunkResponse {
    /// Chunks that were copied, or the maximum number of chunks of a request.
    pub chunks: u32,
    /// Bytes of a last chunk that was copied in part, or the maximum size of a chunk.
    pub chunk_bytes: u32,
    /// Bytes that were copied, or the maximum of a request.
    pub total_bytes: u32,
}

impl CopyChunkResponse {
    /// Decodes the output.
    pub fn decode(output: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(output, "SRV_COPYCHUNK_RESPONSE");
        Ok(Self { chunks: reader.get()?, chunk_bytes: reader.get()?, total_bytes: reader.get()? })
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
    /// Appends the input.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.source.put(out);
        self.source_offset.put(out);
        self.target_offset.put(out);
        self.len.put(out);
    }

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

    #[test]
    fn a_copy_is_read_as_it_was_written() {
        let file = FileId { persistent: 3, volatile: 4 };
        let mut output = Vec::new();
        put_resume_key(file, &mut output);
        let key = resume_key(&output).unwrap();
        assert!(resume_key(&output[..23]).is_err());
        let chunks = [Chunk { source: 1, target: 2, len: 3 }, Chunk { source: 4, target: 5, len: 6 }];
        let mut input = Vec::new();
        put_copy(&key, &chunks, &mut input);
        assert_eq!(input.len(), 32 + 2 * 24);
        let decoded = CopyChunkRequest::decode(&input, 16).unwrap();
        assert_eq!((decoded.source, decoded.count, decoded.chunks), (file, 2, chunks.to_vec()));
        let mut output = Vec::new();
        put_copied(7, 8, 9, &mut output);
        let copied = CopyChunkResponse { chunks: 7, chunk_bytes: 8, total_bytes: 9 };
        assert_eq!(CopyChunkResponse::decode(&output), Ok(copied));
        assert!(CopyChunkResponse::decode(&output[..11]).is_err());
        let extents = DuplicateExtents { source: file, source_offset: 1, target_offset: 2, len: 3 };
        let mut input = Vec::new();
        extents.encode(&mut input);
        assert_eq!((input.len(), DuplicateExtents::decode(&input)), (40, Ok(extents)));
    }
}
