//! What a session knows of its open files and directories.

use sharebench_model::IoPolicy;
use sharebench_target::ListingGuard;

use crate::wire::FileId;
use crate::wire::copy_chunk::{Chunk, CopyChunkResponse, ResumeKey};
use crate::wire::header::command;

/// A file that the server opened for this session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenFile {
    pub(crate) id: FileId,
    /// Policy that the file was opened with. It decides the flags of each READ and WRITE.
    pub(crate) policy: IoPolicy,
}

/// A listing in progress. The server keeps its position with the open directory.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) directory: FileId,
    pub(crate) guard: ListingGuard,
    /// The next request starts with the first entry.
    pub(crate) restarts: bool,
    /// The last request was repeated after the loss of a channel, so that its page may not be the next one.
    pub(crate) position_lost: bool,
}

impl Listing {
    pub(crate) fn new(directory: FileId, path: &str) -> Self {
        let guard = ListingGuard::new(path, command::name(command::QUERY_DIRECTORY));
        Self { directory, guard, restarts: false, position_lost: false }
    }

    /// Starts again with the first entry.
    pub(crate) fn restart(&mut self) {
        *self = Self { restarts: true, ..Self::new(self.directory, self.guard.directory()) };
    }
}

/// How much one request copies. Servers state their own limits when a request exceeds them (MS-SMB2 3.3.5.15.6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyLimits {
    pub(crate) chunks: u32,
    pub(crate) chunk_bytes: u32,
    pub(crate) total_bytes: u32,
}

impl CopyLimits {
    /// The limits of Windows (MS-SMB2 appendix A, note on 3.3.3), which Samba has as well.
    pub(crate) const USUAL: Self = Self { chunks: 16, chunk_bytes: 1 << 20, total_bytes: 16 << 20 };

    /// The limits that a server states, where they are lower than these; none if they are not.
    pub(crate) fn lowered(self, stated: CopyChunkResponse) -> Option<Self> {
        let lower = Self {
            chunks: self.chunks.min(stated.chunks),
            chunk_bytes: self.chunk_bytes.min(stated.chunk_bytes),
            total_bytes: self.total_bytes.min(stated.total_bytes),
        };
        let usable = lower.chunks > 0 && lower.chunk_bytes > 0 && lower.total_bytes > 0;
        (usable && lower != self).then_some(lower)
    }

    /// The chunks of one request that begins at `offset` and copies at most `bytes`.
    pub(crate) fn chunks_of(self, offset: u64, bytes: u64) -> Vec<Chunk> {
        let mut left = bytes.min(self.total_bytes.into());
        let mut at = offset;
        let mut chunks = Vec::new();
        while left > 0 && chunks.len() < self.chunks as usize {
            let len = left.min(self.chunk_bytes.into());
            chunks.push(Chunk { source: at, target: at, len: len as u32 });
            at = at.saturating_add(len);
            left -= len;
        }
        chunks
    }
}

/// What a session knows of the server's copies: the limits, and the key of the source of the last one.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    pub(crate) limits: Option<CopyLimits>,
    pub(crate) source: Option<(FileId, ResumeKey)>,
}

impl Copies {
    /// Forgets the key of a file that is closed, because a server may use its identifier again.
    pub(crate) fn forget(&mut self, file: FileId) {
        self.source = self.source.filter(|(source, _)| *source != file);
    }
}
