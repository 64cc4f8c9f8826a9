//! What the connections of a server share about locks.

use std::sync::Arc;

use super::open_files::OpenFileTable;
use super::options::Environment;
use super::semaphores::SemaphoreTable;
use super::state_budget::StateBudget;
use super::waiting_requests::WaitingRequests;

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
        let waiting = Arc::new(WaitingRequests::new(environment));
        Self {
            open_files: Arc::new(OpenFileTable::new(Arc::clone(&waiting), budget.clone())),
            semaphores: Arc::new(SemaphoreTable::new(Arc::clone(&waiting), budget.clone())),
            waiting,
            budget,
        }
    }
}
