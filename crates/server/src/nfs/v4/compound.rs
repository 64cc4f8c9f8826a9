//! COMPOUND: operations that are executed one after the other until one fails (RFC 7530, 14.2; RFC 8881, 16.2).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sharebench_nfs::v4::compound::{CallHead, OK, ReplyHead};
use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::nfs::handle::FileObject;
use crate::nfs::state::ServerState;
use crate::nfs::v4::errors::OpResult;
use crate::nfs::v4::limits::MAX_OPERATIONS;
use crate::nfs::v4::peer::Peer;
use crate::nfs::v4::state::entry::Caller;
use crate::nfs::v4::state::session::Session;
use crate::nfs::v4::{V4Server, errors};
use crate::{NodeId, Volume};

/// Highest minor version that is served.
pub(super) const MAX_MINOR_VERSION: u32 = 2;
/// Bytes of a reply before the results: the RPC header and the fragment header.
pub(super) const RPC_REPLY_BYTES: usize = 28;

/// A call in progress: what its operations leave to the later ones.
pub(super) struct Compound<'a> {
    pub(super) server: &'a ServerState,
    pub(super) peer: &'a Arc<Peer>,
    pub(super) minor_version: u32,
    /// Number of operations of the call.
    pub(super) count: u32,
    /// Index of the operation in progress.
    pub(super) position: u32,
    /// Bytes of the call.
    pub(super) call_bytes: usize,
    pub(super) session: Option<Arc<Session>>,
    /// The client, from minor version 1 on.
    pub(super) client: Option<u64>,
    /// The slot, and true if the client wants its reply to be kept.
    pub(super) slot: Option<(u32, bool)>,
    /// The results of an earlier execution of the call.
    pub(super) repeated: Option<Vec<u8>>,
    pub(super) current: Option<FileObject>,
    pub(super) saved: Option<FileObject>,
    /// The state id that belongs to the current file (RFC 8881, 16.2.3.1.2).
    pub(super) current_state: Option<StateId>,
    pub(super) saved_state: Option<StateId>,
}

impl ServerState {
    /// Executes the COMPOUND in `call` and appends its results.
    pub(in crate::nfs) fn compound(
        &self,
        peer: &Arc<Peer>,
        call: &mut Reader<'_>,
        out: &mut Writer,
    ) -> Result<(), XdrError> {
        let start = out.len();
        let call_bytes = call.rest().len();
        let head = CallHead::get(call)?;
        ReplyHead { status: OK, tag: head.tag, count: 0 }.put(out);
        let count_at = out.len() - 4;
        if head.minor_version > MAX_MINOR_VERSION {
            out.patch(start, Nfs4Status::MinorVersMismatch.code());
            return Ok(());
        }
        let mut compound = Compound {
            server: self,
            peer,
            minor_version: head.minor_version,
            count: head.count,
            position: 0,
            call_bytes,
            session: None,
            client: None,
            slot: None,
            repeated: None,
            current: None,
            saved: None,
            current_state: None,
            saved_state: None,
        };
        let status = compound.execute(call, out, start);
        if let Some(repeated) = &compound.repeated {
            out.truncate(start);
            out.raw(repeated);
            return Ok(());
        }
        out.patch(start, status.map_or_else(Nfs4Status::code, |()| OK));
        out.patch(count_at, compound.position);
        compound.finish_slot(&out.as_slice()[start..]);
        Ok(())
    }
}

impl<'a> Compound<'a> {
    pub(super) fn v4(&self) -> &'a V4Server {
        &self.server.v4
    }

    pub(super) fn volume(&self) -> &'a dyn Volume {
        &*self.server.v4.volume
    }

    /// Who presents state ids in this call.
    pub(super) fn caller(&self) -> Caller {
        Caller { client: self.client, minor_version: self.minor_version }
    }

    /// Executes operations until one fails. `position` is then the number of results.
    fn execute(&mut self, call: &mut Reader<'_>, out: &mut Writer, start: usize) -> Result<(), Nfs4Status> {
        while self.position < self.count {
            let at = out.len();
            let (operation, number) = match call.u32() {
                Ok(number) => (Operation::from_code(number), number),
                // The call ends before its operations do.
                Err(_) => (None, Operation::Illegal as u32),
            };
            let known = operation.filter(|known| known.first_minor_version() <= self.minor_version);
            let known = known.filter(|known| *known != Operation::Illegal);
            out.u32(known.map_or(Operation::Illegal as u32, |_| number));
            out.u32(OK);
            let result = match known {
                _ if self.position >= MAX_OPERATIONS && self.minor_version == 0 => {
                    Err(Nfs4Status::Resource.into())
                }
                Some(operation) => {
                    self.check_session(operation).and_then(|()| self.perform(operation, call, out))
                }
                None => Err(Nfs4Status::OpIllegal.into()),
            };
            self.position += 1;
            self.settle(result, out, at + 8, start)?;
            if self.repeated.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Completes the result of an operation that begins before `body`.
    fn settle(
        &self,
        result: OpResult,
        out: &mut Writer,
        body: usize,
        start: usize,
    ) -> Result<(), Nfs4Status> {
        let result = result.and_then(|()| self.check_reply_size(out.len() - start));
        let Err(error) = result else { return Ok(()) };
        if let errors::OpError::Status(_) = error {
            out.truncate(body);
        }
        out.patch(body - 4, error.status().code());
        Err(error.status())
    }

    /// Dispatches an operation.
    #[inline]
    fn perform(&mut self, operation: Operation, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        self.server.counters.operations[operation as usize % super::super::state::OPERATIONS]
            .fetch_add(1, Ordering::Relaxed);
        match operation {
            Operation::Sequence => self.sequence(call, out),
            Operation::PutFh => self.put_handle(call),
            Operation::Read => self.read(call, out),
            Operation::Write => self.write(call, out),
            Operation::GetAttr => self.get_attributes(call, out),
            Operation::Access => self.access(call, out),
            Operation::Close => self.close(call, out),
            Operation::Commit => self.commit(call, out),
            Operation::Create => self.create(call, out),
            Operation::DelegReturn => self.return_delegation(call),
            Operation::GetFh => self.get_handle(out),
            Operation::Link => self.link(call, out),
            Operation::Lock => self.lock(call, out),
            Operation::LockT => self.test_lock(call, out),
            Operation::LockU => self.unlock(call, out),
            Operation::Lookup => self.lookup(call),
            Operation::LookupP => self.lookup_parent(),
            Operation::NVerify => self.verify(call, false),
            Operation::Verify => self.verify(call, true),
            Operation::Open => self.open(call, out),
            Operation::OpenConfirm => self.confirm_open(call, out),
            Operation::OpenDowngrade => self.downgrade(call, out),
            Operation::PutPubFh | Operation::PutRootFh => {
                self.put_root();
                Ok(())
            }
            Operation::ReadDir => self.list(call, out),
            Operation::ReadLink => self.read_link(out),
            Operation::Remove => self.remove(call, out),
            Operation::Rename => self.rename(call, out),
            Operation::Renew => self.renew(call),
            Operation::RestoreFh => self.restore(),
            Operation::SaveFh => self.save(),
            Operation::SecInfo => self.security(call, out),
            Operation::SecInfoNoName => self.security_of_current(call, out),
            Operation::SetAttr => self.set_attributes(call, out),
            Operation::SetClientId => self.set_client_id(call, out),
            Operation::SetClientIdConfirm => self.confirm_client_id(call),
            Operation::ReleaseLockOwner => self.release_lock_owner(call),
            Operation::BackchannelCtl => self.control_back_channel(call),
            Operation::BindConnToSession => self.bind_connection(call, out),
            Operation::ExchangeId => self.exchange_id(call, out),
            Operation::CreateSession => self.create_session(call, out),
            Operation::DestroySession => self.destroy_session(call),
            Operation::FreeStateId => self.free_state(call),
            Operation::TestStateId => self.test_states(call, out),
            Operation::DestroyClientId => self.destroy_client(call),
            Operation::ReclaimComplete => self.reclaim_complete(call),
            Operation::Allocate => self.allocate(call),
            Operation::Deallocate => self.deallocate(call),
            Operation::Seek => self.seek(call, out),
            Operation::Copy => self.copy(call, out),
            Operation::Clone => self.clone_range(call),
            Operation::ReadPlus => self.read_plus(call, out),
            Operation::IoAdvise => self.io_advise(call, out),
            _ => Err(Nfs4Status::Notsupp.into()),
        }
    }

    /// The current file or directory.
    pub(super) fn object(&self) -> Result<FileObject, Nfs4Status> {
        self.current.ok_or(Nfs4Status::Nofilehandle)
    }

    /// The current node of the volume; a directory above it is read-only.
    pub(super) fn node(&self) -> Result<NodeId, Nfs4Status> {
        self.object()?.node().ok_or(Nfs4Status::Rofs)
    }

    /// The current file for an operation on its data, which a directory above the volume does not have.
    #[inline]
    pub(super) fn file(&self) -> Result<NodeId, Nfs4Status> {
        self.object()?.node().ok_or(Nfs4Status::Isdir)
    }

    /// The saved node of the volume; `above` is the status for a directory above it.
    pub(super) fn saved_node(&self, above: Nfs4Status) -> Result<NodeId, Nfs4Status> {
        self.saved.ok_or(Nfs4Status::Nofilehandle)?.node().ok_or(above)
    }

    /// Makes a file or directory the current one.
    pub(super) fn enter(&mut self, object: FileObject) {
        self.current = Some(object);
        self.current_state = None;
    }

    /// The state id that is meant: from minor version 1 on, a special one stands for the current one.
    pub(super) fn state(&self, state: StateId) -> Result<StateId, Nfs4Status> {
        if self.minor_version == 0 || state != StateId::CURRENT {
            return Ok(state);
        }
        self.current_state.ok_or(Nfs4Status::BadStateid)
    }
}
