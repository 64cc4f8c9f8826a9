//! Oplocks over SMB1: opens that request one, and the wait for its break (MS-CIFS 2.2.4.64, 3.2.5.42).

use std::future::poll_fn;
use std::task::Poll;

use sharebench_model::{CacheRight, FileRef, IoPolicy, MetaYield, OpError, OpenHow};
use sharebench_target::{CacheRights, CallResult};

use super::connection::oplock_file;
use super::session::Nt1Session;
use crate::nt1::file::{REQUEST_BATCH_OPLOCK, REQUEST_OPLOCK, oplock_level};
use crate::wire::create::SHARE_ALL;
use crate::wire::oplock;

impl CacheRights for Nt1Session {
    /// Opens a file with a request for a batch oplock. Its break is awaited from now on.
    async fn open_leased(&mut self, path: &str) -> CallResult {
        let flags = REQUEST_OPLOCK | REQUEST_BATCH_OPLOCK;
        // A break may arrive together with the reply to the open.
        self.connection.oplocks.oplock_requested();
        let opened = self.open_with(path, OpenHow::ReadWrite, IoPolicy::default(), SHARE_ALL, flags).await;
        let (file, reply) = opened.inspect_err(|_| self.connection.oplocks.forget_oplock())?;
        let level = oplock_level(reply.oplock);
        self.connection.counts.oplock_granted(level);
        self.connection.oplocks.oplock_granted(oplock_file(reply.fid), level);
        let right = match level {
            oplock::BATCH | oplock::EXCLUSIVE => CacheRight::Writes,
            oplock::LEVEL_II => CacheRight::Reads,
            _ => CacheRight::None,
        };
        self.held = (right != CacheRight::None).then_some(file);
        Ok(MetaYield::OpenedToCache { file, right })
    }

    /// Waits for the break of the oplock of [`Self::open_leased`], which is acknowledged when it arrives.
    async fn await_recall(&mut self, file: FileRef) -> CallResult {
        if self.held != Some(file) {
            return Err(OpError::no_right());
        }
        poll_fn(|cx| {
            self.connection.listen(cx);
            if let Some(error) = self.connection.failure() {
                return Poll::Ready(Err(error));
            }
            if self.connection.oplocks.is_broken() { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await?;
        Ok(MetaYield::Done)
    }

    /// The oplock of this file was taken back and the break acknowledged.
    async fn give_back(&mut self, file: FileRef) -> CallResult {
        match self.held.take_if(|held| *held == file) {
            Some(_) => Ok(MetaYield::Done),
            None => Err(OpError::no_right()),
        }
    }
}
