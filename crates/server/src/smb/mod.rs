//! The SMB front end: the crate `smb-server` over a volume, on its own threads.

mod events;
mod file_info;
mod open_file;
mod options;
mod pattern;
mod read_buffers;
mod resolve;
mod share;
#[cfg(test)]
mod tests;
mod volume_call;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tracing::Dispatch;
use tracing::dispatcher::{DefaultGuard, set_default};

use crate::Volume;
use crate::front_end::{FrontEnd, ServeError, check_exposure};
use crate::refusal_log::RefusalLog;
use crate::smb::events::ServerEvents;
pub use crate::smb::options::{Protection, SmbServerOptions};

/// The protocol's name in messages.
const PROTOCOL: &str = "smb";

/// How long connections may take to complete their last request when the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// Interval at which sums of refused connections are written.
const LOOK: Duration = Duration::from_secs(5);

thread_local! {
    /// Keeps this thread of a server reporting its events.
    static EVENTS: RefCell<Option<DefaultGuard>> = const { RefCell::new(None) };
}

/// A running SMB server over one volume.
///
/// It owns a thread with a runtime on which the crate `smb-server` serves all connections. [`Self::start`] returns once
/// the address is bound, so that a client can connect at once. [`Self::stop`], or dropping it, closes the listener and
/// every connection and waits for the thread; a connection that is busy for longer than a timeout is cut off. The
/// protocol layer is asynchronous and volumes are not, so that calls of a volume that blocks run on the runtime's
/// blocking pool.
pub struct SmbServer {
    addr: SocketAddr,
    stop: Option<Stop>,
}

struct Stop {
    connections: smb_server::ShutdownHandle,
    config: smb_server::ConfigHandle,
    grace: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl SmbServer {
    /// Serves `volume` on `addr`; port 0 lets the system choose.
    ///
    /// # Errors
    /// An address that other machines can reach without accounts, an address that cannot be bound, options that the
    /// protocol does not accept, or threads that cannot be started.
    pub fn start(
        addr: SocketAddr,
        volume: Arc<dyn Volume>,
        options: SmbServerOptions,
    ) -> Result<Self, ServeError> {
        check_exposure(PROTOCOL, addr, !options.accounts.is_empty())?;
        let threads = options.threads;
        let limit = format!("{} clients, --max-clients", options.max_connections);
        let refusals = Arc::new(RefusalLog::new(PROTOCOL, limit, options.log.clone()));
        let events = Dispatch::new(ServerEvents::new(options.log.clone(), Arc::clone(&refusals)));
        let server = options.build(addr, volume)?;
        let connections = server.shutdown_handle();
        let config = server.config_handle();
        let (grace, stopped) = oneshot::channel();
        let (bound, was_bound) = mpsc::sync_channel(1);
        let failed = |source| ServeError::Threads { protocol: PROTOCOL, source };
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name("smb-server")
            .on_thread_start({
                let events = events.clone();
                move || EVENTS.set(Some(set_default(&events)))
            })
            .on_thread_stop(|| drop(EVENTS.take()))
            .enable_all()
            .build()
            .map_err(failed)?;
        let thread = std::thread::Builder::new()
            .name("smb-server".to_owned())
            .spawn(move || {
                let _reporting = set_default(&events);
                run(runtime, server, &refusals, &bound, stopped);
            })
            .map_err(failed)?;
        // The thread sends exactly once. If it has ended instead, there is no address either.
        let addr = was_bound
            .recv()
            .unwrap_or_else(|closed| Err(std::io::Error::other(closed)))
            .map_err(|source| ServeError::Bind { protocol: PROTOCOL, addr, source })?;
        Ok(Self { addr, stop: Some(Stop { connections, config, grace, thread }) })
    }

    /// Address that it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Sets the maximum number of open files per connection. Files that are open stay open.
    pub fn limit_opens(&self, max: usize) {
        if let Some(running) = &self.stop {
            running.config.set_max_opens_per_connection(max);
        }
    }

    /// Closes the listener and every connection, and returns when its threads have ended.
    pub fn stop(mut self) {
        self.halt();
    }

    fn halt(&mut self) {
        let Some(stop) = self.stop.take() else { return };
        stop.connections.shutdown();
        // Both fail only if the server has already ended.
        let _ = stop.grace.send(());
        let _ = stop.thread.join();
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

/// Binds the address, reports the result, and serves until stopped.
fn run(
    runtime: Runtime,
    server: smb_server::SmbServer,
    refusals: &RefusalLog,
    bound: &mpsc::SyncSender<std::io::Result<SocketAddr>>,
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async move {
        let result = server.bind().await;
        let failed = result.is_err();
        if bound.send(result).is_err() || failed {
            return;
        }
        tokio::select! {
            ended = server.serve() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "the SMB server ended");
                }
            }
            () = shutdown_timeout_after(stopped) => tracing::warn!("busy SMB connections cut off"),
            () = flush(refusals) => {}
        }
    });
    // A volume may block in the blocking pool for longer than anybody waits.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
}

/// Writes sums of refused connections, without end.
async fn flush(refusals: &RefusalLog) {
    let mut looks = tokio::time::interval(LOOK);
    loop {
        looks.tick().await;
        refusals.flush();
    }
}

/// Returns some time after the server is stopped.
async fn shutdown_timeout_after(stopped: oneshot::Receiver<()>) {
    let _ = stopped.await;
    tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
}
