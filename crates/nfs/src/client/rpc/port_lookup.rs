//! Queries of rpcbind for the port of a program, by the highest version that the server has.

use std::net::{IpAddr, SocketAddr};

use sharebench_client_core::DialError;
use sharebench_model::{ErrorClass, OpError};

use crate::client::options::{NfsOptions, Route};
use crate::client::rpc::dial::{PORTMAP_PORT, Service};
use crate::port_mapper::{
    GETADDR, GETPORT, Transport, get_port, get_universal_port, put_address_query, put_mapping,
};
use crate::protocol::{
    MOUNT_PROGRAM, MOUNT_VERSION, NFS_PROGRAM, NFS_VERSION, PORTMAP_PROGRAM, PORTMAP_VERSION,
};
use crate::rpc::Rejection;

/// The registered port of NFS (RFC 1813, 2.1).
pub(crate) const NFS_PORT: u16 = 2049;
/// The version of rpcbind to begin with.
const HIGHEST: u32 = 4;

/// A connection to rpcbind, and the version of it that is spoken: 4, then 3, then 2, which is the port mapper.
pub(crate) struct PortLookup {
    service: Service,
    address: SocketAddr,
    route: Route,
    version: u32,
}

impl PortLookup {
    /// Connects to rpcbind of a host. It is queried over TCP, whatever transport it is queried for.
    pub(crate) async fn connect(host: IpAddr, route: &Route) -> Result<Self, DialError> {
        Self::at((host, PORTMAP_PORT).into(), route).await
    }

    async fn at(address: SocketAddr, route: &Route) -> Result<Self, DialError> {
        let mut service = Service::port_mapper(address, route).await?;
        service.select(PORTMAP_PROGRAM, HIGHEST, None);
        Ok(Self { service, address, route: route.clone(), version: HIGHEST })
    }

    /// The port of a version of a program; none if it is not registered, or rpcbind does not say.
    pub(crate) async fn port(&mut self, program: u32, version: u32, transport: Transport) -> Option<u16> {
        loop {
            match self.query(program, version, transport).await {
                Ok(Ok(port)) => return port,
                Ok(Err(rejection)) => self.select(lower(self.version, rejection)?),
                // A port mapper may close a connection whose version it does not know.
                Err(error) if error.class == ErrorClass::Disconnected && self.version > PORTMAP_VERSION => {
                    self.service = Service::port_mapper(self.address, &self.route).await.ok()?;
                    self.select(PORTMAP_VERSION);
                }
                Err(_) => return None,
            }
        }
    }

    fn select(&mut self, version: u32) {
        self.version = version;
        self.service.select(PORTMAP_PROGRAM, version, None);
    }

    async fn query(
        &mut self,
        program: u32,
        version: u32,
        transport: Transport,
    ) -> Result<Result<Option<u16>, Rejection>, OpError> {
        if self.version == PORTMAP_VERSION {
            let put = |writer: &mut _| put_mapping(writer, program, version, transport);
            return self.service.try_call("GETPORT", GETPORT, put, get_port).await;
        }
        let netid = transport.netid(self.address.ip());
        let put = |writer: &mut _| put_address_query(writer, program, version, netid);
        self.service.try_call("GETADDR", GETADDR, put, get_universal_port).await
    }
}

/// The version to try after a rejection: the next lower one that the server may have.
fn lower(version: u32, rejection: Rejection) -> Option<u32> {
    let next = match rejection {
        Rejection::ProgramMismatch { high, .. } => (version - 1).min(high),
        Rejection::ProcedureUnavailable | Rejection::GarbageArguments => version - 1,
        _ => return None,
    };
    (next >= PORTMAP_VERSION).then_some(next)
}

/// The ports of the two programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) nfs: u16,
    pub(crate) mount: u16,
}

impl Ports {
    /// The ports of the URL and, where it has none, those of servers without a port mapper: NFS at its registered port, and
    /// MOUNT at the port of NFS.
    pub(crate) fn without_port_mapper(options: &NfsOptions) -> Self {
        let nfs = options.port.unwrap_or(NFS_PORT);
        Self { nfs, mount: options.mount_port.unwrap_or(nfs) }
    }
}

/// Queries the port mapper for the ports that the URL does not state. Without a port mapper NFS is at its registered
/// port, and MOUNT at the port of NFS, as on servers with a single port.
pub(crate) async fn find_ports(host: IpAddr, options: &NfsOptions) -> Ports {
    let mut nfs = options.port;
    let mut mount = options.mount_port;
    if (nfs.is_none() || mount.is_none())
        && let Ok(mut lookup) = PortLookup::connect(host, &options.route).await
    {
        let transport = options.route.transport();
        if nfs.is_none() {
            nfs = lookup.port(NFS_PROGRAM, NFS_VERSION, transport).await;
        }
        if mount.is_none() {
            mount = lookup.port(MOUNT_PROGRAM, MOUNT_VERSION, transport).await;
        }
    }
    let usual = Ports::without_port_mapper(options);
    let nfs = nfs.unwrap_or(usual.nfs);
    Ports { nfs, mount: mount.unwrap_or(nfs) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::protocol::{MOUNT_PROGRAM, NFS_PROGRAM};
    use crate::record::{begin_record, end_record};
    use crate::rpc::{CallHeader, put_success};
    use crate::xdr::{Reader, Writer};

    /// How a server answers a version that it does not have.
    #[derive(Clone, Copy)]
    enum Unknown {
        Mismatch,
        Closes,
    }

    /// The version and the query of each call.
    type Calls = Receiver<(u32, Vec<u8>)>;

    fn rpcbind(address: &str, highest: u32, unknown: Unknown) -> (SocketAddr, Calls) {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, calls) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                while let Some(call) = record(&mut stream) {
                    let mut reader = Reader::new(&call);
                    let header = CallHeader::get(&mut reader).unwrap();
                    seen.send((header.version, reader.rest().to_vec())).unwrap();
                    let mut out = Writer::default();
                    let at = begin_record(&mut out);
                    match header.version {
                        version if version > highest => match unknown {
                            Unknown::Mismatch => {
                                Rejection::ProgramMismatch { low: 2, high: highest }
                                    .put(&mut out, header.xid);
                            }
                            Unknown::Closes => break,
                        },
                        2 => {
                            put_success(&mut out, header.xid);
                            out.u32(2049);
                        }
                        _ => {
                            put_success(&mut out, header.xid);
                            out.opaque(if address.is_ipv6() { b"::.8.1" } else { b"0.0.0.0.8.1" });
                        }
                    }
                    end_record(&mut out, at, 0);
                    stream.write_all(out.as_slice()).unwrap();
                }
            }
        });
        (address, calls)
    }

    fn record(stream: &mut TcpStream) -> Option<Vec<u8>> {
        let mut mark = [0; 4];
        stream.read_exact(&mut mark).ok()?;
        let mut record = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
        stream.read_exact(&mut record).ok()?;
        Some(record)
    }

    /// Two queries, and the versions that the server saw.
    fn query(address: &str, highest: u32, unknown: Unknown, transport: Transport) -> (Vec<u32>, Vec<u8>) {
        let (address, calls) = rpcbind(address, highest, unknown);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut lookup = PortLookup::at(address, &Route::default()).await.unwrap();
            assert_eq!(lookup.port(NFS_PROGRAM, 3, transport).await, Some(2049));
            assert_eq!(lookup.port(MOUNT_PROGRAM, 3, transport).await, Some(2049));
        });
        let calls: Vec<_> = calls.try_iter().collect();
        let last = calls.last().unwrap().1.clone();
        (calls.into_iter().map(|(version, _)| version).collect(), last)
    }

    #[test]
    fn the_highest_version_that_the_server_has_is_used_for_all_queries() {
        let of = |highest| query("127.0.0.1:0", highest, Unknown::Mismatch, Transport::Tcp).0;
        assert_eq!(of(4), [4, 4]);
        assert_eq!(of(3), [4, 3, 3]);
        assert_eq!(of(2), [4, 2, 2]);
    }

    #[test]
    fn a_port_mapper_that_closes_the_connection_is_queried_in_version_2() {
        assert_eq!(query("127.0.0.1:0", 2, Unknown::Closes, Transport::Tcp).0, [4, 2, 2]);
    }

    #[test]
    fn the_query_names_transport_and_family() {
        let (_, udp) = query("127.0.0.1:0", 4, Unknown::Mismatch, Transport::Udp);
        assert_eq!(udp[8..16], *b"\0\0\0\x03udp\0");
        let (_, udp) = query("127.0.0.1:0", 2, Unknown::Mismatch, Transport::Udp);
        assert_eq!(udp[8..12], 17u32.to_be_bytes());
        if TcpListener::bind("[::1]:0").is_ok() {
            let (_, udp) = query("[::1]:0", 4, Unknown::Mismatch, Transport::Udp);
            assert_eq!(udp[8..16], *b"\0\0\0\x04udp6");
        }
    }
}
