//! One connection of a session: one operation under way at most.

use std::task::{Context, Poll, ready};

use sharebench_model::{DataOp, ErrorClass, OpError, Slot};
use sharebench_ncp::client::{Client, ClientError, File};

use crate::carrier::Socket;
use crate::failure::{failure, is_harmless};

/// A data operation under way.
#[derive(Debug, Clone, Copy)]
struct Pending {
    slot: Slot,
    op: DataOp,
    /// Requests sent before it.
    before: u64,
}

/// The end of a data operation.
pub(crate) struct Ended {
    pub(crate) slot: Slot,
    pub(crate) op: DataOp,
    pub(crate) result: Result<u32, OpError>,
    pub(crate) requests: u32,
}

/// A connection, and what is under way on it.
#[derive(Debug)]
pub(crate) struct Lane {
    client: Client<Socket>,
    pending: Option<Pending>,
    lost: Option<OpError>,
}

impl Lane {
    pub(crate) const fn new(client: Client<Socket>) -> Self {
        Self { client, pending: None, lost: None }
    }

    /// The client, for calls on names.
    ///
    /// # Errors
    /// The connection is lost, or a call on it was abandoned.
    pub(crate) fn client(&mut self) -> Result<&mut Client<Socket>, OpError> {
        if self.client.is_waiting() && self.lost.is_none() {
            let detail = "an earlier call was abandoned";
            self.lost = Some(OpError::new(ErrorClass::Disconnected, "call", detail));
        }
        match &self.lost {
            Some(error) => Err(OpError::new(ErrorClass::Disconnected, error.step, error.detail.clone())),
            None => Ok(&mut self.client),
        }
    }

    /// What the client is, whatever became of the connection.
    pub(crate) const fn peek(&self) -> &Client<Socket> {
        &self.client
    }

    /// The engine's word for a failure, which may end the connection.
    pub(crate) fn failed(&mut self, error: &ClientError) -> OpError {
        let failed = failure(error);
        if !is_harmless(error) {
            self.lost.get_or_insert(failed.clone());
        }
        failed
    }

    /// Requests sent, those sent again included.
    pub(crate) const fn sent(&self) -> u64 {
        let counts = self.client.counts();
        counts.requests + counts.resent
    }

    /// Begins a data operation; `data` is what a write sends.
    pub(crate) fn begin(&mut self, slot: Slot, op: DataOp, file: File, data: &[u8]) -> Result<(), OpError> {
        if self.pending.is_some() {
            let detail = "one request of a connection is under way at a time";
            return Err(OpError::new(ErrorClass::Busy, "submit", detail));
        }
        let before = self.sent();
        let client = self.client()?;
        let begun = match op {
            DataOp::Read { offset, len, .. } => client.begin_read(file, offset, len as usize),
            DataOp::Write { offset, .. } => client.begin_write(file, offset, data),
            DataOp::Flush { .. } => {
                client.begin_commit(file);
                Ok(())
            }
        };
        begun.map_err(|error| failure(&error))?;
        self.pending = Some(Pending { slot, op, before });
        Ok(())
    }

    /// Ready when the operation under way has ended; pending for ever when there is none. What was read is put into
    /// the slot's buffer.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, buffers: &mut [Box<[u8]>]) -> Poll<Ended> {
        let Some(pending) = self.pending else { return Poll::Pending };
        let result = match ready!(self.client.poll(cx)) {
            Ok(()) => self.conclude(pending, buffers),
            Err(error) => Err(self.failed(&error)),
        };
        self.pending = None;
        let requests = (self.sent() - pending.before) as u32;
        Poll::Ready(Ended { slot: pending.slot, op: pending.op, result, requests })
    }

    fn conclude(&mut self, pending: Pending, buffers: &mut [Box<[u8]>]) -> Result<u32, OpError> {
        match pending.op {
            DataOp::Read { offset, len, .. } => match self.client.read_data(offset, len as usize) {
                Ok(data) => {
                    let buffer = buffers.get_mut(pending.slot.0 as usize);
                    if let Some(place) = buffer.and_then(|buffer| buffer.get_mut(..data.len())) {
                        place.copy_from_slice(data);
                    }
                    Ok(data.len() as u32)
                }
                Err(error) => Err(self.failed(&error)),
            },
            DataOp::Write { len, .. } => Ok(len),
            DataOp::Flush { .. } => Ok(0),
        }
    }

    /// Logs out and ends the connection, if it stands.
    pub(crate) async fn end(self) {
        if self.lost.is_none() && !self.client.is_waiting() {
            // Errors are of no interest any more.
            let _ = self.client.disconnect().await;
        }
    }
}
