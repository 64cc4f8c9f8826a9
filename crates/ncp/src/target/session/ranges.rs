//! Copies that the server makes by itself (docs/protocols/ncp.md 3.2 and 3.5: 0x4A, or 87/70 for large files).

use sharebench_model::{FileRef, MetaYield, OpError};
use sharebench_target::{CallResult, ServerSide};

use crate::client::FilePosition;
use crate::target::session::NcpSession;

/// Most bytes of one call; the servers of NetWare copy in the call, which a client waits for.
const MAX_COPY: u64 = 16 << 20;

impl ServerSide for NcpSession {
    /// Copies as many bytes as one call copies; returns how many these were.
    async fn copy_range(&mut self, from: FileRef, to: FileRef, offset: u64, bytes: u64) -> CallResult {
        let source = FilePosition { file: self.first_handle(from)?, offset };
        let target = FilePosition { file: self.first_handle(to)?, offset };
        // The client's cache must not hold what the server changes.
        self.drop_cache(to).await?;
        let count = bytes.min(MAX_COPY) as u32;
        let copied = self.call_client(async |client| client.copy(source, target, count).await).await?;
        if copied > u64::from(count) {
            return Err(OpError::copied_too_much("copy", copied, u64::from(count)));
        }
        Ok(MetaYield::Bytes(copied))
    }
}
