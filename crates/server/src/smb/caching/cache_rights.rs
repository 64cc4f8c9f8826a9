//! Oplocks and leases: what clients may cache of a file (MS-SMB2 3.3.1.4, 3.3.1.12).
//!
//! An oplock is treated as a lease of one open: level II caches reads, exclusive also writes, batch also the handle.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sharebench_smb::wire::FileId;
use sharebench_smb::wire::frame::PREFIX_LEN;
use sharebench_smb::wire::header::{Header, UNSOLICITED, command, flags};
use sharebench_smb::wire::lease::{
    ACKNOWLEDGMENT_REQUIRED, BREAK_IN_PROGRESS, HANDLE, LeaseBreak, LeaseContext, PARENT_KEY_SET, READ, WRITE,
};
use sharebench_smb::wire::oplock::{self, OplockBreak};
use sharebench_smb::wire::transform;

use crate::smb::caching::lease_breaks::BreakTimer;
use crate::smb::files::open_files::{File, FileState};
use crate::smb::session::deferred::Gate;
use crate::smb::session::established::Session;
use crate::smb::smb1::Nt1Holder;
use crate::smb::transport::client_connections::ClientConnections;
use crate::smb::transport::frames::finish_frame;

/// Identity of a lease: the client and its name for the lease.
pub(crate) type LeaseId = ([u8; 16], [u8; 16]);

/// What a CREATE requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheRequest {
    Nothing,
    /// An oplock of this level.
    Oplock(u8),
    Lease(LeaseRequest),
}

/// A lease that a CREATE requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseRequest {
    /// Identity of the client.
    pub(crate) client: [u8; 16],
    pub(crate) context: LeaseContext,
    /// The connection has negotiated leases of directories.
    pub(crate) directories: bool,
}

impl LeaseRequest {
    fn id(&self) -> LeaseId {
        (self.client, self.context.key)
    }

    /// The lease of the directory that the client names. What the client changes there over the open does not break it.
    pub(crate) fn parent(&self) -> Option<LeaseId> {
        let (parent, _) = self.context.version_2?;
        (self.context.flags & PARENT_KEY_SET != 0).then_some((self.client, parent))
    }
}

/// What a CREATE was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrantedCache {
    Nothing,
    Oplock(u8),
    Lease(LeaseContext),
}

impl GrantedCache {
    /// True if the client may keep the file open after its user has closed it.
    pub(crate) fn keeps_handle(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Oplock(level) => *level == oplock::BATCH,
            Self::Lease(lease) => lease.state & HANDLE != 0,
        }
    }
}

/// Where the client of an open learns of a break.
pub(crate) struct Holder {
    pub(crate) session: Arc<Session>,
    /// The connections of the client, any of which may carry the break of a lease (MS-SMB2 3.3.4.7).
    pub(crate) client: Option<Arc<ClientConnections>>,
    /// The CREATE was encrypted.
    pub(crate) sealed: bool,
    /// What an open over SMB1 has instead of an identifier of SMB2.
    pub(crate) nt1: Option<Nt1Holder>,
}

/// Who may cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// One open.
    Oplock,
    /// All opens with this lease.
    Lease(LeaseId),
}

/// A break that the client has not acknowledged.
pub(crate) struct Break {
    /// The state in the notification.
    pub(crate) requested: u32,
    /// The state that other opens need; a further break follows if it differs.
    pub(crate) required: u32,
    /// Opens with the acknowledgment.
    pub(crate) gate: Arc<Gate>,
    /// Identity, for the timer.
    pub(crate) number: u64,
    pub(crate) _timer: BreakTimer,
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
    pub(crate) opens: Vec<(FileId, Arc<Holder>)>,
}

/// The lease state of an oplock level.
pub(crate) fn state_of_level(level: u8) -> u32 {
    match level {
        oplock::LEVEL_II => READ,
        oplock::EXCLUSIVE => READ | WRITE,
        oplock::BATCH => READ | WRITE | HANDLE,
        _ => 0,
    }
}

/// The oplock level that gives at most a lease state.
fn level_of_state(state: u32) -> u8 {
    match (state & READ != 0, state & WRITE != 0, state & HANDLE != 0) {
        (true, true, true) => oplock::BATCH,
        (true, true, false) => oplock::EXCLUSIVE,
        (true, false, _) => oplock::LEVEL_II,
        _ => oplock::NONE,
    }
}

impl CacheRequest {
    /// True if a grant belongs to the same lease.
    pub(crate) fn is_same(&self, grant: &Grant) -> bool {
        self.lease().is_some_and(|id| grant.owner == Owner::Lease(id))
    }

    /// The same request, if it requests no lease.
    pub(crate) fn without_lease(self) -> Self {
        if matches!(self, Self::Lease(..)) { Self::Nothing } else { self }
    }

    /// The lease that it requests.
    pub(crate) fn lease(&self) -> Option<LeaseId> {
        match self {
            Self::Lease(lease) => Some(lease.id()),
            Self::Nothing | Self::Oplock(_) => None,
        }
    }

    /// The lease of the directory that it names.
    pub(crate) fn parent(&self) -> Option<LeaseId> {
        if let Self::Lease(lease) = self { lease.parent() } else { None }
    }

    /// What it requests if it opens a directory: a lease of version 2 on reads and handles, or nothing (MS-SMB2 3.3.5.9.11).
    pub(crate) fn of_directory(&self) -> Self {
        match self {
            Self::Lease(lease) if lease.directories && lease.context.version_2.is_some() => {
                let context = LeaseContext { state: lease.context.state & !WRITE, ..lease.context };
                Self::Lease(LeaseRequest { context, ..*lease })
            }
            _ => Self::Nothing,
        }
    }

    fn state(&self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Oplock(level) => state_of_level(*level),
            Self::Lease(lease) => lease.context.state & (READ | HANDLE | WRITE),
        }
    }
}

impl Holder {
    /// True if many breaks wait for the client, so that it is granted no further lease.
    pub(crate) fn is_congested(&self) -> bool {
        self.session.is_congested() || self.client.as_ref().is_some_and(|client| client.is_congested())
    }

    /// True if the client knows oplocks of level II, as all clients of SMB2 do.
    fn knows_level_2(&self) -> bool {
        self.nt1.as_ref().is_none_or(|nt1| nt1.level_2)
    }

    /// Sends the break of an oplock. False if the client has no connection.
    fn send_oplock_break(&self, level: u8, file: FileId) -> bool {
        if let Some(nt1) = &self.nt1 {
            return nt1.send_break(level, &self.session);
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

    /// True if an open belongs to it.
    pub(crate) fn has(&self, open: u64) -> bool {
        self.opens.iter().any(|(id, _)| id.volatile == open)
    }

    /// Its opens of clients that have lost their connections.
    pub(crate) fn lost_opens(&self) -> impl Iterator<Item = u64> {
        self.opens.iter().filter(|(_, holder)| holder.session.is_closed()).map(|(id, _)| id.volatile)
    }

    /// True if all of its opens are those of clients that have lost their connections.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost_opens().count() == self.opens.len()
    }

    /// Sends a break from the current state.
    pub(crate) fn notify(&self, to: u32) {
        for (id, holder) in self.opens.iter().rev() {
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
    fn shown(&self, wanted: &LeaseContext) -> LeaseContext {
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

/// What limits a grant besides the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrantLimits {
    /// The open replaced the content.
    pub(crate) overwritten: bool,
    /// Nothing but this server changes files, so that clients may cache what they write.
    pub(crate) writes: bool,
    /// Maximum number of oplocks and leases of the file.
    pub(crate) leases: usize,
}

impl FileState {
    /// Grants what a new open requests as far as the other opens allow it. The open is in the table already.
    pub(crate) fn grant(
        &mut self,
        id: FileId,
        request: &CacheRequest,
        limits: GrantLimits,
        holder: Arc<Holder>,
    ) -> GrantedCache {
        let granted = self.grantable(id, request, limits);
        match request {
            CacheRequest::Nothing => GrantedCache::Nothing,
            CacheRequest::Oplock(_) => {
                let level = match level_of_state(granted) {
                    oplock::LEVEL_II if !holder.knows_level_2() => oplock::NONE,
                    level => level,
                };
                let level = if self.grants.len() < limits.leases { level } else { oplock::NONE };
                if level != oplock::NONE {
                    let state = state_of_level(level);
                    let opens = vec![(id, holder)];
                    self.grants.push(Grant {
                        owner: Owner::Oplock,
                        state,
                        breaking: None,
                        epoch: None,
                        opens,
                    });
                }
                GrantedCache::Oplock(level)
            }
            CacheRequest::Lease(LeaseRequest { context: wanted, .. }) => {
                let known = self.grants.iter_mut().find(|grant| request.is_same(grant));
                if let Some(grant) = known {
                    grant.opens.push((id, holder));
                    let upgrades = grant.state & wanted.state == grant.state
                        && granted == wanted.state
                        && granted != grant.state;
                    if upgrades && grant.breaking.is_none() && limits.leases > 0 {
                        grant.state = granted;
                        grant.advance();
                    }
                    return GrantedCache::Lease(grant.shown(wanted));
                }
                let Some(lease) = request.lease().filter(|_| self.grants.len() < limits.leases) else {
                    return GrantedCache::Nothing;
                };
                let epoch = wanted.version_2.map(|(_, epoch)| epoch);
                let owner = Owner::Lease(lease);
                let opens = vec![(id, holder)];
                let mut grant = Grant { owner, state: granted, breaking: None, epoch, opens };
                if granted != 0 {
                    grant.advance();
                }
                let shown = grant.shown(wanted);
                self.grants.push(grant);
                GrantedCache::Lease(shown)
            }
        }
    }

    /// The state that may be granted (MS-FSA 2.1.5.18).
    fn grantable(&self, id: FileId, request: &CacheRequest, limits: GrantLimits) -> u32 {
        let mut granted = request.state();
        if !limits.writes {
            granted &= !WRITE;
        }
        let lease = matches!(request, CacheRequest::Lease(..));
        if lease && granted & READ == 0 {
            // Caching of writes or handles alone makes no sense.
            granted = 0;
        }
        if !self.locks.is_empty() && !limits.overwritten {
            granted &= !(READ | HANDLE);
        }
        let other = |grant: &&Grant| !request.is_same(grant) && !grant.has(id.volatile);
        let mut others = self.grants.iter().filter(other);
        if lease && others.clone().any(|grant| grant.owner == Owner::Oplock && grant.state != 0) {
            granted &= !HANDLE;
        }
        if others.clone().any(|grant| grant.state & WRITE != 0) {
            granted = 0;
        }
        if !lease && others.clone().any(|grant| grant.state & HANDLE != 0) {
            granted = 0;
        }
        let of_lease =
            self.grants.iter().filter(|grant| request.is_same(grant)).flat_map(|grant| &grant.opens);
        let of_lease = of_lease.map(|(open, _)| open.volatile).filter(|open| *open != id.volatile);
        let used = others.next().is_some() || self.opens.others_use(of_lease.chain([id.volatile]));
        if used {
            granted &= !WRITE;
        }
        granted
    }

    /// Gives an open that a client has found again to its new connection, and returns what it may cache.
    pub(crate) fn rebind(&mut self, open: u64, request: &CacheRequest, holder: &Arc<Holder>) -> GrantedCache {
        let Some(grant) = self.grants.iter_mut().find(|grant| grant.has(open)) else {
            return GrantedCache::Nothing;
        };
        for (id, known) in &mut grant.opens {
            if id.volatile == open {
                *known = Arc::clone(holder);
            }
        }
        match request {
            CacheRequest::Lease(lease) => GrantedCache::Lease(grant.shown(&lease.context)),
            _ => GrantedCache::Oplock(level_of_state(grant.state)),
        }
    }

    /// Removes an open that is closed from its grant. Requests that wait for the last open of a grant continue.
    pub(crate) fn leave_grants(&mut self, open: u64) -> Vec<Arc<Gate>> {
        let mut gates = Vec::new();
        for grant in &mut self.grants {
            grant.opens.retain(|(id, _)| id.volatile != open);
            if grant.opens.is_empty() {
                gates.extend(grant.breaking.take().map(|known| known.gate));
            }
        }
        self.grants.retain(|grant| !grant.opens.is_empty());
        gates
    }

    /// True if a change must look for clients that cache what they read.
    fn is_shared_cache(&self) -> bool {
        self.grants.iter().any(|grant| grant.state & READ != 0 && grant.state & WRITE == 0)
    }
}

impl File {
    /// Updates the flag with which READ and WRITE avoid the lock.
    pub(crate) fn note_grants(&self, state: &mut FileState) {
        // A broken oplock is no oplock, while a broken lease is still a lease.
        state
            .grants
            .retain(|grant| grant.owner != Owner::Oplock || grant.state != 0 || grant.breaking.is_some());
        let shared = state.is_shared_cache();
        // Under the lock of the state, so that the number follows the flag.
        if self.cached.swap(shared, Ordering::AcqRel) != shared
            && let Some(listings) = &self.listings
        {
            listings.note(shared);
        }
    }
}
