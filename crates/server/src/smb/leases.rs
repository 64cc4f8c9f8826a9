//! Leases: clients that cache what they read (MS-SMB2 3.3.1.12, 3.3.5.9.8, 3.3.5.9.11).
//!
//! Only reading may be cached. The client has nothing to write back when that ends, so that no break waits for its
//! acknowledgment, and a change by another client is delayed by nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sharebench_smb::wire::create::CreateRequest;
use sharebench_smb::wire::create_context::{CreateContext, name};
use sharebench_smb::wire::frame::PREFIX_LEN;
use sharebench_smb::wire::header::{Header, command, flags};
use sharebench_smb::wire::lease::{LEVEL, LeaseBreak, LeaseContext, READ};
use sharebench_smb::wire::transform;
use tokio::sync::mpsc::UnboundedSender;

use crate::smb::connection::Call;
use crate::smb::negotiate::Negotiated;
use crate::smb::open_files::{File, FileState, OpenFile};
use crate::smb::serving::finish_frame;
use crate::smb::session::Session;
use crate::smb::status::{Outcome, malformed};
use crate::smb::workers::Delivery;

/// What a client may cache of one file.
pub(super) struct Lease {
    /// Identity of the client.
    client: [u8; 16],
    /// The client's name for it.
    key: [u8; 16],
    /// Changes of its state; none in version 1.
    epoch: Option<u16>,
    /// The client may cache what it reads.
    reads: bool,
    /// The opens that share it, and where the client learns of its end. There is at least one.
    opens: Vec<(u64, Holder)>,
}

/// The connection of an open.
struct Holder {
    session: Arc<Session>,
    /// The CREATE was encrypted.
    sealed: bool,
    late: UnboundedSender<Delivery>,
}

impl Holder {
    /// Sends a message that the client did not request (MS-SMB2 3.3.4.7). It is encrypted, but never signed.
    fn send(&self, body: &LeaseBreak) {
        let head = PREFIX_LEN + if self.sealed { transform::LEN } else { 0 };
        let mut frame = vec![0; head];
        let header = Header {
            command: command::OPLOCK_BREAK,
            flags: flags::RESPONSE,
            message_id: u64::MAX,
            ..Header::default()
        };
        header.encode(&mut frame);
        body.encode(&mut frame);
        if self.sealed {
            self.session.seal(&mut frame[PREFIX_LEN..]);
        }
        finish_frame(&mut frame);
        // A closed connection takes its opens with it; then nobody caches anything.
        let _ = self.late.send(Delivery::Late(frame));
    }
}

impl Lease {
    /// Counts a change of the state.
    fn advance(&mut self) {
        self.epoch = self.epoch.map(|epoch| epoch.wrapping_add(1));
    }

    /// Ends it, and notifies the client.
    fn end(&mut self) {
        self.reads = false;
        self.advance();
        let notification = LeaseBreak {
            epoch: self.epoch.unwrap_or(0),
            key: self.key,
            current: READ,
            ..LeaseBreak::default()
        };
        if let Some((_, holder)) = self.opens.last() {
            holder.send(&notification);
        }
    }
}

impl FileState {
    /// Removes an open that is closed from its lease.
    pub(super) fn leave_leases(&mut self, open: u64, cached: &AtomicBool) {
        if self.leases.is_empty() {
            return;
        }
        for lease in &mut self.leases {
            lease.opens.retain(|(holder, _)| *holder != open);
        }
        self.leases.retain(|lease| !lease.opens.is_empty());
        cached.store(self.leases.iter().any(|lease| lease.reads), Ordering::Release);
    }
}

impl File {
    /// Ends the leases of other clients. It is called after a change and before its reply: what a client reads under a
    /// lease that is granted later has the change.
    #[inline]
    pub(super) fn end_leases(&self, changed_by: u64) {
        if !self.cached.load(Ordering::Acquire) {
            return;
        }
        let mut state = self.state();
        for lease in &mut state.leases {
            if lease.reads && lease.opens.iter().all(|(open, _)| *open != changed_by) {
                lease.end();
            }
        }
        self.cached.store(state.leases.iter().any(|lease| lease.reads), Ordering::Release);
    }

    /// Adds an open to the lease of its client, and returns what is granted. Nothing is while there are locks, because a
    /// client that caches does not learn which range it may not read.
    fn grant_lease(
        &self,
        open: u64,
        (client, wanted): ([u8; 16], &LeaseContext),
        holder: Holder,
    ) -> LeaseContext {
        let mut state = self.state();
        let reads = wanted.state & READ != 0 && state.locks.is_empty();
        let known = state.leases.iter().position(|lease| (lease.client, lease.key) == (client, wanted.key));
        let at = known.unwrap_or_else(|| {
            let epoch = wanted.version_2.map(|(_, epoch)| epoch);
            state.leases.push(Lease { client, key: wanted.key, epoch, reads: false, opens: Vec::new() });
            state.leases.len() - 1
        });
        let lease = &mut state.leases[at];
        lease.opens.push((open, holder));
        if reads && !lease.reads {
            lease.reads = true;
            lease.advance();
        }
        let granted = LeaseContext {
            state: if lease.reads { READ } else { 0 },
            flags: 0,
            version_2: wanted.version_2.map(|_| ([0; 16], lease.epoch.unwrap_or(0))),
            ..*wanted
        };
        self.cached.store(state.leases.iter().any(|lease| lease.reads), Ordering::Release);
        granted
    }
}

impl Call<'_> {
    /// The lease that a CREATE requests and that may be granted.
    pub(super) fn wanted_lease(&self, request: &CreateRequest) -> Outcome<Option<LeaseContext>> {
        let negotiated = self.connection.negotiated.get();
        if request.oplock != LEVEL || !negotiated.is_some_and(|negotiated| negotiated.leases) {
            return Ok(None);
        }
        let context = request.contexts.iter().find(|context| context.name == name::REQUEST_LEASE);
        context.map(|context| LeaseContext::decode(&context.data).map_err(malformed)).transpose()
    }

    /// The context of the response, after the file was opened.
    pub(super) fn grant_lease(&self, wanted: &LeaseContext, open: &OpenFile) -> CreateContext {
        let client = self.connection.negotiated.get().map_or([0; 16], Negotiated::client_guid);
        let holder = Holder {
            session: Arc::clone(self.session),
            sealed: self.sealed,
            late: self.connection.late.clone(),
        };
        let granted = open.file.grant_lease(open.id.volatile, (client, wanted), holder);
        CreateContext::new(name::REQUEST_LEASE, &granted.encode())
    }
}
