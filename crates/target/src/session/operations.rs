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
    /// The protocol or client, of which an error says what it does not have.
    const CLIENT: &'static str;
    /// The same for opens that deny a file to others.
    const SHARE_MODES: &'static str = Self::CLIENT;
    /// The same for notifications.
    const NOTIFICATIONS: &'static str = Self::CLIENT;
    /// The same for semaphores.
    const SEMAPHORES: &'static str = Self::CLIENT;
    /// Why it has no locks of byte ranges.
    const NO_LOCKS: &'static str = "this client requests no locks";
    /// Why it does not request a right to cache files.
    const NO_RIGHTS: &'static str = "this client requests no rights to cache files";
    /// Why nothing can be dropped from the client's cache, nor examined.
    const NO_CLIENT_CACHE: &'static str = "this client caches no file data";
    /// Why files cannot be mapped.
    const NO_MAPPING: &'static str = "this client cannot map a remote file into memory";

    /// Performs an operation that every target has.
    fn perform_basic(&mut self, op: &MetaOp) -> impl Future<Output = CallResult>;

    /// As [`Self::CLIENT`], for requests by which the server works by itself.
    fn without_server_side(&self) -> &'static str {
        Self::CLIENT
    }
}

/// The result of an operation that an adapter lacks.
fn lacked(detail: impl Into<String>) -> Ready<CallResult> {
    ready(Err(OpError::unsupported(detail)))
}

fn no_notification<A: Operations + ?Sized>() -> Ready<CallResult> {
    lacked(format!("{} has no notification of changes in a directory", A::NOTIFICATIONS))
}

fn no_semaphores<A: Operations + ?Sized>() -> Ready<CallResult> {
    lacked(format!("{} has no semaphores", A::SEMAPHORES))
}

/// The error of an adapter without a request that does this.
#[cold]
pub fn no_request(adapter: &(impl Operations + ?Sized), does: &str) -> OpError {
    OpError::unsupported(format!("{} has no request that {does}", adapter.without_server_side()))
}

/// The error of an adapter whose client caches nothing.
#[cold]
pub fn no_client_cache<A: Operations + ?Sized>() -> OpError {
    OpError::new(ErrorClass::Unsupported, OpStep::ClientCache, A::NO_CLIENT_CACHE)
}

/// Locks of byte ranges, and opens that deny a file to others.
pub trait Locks: Operations {
    /// [`SessionOp::Lock`].
    fn lock(&mut self, _: FileRef, _: u64, _: u64, _wait: bool) -> impl Future<Output = CallResult> {
        lacked(Self::NO_LOCKS)
    }

    /// [`SessionOp::Unlock`].
    fn unlock(&mut self, _file: FileRef, _offset: u64, _bytes: u64) -> impl Future<Output = CallResult> {
        lacked(Self::NO_LOCKS)
    }

    /// [`SessionOp::OpenDenying`].
    fn open_denying(&mut self, _path: &str) -> impl Future<Output = CallResult> {
        lacked(format!("{} has no open that denies a file to others", Self::SHARE_MODES))
    }
}

/// Rights to cache files: leases, oplocks and delegations.
pub trait CacheRights: Operations {
    /// [`SessionOp::OpenLeased`].
    fn open_leased(&mut self, _path: &str) -> impl Future<Output = CallResult> {
        lacked(Self::NO_RIGHTS)
    }

    /// [`SessionOp::OpenDelegated`].
    fn open_delegated(&mut self, _path: &str) -> impl Future<Output = CallResult> {
        lacked(Self::NO_RIGHTS)
    }

    /// [`SessionOp::AwaitRecall`].
    fn await_recall(&mut self, _file: FileRef) -> impl Future<Output = CallResult> {
        lacked(Self::NO_RIGHTS)
    }

    /// [`SessionOp::GiveBack`].
    fn give_back(&mut self, _file: FileRef) -> impl Future<Output = CallResult> {
        lacked(Self::NO_RIGHTS)
    }
}

/// Notifications of changes in a directory.
pub trait Watch: Operations {
    /// [`SessionOp::OpenDirectory`].
    fn open_directory(&mut self, _path: &str) -> impl Future<Output = CallResult> {
        no_notification::<Self>()
    }

    /// [`SessionOp::Watch`].
    fn watch(&mut self, _file: FileRef) -> impl Future<Output = CallResult> {
        no_notification::<Self>()
    }

    /// [`SessionOp::AwaitChange`].
    fn await_change(&mut self, _file: FileRef) -> impl Future<Output = CallResult> {
        no_notification::<Self>()
    }
}

/// What the server, or the system, performs on files by itself.
pub trait ServerSide: Operations {
    /// [`SessionOp::CopyRange`].
    fn copy_range(&mut self, _: FileRef, _: FileRef, _: u64, _: u64) -> impl Future<Output = CallResult> {
        ready(Err(no_request(self, "copies a file")))
    }

    /// [`SessionOp::CloneRange`].
    fn clone_range(&mut self, _from: FileRef, _to: FileRef, _bytes: u64) -> impl Future<Output = CallResult> {
        ready(Err(no_request(self, "clones a file")))
    }

    /// [`SessionOp::PunchHole`].
    fn punch_hole(&mut self, _file: FileRef, _offset: u64, _bytes: u64) -> impl Future<Output = CallResult> {
        ready(Err(no_request(self, "punches a hole")))
    }

    /// [`SessionOp::ReadSparse`].
    fn read_sparse(&mut self, _file: FileRef, _offset: u64, _len: u32) -> impl Future<Output = CallResult> {
        ready(Err(no_request(self, "reads holes without their zeros")))
    }
}

/// Counting semaphores of the server.
pub trait Semaphores: Operations {
    /// [`SessionOp::OpenSemaphore`].
    fn open_semaphore(&mut self, _name: &str) -> impl Future<Output = CallResult> {
        no_semaphores::<Self>()
    }

    /// [`SessionOp::WaitSemaphore`].
    fn wait_semaphore(&mut self) -> impl Future<Output = CallResult> {
        no_semaphores::<Self>()
    }

    /// [`SessionOp::SignalSemaphore`].
    fn signal_semaphore(&mut self) -> impl Future<Output = CallResult> {
        no_semaphores::<Self>()
    }

    /// [`SessionOp::CloseSemaphore`].
    fn close_semaphore(&mut self) -> impl Future<Output = CallResult> {
        no_semaphores::<Self>()
    }
}

/// What this machine holds of an open file in its memory.
pub trait ClientCache: Operations {
    /// [`SessionOp::DropCache`].
    fn drop_client_cache(&mut self, _file: FileRef) -> impl Future<Output = CallResult> {
        ready(Err(no_client_cache::<Self>()))
    }

    /// [`SessionOp::Residency`].
    fn residency(&mut self, _file: FileRef) -> impl Future<Output = CallResult> {
        ready(Err(no_client_cache::<Self>()))
    }

    /// [`SessionOp::Map`].
    fn map_file(&mut self, _file: FileRef, _bytes: u64) -> impl Future<Output = CallResult> {
        lacked(Self::NO_MAPPING)
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
