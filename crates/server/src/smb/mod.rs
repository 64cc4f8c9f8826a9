//! The SMB front end: a volume served as a share in dialects 2.0.2 to 3.1.1.
//!
//! [`transport`] has the task of a connection. It splits bytes into frames and passes each one to
//! [`session::connection`], which checks its protection, splits compounds and dispatches the requests; with a volume that
//! blocks this happens on worker threads. NEGOTIATE and the login set up a session. [`files::open_files`] is the only state
//! that connections share: share modes, pending removals, byte-range locks and what clients may cache ([`caching`]).

mod caching;
mod files;
mod names;
mod options;
mod session;
mod smb1;
mod state;
mod status;
#[cfg(test)]
mod tests;
mod transport;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use crate::Volume;
use crate::front_ends::front_end::{FrontEnd, ServeError, check_exposure};
use crate::front_ends::sockets::bind_tcp;
use crate::front_ends::threads::ServingThreads;
use crate::front_ends::workers::WorkerThreads;
pub use crate::smb::files::write_times::WriteTimes;
use crate::smb::options::PROTOCOL;
pub use crate::smb::options::{Protection, SmbServerOptions};
use crate::smb::session::expiry::NEVER;
use crate::smb::state::ServerState;
use crate::smb::transport::connection::serve;
use crate::smb::transport::workers::WorkerTask;
use crate::volume::change_reports::VolumeObserver;

/// A running SMB server over one volume.
///
/// It owns one single-threaded runtime per serving thread; accepted connections are assigned to them in turn and stay
/// there. Requests to a volume that never blocks run on these threads. Requests to a volume that blocks run on worker
/// threads, so that one slow request does not delay the others of its connection, and replies are sent as they complete.
/// [`Self::stop`], or dropping it, closes everything and waits for all threads.
pub struct SmbServer {
    addr: SocketAddr,
    state: Arc<ServerState>,
    // In this order: the connections end and pass their open files to the workers, which close them before they end.
    _threads: ServingThreads,
    _workers: Option<WorkerThreads<WorkerTask>>,
}

impl SmbServer {
    /// Serves `volume` on `addr`; port 0 lets the system choose.
    ///
    /// # Errors
    /// An address that other machines can reach without accounts, an address that cannot be bound, options out of range,
    /// or threads that cannot be started.
    pub fn start(
        addr: SocketAddr,
        volume: Arc<dyn Volume>,
        options: SmbServerOptions,
    ) -> Result<Self, ServeError> {
        check_exposure(PROTOCOL, addr, options.has_accounts())?;
        options.check()?;
        if options.smb1 && !addr.ip().to_canonical().is_loopback() {
            return Err(ServeError::Smb1Exposed { addr });
        }
        let bind = |source| ServeError::Bind { protocol: PROTOCOL, addr, source };
        let listener = bind_tcp(addr).map_err(bind)?;
        let bound = listener.local_addr().map_err(bind)?;
        let blocks = !volume.never_blocks();
        let state = Arc::new(ServerState::new(volume, options));
        state.options.changes.observe(Arc::downgrade(&state) as Weak<dyn VolumeObserver>);
        let start = |source| ServeError::Threads { protocol: PROTOCOL, source };
        let start_workers = || {
            let count = state.options.workers;
            WorkerThreads::start("smb-worker", count, WorkerTask::is_close, WorkerTask::run).map_err(start)
        };
        let worker_threads = blocks.then(start_workers).transpose()?;
        let workers = worker_threads.as_ref().map(WorkerThreads::workers);
        let serving = ServingThreads::start("smb-server", state.options.threads, |threads| {
            let Some(first) = threads.first().cloned() else { return };
            state.files.run_timers_on(first.clone());
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

    /// Sets the maximum number of open files per connection. Files that are open stay open.
    pub fn limit_opens(&self, max: usize) {
        self.state.max_opens.store(max, Ordering::Relaxed);
    }

    /// Lets each later login, also a renewed one, expire after this many requests. It is for tests of clients, which must renew
    /// their logins meanwhile: as a rule a session expires with the Kerberos ticket of its login only.
    pub fn expire_logins_after(&self, requests: Option<u64>) {
        self.state.requests_per_login.store(requests.unwrap_or(NEVER), Ordering::Relaxed);
    }

    /// Closes the listener and every connection, and returns when its threads have ended.
    pub fn stop(self) {
        drop(self);
    }
}

impl FrontEnd for SmbServer {
    fn protocol(&self) -> &'static str {
        PROTOCOL
    }

    fn addr(&self) -> SocketAddr {
        self.addr
    }
}
