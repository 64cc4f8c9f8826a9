//! The threads of an NCP server, which serve its sockets until the server stops.

use std::net::{TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sharebench_ncp::ether::EtherSocket;
use sharebench_target::readiness::AsyncFd;
use tokio::runtime::Handle;

use crate::Volume;
use crate::front_ends::admission::{AdmissionLimits, Admissions};
use crate::front_ends::front_end::ServeError;
use crate::front_ends::refusal_log::RefusalLog;
use crate::front_ends::threads::ServingThreads;
use crate::ncp::ipx_link::IpxLink;
use crate::ncp::options::{NcpServerOptions, TransportLimits};
use crate::ncp::services::ServiceAdvertiser;
use crate::ncp::state::ServerState;
use crate::ncp::{datagrams, ipx, streams};

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
    pub(super) serving: ServingThreads,
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
        let serve = |handles| serve(transports, &state, handles);
        let serving = ServingThreads::start("ncp-server", threads, serve);
        let serving = serving.map_err(|source| ServeError::Threads { protocol, source })?;
        Ok(Self { state, serving })
    }
}

/// Spawns the tasks that serve the sockets.
fn serve(transports: Sockets, state: &Arc<ServerState>, threads: Vec<Handle>) {
    let (Some(first), Some(last)) = (threads.first().cloned(), threads.last().cloned()) else { return };
    let state = Arc::clone(state);
    match transports {
        Sockets::Ip { listener, socket, echo } => {
            let shared = Arc::clone(&state);
            let serve = move |stream, admission| streams::serve(stream, Arc::clone(&shared), admission);
            first.spawn(Arc::clone(&state.admissions).accept(listener, threads, serve));
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
                // SAFETY: the socket keeps its descriptor until it is dropped, and the `AsyncFd` owns the socket.
                let watched = unsafe { AsyncFd::register(socket) };
                let link = IpxLink::Ether(watched?);
                ipx::serve(link, state, Some(services)).await
            });
        }
    }
}
