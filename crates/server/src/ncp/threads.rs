//! The threads of an NCP server, which serve its sockets until the server stops.

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use sharebench_ncp::ether::EtherSocket;
use sharebench_target::readiness::AsyncFd;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::Volume;
use crate::common::admission::{AdmissionLimits, Admissions};
use crate::common::front_end::ServeError;
use crate::common::refusal_log::RefusalLog;
use crate::ncp::ipx_link::IpxLink;
use crate::ncp::options::{NcpServerOptions, TransportLimits};
use crate::ncp::services::ServiceAdvertiser;
use crate::ncp::{ServerState, datagrams, ipx, streams};

/// Default interval of checks for idle clients.
const WATCH: Duration = Duration::from_secs(5);
/// The timer requires a non-zero interval.
const SHORTEST_WATCH: Duration = Duration::from_millis(1);

/// The sockets of a server.
pub(super) enum Sockets {
    /// TCP, UDP, and the UDP socket that returns probes.
    Ip {
        listener: TcpListener,
        socket: UdpSocket,
        echo: UdpSocket,
    },
    IpxInUdp(UdpSocket),
    Ether(Arc<EtherSocket>, ServiceAdvertiser),
}

/// The threads of a running server. Dropping it stops them.
pub(super) struct ServerThreads {
    pub(super) state: Arc<ServerState>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl ServerThreads {
    /// Builds the protocol server and starts the threads.
    pub(super) fn start(
        protocol: &'static str,
        volume: Arc<dyn Volume>,
        options: NcpServerOptions,
        limits: TransportLimits,
        transports: Sockets,
    ) -> Result<Self, ServeError> {
        let blocks = !volume.never_blocks();
        let threads = options.threads.max(1);
        let max_connections = usize::from(options.max_connections);
        let limit = format!("{max_connections} clients, --max-clients");
        let refusals = Arc::new(RefusalLog::new(protocol, limit, options.log.clone()));
        let of_streams = AdmissionLimits {
            connections: max_connections + streams::SPARE_STREAMS,
            establish: options.login_timeout,
            idle: options.idle_timeout,
        };
        let admissions = Admissions::new(of_streams, Arc::clone(&refusals));
        let patience = options.patience;
        let watch = options.watchdog.interval.clamp(SHORTEST_WATCH, WATCH);
        let server = options.build(volume, limits, refusals)?;
        let state = Arc::new(ServerState {
            server,
            blocks,
            max_connections,
            admissions,
            patience,
            watch,
            awaited: Mutex::default(),
        });
        let (stop, _) = watch::channel(false);
        let mut started = Self { state, stop, threads: Vec::new() };
        started
            .start_threads(transports, threads)
            .map_err(|source| ServeError::Threads { protocol, source })?;
        Ok(started)
    }

    fn start_threads(&mut self, transports: Sockets, threads: usize) -> io::Result<()> {
        let runtimes: io::Result<Vec<Runtime>> =
            (0..threads).map(|_| Builder::new_current_thread().enable_all().build()).collect();
        let runtimes = runtimes?;
        let handles = runtimes.iter().map(|runtime| runtime.handle().clone()).collect();
        let state = Arc::clone(&self.state);
        if let (Some(first), Some(last)) = (runtimes.first(), runtimes.last()) {
            match transports {
                Sockets::Ip { listener, socket, echo } => {
                    first.spawn(streams::accept(listener, Arc::clone(&state), handles));
                    last.spawn(datagrams::serve(socket, state));
                    last.spawn(datagrams::echo(echo));
                }
                Sockets::IpxInUdp(socket) => {
                    last.spawn(async move {
                        let link = IpxLink::Udp(tokio::net::UdpSocket::from_std(socket)?);
                        ipx::serve(link, state, None).await
                    });
                }
                Sockets::Ether(socket, services) => {
                    last.spawn(async move {
                        // SAFETY: the socket keeps its descriptor until it is dropped, and the `AsyncFd` owns the
                        // socket.
                        let watched = unsafe { AsyncFd::register(socket) };
                        let link = IpxLink::Ether(watched?);
                        ipx::serve(link, state, Some(services)).await
                    });
                }
            }
        }
        for runtime in runtimes {
            let mut stopped = self.stop.subscribe();
            let run = move || {
                // An error means that the sender is gone, which stops the thread as well.
                let _ = runtime.block_on(stopped.wait_for(|stop| *stop));
            };
            self.threads.push(std::thread::Builder::new().name("ncp-server".into()).spawn(run)?);
        }
        Ok(())
    }

    /// Closes sockets and connections, and returns when the threads have ended.
    pub(super) fn halt(&mut self) {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended as well.
            let _ = thread.join();
        }
    }
}

impl Drop for ServerThreads {
    fn drop(&mut self) {
        self.halt();
    }
}
