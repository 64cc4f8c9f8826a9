//! What a request waits for (docs/protocols/ncp.md 3.3).

use std::sync::Arc;
use std::time::Duration;

use super::record_log::{LockTarget, RecordLog};
use super::semaphores::SemaphoreTicket;
use super::volume::VolumeResult;
use super::waiting_requests::{WaiterGuard, WaitingRequests};
use crate::wire::packet::ClientHeader;
use crate::wire::{Completion, TransportKind};

/// What a request locks, or waits for.
#[derive(Debug)]
pub enum LockGoal {
    /// Byte ranges, shared or not.
    Records(LockTarget, bool),
    /// A unit of a semaphore.
    Semaphore(SemaphoreTicket),
}

impl LockGoal {
    /// Tries to reach the goal; false when the request has to wait.
    pub fn attempt(&self, records: &mut RecordLog) -> VolumeResult<bool> {
        match self {
            Self::Records(target, shared) => records.lock(*target, *shared),
            Self::Semaphore(ticket) => Ok(ticket.take()),
        }
    }
}

/// A request that waits for a lock or a semaphore.
#[derive(Debug)]
pub struct PendingLock {
    pub goal: LockGoal,
    pub until: Duration,
    /// Completion code of the reply when the timeout expires.
    pub late: Completion,
    /// The request, once its reply is deferred.
    pub request: Option<DeferredRequest>,
    _waiting: WaiterGuard,
}

impl PendingLock {
    /// A request that begins to wait.
    pub fn new(goal: LockGoal, until: Duration, late: Completion, waiting: &Arc<WaitingRequests>) -> Self {
        Self { goal, until, late, request: None, _waiting: WaiterGuard::new(waiting) }
    }
}

/// A request whose reply is deferred.
#[derive(Debug, Clone, Copy)]
pub struct DeferredRequest {
    pub header: ClientHeader,
    pub transport: TransportKind,
}
