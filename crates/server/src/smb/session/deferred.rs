//! Requests that are answered once other clients have acknowledged breaks (MS-SMB2 3.3.4.6, 3.3.4.7).

use std::sync::{Arc, Mutex, PoisonError};

use sharebench_smb::wire::FileId;

use crate::smb::session::established::Session;
use crate::smb::session::pending::{PendingReply, WaitsFor};
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

/// The connection of a request that waits.
pub(crate) trait RequestRunner: Send + Sync {
    /// Answers a request that need not wait any longer, on a thread that may call the volume.
    fn resume(self: Arc<Self>, request: ParkedRequest);
}

/// A request that waits, with the requests after it in its compound.
///
/// It is answered from its start again, as if it had just arrived: the state that it depends on may have changed in any
/// way meanwhile.
pub(crate) struct ParkedRequest {
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
struct GateState {
    open: bool,
    requests: Vec<ParkedRequest>,
}

/// What requests wait for. It opens once.
#[derive(Default)]
pub(crate) struct Gate(Mutex<GateState>);

impl Gate {
    /// Keeps a request until the gate opens. The first time, it sends its interim reply.
    pub(crate) fn park(self: &Arc<Self>, request: ParkedRequest, first: bool) {
        let waiting = Arc::clone(&request.pending.waiting);
        // From here on a cancellation may look for the request, which must find it.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(status) =
            waiting.add(&request.pending, request.messages.len(), WaitsFor::Break(Arc::clone(self)))
        {
            return request.pending.send(status, None);
        }
        // Before the request can be resumed, so that its reply cannot overtake it.
        if first {
            request.pending.send_interim();
        }
        if state.open {
            drop(state);
            resume(request);
        } else {
            state.requests.push(request);
        }
    }

    /// Answers the requests that wait.
    pub(crate) fn open(&self) {
        let requests = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.open = true;
            std::mem::take(&mut state.requests)
        };
        requests.into_iter().for_each(resume);
    }

    /// Removes a request.
    pub(crate) fn withdraw(&self, id: u64) -> Option<ParkedRequest> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = state.requests.iter().position(|request| request.pending.id == id)?;
        Some(state.requests.remove(at))
    }
}

fn resume(request: ParkedRequest) {
    // A request that was cancelled has its reply.
    if request.pending.waiting.remove(request.pending.id) {
        let connection = Arc::clone(&request.connection);
        connection.resume(request);
    }
}
