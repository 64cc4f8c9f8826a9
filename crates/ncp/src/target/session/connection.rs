//! One connection of a session, with at most one operation in progress.

use std::task::{Context, Poll, ready};

use sharebench_model::{DataOp, ErrorClass, FileRef, OpError, OpStep, Slot};

use crate::client::{Client, ClientError, File};
use crate::target::failure::{failure, is_harmless};
use crate::target::session::cache::DirtyRange;
use crate::target::session::cache_table::{CacheTable, Claim};
use crate::target::transport::SocketTransport;

/// A data operation in progress on a connection. It needs one request, or several in sequence if it is split or uses
/// the cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingOperation {
    slot: Slot,
    pub(super) op: DataOp,
    pub(super) file: File,
    /// Bytes transferred so far.
    pub(super) done: u32,
    /// Purpose of the outstanding request.
    pub(super) request: RequestPurpose,
    /// What the operation has of the cache of the file.
    pub(super) claim: Claim,
    /// Requests sent before the operation began.
    before: u64,
}

/// The purpose of the outstanding request, which determines what its reply is used for.
#[derive(Debug, Clone, Copy)]
pub(super) enum RequestPurpose {
    /// No request is outstanding, because the operation needs no more of them.
    NoRequest,
    /// No request is outstanding, because the operation waits for another one that uses the same cache.
    Wait,
    /// A part of the operation, of the given number of bytes.
    Part(u32),
    /// A fetch of the cache buffer at the given offset.
    Fetch(u64),
    /// A write-back of dirty bytes.
    Store(DirtyRange),
}

/// A completed data operation.
pub(crate) struct CompletedOperation {
    pub(crate) slot: Slot,
    pub(crate) result: Result<u32, OpError>,
    pub(crate) requests: u32,
}

/// The file of an operation.
pub(super) const fn file_of(op: DataOp) -> FileRef {
    match op {
        DataOp::Read { file, .. } | DataOp::Write { file, .. } | DataOp::Flush { file } => file,
    }
}

/// A connection of a session.
///
/// It owns a client and the data operation in progress on it; the caches of open files belong to the session. NCP
/// allows one outstanding request, so a connection performs one operation at a time, as one or several requests in
/// sequence.
/// Once the connection is lost, every later operation fails with the error that ended it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) client: Client<SocketTransport>,
    pending: Option<PendingOperation>,
    lost: Option<OpError>,
    /// File data bytes sent and received.
    pub(super) payload: (u64, u64),
}

impl Connection {
    pub(crate) const fn new(client: Client<SocketTransport>) -> Self {
        Self { client, pending: None, lost: None, payload: (0, 0) }
    }

    /// The client, for calls on names.
    ///
    /// # Errors
    /// The connection is lost, or an earlier call on it was cancelled.
    pub(crate) fn client(&mut self) -> Result<&mut Client<SocketTransport>, OpError> {
        if self.client.is_waiting() && self.lost.is_none() {
            let detail = "an earlier call was cancelled";
            self.lost = Some(OpError::new(ErrorClass::Disconnected, OpStep::Session, detail));
        }
        match &self.lost {
            // Later calls fail with the error that ended the connection.
            Some(error) => Err(error.clone()),
            None => Ok(&mut self.client),
        }
    }

    /// The client, even if the connection is lost.
    pub(crate) const fn inner(&self) -> &Client<SocketTransport> {
        &self.client
    }

    /// Converts an error and notes whether it ends the connection.
    pub(crate) fn record_failure(&mut self, error: &ClientError) -> OpError {
        let failed = failure(error);
        if !is_harmless(error) {
            self.lost.get_or_insert(failed.clone());
        }
        failed
    }

    /// Requests sent, including retransmissions.
    pub(crate) const fn sent(&self) -> u64 {
        let counts = self.client.counts();
        // Retransmissions are requests on the wire, and a capture counts them as well.
        counts.requests + counts.resent
    }

    /// File data bytes sent and received.
    pub(crate) const fn payload(&self) -> (u64, u64) {
        self.payload
    }

    /// Begins a data operation; the buffer of the slot has the data of a write. A transfer larger than one request is
    /// split into several.
    pub(crate) fn begin(
        &mut self,
        slot: Slot,
        op: DataOp,
        file: File,
        buffer: &mut [u8],
        caches: &mut CacheTable,
    ) -> Result<(), OpError> {
        if self.pending.is_some() {
            return Err(OpError::slot_not_idle());
        }
        self.client()?;
        // A write-back failed after its write had been reported as done; the next operation is the first that
        // can report it.
        if let Some(error) = caches.take_error(file_of(op)) {
            return Err(error);
        }
        let mut pending = PendingOperation {
            slot,
            op,
            file,
            done: 0,
            request: RequestPurpose::NoRequest,
            claim: Claim::None,
            before: self.sent(),
        };
        if let Err(error) = self.begin_next_request(&mut pending, buffer, caches) {
            caches.release(file_of(op), pending.claim);
            return Err(error);
        }
        self.pending = Some(pending);
        Ok(())
    }

    /// Begins the next request of an operation, if it needs one.
    fn begin_next_request(
        &mut self,
        pending: &mut PendingOperation,
        buffer: &mut [u8],
        caches: &mut CacheTable,
    ) -> Result<(), OpError> {
        pending.request = match self.begin_from_cache(pending, buffer, caches)? {
            Some(request) => request,
            None => self.begin_part(*pending, buffer)?,
        };
        Ok(())
    }

    /// Begins the next part of an operation.
    fn begin_part(&mut self, pending: PendingOperation, buffer: &[u8]) -> Result<RequestPurpose, OpError> {
        let file = pending.file;
        let done = pending.done;
        let client = self.client()?;
        // The length of a part depends on the offset: a call with 32-bit offsets must not cross a multiple of the
        // buffer size (docs/protocols/ncp.md 2.2). It depends on the window of bursts, too.
        let (begun, part) = match pending.op {
            DataOp::Read { offset, len, .. } => {
                let at = offset.saturating_add(u64::from(done));
                let part = client.next_read(at, (len - done) as usize) as u32;
                (client.begin_read(file, at, part as usize), part)
            }
            DataOp::Write { offset, len, .. } => {
                let at = offset.saturating_add(u64::from(done));
                let part = client.next_write(at, (len - done) as usize) as u32;
                let data = buffer.get(done as usize..(done + part) as usize).unwrap_or_default();
                (client.begin_write(file, at, data), part)
            }
            DataOp::Flush { .. } => {
                client.begin_commit(file);
                (Ok(()), 0)
            }
        };
        // Nothing was sent yet, so the connection stays usable.
        begun.map_err(|error| failure(&error))?;
        Ok(RequestPurpose::Part(part))
    }

    /// Frees the memory that only requests need; returns false while a request is in progress.
    pub(crate) fn release_buffers(&mut self) -> bool {
        let idle = self.pending.is_none() && !self.client.is_waiting();
        if idle {
            self.client.release_buffers();
            self.client.transport_mut().release_buffers();
        }
        idle
    }

    /// Answers watchdog queries while the connection is idle.
    pub(crate) fn poll_keepalive(&mut self, cx: &mut Context<'_>) {
        if self.lost.is_none() && self.pending.is_none() && !self.client.is_waiting() {
            self.client.poll_keepalive(cx);
            self.client.transport_mut().release_buffers();
        }
    }

    /// Ready when the operation in progress completes; pending when there is none. Data that was read is copied into
    /// the buffer of the slot.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [Box<[u8]>],
        caches: &mut CacheTable,
    ) -> Poll<CompletedOperation> {
        let Some(mut pending) = self.pending else { return Poll::Pending };
        let buffer: &mut [u8] = buffers.get_mut(pending.slot.0 as usize).map_or(&mut [], |buffer| buffer);
        let result = loop {
            match pending.request {
                RequestPurpose::NoRequest => break Ok(pending.done),
                RequestPurpose::Wait => {}
                _ => {
                    if let Err(error) = ready!(self.client.poll(cx)) {
                        break Err(self.request_failed(&pending, &error, caches));
                    }
                    match self.end_request(&mut pending, buffer, caches) {
                        Ok(false) => {}
                        Ok(true) => break Ok(pending.done),
                        Err(error) => break Err(error),
                    }
                }
            }
            match self.begin_next_request(&mut pending, buffer, caches) {
                Ok(()) => self.pending = Some(pending),
                Err(error) => break Err(error),
            }
            // The session polls all connections again when the other operation has advanced.
            if let RequestPurpose::Wait = pending.request {
                return Poll::Pending;
            }
        };
        self.pending = None;
        caches.release(file_of(pending.op), pending.claim);
        let requests = (self.sent() - pending.before) as u32;
        Poll::Ready(CompletedOperation { slot: pending.slot, result, requests })
    }

    /// Processes a reply; true when it completes the operation.
    fn end_request(
        &mut self,
        pending: &mut PendingOperation,
        buffer: &mut [u8],
        caches: &mut CacheTable,
    ) -> Result<bool, OpError> {
        match pending.request {
            RequestPurpose::NoRequest => Ok(true),
            RequestPurpose::Wait => Ok(false),
            RequestPurpose::Part(part) => self.end_part(pending, part, buffer),
            RequestPurpose::Fetch(start) => self.fetched(pending, start, buffer, caches),
            RequestPurpose::Store(store) => {
                self.stored(file_of(pending.op), store, caches);
                Ok(false)
            }
        }
    }

    /// Processes the reply of one part.
    fn end_part(
        &mut self,
        pending: &mut PendingOperation,
        part: u32,
        buffer: &mut [u8],
    ) -> Result<bool, OpError> {
        let done = pending.done;
        match pending.op {
            DataOp::Read { offset, len, .. } => {
                let data = match self.client.read_data(offset + u64::from(done), part as usize) {
                    Ok(data) => data,
                    Err(error) => return Err(self.record_failure(&error)),
                };
                if let Some(place) = buffer.get_mut(done as usize..done as usize + data.len()) {
                    place.copy_from_slice(data);
                }
                pending.done += data.len() as u32;
                self.payload.1 += data.len() as u64;
                // A short count means the end of the file.
                Ok(pending.done >= len || data.len() < part as usize)
            }
            DataOp::Write { len, .. } => {
                pending.done += part;
                self.payload.0 += u64::from(part);
                Ok(pending.done >= len)
            }
            DataOp::Flush { .. } => Ok(true),
        }
    }

    /// Logs out and ends the connection, unless it is lost.
    pub(crate) async fn end(self) {
        if self.lost.is_none() && !self.client.is_waiting() {
            // The session is closing, so errors do not matter.
            let _ = self.client.disconnect().await;
        }
    }
}
