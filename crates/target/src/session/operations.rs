//! The operations of an adapter in groups, and the errors for those that it lacks.

use std::future::{Future, ready};

use sharebench_model::{
    CacheRightOp, ClientCacheOp, ErrorClass, LockOp, MetaOp, MetaReply, MetaYield, OpError, OpStep,
    SemaphoreOp, ServerSideOp, SessionOp, WatchOp,
};

use super::Session;

/// What an adapter performs, one operation at a time. Every adapter has the basic operations. It implements a method of another
/// group if it has some of its operations; the default implementation is that of an adapter without them, and gives the reason.
///
/// A session that wraps another one does not implement this: it passes operations of all groups on, in
/// [`Session::perform_call`](crate::Session::perform_call).
pub trait Operations {
    /// Performs an operation that every target has.
    fn perform_basic(&mut self, op: &MetaOp) -> impl Future<Output = Result<MetaYield, OpError>>;

    /// Why the adapter lacks operations of the other groups.
    fn lacks(&self) -> Lacks;

    /// Locks, or opens a file and denies it to others.
    fn perform_lock(&mut self, op: &LockOp) -> impl Future<Output = Result<MetaYield, OpError>> {
        ready(Err(self.lacks().lock(op)))
    }

    /// Has to do with the right to cache a file.
    fn perform_cache_right(
        &mut self,
        _op: &CacheRightOp,
    ) -> impl Future<Output = Result<MetaYield, OpError>> {
        ready(Err(OpError::unsupported(self.lacks().rights)))
    }

    /// Watches a directory.
    fn perform_watch(&mut self, _op: &WatchOp) -> impl Future<Output = Result<MetaYield, OpError>> {
        let detail = format!("{} has no notification of changes in a directory", self.lacks().notifications);
        ready(Err(OpError::unsupported(detail)))
    }

    /// Lets the server work on files by itself.
    fn perform_server_side(&mut self, op: &ServerSideOp) -> impl Future<Output = Result<MetaYield, OpError>> {
        ready(Err(self.lacks().server_side(op)))
    }

    /// Works with a counting semaphore.
    fn perform_semaphore(&mut self, _op: &SemaphoreOp) -> impl Future<Output = Result<MetaYield, OpError>> {
        ready(Err(OpError::unsupported(format!("{} has no semaphores", self.lacks().semaphores))))
    }

    /// Examines or changes what this machine holds of an open file.
    fn perform_client_cache(
        &mut self,
        op: &ClientCacheOp,
    ) -> impl Future<Output = Result<MetaYield, OpError>> {
        ready(Err(self.lacks().client_cache(op)))
    }
}

/// Performs an operation of any group.
///
/// # Errors
/// As the operation; [`ErrorClass::Unsupported`] if the adapter lacks it.
pub async fn perform<A: Operations>(adapter: &mut A, op: &SessionOp) -> Result<MetaYield, OpError> {
    match op {
        SessionOp::Basic(op) => adapter.perform_basic(op).await,
        SessionOp::Lock(op) => adapter.perform_lock(op).await,
        SessionOp::CacheRight(op) => adapter.perform_cache_right(op).await,
        SessionOp::Watch(op) => adapter.perform_watch(op).await,
        SessionOp::ServerSide(op) => adapter.perform_server_side(op).await,
        SessionOp::Semaphore(op) => adapter.perform_semaphore(op).await,
        SessionOp::ClientCache(op) => adapter.perform_client_cache(op).await,
    }
}

/// As [`perform`]; the requests are those by which the wire counts of the session increase.
pub async fn perform_counted<A: Operations + Session>(adapter: &mut A, op: SessionOp) -> MetaReply {
    let before = adapter.wire().requests;
    let result = perform(adapter, &op).await;
    MetaReply { result, requests: (adapter.wire().requests - before) as u32 }
}

/// Why an adapter lacks operations: what its errors say. Only the reasons for operations that it lacks are of interest.
#[derive(Debug, Clone, Copy)]
pub struct Lacks {
    /// The protocol or client, which has no opens that deny a file to others, or no requests by which the server works by itself.
    pub client: &'static str,
    /// Why it has no locks of byte ranges.
    pub locks: &'static str,
    /// Why it does not request the right to cache a file.
    pub rights: &'static str,
    /// The protocol or client without notifications.
    pub notifications: &'static str,
    /// The protocol or client without semaphores.
    pub semaphores: &'static str,
    /// Why nothing can be dropped from the client's cache, nor examined.
    pub client_cache: &'static str,
    /// Why files cannot be mapped.
    pub mapping: &'static str,
}

impl Lacks {
    /// The reasons of a protocol or client.
    pub const fn of(client: &'static str) -> Self {
        Self {
            client,
            locks: "this client requests no locks",
            rights: "this client requests no rights to cache files",
            notifications: client,
            semaphores: client,
            client_cache: "this client caches no file data",
            mapping: "this client cannot map a remote file into memory",
        }
    }

    /// The error for a lock.
    #[cold]
    pub fn lock(&self, op: &LockOp) -> OpError {
        if let LockOp::OpenDenying { .. } = op {
            return OpError::unsupported(format!("{} has no open that denies a file to others", self.client));
        }
        OpError::unsupported(self.locks)
    }

    /// The error for work of the server by itself.
    #[cold]
    pub fn server_side(&self, op: &ServerSideOp) -> OpError {
        let what = match op {
            ServerSideOp::CopyRange { .. } => "copies a file",
            ServerSideOp::CloneRange { .. } => "clones a file",
            ServerSideOp::PunchHole { .. } => "punches a hole",
            ServerSideOp::ReadSparse { .. } => "reads holes without their zeros",
        };
        OpError::unsupported(format!("{} has no request that {what}", self.client))
    }

    /// The error for what this machine holds of a file.
    #[cold]
    pub fn client_cache(&self, op: &ClientCacheOp) -> OpError {
        match op {
            ClientCacheOp::Map { .. } => OpError::unsupported(self.mapping),
            ClientCacheOp::DropCache { .. } | ClientCacheOp::Residency { .. } => {
                OpError::new(ErrorClass::Unsupported, OpStep::ClientCache, self.client_cache)
            }
        }
    }
}
