//! Control codes of open files: copies on the server, sparse files, object identifiers (MS-SMB2 3.3.5.15).

use std::sync::Arc;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::FileId;
use sharebench_smb::wire::change_notify::filter;
use sharebench_smb::wire::copy_chunk::{
    COPY_CHUNK, COPY_CHUNK_WRITE, Chunk, CopyChunkRequest, DUPLICATE_EXTENTS, DuplicateExtents,
    REQUEST_RESUME_KEY, put_copied, put_resume_key,
};
use sharebench_smb::wire::create::access;
use sharebench_smb::wire::file_ranges::{
    QUERY_ALLOCATED_RANGES, RANGE_BYTES, SET_SPARSE, SET_ZERO_DATA, pair, put_range,
};

use crate::smb::files::byte_locks::LockOwner;
use crate::smb::files::content_changes::ContentChange;
use crate::smb::files::file_info::{describe, is_sparse, store_sparse};
use crate::smb::files::open_file::OpenFile;
use crate::smb::session::call::Call;
use crate::smb::session::established::Opened;
use crate::smb::status::{Outcome, checked, malformed};
use crate::{FileRange, SeekTarget, VolumeError};

/// Control codes (MS-FSCC 2.3).
const CREATE_OR_GET_OBJECT_ID: u32 = 0x0009_00C0;
const GET_COMPRESSION: u32 = 0x0009_003C;
const SET_COMPRESSION: u32 = 0x0009_C040;
/// `FSCTL_LMR_REQUEST_RESILIENCY` (MS-SMB2 2.2.31).
const REQUEST_RESILIENCY: u32 = 0x0014_01D4;
/// Limits of a copy, which a request above them learns (MS-SMB2 3.3.5.15.6).
const MAX_CHUNKS: u32 = 256;
const MAX_CHUNK_BYTES: u32 = 1 << 20;
const MAX_COPY_BYTES: u32 = 16 << 20;

impl Call<'_> {
    /// The status and output of a control code that concerns an open file; none if the code is not known.
    pub(crate) fn file_control(
        &mut self,
        code: u32,
        file: FileId,
        input: &[u8],
        max: usize,
    ) -> Option<Outcome<(NtStatus, Vec<u8>)>> {
        let open = match self.file(file) {
            Ok(open) => open,
            Err(status) => return Some(Err(status)),
        };
        let done = |output| (NtStatus::SUCCESS, output);
        Some(match code {
            REQUEST_RESUME_KEY => {
                let mut output = Vec::new();
                put_resume_key(open.id, &mut output);
                Ok(done(output))
            }
            COPY_CHUNK | COPY_CHUNK_WRITE => self.copy_chunks(&open, code == COPY_CHUNK, input),
            DUPLICATE_EXTENTS => self.duplicate(&open, input).map(|()| done(Vec::new())),
            SET_SPARSE => self.set_sparse(&open, input).map(|()| done(Vec::new())),
            SET_ZERO_DATA => self.set_zero(&open, input).map(|()| done(Vec::new())),
            QUERY_ALLOCATED_RANGES => self.allocated_ranges(&open, input, max),
            CREATE_OR_GET_OBJECT_ID => {
                // The number of the node within this volume.
                let mut output = vec![0; 64];
                output[..8].copy_from_slice(&open.node.0.to_le_bytes());
                output[8..16].copy_from_slice(&self.connection.server.guid[..8]);
                Ok(done(output))
            }
            GET_COMPRESSION => Ok(done(vec![0; 2])),
            SET_COMPRESSION => match input.first_chunk() {
                None => Err(NtStatus::INVALID_PARAMETER),
                // The file stays as it is: not compressed.
                Some([0, 0]) => Ok(done(Vec::new())),
                Some(_) => Err(NtStatus::NOT_SUPPORTED),
            },
            REQUEST_RESILIENCY if !open.directory && self.has_resiliency() => {
                open.make_resilient(input).map(|()| done(Vec::new()))
            }
            _ => return None,
        })
    }

    /// True if the dialect has resilient opens (MS-SMB2 3.3.5.15.9).
    fn has_resiliency(&self) -> bool {
        self.connection.negotiated.get().is_some_and(|negotiated| negotiated.dialect > 0x0202)
    }

    /// Begins a change of a range of a file, after the checks that the open may change it.
    fn begin_checked<'o>(&self, open: &'o OpenFile, offset: u64, len: u64) -> Outcome<ContentChange<'o>> {
        if open.directory {
            return Err(NtStatus::INVALID_DEVICE_REQUEST);
        }
        open.require(access::WRITE_DATA | access::APPEND_DATA)?;
        let end = offset.checked_add(len).and_then(|end| i64::try_from(end).ok());
        end.ok_or(NtStatus::INVALID_PARAMETER)?;
        open.file.check_locks(LockOwner::of_open(open.id.volatile), offset, len, true)?;
        self.begin_change(open)
    }

    /// Checks that an open may read a range of its file, which must exist.
    fn check_source(&self, open: &OpenFile, offset: u64, len: u64) -> Outcome<()> {
        if open.directory {
            return Err(NtStatus::INVALID_DEVICE_REQUEST);
        }
        open.require(access::READ_DATA | access::EXECUTE)?;
        let size = checked(self.connection.server.volume.attributes(open.node))?.size;
        let end = offset.checked_add(len).ok_or(NtStatus::INVALID_PARAMETER)?;
        if end > size {
            return Err(NtStatus::INVALID_VIEW_SIZE);
        }
        open.file.check_locks(LockOwner::of_open(open.id.volatile), offset, len, false)
    }

    /// Reports a change of content to those who cache or watch the file.
    fn changed(&self, open: &OpenFile) {
        open.file.end_caches(open.id.volatile);
        open.note_written(&self.connection.server.files);
    }

    fn copy_chunks(
        &mut self,
        target: &Arc<OpenFile>,
        reads: bool,
        input: &[u8],
    ) -> Outcome<(NtStatus, Vec<u8>)> {
        let request = CopyChunkRequest::decode(input, MAX_CHUNKS).map_err(malformed)?;
        // The source may be open in another tree of the session, and the target was found already.
        let source = self.session.opened_anywhere(request.source).and_then(Opened::file);
        let source = source.map_err(|_| NtStatus::OBJECT_NAME_NOT_FOUND)?;
        let mut output = Vec::new();
        let total = request.chunks.iter().map(|chunk| u64::from(chunk.len)).sum::<u64>();
        let sizes = request.chunks.iter().all(|chunk| chunk.len > 0 && chunk.len <= MAX_CHUNK_BYTES);
        if request.count > MAX_CHUNKS || total > u64::from(MAX_COPY_BYTES) || !sizes {
            put_copied(MAX_CHUNKS, MAX_CHUNK_BYTES, MAX_COPY_BYTES, &mut output);
            return Ok((NtStatus::INVALID_PARAMETER, output));
        }
        if reads {
            target.require(access::READ_DATA)?;
        }
        let mut chunks = 0;
        let mut bytes = 0;
        let mut status = NtStatus::SUCCESS;
        for chunk in &request.chunks {
            match self.copy_chunk(&source, target, chunk) {
                Ok(copied) => bytes += copied,
                Err(failed) => {
                    status = failed;
                    break;
                }
            }
            chunks += 1;
        }
        // Also after a failure: the client learns how far the copy has come (MS-SMB2 3.3.5.15.6).
        put_copied(chunks, 0, bytes, &mut output);
        Ok((status, output))
    }

    /// Copies a chunk, and returns its bytes.
    fn copy_chunk(&self, source: &OpenFile, target: &Arc<OpenFile>, chunk: &Chunk) -> Outcome<u32> {
        let len = u64::from(chunk.len);
        self.check_source(source, chunk.source, len)?;
        let _change = self.begin_checked(target, chunk.target, len)?;
        let from = FileRange { file: source.node, offset: chunk.source };
        let to = FileRange { file: target.node, offset: chunk.target };
        let copied = self.connection.server.volume.copy(from, to, len);
        self.changed(target);
        Ok(checked(copied)? as u32)
    }

    fn duplicate(&mut self, target: &Arc<OpenFile>, input: &[u8]) -> Outcome<()> {
        let request = DuplicateExtents::decode(input).map_err(malformed)?;
        let source = self.session.opened(request.source, self.tree_id)?.file()?;
        self.check_source(&source, request.source_offset, request.len)?;
        let _change = self.begin_checked(target, request.target_offset, request.len)?;
        let from = FileRange { file: source.node, offset: request.source_offset };
        let to = FileRange { file: target.node, offset: request.target_offset };
        let cloned = self.connection.server.volume.clone_range(from, to, request.len);
        self.changed(target);
        match cloned {
            Err(VolumeError::Unsupported) => Err(NtStatus::INVALID_DEVICE_REQUEST),
            other => checked(other),
        }
    }

    fn set_sparse(&self, open: &OpenFile, input: &[u8]) -> Outcome<()> {
        if open.directory {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        open.require(access::WRITE_DATA | access::APPEND_DATA | access::WRITE_ATTRIBUTES)?;
        let _change = self.begin_change(open)?;
        let volume = self.connection.server.volume.as_ref();
        let attributes = checked(volume.attributes(open.node))?;
        store_sparse(volume, &attributes, input.first().is_none_or(|sparse| *sparse != 0));
        open.note_change(&self.connection.server.files, filter::ATTRIBUTES);
        Ok(())
    }

    /// Zeros a range: a hole in a sparse file, zeros in others. The length of the file stays.
    fn set_zero(&self, open: &OpenFile, input: &[u8]) -> Outcome<()> {
        let (offset, beyond) = pair(input).map_err(malformed)?;
        let len = beyond.checked_sub(offset).ok_or(NtStatus::INVALID_PARAMETER)?;
        let _change = self.begin_checked(open, offset, len)?;
        let volume = &self.connection.server.volume;
        let size = checked(volume.attributes(open.node))?.size;
        let len = len.min(size.saturating_sub(offset));
        if len == 0 {
            return Ok(());
        }
        let zeroed = volume.deallocate(open.node, offset, len);
        self.changed(open);
        match zeroed {
            Err(VolumeError::Unsupported) => Err(NtStatus::NOT_SUPPORTED),
            other => checked(other),
        }
    }

    /// The ranges with data within a range. A file that is not sparse has data everywhere.
    fn allocated_ranges(&self, open: &OpenFile, input: &[u8], max: usize) -> Outcome<(NtStatus, Vec<u8>)> {
        let (offset, len) = pair(input).map_err(malformed)?;
        open.require(access::READ_DATA)?;
        let wanted_end = offset.checked_add(len).filter(|end| i64::try_from(*end).is_ok());
        let wanted_end = wanted_end.ok_or(NtStatus::INVALID_PARAMETER)?;
        let volume = self.connection.server.volume.as_ref();
        let attributes = checked(volume.attributes(open.node))?;
        let end = wanted_end.min(attributes.size);
        let sparse = is_sparse(&describe(volume, &attributes));
        let mut output = Vec::new();
        let mut at = offset;
        while at < end {
            let (start, stop) = if sparse {
                let Some(start) = checked(volume.seek(open.node, at, SeekTarget::Data))? else { break };
                let hole = checked(volume.seek(open.node, start, SeekTarget::Hole))?;
                (start, hole.unwrap_or(end).min(end))
            } else {
                (at, end)
            };
            if start >= end {
                break;
            }
            if output.len() + RANGE_BYTES > max {
                return Ok((NtStatus::BUFFER_OVERFLOW, output));
            }
            put_range(start, stop - start, &mut output);
            at = stop;
        }
        Ok((NtStatus::SUCCESS, output))
    }
}
