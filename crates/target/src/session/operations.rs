//! What an adapter performs, in groups of operations, and the errors for those that it lacks.

use std::future::{Future, Ready, ready};

use sharebench_model::{ErrorClass, FileRef, MetaOp, MetaReply, MetaYield, OpError, OpStep, SessionOp};

use super::Session;

/// The result of an operation.
pub type CallResult = Result<MetaYield, OpError>;

/// The operations that every adapter has.
///
/// Those that only some have are a trait for each group ([`Locks`], [`CacheRights`], [`Watch`], [`ServerSide`], [`Semaphores`],
/// [`ClientCache`]). An adapter implements its methods for the operations that it has; the default implementation of each is
/// that of an adapter without the operation, and gives the reason. A session that wraps another one implements none of these: it
/// passes all operations on, in [`Session::perform_call`].
pub trait Operations {
    /// Performs an operation that every target has.
    fn perform_basic(&mut self, op: &MetaOp) -> impl Future<Output = CallResult>;

    /// Why the adapter lacks others.
    fn lacks(&self) -> Lacks;
}

fn lacked(error: OpError) -> Ready<CallResult> {
    ready(Err(error))
}

/// Locks of byte ranges, and opens that deny a file to others.
pub trait Locks: Operations {
    /// [`SessionOp::Lock`].
    fn lock(
        &mut self,
        _file: FileRef,
        _offset: u64,
        _bytes: u64,
        _wait: bool,
    ) -> impl Future<Output = CallResult> {
        lacked(OpError::unsupported(self.lacks().locks))
    }

    /// [`SessionOp::Unlock`].
    fn unlock(&mut self, _file: FileRef, _offset: u64, _bytes: u64) -> impl Future<Output = CallResult> {
        lacked(OpError::unsupported(self.lacks().locks))
    }

    /// [`SessionOp::OpenDenying`].
    fn open_denying(&mut self, _path: &str) -> impl Future<Output = CallResult> {
        let detail = format!("{} has no open that denies a file to others", self.lacks().share_modes);
        lacked(OpError::unsupported(detail))
    }
}

/// Rights to cache files: leases, oplocks and delegations.
pub trait CacheRights: Operations {
    /// [`SessionOp::OpenLeased`].
    fn open_leased(&mut self, _path: &str) -> impl Future<Output = CallResult> {
        lacked(OpError::unsupported(self.lacks().rights))
    }

    /// [`SessionOp::OpenDelegated`].
    fn open_delegated(&mut self, _path: &str) -> impl Future<Output = CallResult> {
        lacked(OpError::unsupported(self.lacks().rights))
    }

    /// [`SessionOp::AwaitRecall`].
    fn await_recall(&mut self, _file: FileRef) -> impl Future<Output = CallResult> {
        lacked(OpError::unsupported(self.lacks().rights))
    }

    /// [`SessionOp::GiveBack`].
    fn give_back(&mut self, _file: FileRef) -> impl Future<Output = CallResult> {
        lacked(OpError::unsupported(self.lacks().rights))
    }
}

/// Notifications of changes in a directory.
pub trait Watch: Operations {
    /// [`SessionOp::OpenDirectory`].
    fn open_directory(&mut self, _path: &str) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_notification())
    }

    /// [`SessionOp::Watch`].
    fn watch(&mut self, _file: FileRef) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_notification())
    }

    /// [`SessionOp::AwaitChange`].
    fn await_change(&mut self, _file: FileRef) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_notification())
    }
}

/// What the server, or the system, performs on files by itself.
pub trait ServerSide: Operations {
    /// [`SessionOp::CopyRange`].
    fn copy_range(
        &mut self,
        _from: FileRef,
        _to: FileRef,
        _offset: u64,
        _bytes: u64,
    ) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_request("copies a file"))
    }

    /// [`SessionOp::CloneRange`].
    fn clone_range(&mut self, _from: FileRef, _to: FileRef, _bytes: u64) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_request("clones a file"))
    }

    /// [`SessionOp::PunchHole`].
    fn punch_hole(&mut self, _file: FileRef, _offset: u64, _bytes: u64) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_request("punches a hole"))
    }

    /// [`SessionOp::ReadSparse`].
    fn read_sparse(&mut self, _file: FileRef, _offset: u64, _len: u32) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_request("reads holes without their zeros"))
    }
}

/// Counting semaphores of the server.
pub trait Semaphores: Operations {
    /// [`SessionOp::OpenSemaphore`].
    fn open_semaphore(&mut self, _name: &str) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_semaphores())
    }

    /// [`SessionOp::WaitSemaphore`].
    fn wait_semaphore(&mut self) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_semaphores())
    }

    /// [`SessionOp::SignalSemaphore`].
    fn signal_semaphore(&mut self) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_semaphores())
    }

    /// [`SessionOp::CloseSemaphore`].
    fn close_semaphore(&mut self) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_semaphores())
    }
}

/// What this machine holds of an open file in its memory.
pub trait ClientCache: Operations {
    /// [`SessionOp::DropCache`].
    fn drop_client_cache(&mut self, _file: FileRef) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_client_cache())
    }

    /// [`SessionOp::Residency`].
    fn residency(&mut self, _file: FileRef) -> impl Future<Output = CallResult> {
        lacked(self.lacks().no_client_cache())
    }

    /// [`SessionOp::Map`].
    fn map_file(&mut self, _file: FileRef, _bytes: u64) -> impl Future<Output = CallResult> {
        lacked(OpError::unsupported(self.lacks().mapping))
    }
}

/// An adapter: all groups, of each of which it may lack some or all operations.
pub trait Adapter: Locks + CacheRights + Watch + ServerSide + Semaphores + ClientCache {}

impl<A: Locks + CacheRights + Watch + ServerSide + Semaphores + ClientCache> Adapter for A {}

/// Performs an operation of any group.
///
/// # Errors
/// As the operation; [`ErrorClass::Unsupported`] if the adapter lacks it.
pub async fn perform(adapter: &mut impl Adapter, op: &SessionOp) -> CallResult {
    match *op {
        SessionOp::Basic(ref op) => adapter.perform_basic(op).await,
        SessionOp::Lock { file, offset, bytes, wait } => adapter.lock(file, offset, bytes, wait).await,
        SessionOp::Unlock { file, offset, bytes } => adapter.unlock(file, offset, bytes).await,
        SessionOp::OpenDenying { ref path } => adapter.open_denying(path).await,
        SessionOp::OpenLeased { ref path } => adapter.open_leased(path).await,
        SessionOp::OpenDelegated { ref path } => adapter.open_delegated(path).await,
        SessionOp::AwaitRecall { file } => adapter.await_recall(file).await,
        SessionOp::GiveBack { file } => adapter.give_back(file).await,
        SessionOp::OpenDirectory { ref path } => adapter.open_directory(path).await,
        SessionOp::Watch { file } => adapter.watch(file).await,
        SessionOp::AwaitChange { file } => adapter.await_change(file).await,
        SessionOp::CopyRange { from, to, offset, bytes } => adapter.copy_range(from, to, offset, bytes).await,
        SessionOp::CloneRange { from, to, bytes } => adapter.clone_range(from, to, bytes).await,
        SessionOp::PunchHole { file, offset, bytes } => adapter.punch_hole(file, offset, bytes).await,
        SessionOp::ReadSparse { file, offset, len } => adapter.read_sparse(file, offset, len).await,
        SessionOp::OpenSemaphore { ref name } => adapter.open_semaphore(name).await,
        SessionOp::WaitSemaphore => adapter.wait_semaphore().await,
        SessionOp::SignalSemaphore => adapter.signal_semaphore().await,
        SessionOp::CloseSemaphore => adapter.close_semaphore().await,
        SessionOp::DropCache { file } => adapter.drop_client_cache(file).await,
        SessionOp::Residency { file } => adapter.residency(file).await,
        SessionOp::Map { file, bytes } => adapter.map_file(file, bytes).await,
    }
}

/// As [`perform`]; the requests are those by which the wire counts of the session increase.
pub async fn perform_counted<A: Adapter + Session>(adapter: &mut A, op: SessionOp) -> MetaReply {
    let before = adapter.wire().requests;
    let result = perform(adapter, &op).await;
    MetaReply { result, requests: (adapter.wire().requests - before) as u32 }
}

/// Why an adapter lacks operations: what its errors say. Only the reasons for operations that it lacks are of interest.
#[derive(Debug, Clone, Copy)]
pub struct Lacks {
    /// The protocol or client without opens that deny a file to others.
    pub share_modes: &'static str,
    /// The protocol or client without requests by which the server works by itself.
    pub ranges: &'static str,
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
            share_modes: client,
            ranges: client,
            locks: "this client requests no locks",
            rights: "this client requests no rights to cache files",
            notifications: client,
            semaphores: client,
            client_cache: "this client caches no file data",
            mapping: "this client cannot map a remote file into memory",
        }
    }

    /// The protocol or client has no request that does this.
    #[cold]
    pub fn no_request(&self, does: &str) -> OpError {
        OpError::unsupported(format!("{} has no request that {does}", self.ranges))
    }

    /// The client caches nothing.
    #[cold]
    pub fn no_client_cache(&self) -> OpError {
        OpError::new(ErrorClass::Unsupported, OpStep::ClientCache, self.client_cache)
    }

    #[cold]
    fn no_notification(&self) -> OpError {
        let detail = format!("{} has no notification of changes in a directory", self.notifications);
        OpError::unsupported(detail)
    }

    #[cold]
    fn no_semaphores(&self) -> OpError {
        OpError::unsupported(format!("{} has no semaphores", self.semaphores))
    }
}
