//! Opens whose clients have lost their connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::smb::files::open_file::OpenFile;
use crate::smb::session::deferred::DeferredRequests;

/// An open whose client has lost its connection.
pub(crate) struct LostOpen {
    pub(crate) open: Arc<OpenFile>,
    pub(crate) account: String,
    /// Identity, for the timer.
    pub(crate) number: u64,
}

/// The opens that wait for their clients, by identifier.
#[derive(Default)]
pub(crate) struct LostOpens {
    opens: Mutex<HashMap<u64, LostOpen>>,
    /// Opens that a client requests before the server knows that the client has lost their connection.
    awaited: Mutex<HashMap<u64, Arc<DeferredRequests>>>,
}

impl LostOpens {
    pub(crate) fn all(&self) -> MutexGuard<'_, HashMap<u64, LostOpen>> {
        self.opens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn awaited(&self) -> MutexGuard<'_, HashMap<u64, Arc<DeferredRequests>>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
