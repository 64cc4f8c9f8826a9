//! Opens a session: address, connections, logins, volume and directory.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use sharebench_model::{ErrorClass, Fact, TargetFacts};
use sharebench_stream_client::DialError;
use sharebench_target::{LoginPhase, SessionSpec, UrlPart};

use crate::client::{BurstOptions, Client, ClientError, LargePackets, Login, Options, Path};
use crate::ether::EtherSocket;
use crate::target::facts::negotiated;
use crate::target::failure::failure;
use crate::target::options::ether::EtherOptions;
use crate::target::options::{NameChoice, NcpOptions};
use crate::target::session::NcpSession;
use crate::target::session::connection::Connection;
use crate::target::transport::SocketTransport;
use crate::target::transport::server_search::find;
use crate::wire::name_space::space;
use crate::wire::{Completion, short_name};

/// Grace period after the connect timeout, so that a connection attempt reports its own error first.
const GRACE: Duration = Duration::from_millis(1);

/// Buffer size for the largest packet of a burst.
const MIN_INPUT: u16 = 9000;

/// The first request of a connection, as the client names it.
const CREATE: &str = "create connection";

/// The failure of a call. Only a refusal can be due to `part`; other errors concern the connection.
fn call_error(part: UrlPart, error: &ClientError) -> DialError {
    let part = if matches!(error, ClientError::Refused { .. }) { part } else { UrlPart::Port };
    DialError::blame(part)(failure(error))
}

/// The failure of a call that concerns the server as a whole.
pub(crate) fn connection_error(error: &ClientError) -> DialError {
    call_error(UrlPart::Port, error)
}

/// The error of one connection of several: the server may accept fewer.
fn numbered(error: DialError, number: u32, of: u32) -> DialError {
    if number == 1 {
        return error;
    }
    let detail = format!("connection {number} of {of}: {}; give connections={}", error.detail, number - 1);
    DialError { detail, ..error }
}

/// The failure to open a connection, whose first request creates it.
fn create_error(error: &ClientError) -> DialError {
    let mut failed = call_error(UrlPart::Host, error);
    match error {
        ClientError::Refused { completion: Completion::NoConnectionSlot, .. } => {
            failed.detail.push_str("; the server is at its limit of connections");
        }
        ClientError::Io { step: CREATE, .. } | ClientError::ConnectionLost { step: CREATE } => {
            failed = failed.before_first_reply();
        }
        _ => {}
    }
    failed
}

/// Opens a session within the connect timeout.
pub(crate) async fn open_session(
    options: &NcpOptions,
    spec: &SessionSpec,
    reached: &dyn Fn(LoginPhase),
) -> Result<NcpSession, DialError> {
    let late = || {
        let detail = format!("no session within {:?}", spec.connect_timeout);
        DialError::new(UrlPart::Host, ErrorClass::Timeout, detail)
    };
    let opening = open(options, spec, reached);
    // Slightly longer than the client's own timeout, whose error names the step that was in progress.
    tokio::time::timeout(spec.connect_timeout + GRACE, opening).await.map_err(|_| late())?
}

async fn open(
    options: &NcpOptions,
    spec: &SessionSpec,
    reached: &dyn Fn(LoginPhase),
) -> Result<NcpSession, DialError> {
    let mut connections: Vec<Connection> = Vec::new();
    // One for each request in flight.
    let count = spec.slots.clamp(1, options.max_connections());
    for number in 1..=count {
        // The first connection negotiates and probes the path; the others propose its result, so that all of
        // them are alike.
        let first = connections.first().map(Connection::inner);
        let client = connect(options, spec, first, if number == 1 { reached } else { &drop }).await;
        let client = client.map_err(|error| numbered(error, number, count))?;
        connections.push(Connection::new(client));
    }
    let mut facts = TargetFacts::from([(Fact::Connections, count.to_string())]);
    let space = match connections.first_mut().map(Connection::client) {
        Some(Ok(client)) => inspect_target(options, client, &mut facts).await?,
        _ => space::DOS,
    };
    reached(LoginPhase::Opened);
    let base = base(options, space);
    Ok(NcpSession::new(connections, base, space, facts, spec.slot_bytes as usize, options))
}

/// The addresses of the server, at least one.
pub(crate) async fn resolve(options: &NcpOptions) -> Result<Vec<SocketAddr>, DialError> {
    let addresses = sharebench_stream_client::resolve(&options.host).await?;
    Ok(addresses.into_iter().map(|address| (address, options.port).into()).collect())
}

/// Opens a transport to the server.
async fn transport(options: &NcpOptions, reached: &dyn Fn(LoginPhase)) -> Result<SocketTransport, DialError> {
    let limit = options.buffer.max(MIN_INPUT);
    if let Some(ether) = &options.ether {
        let socket = EtherSocket::open(&ether.interface, ether.framing).map_err(|error| {
            let (part, class) = match error.kind() {
                io::ErrorKind::PermissionDenied => (UrlPart::Option("transport"), ErrorClass::Refused),
                _ => (UrlPart::Option("iface"), ErrorClass::NotFound),
            };
            DialError::new(part, class, error.to_string())
        })?;
        return over(options, ether, socket).await;
    }
    let servers = resolve(options).await?;
    reached(LoginPhase::NameResolved);
    let transport = SocketTransport::connect(options, &servers, limit).await;
    transport.map_err(|error| {
        let part = match error.kind() {
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => UrlPart::Host,
            _ => UrlPart::Port,
        };
        let servers: Vec<String> = servers.iter().map(SocketAddr::to_string).collect();
        DialError::new(part, class_of(&error), format!("{}: {error}", servers.join(", ")))
    })
}

/// Opens a transport over an Ethernet socket, after searching for the server.
pub(crate) async fn over(
    options: &NcpOptions,
    ether: &EtherOptions,
    socket: EtherSocket,
) -> Result<SocketTransport, DialError> {
    let ipx = find(ether, socket, &options.host, options.retry).await;
    let ipx = ipx.map_err(|error| {
        DialError::new(UrlPart::Host, class_of(&error), format!("{}: {error}", ether.interface))
    })?;
    Ok(SocketTransport::on(ipx, options.buffer.max(MIN_INPUT)))
}

fn class_of(error: &io::Error) -> ErrorClass {
    if error.kind() == io::ErrorKind::TimedOut { ErrorClass::Timeout } else { ErrorClass::Disconnected }
}

/// Opens a connection and logs in. The first connection probes the path for the others.
async fn connect(
    options: &NcpOptions,
    spec: &SessionSpec,
    first: Option<&Client<SocketTransport>>,
    reached: &dyn Fn(LoginPhase),
) -> Result<Client<SocketTransport>, DialError> {
    let mut client = attach(options, spec, first, reached).await?;
    log_in(&mut client, options).await?;
    reached(LoginPhase::LoggedIn);
    Ok(client)
}

/// Opens a connection without a login.
pub(crate) async fn attach(
    options: &NcpOptions,
    spec: &SessionSpec,
    first: Option<&Client<SocketTransport>>,
    reached: &dyn Fn(LoginPhase),
) -> Result<Client<SocketTransport>, DialError> {
    let transport = transport(options, reached).await?;
    reached(LoginPhase::Connected);
    let large_packets = match first {
        _ if !options.lip => LargePackets::Off,
        None => LargePackets::Probe,
        Some(_) => LargePackets::Known,
    };
    let burst = options.burst.map(|burst| BurstOptions {
        packet: first.map_or(burst.packet, |first| first.burst_packet(burst.packet)),
        ..burst
    });
    let behaviour = Options {
        timeout: spec.connect_timeout,
        retry: options.retry,
        signatures: options.signatures,
        checksums: options.checksums,
        buffer: first.map_or(options.buffer, |first| first.buffer() as u16),
        negotiation: options.negotiation,
        large_packets,
        burst,
    };
    let client = Client::connect(transport, behaviour).await;
    let client = client.map_err(|error| create_error(&error))?;
    reached(LoginPhase::Negotiated);
    Ok(client)
}

/// Logs in on a connection.
pub(crate) async fn log_in(
    client: &mut Client<SocketTransport>,
    options: &NcpOptions,
) -> Result<(), DialError> {
    let password = options.password.expose();
    let login = Login { user: &options.user, password: &password };
    client.login(login).await.map_err(|error| login_failure(&error))
}

fn login_failure(error: &ClientError) -> DialError {
    let (part, class) = match error {
        ClientError::SignaturesUnavailable { .. }
        | ClientError::Refused { completion: Completion::SignatureRequired, .. } => {
            (UrlPart::Option("sign"), ErrorClass::Refused)
        }
        ClientError::ChecksumsUnavailable { .. }
        | ClientError::Refused { completion: Completion::AddressRestriction, .. } => {
            (UrlPart::Option("checksum"), ErrorClass::Refused)
        }
        // A bindery answers "failure" to a wrong password and "no such object" to a wrong name.
        ClientError::Refused { .. } => (UrlPart::Credentials, ErrorClass::Refused),
        _ => return call_error(UrlPart::Credentials, error),
    };
    DialError { class, ..DialError::blame(part)(failure(error)) }
}

/// Checks server, volume and directory; returns the name space to use.
pub(crate) async fn inspect_target(
    options: &NcpOptions,
    client: &mut Client<SocketTransport>,
    facts: &mut TargetFacts,
) -> Result<u8, DialError> {
    let of_share = |error| call_error(UrlPart::Share, &error);
    let info = client.server_info().await.map_err(of_share)?;
    let loaded = client.name_spaces(&options.volume).await.map_err(of_share)?;
    let has_long_names = loaded.contains(&space::LONG);
    if options.names == NameChoice::Long && !has_long_names {
        let detail = format!("volume {} has no long names; use names=dos", options.volume);
        return Err(DialError::new(UrlPart::Option("names"), ErrorClass::Unsupported, detail));
    }
    let space = if has_long_names && options.names != NameChoice::Dos { space::LONG } else { space::DOS };
    let base = base(options, space);
    let unfit = |detail: String| DialError::new(UrlPart::Path, ErrorClass::Unsupported, detail);
    let path =
        Path::new(space, base.iter().map(String::as_bytes)).map_err(|error| unfit(error.to_string()))?;
    let about = client.entry_info(&path).await.map_err(|error| not_found(&error, &base, space))?;
    if !about.directory {
        return Err(DialError::new(UrlPart::Path, ErrorClass::NotFound, "not a directory"));
    }
    facts.extend(negotiated(options, client, &info, &loaded, space));
    Ok(space)
}

/// Volume and directory of the target. DOS requesters send names in upper case.
fn base(options: &NcpOptions, space: u8) -> Vec<String> {
    let names = std::iter::once(&options.volume).chain(&options.directory);
    let sent = |name: &String| if space == space::DOS { name.to_uppercase() } else { name.clone() };
    names.map(sent).collect()
}

/// The directory of the target cannot be used.
fn not_found(error: &ClientError, base: &[String], space: u8) -> DialError {
    let mut failed = call_error(UrlPart::Path, error);
    let unfit = base.iter().skip(1).find(|name| short_name(name.as_bytes()).is_none());
    if let (space::DOS, Some(name)) = (space, unfit) {
        let detail = failed.detail;
        failed.detail = format!("{detail}; names are 8.3 in the DOS name space, and '{name}' is not");
    }
    failed
}
