//! Operations that a server of NFS 4.2 performs on ranges of open files by itself: COPY, CLONE and DEALLOCATE
//! (RFC 7862, 15.2, 15.13 and 15.4).

use std::time::Duration;

use sharebench_model::{FileRef, MetaYield, OpError};
use sharebench_target::{CallResult, ServerSide, no_request};

use crate::client::v4::compound::{Compound, Results};
use crate::client::v4::recovery::{MAX_RETRY_DELAY, MIN_RETRY_DELAY};
use crate::client::v4::requests::{Caller, Request};
use crate::client::v4::session::Nfs4Session;
use crate::client::v4::states::OpenState;
use crate::v4::callback::Offloaded;
use crate::v4::data::StateId;
use crate::v4::item::Item;
use crate::v4::list::List;
use crate::v4::operation::Operation;
use crate::v4::sparse::{Clone4, Copied, Copy, Offload, OffloadState, Range};
use crate::v4::status::Nfs4Status;

/// What became of a COPY.
enum CopyEnd {
    Copied(u64),
    /// The server copies, and reports its end by the name of this state.
    Continues(StateId),
    /// The server wants to copy asynchronously only.
    NotSynchronous,
}

/// The result of an asynchronous copy that has ended.
fn ended(offloaded: Offloaded) -> Result<u64, OpError> {
    match Nfs4Status::from_code(offloaded.status) {
        None => Ok(offloaded.count),
        Some(status) => Err(status.failure(Operation::Copy.name())),
    }
}

impl ServerSide for Nfs4Session {
    /// COPY of as many bytes as the server copies by one call; returns how many these were.
    async fn copy_range(&mut self, from: FileRef, to: FileRef, offset: u64, bytes: u64) -> CallResult {
        self.check_version("copies a file")?;
        let files = [self.files.get(from)?.handle, self.files.get(to)?.handle];
        let copied = match self.copy(&files, offset, bytes, true).await? {
            CopyEnd::Copied(copied) => copied,
            CopyEnd::Continues(state) => self.wait_for_copy(files[1], state).await?,
            CopyEnd::NotSynchronous => match self.copy(&files, offset, bytes, false).await? {
                CopyEnd::Copied(copied) => copied,
                CopyEnd::Continues(state) => self.wait_for_copy(files[1], state).await?,
                CopyEnd::NotSynchronous => {
                    return Err(Nfs4Status::OffloadNoReqs.failure(Operation::Copy.name()));
                }
            },
        };
        if copied > bytes {
            return Err(OpError::copied_too_much(Operation::Copy.name(), copied, bytes));
        }
        Ok(MetaYield::Bytes(copied))
    }

    async fn clone_range(&mut self, from: FileRef, to: FileRef, bytes: u64) -> CallResult {
        self.check_version("clones a file")?;
        let files = [self.files.get(from)?.handle, self.files.get(to)?.handle];
        let clone = Clone4 {
            source_state: files[0].state,
            destination_state: files[1].state,
            source_offset: 0,
            destination_offset: 0,
            count: bytes,
        };
        self.between(Operation::Clone, &files, &clone).await?.done(Operation::Clone)?;
        Ok(MetaYield::Done)
    }

    async fn punch_hole(&mut self, file: FileRef, offset: u64, bytes: u64) -> CallResult {
        self.check_version("punches a hole")?;
        let OpenState { handle, state, .. } = self.files.get(file)?.handle;
        let build = |compound: &mut Compound<'_>, _: Caller| {
            compound
                .handle(&handle)
                .operation(Operation::Deallocate, &Range { state, offset, length: bytes });
        };
        let mut results = self.request(Request::changing(Operation::Deallocate), build).await?;
        results.done(Operation::PutFh)?;
        results.done(Operation::Deallocate)?;
        Ok(MetaYield::Done)
    }

    async fn read_sparse(&mut self, file: FileRef, offset: u64, len: u32) -> CallResult {
        self.check_version("reads holes without their zeros")?;
        self.read_with_holes(file, offset, len).await.map(MetaYield::Bytes)
    }
}

impl Nfs4Session {
    /// Fails in the versions before 4.2.
    fn check_version(&self, does: &str) -> Result<(), OpError> {
        if self.minor < 2 { Err(no_request(self, does)) } else { Ok(()) }
    }

    /// Performs an operation from the saved to the current handle.
    async fn between<'a>(
        &mut self,
        operation: Operation,
        [source, destination]: &[OpenState; 2],
        arguments: &impl Item<'a>,
    ) -> Result<Results<'_>, OpError> {
        let build = |compound: &mut Compound<'_>, _: Caller| {
            compound
                .handle(&source.handle)
                .plain(Operation::SaveFh)
                .handle(&destination.handle)
                .operation(operation, arguments);
        };
        let mut results = self.request(Request::changing(operation), build).await?;
        results.done(Operation::PutFh)?;
        results.done(Operation::SaveFh)?;
        results.done(Operation::PutFh)?;
        Ok(results)
    }

    async fn copy(
        &mut self,
        files: &[OpenState; 2],
        offset: u64,
        count: u64,
        synchronous: bool,
    ) -> Result<CopyEnd, OpError> {
        let copy = Copy {
            source_state: files[0].state,
            destination_state: files[1].state,
            source_offset: offset,
            destination_offset: offset,
            count,
            consecutive: true,
            synchronous,
            source_servers: List::new(&[]),
        };
        self.callback_slot.offloaded = None;
        let mut results = self.between(Operation::Copy, files, &copy).await?;
        match results.get::<Copied>(Operation::Copy) {
            Ok(Copied { callback: Some(state), .. }) => Ok(CopyEnd::Continues(state)),
            Ok(Copied { callback: None, count, .. }) => Ok(CopyEnd::Copied(count)),
            Err(_) if self.last_status() == Some(Nfs4Status::OffloadNoReqs) => Ok(CopyEnd::NotSynchronous),
            Err(error) => Err(error),
        }
    }

    /// Waits for the end of an asynchronous copy: `CB_OFFLOAD`, or what `OFFLOAD_STATUS` returns, whichever comes first. The
    /// caller limits the time.
    async fn wait_for_copy(&mut self, destination: OpenState, state: StateId) -> Result<u64, OpError> {
        let mut delay: Duration = MIN_RETRY_DELAY;
        loop {
            // The version of the state may differ.
            let own = self.callback_slot.offloaded.filter(|offloaded| offloaded.state.other == state.other);
            if let Some(offloaded) = own {
                return ended(offloaded);
            }
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(MAX_RETRY_DELAY);
            match self.copy_state(destination, state).await {
                Ok(OffloadState { count, complete: Some(status) }) => {
                    return ended(Offloaded { state, status, count });
                }
                Ok(OffloadState { complete: None, .. }) => {}
                // The copy ended, and its callback crossed the call.
                Err(_) if self.callback_slot.offloaded.is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// `OFFLOAD_STATUS` (RFC 7862, 15.9).
    async fn copy_state(&mut self, destination: OpenState, state: StateId) -> Result<OffloadState, OpError> {
        let build = |compound: &mut Compound<'_>, _: Caller| {
            compound.handle(&destination.handle).operation(Operation::OffloadStatus, &Offload { state });
        };
        let mut results = self.request(Request::reading(Operation::OffloadStatus), build).await?;
        results.done(Operation::PutFh)?;
        results.get(Operation::OffloadStatus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v4::compound::OK;
    use crate::xdr::{Reader, Writer};

    #[test]
    fn the_end_of_an_asynchronous_copy_is_read_as_it_was_written() {
        let state = StateId::CURRENT;
        for (status, count) in [(OK, 1 << 40), (Nfs4Status::Nospc.code(), 4096)] {
            let offloaded = Offloaded { state, status, count };
            let mut writer = Writer::default();
            offloaded.put(&mut writer);
            let bytes = writer.as_slice();
            assert_eq!(Offloaded::get(&mut Reader::new(bytes)), Ok(offloaded));
            assert!((0..bytes.len()).all(|len| Offloaded::get(&mut Reader::new(&bytes[..len])).is_err()));
            assert_eq!(ended(offloaded).is_ok(), status == OK);
        }
    }
}
