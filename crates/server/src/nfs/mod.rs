//! The NFS front end: a volume served as NFS versions 3, 4.0, 4.1 and 4.2 and MOUNT version 3 on one TCP port, and as version 3
//! over UDP at the same port on request.

mod dispatch;
mod gss;
mod handle;
mod options;
mod siphash;
mod state;
mod transport;
mod v3;
mod v4;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use crate::Volume;
use crate::front_ends::front_end::{FrontEnd, ServeError, check_exposure};
use crate::front_ends::sockets::{bind_both, bind_tcp};
use crate::front_ends::threads::ServingThreads;
use crate::front_ends::workers::WorkerThreads;
use crate::nfs::options::PROTOCOL;
use crate::nfs::state::ServerState;
use crate::nfs::transport::connection::serve;
use crate::nfs::transport::datagrams::serve_datagrams;
use crate::nfs::transport::workers::CallTask;
use crate::nfs::v4::{LeaseClock, StableStore};
use crate::volume::change_reports::VolumeObserver;

pub use options::{NfsServerOptions, NfsTls};
pub use state::NfsServerCounts;

/// A running NFS server over one volume: NFS versions 3, 4.0, 4.1 and 4.2 and MOUNT version 3 on one TCP port.
///
/// It owns one single-threaded runtime per serving thread; accepted connections are assigned to them in turn and stay
/// there, so that the state of a connection needs no locks. Calls of a volume that never blocks run on these threads.
/// Calls of a volume that blocks run on worker threads, so that one slow call does not delay the other calls of its
/// connection, and replies are sent as they complete. [`Self::stop`], or dropping it, closes everything and waits for
/// all threads.
pub struct NfsServer {
    addr: SocketAddr,
    state: Arc<ServerState>,
    _threads: ServingThreads,
    _workers: Option<WorkerThreads<CallTask>>,
}

impl NfsServer {
    /// Serves `volume` on `addr`; port 0 lets the system choose. There is no port mapper: clients specify
    /// the same port for NFS and for MOUNT.
    ///
    /// # Errors
    /// An address that other machines can reach without [`NfsServerOptions::expose`], an address that cannot be bound,
    /// options out of range, or threads that cannot be started.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the server keeps the volume, as the other front ends do"
    )]
    pub fn start(
        addr: SocketAddr,
        volume: Arc<dyn Volume>,
        options: NfsServerOptions,
    ) -> Result<Self, ServeError> {
        options.check()?;
        check_exposure(PROTOCOL, addr, options.expose || options.keys.is_some())?;
        let bind = |source| ServeError::Bind { protocol: PROTOCOL, addr, source };
        let (listener, datagrams) = if options.udp {
            bind_both(addr).map(|(listener, socket)| (listener, Some(socket)))
        } else {
            bind_tcp(addr).map(|listener| (listener, None))
        }
        .map_err(bind)?;
        let bound = listener.local_addr().map_err(bind)?;
        let blocks = !volume.never_blocks();
        let stable = options.state.as_deref().map(StableStore::open).transpose();
        let stable = stable.map_err(|source| ServeError::State {
            protocol: PROTOCOL,
            path: options.state.clone().unwrap_or_default(),
            source,
        })?;
        let changes = options.changes.clone();
        let state = Arc::new(ServerState::new(&volume, options, LeaseClock::real(), stable));
        changes.observe(Arc::downgrade(&state) as Weak<dyn VolumeObserver>);
        let start = |source| ServeError::Threads { protocol: PROTOCOL, source };
        let start_workers = || {
            let shared = Arc::clone(&state);
            let run = move |task: CallTask| task.run(&shared);
            WorkerThreads::start("nfs-worker", state.options.workers, |_| false, run).map_err(start)
        };
        let worker_threads = blocks.then(start_workers).transpose()?;
        let workers = worker_threads.as_ref().map(WorkerThreads::workers);
        let serving = ServingThreads::start("nfs-server", state.options.threads, |threads| {
            let Some(first) = threads.first().cloned() else { return };
            first.spawn(end_leases(Arc::downgrade(&state)));
            if let Some(socket) = datagrams {
                first.spawn(serve_datagrams(socket, Arc::clone(&state), workers.clone()));
            }
            let shared = Arc::clone(&state);
            let serve =
                move |stream, admission| serve(stream, Arc::clone(&shared), admission, workers.clone());
            first.spawn(Arc::clone(&state.admissions).accept(listener, threads, serve));
        });
        let serving = serving.map_err(start)?;
        Ok(Self { addr: bound, state, _threads: serving, _workers: worker_threads })
    }

    /// Address that it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Counts since the start.
    pub fn counts(&self) -> NfsServerCounts {
        self.state.counters.counts(self.state.admissions.accepted())
    }

    /// Number of records of NFSv4 clients: those whose lease has not ended.
    pub fn nfs4_clients(&self) -> usize {
        self.state.v4.clients()
    }

    /// Closes the listener and every connection, and returns when its threads have ended.
    pub fn stop(self) {
        drop(self);
    }
}

impl FrontEnd for NfsServer {
    fn protocol(&self) -> &'static str {
        PROTOCOL
    }

    fn addr(&self) -> SocketAddr {
        self.addr
    }
}

/// Ends leases, recalls and the grace period at their time, as long as the server exists.
async fn end_leases(state: Weak<ServerState>) {
    let mut ticks = tokio::time::interval(v4::TICK);
    loop {
        ticks.tick().await;
        let Some(state) = state.upgrade() else { return };
        state.v4.tick(&state.handles);
    }
}
