//! Oplocks and leases that clients have, and how their breaks are sent.

use std::sync::Arc;

use sharebench_smb::wire::FileId;
use sharebench_smb::wire::frame::PREFIX_LEN;
use sharebench_smb::wire::header::{Header, UNSOLICITED, command, flags};
use sharebench_smb::wire::lease::{
    ACKNOWLEDGMENT_REQUIRED, BREAK_IN_PROGRESS, HANDLE, LeaseBreak, LeaseContext, PARENT_KEY_SET, READ, WRITE,
};
use sharebench_smb::wire::oplock::{self, OplockBreak};
use sharebench_smb::wire::transform;
use tokio::task::AbortHandle;

use crate::smb::caching::cache_request::{CacheRequest, Owner};
use crate::smb::files::open_entries::ByOpen;
use crate::smb::session::deferred::DeferredRequests;
use crate::smb::session::established::Session;
use crate::smb::smb1::Smb1Holder;
use crate::smb::transport::client_connections::ClientConnections;
use crate::smb::transport::frames::finish_frame;

/// Where the client of an open learns of a break.
pub(crate) struct Holder {
    pub(crate) session: Arc<Session>,
    /// The connections of the client, any of which may carry the break of a lease (MS-SMB2 3.3.4.7).
    pub(crate) client: Option<Arc<ClientConnections>>,
    /// The CREATE was encrypted.
    pub(crate) sealed: bool,
    /// What an open over SMB1 has instead of an identifier of SMB2.
    pub(crate) smb1: Option<Smb1Holder>,
}

/// A break that the client has not acknowledged.
pub(crate) struct Break {
    /// The state in the notification.
    pub(crate) requested: u32,
    /// The state that other opens need; a further break follows if it differs.
    pub(crate) required: u32,
    /// Opens with the acknowledgment.
    pub(crate) deferred: Arc<DeferredRequests>,
    /// Identity, for the timer.
    pub(crate) number: u64,
    pub(crate) _timer: BreakTimer,
}

/// The timer of a break, which ends with it: a client that acknowledges many breaks must not leave as many timers.
pub(crate) struct BreakTimer(pub(crate) Option<AbortHandle>);

impl Drop for BreakTimer {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// What a client may cache of one file.
pub(crate) struct Grant {
    pub(crate) owner: Owner,
    /// [`READ`], [`HANDLE`] and [`WRITE`].
    pub(crate) state: u32,
    pub(crate) breaking: Option<Break>,
    /// Changes of the state; none in version 1 and for an oplock.
    pub(crate) epoch: Option<u16>,
    /// The opens that share it. There is at least one.
    pub(crate) opens: ByOpen<(FileId, Arc<Holder>)>,
}

impl Holder {
    /// True if many breaks wait for the client, so that it is granted no further lease.
    pub(crate) fn is_congested(&self) -> bool {
        self.session.is_congested() || self.client.as_ref().is_some_and(|client| client.is_congested())
    }

    /// True if the client knows oplocks of level II, as all clients of SMB2 do.
    pub(crate) fn knows_level_2(&self) -> bool {
        self.smb1.as_ref().is_none_or(|smb1| smb1.level_2)
    }

    /// Sends the break of an oplock. False if the client has no connection.
    fn send_oplock_break(&self, level: u8, file: FileId) -> bool {
        if let Some(smb1) = &self.smb1 {
            return smb1.break_message(level).is_none_or(|message| self.session.notify(message));
        }
        let message = OplockBreak { level, file, ..OplockBreak::default() };
        self.send(false, |out| message.encode(out))
    }

    /// Sends a message that the client did not request (MS-SMB2 3.3.4.6). It is encrypted, but never signed. False if the
    /// client has no connection.
    fn send(&self, of_lease: bool, encode: impl FnOnce(&mut Vec<u8>)) -> bool {
        let head = PREFIX_LEN + if self.sealed { transform::LEN } else { 0 };
        let mut frame = vec![0; head];
        let header = Header {
            command: command::OPLOCK_BREAK,
            flags: flags::RESPONSE,
            message_id: UNSOLICITED,
            ..Header::default()
        };
        header.encode(&mut frame);
        encode(&mut frame);
        if self.sealed {
            self.session.seal(&mut frame[PREFIX_LEN..]);
        }
        finish_frame(&mut frame);
        match &self.client {
            Some(client) if of_lease && !self.sealed => client.notify(frame),
            _ => self.session.notify(frame),
        }
    }
}

impl Grant {
    /// Counts a change of the state.
    pub(crate) fn advance(&mut self) {
        self.epoch = self.epoch.map(|epoch| epoch.wrapping_add(1));
    }

    /// True if it is the lease that is requested.
    pub(crate) fn is_of(&self, request: &CacheRequest) -> bool {
        request.lease().is_some_and(|id| self.owner == Owner::Lease(id))
    }

    /// True if an open belongs to it.
    pub(crate) fn has(&self, open: u64) -> bool {
        self.opens.get(open).is_some()
    }

    /// Its opens of clients that have lost their connections.
    pub(crate) fn lost_opens(&self) -> impl Iterator<Item = u64> {
        self.opens.values().filter(|(_, holder)| holder.session.is_closed()).map(|(id, _)| id.volatile)
    }

    /// True if all of its opens are those of clients that have lost their connections.
    pub(crate) fn is_lost(&self) -> bool {
        self.opens.values().all(|(_, holder)| holder.session.is_closed())
    }

    /// Sends a break from the current state.
    pub(crate) fn notify(&self, to: u32) {
        for (id, holder) in self.opens.values().rev() {
            let sent = match self.owner {
                Owner::Oplock => {
                    let keeps = to & READ != 0 && holder.knows_level_2();
                    let level = if keeps { oplock::LEVEL_II } else { oplock::NONE };
                    holder.send_oplock_break(level, *id)
                }
                Owner::Lease((_, key)) => {
                    let waits = self.state & (WRITE | HANDLE) != 0;
                    let message = LeaseBreak {
                        epoch: self.epoch.unwrap_or(0),
                        flags: if waits { ACKNOWLEDGMENT_REQUIRED } else { 0 },
                        key,
                        current: self.state,
                        new: to,
                        ..LeaseBreak::default()
                    };
                    holder.send(true, |out| message.encode(out))
                }
            };
            if sent {
                return;
            }
        }
    }

    /// The lease as a CREATE response shows it.
    pub(crate) fn shown(&self, wanted: &LeaseContext) -> LeaseContext {
        let breaking = if self.breaking.is_some() { BREAK_IN_PROGRESS } else { 0 };
        LeaseContext {
            state: self.state,
            flags: breaking | wanted.flags & PARENT_KEY_SET,
            // The version of the first request stays.
            version_2: self
                .epoch
                .map(|epoch| (wanted.version_2.map_or([0; 16], |(parent, _)| parent), epoch)),
            ..*wanted
        }
    }
}
