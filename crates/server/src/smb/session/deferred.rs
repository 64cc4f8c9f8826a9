//! Deferred requests: those that are answered once other clients have acknowledged breaks (MS-SMB2 3.3.4.6, 3.3.4.7).

use std::sync::{Arc, Mutex, PoisonError};

use sharebench_smb::wire::FileId;

use crate::smb::session::established::Session;
use crate::smb::session::pending::{PendingCause, PendingReply};
use crate::smb::status::Outcome;

/// What the requests of a compound have in common (MS-SMB2 3.3.5.2.7.2).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chain {
    pub(crate) session_id: u64,
    pub(crate) tree_id: u32,
    /// The file of the request before, or why there is none.
    pub(crate) file: Option<Outcome<FileId>>,
    /// Related requests have nothing to relate to.
    pub(crate) unusable: bool,
}

/// The connection of a deferred request.
pub(crate) trait RequestRunner: Send + Sync {
    /// Answers a request that need not wait any longer, on a thread that may call the volume.
    fn resume(self: Arc<Self>, request: DeferredRequest);
}

/// A request that the server holds back, with the requests after it in its compound.
///
/// It is answered from its start again, as if it had just arrived: the state that it depends on may have changed in any
/// way meanwhile.
pub(crate) struct DeferredRequest {
    pub(crate) connection: Arc<dyn RequestRunner>,
    /// The request and those after it.
    pub(crate) messages: Vec<u8>,
    pub(crate) chain: Chain,
    pub(crate) related: bool,
    /// The session whose keys encrypted the frame.
    pub(crate) sealing: Option<Arc<Session>>,
    pub(crate) pending: PendingReply,
}

#[derive(Default)]
struct DeferredState {
    released: bool,
    requests: Vec<DeferredRequest>,
}

/// The requests that the server holds back until something has happened. They are released once.
#[derive(Default)]
pub(crate) struct DeferredRequests(Mutex<DeferredState>);

impl DeferredRequests {
    /// Keeps a request until it is released. The first time, it sends its interim reply.
    pub(crate) fn defer(self: &Arc<Self>, request: DeferredRequest, first: bool) {
        let pending_requests = Arc::clone(&request.pending.pending_requests);
        // From here on a cancellation may look for the request, which must find it.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(status) = pending_requests.add(
            &request.pending,
            request.messages.len(),
            PendingCause::Deferred(Arc::clone(self)),
        ) {
            return request.pending.send(status, None);
        }
        // Before the request can be resumed, so that its reply cannot overtake it.
        if first {
            request.pending.send_interim();
        }
        if state.released {
            drop(state);
            resume(request);
        } else {
            state.requests.push(request);
        }
    }

    /// Answers the requests, and later ones at once.
    pub(crate) fn release(&self) {
        let requests = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.released = true;
            std::mem::take(&mut state.requests)
        };
        requests.into_iter().for_each(resume);
    }

    /// Removes a request.
    pub(crate) fn withdraw(&self, id: u64) -> Option<DeferredRequest> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = state.requests.iter().position(|request| request.pending.id == id)?;
        Some(state.requests.remove(at))
    }
}

fn resume(request: DeferredRequest) {
    // A request that was cancelled has its reply.
    if request.pending.pending_requests.remove(request.pending.id) {
        let connection = Arc::clone(&request.connection);
        connection.resume(request);
    }
}
