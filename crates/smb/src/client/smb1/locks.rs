//! Locks of byte ranges over SMB1, and opens that deny a file to others.

use sharebench_model::{FileRef, IoPolicy, MetaYield, OpenHow};
use sharebench_target::{CallResult, Locks};

use super::session::Nt1Session;
use crate::nt1::command;
use crate::nt1::file::{LARGE_FILES, LockRange, LockRequest};
use crate::nt1::message::{NO_ANDX, Words};

/// The process that holds all locks of a session. Locks of two sessions exclude each other nevertheless, because the server
/// knows which open has a lock.
const PROCESS: u16 = 1;
/// `Timeout`: wait as long as it takes.
const FOREVER: u32 = u32::MAX;
/// `ShareAccess`: nobody else may open the file.
pub(super) const SHARE_NONE: u32 = 0;

impl Locks for Nt1Session {
    /// `LOCKING_ANDX` that locks one range exclusively (MS-CIFS 2.2.4.32). A server that is to wait answers when the range is free.
    async fn lock(&mut self, file: FileRef, offset: u64, len: u64, wait: bool) -> CallResult {
        let timeout = if wait { FOREVER } else { 0 };
        let words = LockRequest { timeout, locks: 1, ..LockRequest::default() };
        self.request_locking(file, offset, len, words).await
    }

    /// `LOCKING_ANDX` that unlocks exactly one range.
    async fn unlock(&mut self, file: FileRef, offset: u64, len: u64) -> CallResult {
        self.request_locking(file, offset, len, LockRequest { unlocks: 1, ..LockRequest::default() }).await
    }

    /// `NT_CREATE_ANDX` with a share access of none (MS-CIFS 2.2.4.64.1).
    async fn open_denying(&mut self, path: &str) -> CallResult {
        let (file, reply) =
            self.open_with(path, OpenHow::ReadWrite, IoPolicy::default(), SHARE_NONE, 0).await?;
        Ok(MetaYield::Opened { file, size: reply.end_of_file })
    }
}

impl Nt1Session {
    async fn request_locking(
        &mut self,
        file: FileRef,
        offset: u64,
        len: u64,
        words: LockRequest,
    ) -> CallResult {
        let fid = self.files.get(file)?.fid;
        let words = LockRequest { andx: NO_ANDX, fid, kind: LARGE_FILES, ..words };
        let range = LockRange::new(PROCESS, offset, len);
        self.connection.request(command::LOCKING_ANDX, &words, |out| range.put(out)).await?;
        Ok(MetaYield::Done)
    }
}
