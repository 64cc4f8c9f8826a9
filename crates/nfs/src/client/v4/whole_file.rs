//! Small files that one call opens, reads and closes (`compound=on`).

use sharebench_client_core::submit_error;
use sharebench_model::{OpError, Slot, WireCount};

use crate::client::directory_walk::DirectoryWalk;
use crate::client::paths::split;
use crate::client::v4::compound::Results;
use crate::client::v4::recovery::{MAX_RETRY_DELAY, MIN_RETRY_DELAY};
use crate::client::v4::requests::{Caller, Request};
use crate::client::v4::session::Nfs4Session;
use crate::v4::data::{Close, FileHandle4, Read, StateId};
use crate::v4::item::Opaque;
use crate::v4::names::Lookup;
use crate::v4::open::{
    DENY_NONE, DelegReturn, Open, OpenClaim, OpenHow, Opened, SHARE_READ, StateOwner, WANT_NO_DELEGATION,
};
use crate::v4::operation::Operation;
use crate::v4::status::Nfs4Status;

/// What a call left: the file may still be open, and the client may hold a delegation.
struct Performed {
    read: Result<u32, OpError>,
    /// The state of an open that the call did not close.
    open: Option<StateId>,
    delegation: Option<StateId>,
}

/// Copies the data of a READ of at most `buffer.len()` bytes.
pub(crate) fn keep_data(results: &mut Results<'_>, buffer: &mut [u8]) -> Result<u32, OpError> {
    let data = results.get_with(Operation::Read, |reader| {
        // Whether the file ends here follows from the number of bytes (RFC 8881, 18.22.2).
        reader.u32()?;
        reader.opaque("READ data", buffer.len())
    })?;
    buffer[..data.len()].copy_from_slice(data);
    Ok(data.len() as u32)
}

impl Performed {
    /// Reads the results of OPEN, READ and CLOSE; an error if the file was not opened.
    fn new(results: &mut Results<'_>, buffer: &mut [u8]) -> Result<Self, OpError> {
        results.done(Operation::PutFh)?;
        let opened: Opened<'_> = results.get(Operation::Open)?;
        let mut read = keep_data(results, buffer);
        let mut open = Some(opened.state);
        if read.is_ok() {
            match results.get::<StateId>(Operation::Close) {
                Ok(_) => open = None,
                Err(error) => read = Err(error),
            }
        }
        Ok(Self { read, open, delegation: opened.delegation.state() })
    }
}

impl Nfs4Session {
    /// Opens, reads and closes a file by one COMPOUND, into the buffer of a slot that is idle. READ and CLOSE name the state
    /// that OPEN has just returned.
    pub(crate) async fn read_whole_file(&mut self, slot: Slot, path: &str, len: u32) -> Result<u32, OpError> {
        if len > self.limits.read_max {
            return Err(submit_error::record_above_limit("READ", len, "maxread", self.limits.read_max));
        }
        let mut buffer = self.payloads.take(slot.0 as usize);
        let read = match buffer.get_mut(..len as usize) {
            Some(part) => self.read_into(path, part).await,
            None => Err(submit_error::record_above_slot("READ", len)),
        };
        self.payloads.put(slot.0 as usize, buffer);
        let received =
            WireCount { payload_received: u64::from(*read.as_ref().unwrap_or(&0)), ..WireCount::default() };
        self.channel.add_wire(received);
        read
    }

    async fn read_into(&mut self, path: &str, buffer: &mut [u8]) -> Result<u32, OpError> {
        let (parent, name) = split(path)?;
        let directory = self.directory(parent).await?;
        let owner = self.owners.acquire();
        let mut delay = MIN_RETRY_DELAY;
        let read = loop {
            let performed = match self.open_read_close(directory, name, owner, buffer).await {
                Ok(performed) => performed,
                Err(error) => break Err(error),
            };
            let postponed = matches!(self.last_status(), Some(Nfs4Status::Delay | Nfs4Status::Grace));
            if let Some(delegation) = performed.delegation {
                self.return_by_name(directory, name, delegation).await?;
            }
            if let Some(state) = performed.open {
                self.close_by_name(directory, name, state).await?;
            }
            if !postponed {
                break performed.read;
            }
            self.pause(tokio::time::sleep(delay)).await;
            delay = (delay * 2).min(MAX_RETRY_DELAY);
        };
        self.owners.release(owner);
        read
    }

    async fn open_read_close(
        &mut self,
        directory: FileHandle4,
        name: &str,
        owner: u32,
        buffer: &mut [u8],
    ) -> Result<Performed, OpError> {
        let owner_name = owner.to_be_bytes();
        let count = buffer.len() as u32;
        let mut results = self
            .request(Request::whole_file(), |compound, Caller { client_id, sequence }| {
                let owner = StateOwner { client_id, owner: Opaque(&owner_name) };
                let claim = OpenClaim::Name(Opaque(name.as_bytes()));
                let access = SHARE_READ | WANT_NO_DELEGATION;
                let how = OpenHow::Existing;
                let state = StateId::CURRENT;
                compound
                    .handle(&directory)
                    .operation(
                        Operation::Open,
                        &Open { sequence, access, deny: DENY_NONE, owner, how, claim },
                    )
                    .operation(Operation::Read, &Read { state, offset: 0, count })
                    .operation(Operation::Close, &Close { sequence, state });
            })
            .await?;
        Performed::new(&mut results, buffer)
    }

    /// CLOSE of a file that READ or CLOSE has failed for.
    async fn close_by_name(
        &mut self,
        directory: FileHandle4,
        name: &str,
        state: StateId,
    ) -> Result<(), OpError> {
        let request = Request::changing(Operation::Close);
        let lookup = Lookup { name: Opaque(name.as_bytes()) };
        let mut results = self
            .request(request, |compound, Caller { sequence, .. }| {
                compound
                    .handle(&directory)
                    .operation(Operation::Lookup, &lookup)
                    .operation(Operation::Close, &Close { sequence, state });
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.done(Operation::Lookup)?;
        results.get::<StateId>(Operation::Close).map(drop)
    }

    /// Returns a delegation that the client did not want (RFC 8881, 18.6).
    async fn return_by_name(
        &mut self,
        directory: FileHandle4,
        name: &str,
        state: StateId,
    ) -> Result<(), OpError> {
        let request = Request::changing(Operation::DelegReturn);
        let lookup = Lookup { name: Opaque(name.as_bytes()) };
        let mut results = self
            .request(request, |compound, _| {
                compound
                    .handle(&directory)
                    .operation(Operation::Lookup, &lookup)
                    .operation(Operation::DelegReturn, &DelegReturn { state });
            })
            .await?;
        results.done(Operation::PutFh)?;
        results.done(Operation::Lookup)?;
        results.done(Operation::DelegReturn)
    }
}
