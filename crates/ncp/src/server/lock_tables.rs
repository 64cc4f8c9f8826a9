//! What the connections of a server share about locks: the tables, and the requests that wait for a lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::open_files::OpenFileTable;
use super::options::Environment;
use super::semaphores::SemaphoreTable;
use super::state_budget::StateBudget;

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

/// The locks of a server by kind, and the budget for the state of its clients. Each connection has a part of its own for each kind, which releases what the
/// connection holds; the tables have what concerns other connections.
#[derive(Debug, Clone, Default)]
pub struct LockTables {
    pub open_files: Arc<OpenFileTable>,
    pub semaphores: Arc<SemaphoreTable>,
    pub waiting: Arc<WaitingRequests>,
    pub budget: StateBudget,
}

impl LockTables {
    /// Empty tables; `environment` is notified of released locks.
    pub fn new(environment: Arc<dyn Environment>) -> Self {
        let budget = environment.state_budget();
        let waiting =
            Arc::new(WaitingRequests { environment: Some(environment), ..WaitingRequests::default() });
        Self {
            open_files: Arc::new(OpenFileTable::new(Arc::clone(&waiting), budget.clone())),
            semaphores: Arc::new(SemaphoreTable::new(Arc::clone(&waiting), budget.clone())),
            waiting,
            budget,
        }
    }
}
