//! Connections and single calls before a session stands: name, port, port mapper, MOUNT.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sharebench_model::{ErrorClass, OpError};
use sharebench_target::UrlPart;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::client::arrival::{rejected, unreadable};
use crate::protocol::{MAX_PATH_BYTES, MOUNT_PROGRAM, MOUNT_VERSION, PORTMAP_PROGRAM, PORTMAP_VERSION};
use crate::record::{Assembly, begin_record, end_record};
use crate::rpc::{AuthSys, CallTemplate, get_reply};
use crate::xdr::{Reader, Writer, XdrError};

/// Where the port mapper listens.
const PORTMAP_PORT: u16 = 111;
/// Largest reply of the port mapper and of MOUNT.
const MAX_ANSWER_BYTES: usize = 4096 + MAX_PATH_BYTES;
/// Ports that only a privileged process can have; those below are left to well-known services.
const RESERVED_PORTS: std::ops::Range<u16> = 665..1024;

/// A failure while connecting: what to look at, and what happened.
#[derive(Debug)]
pub(crate) struct DialError {
    pub(crate) part: UrlPart,
    pub(crate) class: ErrorClass,
    pub(crate) detail: String,
}

impl DialError {
    pub(crate) fn new(part: UrlPart, class: ErrorClass, detail: impl Into<String>) -> Self {
        Self { part, class, detail: detail.into() }
    }

    /// A call's failure, blamed on a part of the URL.
    pub(crate) fn blame(part: UrlPart) -> impl Fn(OpError) -> Self {
        move |error| Self::new(part, error.class, format!("{}: {}", error.step, error.detail))
    }
}

/// A number nobody can guess.
pub(crate) fn random() -> u32 {
    RandomState::new().hash_one(0) as u32
}

/// The first address of a host.
pub(crate) async fn resolve(host: &str) -> Result<IpAddr, DialError> {
    if let Ok(address) = host.parse() {
        return Ok(address);
    }
    let unknown = |detail: String| DialError::new(UrlPart::Host, ErrorClass::NotFound, detail);
    let mut found = tokio::net::lookup_host((host, 0)).await.map_err(|error| unknown(error.to_string()))?;
    found.next().map(|address| address.ip()).ok_or_else(|| unknown("the name has no address".into()))
}

/// Connects; `part` is what to look at when nobody listens there.
pub(crate) async fn connect(
    address: SocketAddr,
    reserved: bool,
    part: UrlPart,
) -> Result<TcpStream, DialError> {
    let stream = if reserved { connect_reserved(address).await } else { TcpStream::connect(address).await };
    let failed = |error: io::Error| {
        let (part, class) = match error.kind() {
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                (UrlPart::Host, ErrorClass::Disconnected)
            }
            io::ErrorKind::PermissionDenied if reserved => (UrlPart::Option("resvport"), ErrorClass::Refused),
            io::ErrorKind::TimedOut => (part, ErrorClass::Timeout),
            _ => (part, ErrorClass::Disconnected),
        };
        DialError::new(part, class, format!("{address}: {error}"))
    };
    let stream = stream.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

async fn connect_reserved(address: SocketAddr) -> io::Result<TcpStream> {
    let count = RESERVED_PORTS.end - RESERVED_PORTS.start;
    let first = (random() % u32::from(count)) as u16;
    let mut last = io::ErrorKind::AddrInUse.into();
    for step in 0..count {
        let port = RESERVED_PORTS.start + (first + step) % count;
        let (socket, any) = match address {
            SocketAddr::V4(_) => (TcpSocket::new_v4()?, IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            SocketAddr::V6(_) => (TcpSocket::new_v6()?, IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
        };
        let attempt = match socket.bind((any, port).into()) {
            Ok(()) => socket.connect(address).await,
            Err(error) => Err(error),
        };
        match attempt {
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

/// A program that is asked one thing at a time.
pub(crate) struct Service {
    stream: TcpStream,
    template: CallTemplate,
    xid: u32,
}

impl Service {
    /// The port mapper of a host.
    pub(crate) async fn portmap(host: IpAddr) -> Result<Self, DialError> {
        let stream = connect((host, PORTMAP_PORT).into(), false, UrlPart::Option("mountport")).await?;
        Ok(Self {
            stream,
            template: CallTemplate::new(PORTMAP_PROGRAM, PORTMAP_VERSION, None),
            xid: random(),
        })
    }

    /// The mount service at an address.
    pub(crate) async fn mount(
        address: SocketAddr,
        auth: &AuthSys,
        reserved: bool,
    ) -> Result<Self, DialError> {
        let stream = connect(address, reserved, UrlPart::Option("mountport")).await?;
        let template = CallTemplate::new(MOUNT_PROGRAM, MOUNT_VERSION, Some(auth));
        Ok(Self { stream, template, xid: random() })
    }

    /// Calls one procedure and reads its result.
    pub(crate) async fn ask<T>(
        &mut self,
        step: &'static str,
        procedure: u32,
        arguments: impl FnOnce(&mut Writer),
        get: impl FnOnce(&mut Reader<'_>) -> Result<T, XdrError>,
    ) -> Result<T, OpError> {
        let lost = |error: io::Error| OpError::new(ErrorClass::Disconnected, step, error.to_string());
        let broken = |detail: String| OpError::new(ErrorClass::Protocol, step, detail);
        self.xid = self.xid.wrapping_add(1);
        let mut writer = Writer::with_room(256);
        let at = begin_record(&mut writer);
        self.template.put(&mut writer, self.xid, procedure);
        arguments(&mut writer);
        end_record(&mut writer, at, 0);
        self.stream.write_all(writer.as_slice()).await.map_err(lost)?;

        let mut assembly = Assembly::new(MAX_ANSWER_BYTES);
        let mut piece = [0; 1024];
        loop {
            let count = self.stream.read(&mut piece).await.map_err(lost)?;
            if count == 0 {
                return Err(lost(io::ErrorKind::UnexpectedEof.into()));
            }
            if assembly.push(&piece[..count]).map_err(|error| broken(error.to_string()))?.1 {
                break;
            }
        }
        let mut reader = Reader::new(assembly.record());
        let (xid, outcome) = get_reply(&mut reader).map_err(|error| unreadable(error, step))?;
        if xid != self.xid {
            return Err(broken(format!("a reply to xid {xid:#010x}, which was not sent")));
        }
        outcome.map_err(|rejection| rejected(rejection, step))?;
        get(&mut reader).map_err(|error| unreadable(error, step))
    }
}
