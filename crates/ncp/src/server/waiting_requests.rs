//! The requests that wait for a lock or a semaphore.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::options::Environment;

/// Counts the requests that wait for a lock or a semaphore, and notifies the environment when one of them may
/// continue.
#[derive(Default)]
pub struct WaitingRequests {
    count: AtomicUsize,
    environment: Option<Arc<dyn Environment>>,
}

impl std::fmt::Debug for WaitingRequests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WaitingRequests").field("count", &self.count).finish_non_exhaustive()
    }
}

impl WaitingRequests {
    /// Counts for an environment, which is notified of released locks.
    pub fn new(environment: Arc<dyn Environment>) -> Self {
        Self { environment: Some(environment), ..Self::default() }
    }

    /// Number of waiting requests.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Notifies the environment of a released lock. Only while requests wait: front ends then resume their clients.
    pub fn notify(&self) {
        if let Some(environment) = self.environment.as_ref().filter(|_| self.count() > 0) {
            environment.released();
        }
    }
}

/// Counts a waiting request for as long as it exists.
#[derive(Debug)]
pub struct WaiterGuard(Arc<WaitingRequests>);

impl WaiterGuard {
    /// Counts one more waiting request.
    pub fn new(waiting: &Arc<WaitingRequests>) -> Self {
        waiting.count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(waiting))
    }
}

impl Drop for WaiterGuard {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
    }
}
