//! Operations that the server performs on ranges of open files by itself: copies, clones and holes.

use sharebench_model::{FileRef, MetaYield, OpError};
use sharebench_target::{CallResult, ServerSide};

use crate::client::exchange::Exchange;
use crate::client::names::operations::unreadable;
use crate::client::open_file::CopyLimits;
use crate::client::session::SmbSession;
use crate::status::NtStatus;
use crate::wire::FileId;
use crate::wire::copy_chunk::{
    COPY_CHUNK, CopyChunkResponse, DUPLICATE_EXTENTS, DuplicateExtents, REQUEST_RESUME_KEY, ResumeKey,
    put_copy, resume_key,
};
use crate::wire::file_ranges::{SET_SPARSE, SET_ZERO_DATA, put_range};
use crate::wire::header::command;
use crate::wire::info::END_OF_FILE;
use crate::wire::ioctl::{IoctlRequest, output};

/// Bytes of output that each of these control codes needs at most.
const MAX_OUTPUT: u32 = 64;
const RESUME_KEY: &str = "FSCTL_SRV_REQUEST_RESUME_KEY";
const COPY: &str = "FSCTL_SRV_COPYCHUNK";
const DUPLICATE: &str = "FSCTL_DUPLICATE_EXTENTS_TO_FILE";

impl SmbSession {
    /// Performs an IOCTL; its status is returned, and its output is that of the last reply.
    pub(super) async fn control(
        &mut self,
        code: u32,
        file: FileId,
        input: Vec<u8>,
    ) -> Result<NtStatus, OpError> {
        let request = IoctlRequest { code, file, input, max_output: MAX_OUTPUT };
        let exchanged = self.exchange(command::IOCTL, |body| request.encode(body)).await;
        exchanged.map(|header| NtStatus(header.status))
    }

    async fn control_done(
        &mut self,
        name: &'static str,
        code: u32,
        file: FileId,
        input: Vec<u8>,
    ) -> Result<(), OpError> {
        match self.control(code, file, input).await? {
            NtStatus::SUCCESS => Ok(()),
            status => Err(status.failure(name)),
        }
    }

    /// The key by which a copy names its source, which the server states once per open file.
    async fn resume_key(&mut self, file: FileId) -> Result<ResumeKey, OpError> {
        if let Some((_, key)) = self.copies.source.filter(|(source, _)| *source == file) {
            return Ok(key);
        }
        self.control_done(RESUME_KEY, REQUEST_RESUME_KEY, file, Vec::new()).await?;
        let key = output(self.last_reply()).and_then(resume_key).map_err(unreadable(RESUME_KEY))?;
        self.copies.source = Some((file, key));
        Ok(key)
    }
}

impl ServerSide for SmbSession {
    /// `FSCTL_SRV_COPYCHUNK` (MS-SMB2 2.2.31.1) of as many bytes as one request copies; returns how many it copied.
    async fn copy_range(&mut self, from: FileRef, to: FileRef, offset: u64, bytes: u64) -> CallResult {
        let source = self.files.get(from)?.id;
        let target = self.files.get(to)?.id;
        let key = self.resume_key(source).await?;
        loop {
            let limits = self.copies.limits.unwrap_or(CopyLimits::USUAL);
            let chunks = limits.chunks_of(offset, bytes);
            let wanted: u64 = chunks.iter().map(|chunk| u64::from(chunk.len)).sum();
            let mut input = Vec::new();
            put_copy(&key, &chunks, &mut input);
            let status = self.control(COPY_CHUNK, target, input).await?;
            let answer = output(self.last_reply()).and_then(CopyChunkResponse::decode);
            if status == NtStatus::SUCCESS {
                let copied = u64::from(answer.map_err(unreadable(COPY))?.total_bytes);
                if copied > wanted {
                    return Err(OpError::copied_too_much(COPY, copied, wanted));
                }
                return Ok(MetaYield::Bytes(copied));
            }
            let lowered = answer.ok().and_then(|stated| limits.lowered(stated));
            match lowered.filter(|_| status == NtStatus::INVALID_PARAMETER) {
                Some(lowered) => self.copies.limits = Some(lowered),
                None => return Err(status.failure(COPY)),
            }
        }
    }

    /// `FSCTL_DUPLICATE_EXTENTS_TO_FILE` (MS-FSCC 2.3.7.2). The range must be within the target, so that its length is set
    /// before.
    async fn clone_range(&mut self, from: FileRef, to: FileRef, bytes: u64) -> CallResult {
        let source = self.files.get(from)?.id;
        let target = self.files.get(to)?.id;
        self.set_info(target, END_OF_FILE, bytes.to_le_bytes().to_vec()).await?;
        let mut input = Vec::new();
        DuplicateExtents { source, source_offset: 0, target_offset: 0, len: bytes }.encode(&mut input);
        self.control_done(DUPLICATE, DUPLICATE_EXTENTS, target, input).await?;
        Ok(MetaYield::Done)
    }

    /// `FSCTL_SET_SPARSE` (MS-FSCC 2.3.64), without which zeros are written, and `FSCTL_SET_ZERO_DATA` (2.3.67).
    async fn punch_hole(&mut self, file: FileRef, offset: u64, bytes: u64) -> CallResult {
        let file = self.files.get(file)?.id;
        self.control_done("FSCTL_SET_SPARSE", SET_SPARSE, file, vec![1]).await?;
        let mut input = Vec::new();
        // The first byte beyond the hole, and not its length.
        put_range(offset, offset.saturating_add(bytes), &mut input);
        self.control_done("FSCTL_SET_ZERO_DATA", SET_ZERO_DATA, file, input).await?;
        Ok(MetaYield::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_stays_within_the_limits_and_has_no_gap() {
        let lens = |limits: CopyLimits, offset, bytes| {
            let chunks = limits.chunks_of(offset, bytes);
            let mut at = offset;
            for chunk in &chunks {
                assert_eq!((chunk.source, chunk.target), (at, at));
                at += u64::from(chunk.len);
            }
            chunks.iter().map(|chunk| chunk.len).collect::<Vec<_>>()
        };
        assert_eq!(lens(CopyLimits::USUAL, 0, 5), [5]);
        assert_eq!(lens(CopyLimits::USUAL, 7, (1 << 20) + 1), [1 << 20, 1]);
        assert_eq!(lens(CopyLimits::USUAL, 0, 1 << 40), [1 << 20; 16]);
        let small = CopyLimits { chunks: 2, chunk_bytes: 10, total_bytes: 15 };
        assert_eq!(lens(small, 3, 100), [10, 5]);
        assert_eq!(lens(small, 3, 0), [0u32; 0]);
    }

    #[test]
    fn only_lower_limits_are_taken_over() {
        let stated =
            |chunks, chunk_bytes, total_bytes| CopyChunkResponse { chunks, chunk_bytes, total_bytes };
        let lower = CopyLimits { chunks: 8, chunk_bytes: 1 << 20, total_bytes: 4 << 20 };
        assert_eq!(CopyLimits::USUAL.lowered(stated(8, 2 << 20, 4 << 20)), Some(lower));
        // The same limits again do not end, and without any byte nothing can be copied.
        assert_eq!(lower.lowered(stated(8, 1 << 20, 4 << 20)), None);
        assert_eq!(lower.lowered(stated(0, 1 << 20, 4 << 20)), None);
    }
}
