//! The connections of one client, in the order in which they began (MS-SMB2 3.3.1.16).

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::UnboundedSender;

use crate::smb::workers::Delivery;

/// The open connections of a client or of a session, by their number.
#[derive(Default)]
pub(super) struct ClientConnections(Mutex<Vec<(u64, UnboundedSender<Delivery>)>>);

impl ClientConnections {
    fn all(&self) -> MutexGuard<'_, Vec<(u64, UnboundedSender<Delivery>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection; false if there are `max` already.
    pub(super) fn add(&self, number: u64, late: UnboundedSender<Delivery>, max: usize) -> bool {
        let mut all = self.all();
        if all.len() >= max {
            return false;
        }
        all.push((number, late));
        true
    }

    /// Removes a connection; true if it was the last one.
    pub(super) fn remove(&self, number: u64) -> bool {
        let mut all = self.all();
        all.retain(|(other, _)| *other != number);
        all.is_empty()
    }

    /// Sends a message that the client did not request over the first connection that is still open. False if there is
    /// none.
    pub(super) fn notify(&self, frame: Vec<u8>) -> bool {
        let mut unsent = Some(frame);
        for (_, late) in self.all().iter() {
            let Some(frame) = unsent.take() else { break };
            match late.send(Delivery::Notification(frame)) {
                Ok(()) => return true,
                Err(error) => unsent = error.0.into_late(),
            }
        }
        false
    }
}
