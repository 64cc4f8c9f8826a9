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

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;

use crate::Volume;
use crate::common::admission::{Admission, Admissions};
use crate::common::front_end::{FrontEnd, ServeError, check_exposure};
pub use crate::smb::files::write_times::WriteTimes;
pub use crate::smb::options::{Protection, SmbServerOptions};
use crate::smb::state::ServerState;
use crate::smb::transport::connection::serve;
use crate::smb::transport::workers::Workers;
use crate::volume::change_reports::VolumeObserver;

/// The protocol's name in messages.
const PROTOCOL: &str = "smb";

/// A running SMB server over one volume.
///
/// It owns one single-threaded runtime per serving thread; accepted connections are assigned to them in turn and stay
/// there. Requests to a volume that never blocks run on these threads. Requests to a volume that blocks run on worker
/// threads, so that one slow request does not delay the others of its connection, and replies are sent as they complete.
/// [`Self::stop`], or dropping it, closes everything and waits for all threads.
pub struct SmbServer {
    addr: SocketAddr,
    state: Arc<ServerState>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
    workers: Option<(Arc<Workers>, Vec<JoinHandle<()>>)>,
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
        let listener = TcpListener::bind(addr).map_err(bind)?;
        listener.set_nonblocking(true).map_err(bind)?;
        let bound = listener.local_addr().map_err(bind)?;
        let blocks = !volume.never_blocks();
        let state = Arc::new(ServerState::new(volume, options));
        state.options.changes.observe(Arc::downgrade(&state) as Weak<dyn VolumeObserver>);
        let (stop, _) = watch::channel(false);
        let mut server = Self { addr: bound, state, stop, threads: Vec::new(), workers: None };
        server
            .start_threads(listener, blocks)
            .map_err(|source| ServeError::Threads { protocol: PROTOCOL, source })?;
        Ok(server)
    }

    fn start_threads(&mut self, listener: TcpListener, blocks: bool) -> io::Result<()> {
        if blocks {
            self.workers = Some(Workers::start(self.state.options.workers.max(1))?);
        }
        let runtimes: io::Result<Vec<Runtime>> = (0..self.state.options.threads.max(1))
            .map(|_| Builder::new_current_thread().enable_all().build())
            .collect();
        let runtimes = runtimes?;
        let handles = runtimes.iter().map(|runtime| runtime.handle().clone()).collect();
        let workers = self.workers.as_ref().map(|(workers, _)| Arc::clone(workers));
        let accepting = accept(listener, Arc::clone(&self.state), workers, handles);
        if let Some(first) = runtimes.first() {
            self.state.files.run_timers_on(first.handle().clone());
            first.spawn(accepting);
        }
        for runtime in runtimes {
            let mut stopped = self.stop.subscribe();
            let run = move || {
                // The sender outlives this thread; if it is dropped, the thread stops as well.
                let _ = runtime.block_on(stopped.wait_for(|stop| *stop));
            };
            self.threads.push(std::thread::Builder::new().name("smb-server".into()).spawn(run)?);
        }
        Ok(())
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
        self.state.requests_per_login.store(requests.unwrap_or(expiry::NEVER), Ordering::Relaxed);
    }

    /// Closes the listener and every connection, and returns when its threads have ended.
    pub fn stop(mut self) {
        self.halt();
    }

    fn halt(&mut self) {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended as well.
            let _ = thread.join();
        }
        // The connections have ended and have passed their open files to the workers, which close them first.
        if let Some((workers, threads)) = self.workers.take() {
            workers.close();
            for thread in threads {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for SmbServer {
    fn drop(&mut self) {
        self.halt();
    }
}

impl FrontEnd for SmbServer {
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
        let (stream, client) = state.admissions.next(&listener, &mut looks, "SMB").await;
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
