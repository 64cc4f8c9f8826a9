//! The connections of one client, in the order in which they began (MS-SMB2 3.3.1.16).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::UnboundedSender;

use crate::smb::transport::events::{ConnectionEvent, Notice};

/// Breaks that wait for a client, from which on it is granted no further lease. Each lease that it holds breaks once, so that
/// the number of messages in its queue is limited, also if it never reads them.
const MAX_UNDELIVERED: usize = 4096;

struct OneConnection {
    number: u64,
    events: UnboundedSender<ConnectionEvent>,
    undelivered: Arc<AtomicUsize>,
}

/// The open connections of a client or of a session.
#[derive(Default)]
pub(crate) struct ClientConnections(Mutex<Vec<OneConnection>>);

impl ClientConnections {
    fn all(&self) -> MutexGuard<'_, Vec<OneConnection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection; false if there are `max` already.
    pub(crate) fn add(&self, number: u64, events: UnboundedSender<ConnectionEvent>, max: usize) -> bool {
        let mut all = self.all();
        if all.len() >= max {
            return false;
        }
        all.push(OneConnection { number, events, undelivered: Arc::default() });
        true
    }

    /// Removes a connection; true if it was the last one.
    pub(crate) fn remove(&self, number: u64) -> bool {
        let mut all = self.all();
        all.retain(|other| other.number != number);
        all.is_empty()
    }

    /// True if many messages wait for a client that does not read them.
    pub(crate) fn is_congested(&self) -> bool {
        self.all().iter().any(|one| one.undelivered.load(Ordering::Relaxed) >= MAX_UNDELIVERED)
    }

    /// Sends a message that the client did not request over the first connection that is still open. False if there is
    /// none.
    pub(crate) fn notify(&self, frame: Vec<u8>) -> bool {
        let mut unsent = Some(frame);
        for one in self.all().iter() {
            let Some(frame) = unsent.take() else { break };
            let notice = Notice::new(frame, &one.undelivered);
            match one.events.send(ConnectionEvent::Notification(notice)) {
                Ok(()) => return true,
                Err(error) => unsent = error.0.into_message(),
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[test]
    fn a_client_that_reads_no_messages_is_congested_until_it_does() {
        let client = ClientConnections::default();
        let (ended, _) = unbounded_channel();
        let (events, mut done) = unbounded_channel();
        assert!(client.add(1, ended, 2) && client.add(2, events.clone(), 2) && !client.add(3, events, 2));
        for nth in 0..MAX_UNDELIVERED {
            assert!(!client.is_congested(), "{nth}");
            assert!(client.notify(vec![7]), "over the second connection, because the first one has ended");
        }
        assert!(client.is_congested());
        assert_eq!(done.try_recv().unwrap().into_message(), Some(vec![7]));
        assert!(!client.is_congested());
        assert!(!client.remove(1) && client.remove(2));
        assert!(!client.notify(Vec::new()));
    }
}
