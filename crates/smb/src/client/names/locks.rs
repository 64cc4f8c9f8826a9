//! Locks of byte ranges, and opens that deny a file to others.

use sharebench_model::{FileRef, IoPolicy, MetaYield, OpenHow};
use sharebench_target::{CallResult, Locks};

use crate::client::exchange::Exchange;
use crate::client::rights::lease_choice::Opens;
use crate::client::session::SmbSession;
use crate::wire::header::command;
use crate::wire::lock::{LockRange, LockRequest, flags};

impl Locks for SmbSession {
    /// LOCK of one range, exclusively (MS-SMB2 2.2.26). A server that is to wait answers at once that the request is pending,
    /// and again when the range is free (3.3.5.14.2); the connection takes that for no end of the request.
    async fn lock(&mut self, file: FileRef, offset: u64, len: u64, wait: bool) -> CallResult {
        let immediately = if wait { 0 } else { flags::FAIL_IMMEDIATELY };
        self.request_lock(file, offset, len, flags::EXCLUSIVE | immediately).await
    }

    /// LOCK that unlocks exactly one range.
    async fn unlock(&mut self, file: FileRef, offset: u64, len: u64) -> CallResult {
        self.request_lock(file, offset, len, flags::UNLOCK).await
    }

    /// CREATE with a share mode of none (MS-SMB2 2.2.13): a server rejects it with `STATUS_SHARING_VIOLATION` while the file
    /// is open, and other opens while this one is.
    async fn open_denying(&mut self, path: &str) -> CallResult {
        let mut extras = self.create_extras(path, Opens::File);
        extras.denies_sharing = true;
        self.open_with(extras, path, OpenHow::ReadWrite, IoPolicy::default()).await
    }
}

impl SmbSession {
    /// The sequence is 0: requests are repeated only for resilient and persistent handles (MS-SMB2 3.2.4.19).
    async fn request_lock(&mut self, file: FileRef, offset: u64, len: u64, flags: u32) -> CallResult {
        let file = self.files.get(file)?.id;
        let request = LockRequest { sequence: 0, file, ranges: vec![LockRange { offset, len, flags }] };
        self.request(command::LOCK, |body| request.encode(body)).await?;
        Ok(MetaYield::Done)
    }
}
