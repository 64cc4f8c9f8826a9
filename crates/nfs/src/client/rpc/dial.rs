//! Connections and single calls before a session exists: port mapper and MOUNT.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sharebench_client_core::{DialError, TcpRoute, connect_error};
use sharebench_model::{ErrorClass, OpError, OpStep, WireCount};
use sharebench_target::UrlPart;
use sharebench_tls::Stream;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UdpSocket};

use crate::client::options::Route;
use crate::client::rpc::datagrams::Datagrams;
use crate::client::rpc::link::Link;
use crate::client::rpc::protected_call::{CallHead, ProtectedCall};
use crate::client::rpc::replies::{rejected, undecodable};
use crate::protocol::{
    MAX_PATH_BYTES, MOUNT_PROGRAM, MOUNT_VERSION, NFS_PROGRAM, PORTMAP_PROGRAM, PORTMAP_VERSION,
};
use crate::record::{RecordReassembly, begin_record, end_record};
use crate::rpc::{AuthSys, CallTemplate, Rejection, get_reply};
use crate::rpcsec::GssProcedure;
use crate::xdr::{Reader, Writer, XdrError};

/// The registered port of the port mapper (RFC 1833, 3).
pub(crate) const PORTMAP_PORT: u16 = 111;
/// Largest reply of the port mapper and of MOUNT.
const MAX_REPLY_BYTES: usize = 4096 + MAX_PATH_BYTES;
/// Largest list of exports or registrations.
const MAX_LIST_BYTES: usize = 256 << 10;
/// Receive buffer to request for a UDP socket: the replies of 128 READs of the largest size.
const DATAGRAM_BUFFER_BYTES: usize = 4 << 20;
/// Ports that only a privileged process can bind. Those below are left to well-known services.
const RESERVED_PORTS: std::ops::Range<u16> = 665..1024;

/// A random number.
pub(crate) fn random() -> u32 {
    // The standard library seeds `RandomState` from the system's randomness. Nothing here is a secret, so
    // no crate for random numbers is needed.
    RandomState::new().hash_one(0) as u32
}

/// Connects. `part` is the part of the URL to check if nobody listens at `address`. Over UDP, only the first call shows that.
pub(crate) async fn connect(address: SocketAddr, route: &Route, part: UrlPart) -> Result<Link, DialError> {
    let reserved = route.reserved_port;
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied if reserved => {
            let option = UrlPart::Option("resvport");
            DialError::new(option, ErrorClass::Refused, format!("{address}: {error}"))
        }
        _ => connect_error(address, &error, part, part),
    };
    if let Some(timeout) = route.datagrams {
        let socket = datagram_socket(address, reserved).await.map_err(failed)?;
        return Ok(Link::Datagrams(Box::new(Datagrams::new(socket, timeout))));
    }
    let stream =
        if reserved { connect_reserved(address, &route.tcp).await } else { route.tcp.connect(address).await };
    let stream = stream.map_err(failed)?;
    match &route.tls {
        None => Ok(Link::Stream(Stream::Plain(stream))),
        Some(tls) => Box::pin(tls.protect(stream)).await,
    }
}

async fn connect_reserved(address: SocketAddr, tcp: &TcpRoute) -> io::Result<TcpStream> {
    from_reserved_port(address, async |local| {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.bind(local)?;
        tcp.prepared(socket.connect(address).await?)
    })
    .await
}

/// A UDP socket that is connected to `address`, so that the system drops what others send and reports that nobody listens.
async fn datagram_socket(address: SocketAddr, reserved: bool) -> io::Result<UdpSocket> {
    let bound = async |local: SocketAddr| {
        let socket = UdpSocket::bind(local).await?;
        socket.connect(address).await?;
        io::Result::Ok(socket)
    };
    let socket = if reserved {
        from_reserved_port(address, bound).await?
    } else {
        bound((any(address), 0).into()).await?
    };
    // As much as the system allows: the replies of a deep queue arrive together, and what has no place is lost.
    let _ = SockRef::from(&socket).set_recv_buffer_size(DATAGRAM_BUFFER_BYTES);
    Ok(socket)
}

/// Every address of the family of `address`.
fn any(address: SocketAddr) -> IpAddr {
    match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Calls `attempt` with local addresses whose ports are below 1024 until one is free.
async fn from_reserved_port<T>(
    address: SocketAddr,
    attempt: impl AsyncFn(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let count = RESERVED_PORTS.end - RESERVED_PORTS.start;
    // Start at a random port: sessions that connect together would otherwise all try the same ones, and a recently closed
    // port is unusable for a while.
    let first = (random() % u32::from(count)) as u16;
    let mut last = io::ErrorKind::AddrInUse.into();
    for step in 0..count {
        let port = RESERVED_PORTS.start + (first + step) % count;
        match attempt((any(address), port).into()).await {
            Err(error)
                if matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable) =>
            {
                last = error;
            }
            done => return done,
        }
    }
    Err(last)
}

/// A connection to an RPC program that answers one call at a time: the port mapper, or the mount service.
pub(crate) struct Service {
    link: Link,
    template: CallTemplate,
    xid: u32,
    max_reply: usize,
    wire: WireCount,
}

impl Service {
    /// The port mapper of a host.
    pub(crate) async fn portmap(host: IpAddr, route: &Route) -> Result<Self, DialError> {
        Self::port_mapper((host, PORTMAP_PORT).into(), route).await
    }

    /// The port mapper at an address.
    pub(crate) async fn port_mapper(address: SocketAddr, route: &Route) -> Result<Self, DialError> {
        // It answers every port, and those below 1024 are scarce. It has no TLS (RFC 9289, 5).
        let route = Route { reserved_port: false, tls: None, datagrams: None, ..route.clone() };
        let link = connect(address, &route, UrlPart::Option("mountport")).await?;
        Ok(Self::on(link, CallTemplate::new(PORTMAP_PROGRAM, PORTMAP_VERSION, None)))
    }

    /// The mount service at an address.
    pub(crate) async fn mount(address: SocketAddr, auth: &AuthSys, route: &Route) -> Result<Self, DialError> {
        let stream = connect(address, route, UrlPart::Option("mountport")).await?;
        Ok(Self::on(stream, CallTemplate::new(MOUNT_PROGRAM, MOUNT_VERSION, Some(auth))))
    }

    /// The program at an address, without credentials.
    pub(crate) async fn program(
        address: SocketAddr,
        program: u32,
        version: u32,
        route: &Route,
    ) -> Result<Self, DialError> {
        let stream = connect(address, route, UrlPart::Port).await?;
        Ok(Self::on(stream, CallTemplate::new(program, version, None)))
    }

    /// The program of a template on a connected link.
    pub(crate) fn on(link: Link, template: CallTemplate) -> Self {
        Self { link, template, xid: random(), max_reply: MAX_REPLY_BYTES, wire: WireCount::default() }
    }

    /// The link, and what crossed it.
    pub(crate) fn into_link(self) -> (Link, WireCount) {
        (self.link, self.wire)
    }

    /// Calls another version, or with other credentials, from now on.
    pub(crate) fn select(&mut self, program: u32, version: u32, auth: Option<&AuthSys>) {
        self.template = CallTemplate::new(program, version, auth);
    }

    /// Accepts replies with long lists from now on.
    pub(crate) fn accept_lists(&mut self) {
        self.max_reply = MAX_LIST_BYTES;
    }

    /// Calls one procedure and decodes its result.
    pub(crate) async fn call<T>(
        &mut self,
        request: &'static str,
        procedure: u32,
        arguments: impl FnOnce(&mut Writer),
        get: impl FnOnce(&mut Reader<'_>) -> Result<T, XdrError>,
    ) -> Result<T, OpError> {
        let called = self.try_call(request, procedure, arguments, get).await?;
        called.map_err(|rejection| rejected(rejection, request))
    }

    /// Calls one procedure and decodes its result, or the rejection of the call.
    pub(crate) async fn try_call<T>(
        &mut self,
        request: &'static str,
        procedure: u32,
        arguments: impl FnOnce(&mut Writer),
        get: impl FnOnce(&mut Reader<'_>) -> Result<T, XdrError>,
    ) -> Result<Result<T, Rejection>, OpError> {
        let template = self.template.clone();
        let (sent, record) = self
            .exchange(request, |writer, xid| {
                template.put(writer, xid, procedure);
                arguments(writer);
            })
            .await?;
        decode(request, sent, &record, get)
    }

    /// Calls one procedure of a version of the program with protected arguments, and decodes its result.
    pub(crate) async fn call_protected<T>(
        &mut self,
        call: &ProtectedCall,
        request: &'static str,
        version: u32,
        procedure: u32,
        arguments: impl FnOnce(&mut Writer),
        get: impl FnOnce(&mut Reader<'_>) -> Result<T, XdrError>,
    ) -> Result<T, OpError> {
        let broken = |detail: String| OpError::new(ErrorClass::Protocol, OpStep::Request(request), detail);
        let mut put = Ok(());
        let (sent, mut record) = self
            .exchange(request, |writer, xid| {
                let head = CallHead { xid, program: NFS_PROGRAM, version, procedure };
                put = call.put(writer, head, GssProcedure::Data, &mut Vec::new(), arguments);
            })
            .await?;
        put.map_err(|error| broken(error.to_string()))?;
        let place = call.open(&mut record).map_err(|error| broken(error.to_string()))?;
        let called = decode(request, sent, record.get(place).unwrap_or_default(), get)?;
        called.map_err(|rejection| rejected(rejection, request))
    }

    /// Sends one call, which `encode` encodes with its xid, and returns the xid with the record of the reply.
    pub(crate) async fn exchange(
        &mut self,
        request: &'static str,
        encode: impl FnOnce(&mut Writer, u32),
    ) -> Result<(u32, Vec<u8>), OpError> {
        let step = OpStep::Request(request);
        let lost = |error: io::Error| OpError::new(ErrorClass::Disconnected, step, error.to_string());
        let broken = |detail: String| OpError::new(ErrorClass::Protocol, step, detail);
        self.xid = self.xid.wrapping_add(1);
        let mut writer = Writer::with_capacity(256);
        let at = begin_record(&mut writer);
        encode(&mut writer, self.xid);
        end_record(&mut writer, at, 0);
        let before = self.link.wire();
        if let Err(error) = self.send(writer.as_slice()).await {
            return Err(lost(self.reason(error).await));
        }
        self.wire.requests += 1;

        let mut reassembly = RecordReassembly::new(self.max_reply);
        let mut piece = [0; 1024];
        let mut received = 0;
        loop {
            let count = self.link.read(&mut piece).await.map_err(lost)?;
            if count == 0 {
                return Err(lost(io::ErrorKind::UnexpectedEof.into()));
            }
            received += count as u64;
            if reassembly.push(&piece[..count]).map_err(|error| broken(error.to_string()))?.1 {
                self.count(before, writer.len() as u64, received);
                return Ok((self.xid, reassembly.record().to_vec()));
            }
        }
    }
}

impl Service {
    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.link.write_all(bytes).await?;
        self.link.flush().await
    }

    /// Why a call could not be sent: within TLS, a server states its reason before it closes the connection.
    async fn reason(&mut self, error: io::Error) -> io::Error {
        match &mut self.link {
            Link::Stream(Stream::Tls(tls)) => tls.read(&mut [0]).await.err().unwrap_or(error),
            Link::Stream(Stream::Plain(_)) | Link::Datagrams(_) => error,
        }
    }

    /// Counts the bytes of a call and its reply, or instead what crossed the wire for them below TLS or in datagrams.
    fn count(&mut self, before: Option<(u64, u64)>, sent: u64, received: u64) {
        let (sent, received) = match (before, self.link.wire()) {
            (Some(before), Some(after)) => (after.0 - before.0, after.1 - before.1),
            _ => (sent, received),
        };
        self.wire.sent += sent;
        self.wire.received += received;
        self.wire.requests += self.link.take_resent().len() as u64;
    }
}

/// Decodes the reply to the call `sent`.
fn decode<T>(
    request: &'static str,
    sent: u32,
    record: &[u8],
    get: impl FnOnce(&mut Reader<'_>) -> Result<T, XdrError>,
) -> Result<Result<T, Rejection>, OpError> {
    let mut reader = Reader::new(record);
    let (xid, outcome) = get_reply(&mut reader).map_err(|error| undecodable(error, request))?;
    // One call at a time on a new connection: any other xid means that the peer is no RPC server.
    if xid != sent {
        let detail = format!("a reply to xid {xid:#010x}, which was not sent");
        return Err(OpError::new(ErrorClass::Protocol, OpStep::Request(request), detail));
    }
    match outcome {
        Ok(()) => get(&mut reader).map(Ok).map_err(|error| undecodable(error, request)),
        Err(rejection) => Ok(Err(rejection)),
    }
}
