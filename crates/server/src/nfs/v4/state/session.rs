//! Sessions and their callback channels (RFC 8881, 2.10).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use sharebench_nfs::v4::session::{ChannelLimits, SessionId};

use crate::front_ends::state_budget::{ENTRY_BYTES, StateCharge};
use crate::nfs::v4::callback::{CALLBACK_BYTES, Callback, CallbackHeader, CallbackTarget, encode};
use crate::nfs::v4::limits::{MAX_CONNECTIONS_PER_SESSION, MAX_QUEUED_CALLBACKS};
use crate::nfs::v4::peer::Peer;
use crate::nfs::v4::state::slot::Slots;

/// The lease of a client, which each of its calls renews without a lock.
#[derive(Debug, Default)]
pub(in crate::nfs::v4) struct Lease {
    renewed_ms: AtomicU64,
    /// `SEQ4_STATUS_*` about the client's state.
    status: AtomicU32,
}

impl Lease {
    /// A lease from now on.
    pub(super) fn new(now_ms: u64) -> Arc<Self> {
        Arc::new(Self { renewed_ms: AtomicU64::new(now_ms), status: AtomicU32::new(0) })
    }

    /// Extends the lease.
    #[inline]
    pub(in crate::nfs::v4) fn renew(&self, now_ms: u64) {
        self.renewed_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Time of the last renewal in milliseconds.
    pub(super) fn renewed_ms(&self) -> u64 {
        self.renewed_ms.load(Ordering::Relaxed)
    }

    /// Sets or clears flags that each SEQUENCE reports.
    pub(super) fn report(&self, flags: u32, on: bool) {
        if on {
            self.status.fetch_or(flags, Ordering::Relaxed);
        } else {
            self.status.fetch_and(!flags, Ordering::Relaxed);
        }
    }

    /// The flags to report.
    #[inline]
    pub(in crate::nfs::v4) fn status(&self) -> u32 {
        self.status.load(Ordering::Relaxed)
    }
}

/// A session of a client.
#[derive(Debug)]
pub(in crate::nfs::v4) struct Session {
    pub(in crate::nfs::v4) id: SessionId,
    pub(in crate::nfs::v4) client: u64,
    pub(in crate::nfs::v4) lease: Arc<Lease>,
    pub(in crate::nfs::v4) slots: Slots,
    pub(in crate::nfs::v4) fore: ChannelLimits,
    minor_version: u32,
    dead: AtomicBool,
    /// The client wants callbacks and no connection for them is left.
    back_down: AtomicBool,
    back: Mutex<BackChannel>,
    charge: StateCharge,
}

/// The way of callbacks: one in flight, the others wait.
#[derive(Debug, Default)]
struct BackChannel {
    target: CallbackTarget,
    sequence: u32,
    connections: Vec<Weak<Peer>>,
    waiting: VecDeque<(Callback, StateCharge)>,
    in_flight: Option<(u32, Callback, StateCharge)>,
}

/// Numbers of callbacks, which only have to differ from each other.
static NEXT_XID: AtomicU32 = AtomicU32::new(1);

impl Session {
    /// Bytes of a session with this number of slots, without the results that they keep.
    pub(super) fn bytes(slots: u32) -> usize {
        size_of::<Self>()
            + slots as usize * Slots::BYTES
            + MAX_CONNECTIONS_PER_SESSION * size_of::<Weak<Peer>>()
            + CALLBACK_BYTES
            + 3 * ENTRY_BYTES
    }

    /// A session without connections, with a charge of [`Self::bytes`].
    pub(super) fn new(
        id: SessionId,
        client: u64,
        minor_version: u32,
        lease: Arc<Lease>,
        fore: ChannelLimits,
        target: CallbackTarget,
        charge: StateCharge,
    ) -> Self {
        Self {
            id,
            client,
            lease,
            slots: Slots::new(fore.max_requests, charge.budget()),
            fore,
            minor_version,
            dead: AtomicBool::new(false),
            back_down: AtomicBool::new(false),
            back: Mutex::new(BackChannel { target, ..BackChannel::default() }),
            charge,
        }
    }

    fn back(&self) -> MutexGuard<'_, BackChannel> {
        self.back.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True once the session was destroyed.
    #[inline]
    pub(in crate::nfs::v4) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// Ends the session.
    pub(super) fn kill(&self) {
        self.dead.store(true, Ordering::Relaxed);
        let mut back = self.back();
        back.waiting.clear();
        back.in_flight = None;
    }

    /// Adds a connection for callbacks.
    pub(in crate::nfs::v4) fn bind_back(&self, peer: &Arc<Peer>) {
        let mut back = self.back();
        back.connections.retain(|known| known.upgrade().is_some_and(|known| !Arc::ptr_eq(&known, peer)));
        if back.connections.len() < MAX_CONNECTIONS_PER_SESSION {
            back.connections.push(Arc::downgrade(peer));
        }
        self.back_down.store(false, Ordering::Relaxed);
        self.send_next(&mut back);
    }

    /// True if the client wants callbacks and has to bind a connection for them.
    #[inline]
    pub(in crate::nfs::v4) fn lacks_back_channel(&self) -> bool {
        self.back_down.load(Ordering::Relaxed)
    }

    /// Changes the program and the credentials of callbacks.
    pub(in crate::nfs::v4) fn set_callback_target(&self, target: CallbackTarget) {
        self.back().target = target;
    }

    /// True if callbacks can reach the client.
    pub(in crate::nfs::v4) fn has_back_channel(&self) -> bool {
        !self.is_dead()
            && self
                .back()
                .connections
                .iter()
                .any(|known| known.upgrade().is_some_and(|peer| !peer.is_closed()))
    }

    /// Sends a callback now or after those before it; false if there is no way to the client.
    pub(in crate::nfs::v4) fn call_back(&self, callback: Callback) -> bool {
        if self.is_dead() {
            return false;
        }
        let mut back = self.back();
        let waits = back.waiting.iter().any(|(waiting, _)| *waiting == callback);
        if back.waiting.len() >= MAX_QUEUED_CALLBACKS || waits {
            return false;
        }
        let Some(charge) = self.charge.budget().charge(callback.charged_bytes()) else { return false };
        back.waiting.push_back((callback, charge));
        self.send_next(&mut back)
    }

    /// Sends the next callback if none is in flight; false if there is no connection.
    fn send_next(&self, back: &mut BackChannel) -> bool {
        while back.in_flight.is_none()
            && let Some((callback, _)) = back.waiting.front()
        {
            let callback = callback.clone();
            back.connections.retain(|known| known.upgrade().is_some_and(|peer| !peer.is_closed()));
            let Some(peer) = back.connections.iter().find_map(Weak::upgrade) else { return false };
            let xid = NEXT_XID.fetch_add(1, Ordering::Relaxed);
            let sequence = back.sequence.wrapping_add(1);
            let header = CallbackHeader {
                xid,
                target: back.target,
                minor_version: self.minor_version,
                session: self.id,
                sequence,
            };
            if peer.send(encode(header, &callback)) {
                // It stays in flight with its number in the slot until the reply or the loss of the connection.
                back.sequence = sequence;
                back.in_flight = back.waiting.pop_front().map(|(callback, charge)| (xid, callback, charge));
            } else {
                back.connections.retain(|known| !std::ptr::eq(known.as_ptr(), Arc::as_ptr(&peer)));
            }
        }
        true
    }

    /// True if the callback with this number is in flight.
    pub(in crate::nfs::v4) fn awaits(&self, xid: u32) -> bool {
        self.back().in_flight.as_ref().is_some_and(|(sent, ..)| *sent == xid)
    }

    /// Takes the callback to which a reply has arrived, and sends the next one.
    pub(in crate::nfs::v4) fn answered(&self, xid: u32) -> Option<Callback> {
        let mut back = self.back();
        let (_, callback, _) = back.in_flight.take_if(|(sent, ..)| *sent == xid)?;
        self.send_next(&mut back);
        Some(callback)
    }

    /// Sends the callback in flight again if its connection is closed. Its number in the slot is the same, so that the
    /// client executes it once.
    pub(in crate::nfs::v4) fn connection_closed(&self) {
        let mut back = self.back();
        let had_any = !back.connections.is_empty();
        back.connections.retain(|known| known.upgrade().is_some_and(|peer| !peer.is_closed()));
        if had_any && back.connections.is_empty() {
            self.back_down.store(true, Ordering::Relaxed);
        }
        if let Some((_, callback, charge)) = back.in_flight.take() {
            back.sequence = back.sequence.wrapping_sub(1);
            back.waiting.push_front((callback, charge));
        }
        self.send_next(&mut back);
    }
}
