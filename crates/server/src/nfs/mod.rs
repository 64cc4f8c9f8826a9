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

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;

use crate::Volume;
use crate::common::admission::{Admission, Admissions};
use crate::common::front_end::{FrontEnd, ServeError, check_exposure};
use crate::common::udp_port::bind_both;
use crate::nfs::state::ServerState;
use crate::nfs::transport::connection::serve;
use crate::nfs::transport::datagrams::serve_datagrams;
use crate::nfs::transport::workers::Workers;
use crate::nfs::v4::{LeaseClock, StableStore};
use crate::volume::change_reports::VolumeObserver;

pub use options::NfsServerOptions;
pub use state::NfsServerCounts;
pub use transport::stream::NfsTls;

const PROTOCOL: &str = "nfs";

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
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
    workers: Option<Arc<Workers>>,
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
            let (listener, socket) = bind_both(addr).map_err(bind)?;
            (listener, Some(socket))
        } else {
            (TcpListener::bind(addr).map_err(bind)?, None)
        };
        listener.set_nonblocking(true).map_err(bind)?;
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
        let (stop, _) = watch::channel(false);
        let mut server = Self { addr: bound, state, stop, threads: Vec::new(), workers: None };
        server
            .start_threads(listener, datagrams, blocks)
            .map_err(|source| ServeError::Threads { protocol: PROTOCOL, source })?;
        Ok(server)
    }

    fn start_threads(
        &mut self,
        listener: TcpListener,
        datagrams: Option<UdpSocket>,
        blocks: bool,
    ) -> io::Result<()> {
        if blocks {
            let (workers, threads) = Workers::start(self.state.options.workers.max(1), &self.state)?;
            self.workers = Some(workers);
            self.threads.extend(threads);
        }
        let runtimes: io::Result<Vec<Runtime>> = (0..self.state.options.threads.max(1))
            .map(|_| Builder::new_current_thread().enable_all().build())
            .collect();
        let runtimes = runtimes?;
        let handles = runtimes.iter().map(|runtime| runtime.handle().clone()).collect();
        let accepting = accept(listener, Arc::clone(&self.state), self.workers.clone(), handles);
        if let Some(first) = runtimes.first() {
            first.spawn(accepting);
            first.spawn(end_leases(Arc::downgrade(&self.state)));
            if let Some(socket) = datagrams {
                first.spawn(serve_datagrams(socket, Arc::clone(&self.state), self.workers.clone()));
            }
        }
        for runtime in runtimes {
            let mut stopped = self.stop.subscribe();
            let run = move || {
                // The sender outlives this thread; if it is dropped, the thread stops as well.
                let _ = runtime.block_on(stopped.wait_for(|stop| *stop));
            };
            self.threads.push(std::thread::Builder::new().name("nfs-server".into()).spawn(run)?);
        }
        Ok(())
    }

    /// Address that it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Counts since the start.
    pub fn counts(&self) -> NfsServerCounts {
        self.state.counters.counts()
    }

    /// Number of records of NFSv4 clients: those whose lease has not ended.
    pub fn nfs4_clients(&self) -> usize {
        self.state.v4.clients()
    }

    /// Closes the listener and every connection, and returns when its threads have ended.
    pub fn stop(mut self) {
        self.halt();
    }

    fn halt(&mut self) {
        self.stop.send_replace(true);
        if let Some(workers) = &self.workers {
            workers.close();
        }
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended as well.
            let _ = thread.join();
        }
    }
}

impl Drop for NfsServer {
    fn drop(&mut self) {
        self.halt();
    }
}

impl FrontEnd for NfsServer {
    fn protocol(&self) -> &'static str {
        PROTOCOL
    }

    fn addr(&self) -> SocketAddr {
        self.addr
    }

    fn stop(self: Box<Self>) {
        (*self).stop();
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

/// Accepts connections and assigns them to the threads in turn.
async fn accept(
    listener: TcpListener,
    state: Arc<ServerState>,
    workers: Option<Arc<Workers>>,
    handles: Vec<Handle>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut looks = tokio::time::interval(Admissions::LOOK);
    for handle in handles.iter().cycle() {
        let (stream, client) = state.admissions.next(&listener, &mut looks, "NFS").await;
        state.counters.connections.fetch_add(1, Ordering::Relaxed);
        let Some(admission) = state.admissions.admit(client.ip()) else { continue };
        let number = admission.number();
        let workers = workers.clone();
        // A socket belongs to the runtime that registered it, so it is taken out of the accepting one.
        let Ok(stream) = stream.into_std() else { continue };
        let shared = Arc::clone(&state);
        let task = handle.spawn(async move {
            // Registers the socket with the thread that serves it.
            if let Ok(stream) = tokio::net::TcpStream::from_std(stream) {
                serve(stream, shared, admission, workers).await;
            }
        });
        Admission::served_by(&state.admissions, number, task.abort_handle());
    }
    Ok(())
}
