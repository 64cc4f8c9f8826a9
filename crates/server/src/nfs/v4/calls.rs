//! Operations of sessions, and the rules for calls within and outside one (RFC 8881, 2.10 and 18.33 to 18.51).

use std::sync::Arc;

use sharebench_nfs::v4::item::{Item, Opaque};
use sharebench_nfs::v4::list::List;
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::session::{
    BIND_BACK, BIND_FORE, BOUND_BOTH, BackchannelControl, BindConnection, BoundConnection, CONFIRMED,
    CreateSession, DestroyClientId, DestroySession, ExchangeId, ExchangedId, FreeStateId, NoStateProtection,
    ReclaimComplete, Sequence, Sequenced, TestStateId, TestedStateId, UPDATE_CONFIRMED, USE_NON_PNFS,
    sequence_status,
};
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer};

use crate::nfs::v4::callback::CallbackTarget;
use crate::nfs::v4::compound::{Compound, RPC_REPLY_BYTES};
use crate::nfs::v4::errors::OpResult;
use crate::nfs::v4::state::slot::SlotUse;

/// Name of this server for clients that compare servers (RFC 8881, 2.10.5).
const SCOPE: &[u8] = b"sharebench";
/// Flags of `EXCHANGE_ID` that a client may set.
const CLIENT_FLAGS: u32 = 0x4007_0103;

impl Compound<'_> {
    /// Checks that an operation may appear at its position (RFC 8881, 2.10.6.2 and 18.46.3).
    #[inline]
    pub(super) fn check_session(&self, operation: Operation) -> OpResult {
        if self.minor_version == 0 {
            return Ok(());
        }
        match operation {
            Operation::Sequence if self.position > 0 => Err(Nfs4Status::SequencePos.into()),
            Operation::Sequence => Ok(()),
            // Operations of minor version 0, which sessions replace (RFC 8881, 17).
            Operation::SetClientId
            | Operation::SetClientIdConfirm
            | Operation::Renew
            | Operation::OpenConfirm
            | Operation::ReleaseLockOwner => Err(Nfs4Status::Notsupp.into()),
            Operation::BindConnToSession if self.count > 1 => Err(Nfs4Status::NotOnlyOp.into()),
            _ if self.session.is_some() => Ok(()),
            Operation::ExchangeId
            | Operation::CreateSession
            | Operation::DestroySession
            | Operation::DestroyClientId
            | Operation::BindConnToSession => {
                if self.count > 1 {
                    return Err(Nfs4Status::NotOnlyOp.into());
                }
                Ok(())
            }
            _ => Err(Nfs4Status::OpNotInSession.into()),
        }
    }

    /// SEQUENCE: finds the session, renews the lease, and takes the slot.
    pub(super) fn sequence(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Sequence::get(call)?;
        let session = if let Some(session) = self.peer.session(&args.session) {
            session
        } else {
            // A connection that is used for a session for the first time belongs to it (RFC 8881, 2.10.3.1).
            let session = self.v4().state.session(&args.session)?;
            self.peer.remember(&session);
            session
        };
        if self.count > session.fore.max_operations {
            return Err(Nfs4Status::TooManyOps.into());
        }
        // The limit includes the RPC header, which has at least as many bytes as that of a reply.
        if self.call_bytes + RPC_REPLY_BYTES > session.fore.max_request as usize {
            return Err(Nfs4Status::ReqTooBig.into());
        }
        session.lease.renew(self.v4().state.now_ms());
        match session.slots.begin(args.slot, args.sequence)? {
            SlotUse::Repeat(reply) => {
                self.repeated = Some(reply);
                return Ok(());
            }
            SlotUse::Execute => self.slot = Some((args.slot, args.cache_reply)),
        }
        let last_slot = session.slots.count() - 1;
        let down = if session.lacks_back_channel() { sequence_status::SESSION_CALLBACK_PATH_DOWN } else { 0 };
        Sequenced {
            session: args.session,
            sequence: args.sequence,
            slot: args.slot,
            highest_slot: last_slot,
            target_highest_slot: last_slot,
            status_flags: session.lease.status() | down,
        }
        .put(out);
        self.client = Some(session.client);
        self.session = Some(session);
        Ok(())
    }

    /// Checks the size of the reply so far (RFC 8881, 2.10.6.4).
    #[inline]
    pub(super) fn check_reply_size(&self, results: usize) -> OpResult {
        let (Some(session), Some((_, cache))) = (&self.session, self.slot) else { return Ok(()) };
        if results + RPC_REPLY_BYTES > session.fore.max_response as usize {
            return Err(Nfs4Status::RepTooBig.into());
        }
        if cache && results + RPC_REPLY_BYTES > session.fore.max_cached_response as usize {
            return Err(Nfs4Status::RepTooBigToCache.into());
        }
        Ok(())
    }

    /// Releases the slot, and keeps the results if the client wants that or there is nothing but SEQUENCE.
    pub(super) fn finish_slot(&self, results: &[u8]) {
        if let (Some(session), Some((slot, cache))) = (&self.session, self.slot) {
            let keeps = cache || self.position <= 1;
            session.slots.finish(slot, keeps.then_some(results));
        }
    }

    /// `EXCHANGE_ID`.
    pub(super) fn exchange_id(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = ExchangeId::get(call)?;
        if args.flags & !CLIENT_FLAGS != 0 {
            return Err(Nfs4Status::Inval.into());
        }
        let update = args.flags & UPDATE_CONFIRMED != 0;
        let client = self.v4().state.exchange_id(args.owner.0, args.verifier, update)?;
        ExchangedId {
            client_id: client.id,
            sequence: client.create_sequence,
            flags: USE_NON_PNFS | if client.confirmed { CONFIRMED } else { 0 },
            protection: NoStateProtection,
            minor_id: 0,
            major_id: Opaque(&self.server.handles.instance().to_be_bytes()),
            scope: Opaque(SCOPE),
            implementation: None,
        }
        .put(out);
        Ok(())
    }

    /// `CREATE_SESSION`.
    pub(super) fn create_session(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = CreateSession::get(call)?;
        let max_transfer = self.server.options.max_transfer;
        let state = &self.v4().state;
        state.create_session(&args, self.minor_version, max_transfer, self.peer)?.put(out);
        Ok(())
    }

    /// `DESTROY_SESSION`.
    pub(super) fn destroy_session(&mut self, call: &mut Reader<'_>) -> OpResult {
        let args = DestroySession::get(call)?;
        let own = self.session.as_ref().is_some_and(|session| session.id == args.session);
        // The session of the call itself can only be destroyed by the last operation (RFC 8881, 18.37.3).
        if own && self.position + 1 < self.count {
            return Err(Nfs4Status::NotOnlyOp.into());
        }
        self.v4().state.destroy_session(&args.session)?;
        self.peer.forget(&args.session);
        Ok(())
    }

    /// `BIND_CONN_TO_SESSION`.
    pub(super) fn bind_connection(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = BindConnection::get(call)?;
        let session = self.v4().state.session(&args.session)?;
        let direction = match args.direction {
            BIND_FORE | BIND_BACK => args.direction,
            // Either of both, or both: both.
            3 | 7 => BOUND_BOTH,
            _ => return Err(Nfs4Status::Inval.into()),
        };
        self.peer.remember(&session);
        session.lease.renew(self.v4().state.now_ms());
        if direction & BIND_BACK != 0 {
            session.bind_back(self.peer);
        }
        BoundConnection { session: args.session, direction, rdma: false }.put(out);
        Ok(())
    }

    /// `BACKCHANNEL_CTL`.
    pub(super) fn control_back_channel(&mut self, call: &mut Reader<'_>) -> OpResult {
        let args = BackchannelControl::get(call)?;
        let session = self.session.as_ref().ok_or(Nfs4Status::OpNotInSession)?;
        session.set_callback_target(CallbackTarget::new(args.callback_program, &args.callback_security));
        Ok(())
    }

    /// `DESTROY_CLIENTID`.
    pub(super) fn destroy_client(&mut self, call: &mut Reader<'_>) -> OpResult {
        let args = DestroyClientId::get(call)?;
        Ok(self.v4().state.destroy_client(args.client_id)?)
    }

    /// `RECLAIM_COMPLETE`. For one file system only it has no effect: there are no migrations.
    pub(super) fn reclaim_complete(&mut self, call: &mut Reader<'_>) -> OpResult {
        let args = ReclaimComplete::get(call)?;
        if args.one_file_system {
            self.object()?;
            return Ok(());
        }
        let client = self.client.ok_or(Nfs4Status::OpNotInSession)?;
        Ok(self.v4().state.reclaim_complete(client)?)
    }

    /// `TEST_STATEID`.
    pub(super) fn test_states(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = TestStateId::get(call)?;
        let caller = self.caller();
        let state = &self.v4().state;
        let tables = state.lock();
        let test = |tested| state.current(&tables, &tested, caller).map_or_else(Nfs4Status::code, |_| 0);
        let statuses: Vec<u32> = args.states.iter().map(test).collect();
        drop(tables);
        TestedStateId { statuses: List::new(&statuses) }.put(out);
        Ok(())
    }

    /// `FREE_STATEID`.
    pub(super) fn free_state(&mut self, call: &mut Reader<'_>) -> OpResult {
        let args = FreeStateId::get(call)?;
        let freed = self.state(args.state)?;
        Ok(self.v4().state.free_state(&freed, self.caller())?)
    }

    /// The client of the call: that of the session, or the one that an owner names in minor version 0.
    pub(super) fn client_of(&self, named: u64) -> u64 {
        self.session.as_ref().map_or(named, |session| Arc::as_ref(session).client)
    }
}
