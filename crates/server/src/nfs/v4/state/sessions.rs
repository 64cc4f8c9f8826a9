//! `CREATE_SESSION` and `DESTROY_SESSION` (RFC 8881, 18.36 and 18.37).

use std::sync::Arc;

use sharebench_nfs::v4::session::{
    CONNECTION_BACK_CHANNEL, CONNECTION_RDMA, ChannelLimits, CreateSession, CreatedSession, PERSIST,
    SessionId,
};
use sharebench_nfs::v4::status::Nfs4Status;

use crate::front_ends::state_budget::StateCharge;
use crate::nfs::v4::callback::CallbackTarget;
use crate::nfs::v4::limits::{MAX_SESSIONS_PER_CLIENT, granted_back, granted_fore};
use crate::nfs::v4::peer::Peer;
use crate::nfs::v4::state::session::Session;
use crate::nfs::v4::state::{StateResult, StateTable, Tables};

/// The limits of the calls and of the callbacks of a session.
#[derive(Debug, Clone, Copy)]
struct SessionChannels {
    fore: ChannelLimits,
    back: ChannelLimits,
}

impl StateTable {
    /// Creates a session on a connection, or repeats the result of the last call.
    pub(in crate::nfs::v4) fn create_session(
        &self,
        call: &CreateSession,
        minor_version: u32,
        max_transfer: u32,
        peer: &Arc<Peer>,
    ) -> StateResult<CreatedSession> {
        let mut tables = self.lock();
        let client = tables.clients.get(&call.client_id).filter(|client| !client.owner.0);
        let client = client.ok_or(Nfs4Status::StaleClientid)?;
        if call.sequence.wrapping_add(1) == client.create_sequence
            && let Some(created) = client.created
        {
            return created;
        }
        if call.sequence != client.create_sequence {
            return Err(Nfs4Status::SeqMisordered);
        }
        // The client may repeat the call with other limits: the sequence stays as it is.
        let fore = granted_fore(&call.fore_channel, max_transfer).ok_or(Nfs4Status::Toosmall)?;
        let back = granted_back(&call.back_channel).ok_or(Nfs4Status::Toosmall)?;
        // Without memory for the session, it may repeat the call as it is.
        let bytes = Session::bytes(fore.max_requests);
        let charge = client.budget().charge(bytes).ok_or(Nfs4Status::Delay)?;
        let channels = SessionChannels { fore, back };
        let created = self.add_session(&mut tables, call, charge, minor_version, channels, peer);
        if let Some(client) = tables.clients.get_mut(&call.client_id) {
            client.create_sequence = client.create_sequence.wrapping_add(1);
            client.created = Some(created);
        }
        created
    }

    fn add_session(
        &self,
        tables: &mut Tables,
        call: &CreateSession,
        charge: StateCharge,
        minor_version: u32,
        channels: SessionChannels,
        peer: &Arc<Peer>,
    ) -> StateResult<CreatedSession> {
        if call.flags & !(PERSIST | CONNECTION_BACK_CHANNEL | CONNECTION_RDMA) != 0 {
            return Err(Nfs4Status::Inval);
        }
        let client = tables.clients.get(&call.client_id).ok_or(Nfs4Status::StaleClientid)?;
        if client.sessions.len() >= MAX_SESSIONS_PER_CLIENT {
            return Err(Nfs4Status::Nospc);
        }
        let lease = Arc::clone(&client.lease);
        let id = self.session_id(tables.next());
        let target = CallbackTarget::new(call.callback_program, &call.callback_security);
        let session =
            Arc::new(Session::new(id, call.client_id, minor_version, lease, channels.fore, target, charge));
        tables.sessions.insert(id, Arc::clone(&session));
        tables.confirm_client(call.client_id, self.now_ms());
        tables.client(call.client_id)?.sessions.push(id);
        peer.remember(&session);
        let calls_back = call.flags & CONNECTION_BACK_CHANNEL != 0 && channels.back.max_requests > 0;
        if calls_back {
            session.bind_back(peer);
        }
        let flags = if calls_back { CONNECTION_BACK_CHANNEL } else { 0 };
        Ok(CreatedSession {
            session: id,
            sequence: call.sequence,
            flags,
            fore_channel: channels.fore,
            back_channel: channels.back,
        })
    }

    fn session_id(&self, number: u64) -> SessionId {
        let mut id = [0; 16];
        // The second half cannot be guessed.
        id[..8].copy_from_slice(&(u64::from(self.boot) << 32 ^ number).to_be_bytes());
        id[8..].copy_from_slice(&self.random_bytes(number));
        id
    }

    /// A session by its identity.
    pub(in crate::nfs::v4) fn session(&self, id: &SessionId) -> StateResult<Arc<Session>> {
        self.lock().sessions.get(id).cloned().ok_or(Nfs4Status::Badsession)
    }

    /// Removes a session; the state of its client stays.
    pub(in crate::nfs::v4) fn destroy_session(&self, id: &SessionId) -> StateResult<()> {
        let mut tables = self.lock();
        let session = tables.sessions.remove(id).ok_or(Nfs4Status::Badsession)?;
        session.kill();
        if let Some(client) = tables.clients.get_mut(&session.client) {
            client.sessions.retain(|other| other != id);
        }
        Ok(())
    }

    /// A session of a client that callbacks can reach.
    pub(in crate::nfs::v4) fn session_for_callbacks(tables: &Tables, client: u64) -> Option<Arc<Session>> {
        let sessions = tables.clients.get(&client)?.sessions.iter();
        sessions.filter_map(|id| tables.sessions.get(id)).find(|session| session.has_back_channel()).cloned()
    }
}
