//! Requests that wait for a lock or a semaphore (docs/protocols/ncp.md 3.3). They block no thread: the reply follows when
//! the lock is granted or the timeout expires.

use std::time::Duration;

use super::connection::Connection;
use super::mutex::lock;
use super::options::Environment;
use super::packet::Packet;
use super::peer::Peer;
use super::pending_lock::DeferredRequest;
use super::service::Server;
use super::volume::Volume;
use crate::envelope;
use crate::wire::packet::ServerHeader;
use crate::wire::{Codec, Completion, TransportKind};

/// Pause before a busy connection is tried again.
const BUSY: Duration = Duration::from_millis(10);

impl<V: Volume, W: Environment> Server<V, W> {
    /// Tries to complete the waiting request of a client. Appends its reply if the lock is granted or its timeout has
    /// expired; otherwise returns the time until which to wait for [`Environment::released`] before the next try.
    /// Does nothing if the client has no waiting request.
    pub fn resume(&self, peer: Peer, out: &mut Vec<u8>) -> Option<Duration> {
        if self.shared.waiting.count() == 0 {
            return None;
        }
        let known = lock(&self.connections).get(peer)?;
        let now = self.environment.now();
        // The connection executes another request, which may have cancelled the wait.
        let Ok(mut connection) = known.connection.try_lock() else { return Some(now + BUSY) };
        let wait = connection.wait.take()?;
        let request = wait.request?;
        let completion = match wait.goal.attempt(&mut connection.records) {
            Ok(true) => Completion::Success,
            Ok(false) if now < wait.until => {
                let until = wait.until;
                connection.wait = Some(wait);
                return Some(until);
            }
            Ok(false) => wait.late,
            Err(completion) => completion,
        };
        Self::answer_late(&mut connection, request, completion, out);
        None
    }

    /// Keeps the request that waits for a lock, so that its reply can be sent later.
    pub(super) fn defer_reply(connection: &mut Connection, packet: &Packet<'_>) -> bool {
        let Some(wait) = &mut connection.wait else { return false };
        wait.request = Some(DeferredRequest { header: packet.header, transport: packet.transport });
        true
    }

    /// Cancels a wait, because the client has sent another request. On TCP, where replies must come in order, the
    /// reply to the waiting request is sent first.
    pub(super) fn cancel_wait(connection: &mut Connection, out: &mut Vec<u8>) {
        let Some(wait) = connection.wait.take() else { return };
        // On TCP each request gets exactly one reply, so the abandoned one is answered. A client on datagrams
        // has given up waiting.
        if let Some(request) = wait.request.filter(|request| request.transport == TransportKind::Tcp) {
            Self::answer_late(connection, request, wait.late, out);
        }
    }

    fn answer_late(
        connection: &mut Connection,
        request: DeferredRequest,
        completion: Completion,
        out: &mut Vec<u8>,
    ) {
        let DeferredRequest { header, transport } = request;
        let start = out.len();
        let header = ServerHeader::reply(&header, completion);
        envelope::put_reply(transport, connection.signer.as_ref(), out, |out| {
            ServerHeader::put(&header, out);
        });
        Self::store_reply(connection, transport, &out[start..]);
    }
}
