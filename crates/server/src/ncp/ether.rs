//! An NCP server on IPX in Ethernet frames, where clients find it by its name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use sharebench_ncp::ether::EtherSocket;
use sharebench_ncp::receive_buffer;
use sharebench_ncp::wire::ethernet::Framing;
use sharebench_ncp::wire::ipx::Address;

use crate::Volume;
use crate::front_ends::front_end::ServeError;
use crate::ncp::ipx::{ECHO, NETWORK};
use crate::ncp::options::{NcpServerOptions, TransportLimits, server_name};
use crate::ncp::services::ServiceAdvertiser;
use crate::ncp::threads::{ServerThreads, Sockets};

/// The protocol name in errors.
const ON_ETHER: &str = "ncp-ether";
/// The default network number of the segment.
const SEGMENT: u32 = 1;

/// The Ethernet segment of a server: `IFACE[,FRAME[,NETWORK]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NcpEtherOptions {
    /// Name of the interface.
    pub interface: String,
    /// Framing of IPX packets.
    pub framing: Framing,
    /// Network number of the segment.
    pub network: u32,
}

impl FromStr for NcpEtherOptions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let interface = parts.next().filter(|name| !name.is_empty()).ok_or("missing interface")?.to_owned();
        let framing = match parts.next() {
            None => Framing::Llc8022,
            Some(name) => Framing::from_name(name)
                .ok_or_else(|| format!("unknown frame {name}; the choices are ii, raw, 802.2 and snap"))?,
        };
        let network = match parts.next() {
            None => SEGMENT,
            Some(digits) => u32::from_str_radix(digits, 16)
                .ok()
                .filter(|network| !matches!(*network, 0 | u32::MAX | NETWORK))
                .ok_or_else(|| {
                    format!("{digits} is not a valid network number: give up to eight hex digits, not 0")
                })?,
        };
        match parts.next() {
            None => Ok(Self { interface, framing, network }),
            Some(more) => Err(format!("'{more}' is not expected: give IFACE[,FRAME[,NETWORK]]")),
        }
    }
}

impl fmt::Display for NcpEtherOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{:X}", self.interface, self.framing.name(), self.network)
    }
}

/// A running server on Ethernet. Dropping it stops the server and broadcasts that it is down.
pub struct NcpEtherServer {
    threads: ServerThreads,
    socket: Arc<EtherSocket>,
    services: ServiceAdvertiser,
}

impl NcpEtherServer {
    /// Serves `volume` on an interface.
    ///
    /// # Errors
    /// There are no accounts, although every host of the segment can reach the server; the capability for frames or the
    /// interface is missing; invalid options; threads cannot be started.
    pub fn start(
        ether: &NcpEtherOptions,
        volume: Arc<dyn Volume>,
        options: NcpServerOptions,
    ) -> Result<Self, ServeError> {
        let wrong = |detail: String| ServeError::Options { protocol: ON_ETHER, detail };
        if options.accounts.is_empty() {
            let detail = "refusing to serve on Ethernet without accounts, because other hosts can connect; give an account with a password";
            return Err(wrong(detail.into()));
        }
        let socket = EtherSocket::open(&ether.interface, ether.framing);
        let socket = socket.map_err(|error| wrong(format!("{}: {error}", ether.interface)))?;
        // The socket receives the frames of all clients. A smaller buffer costs retransmissions only.
        let _ = socket.grow_receive_buffer(receive_buffer::OF_SERVER);
        Self::start_over(socket, ether.network, volume, options)
    }

    /// Serves `volume` on an open socket.
    ///
    /// # Errors
    /// Invalid options, or threads cannot be started.
    pub fn start_over(
        socket: EtherSocket,
        network: u32,
        volume: Arc<dyn Volume>,
        options: NcpServerOptions,
    ) -> Result<Self, ServeError> {
        let framing = socket.framing();
        let max_packet = framing.max_packet() as u16;
        let limits = TransportLimits { checksums: framing.has_checksums(), echo_socket: ECHO, max_packet };
        let services =
            ServiceAdvertiser { name: server_name(), internal: NETWORK, segment: network, mac: socket.mac() };
        let socket = Arc::new(socket);
        let transports = Sockets::Ether(Arc::clone(&socket), services);
        let threads = ServerThreads::start(ON_ETHER, volume, options, limits, transports)?;
        Ok(Self { threads, socket, services })
    }

    /// The name by which clients find the server.
    pub fn name() -> String {
        String::from_utf8_lossy(&server_name()).trim_end_matches('\0').to_owned()
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.threads.state.server.connections()
    }

    /// Stops the server, broadcasts that it is down, and returns when its threads have ended.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for NcpEtherServer {
    fn drop(&mut self) {
        self.threads.serving.halt();
        for packet in self.services.announcements(false) {
            // Clients that do not receive it notice by timeouts.
            let _ = self.socket.send(Address::BROADCAST, &packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ethernet_segment_survives_the_round_trip() {
        for (text, shown) in [
            ("eth0", "eth0,802.2,1"),
            ("eth0,ii", "eth0,ii,1"),
            ("veth1,snap,00c0ffee", "veth1,snap,C0FFEE"),
            ("br0,raw,10", "br0,raw,10"),
        ] {
            assert_eq!(text.parse::<NcpEtherOptions>().unwrap().to_string(), shown);
        }
        for (text, word) in [
            ("", "interface"),
            (",ii", "interface"),
            ("eth0,iii", "ii, raw, 802.2 and snap"),
            ("eth0,ii,0", "network number"),
            ("eth0,ii,53485242", "network number"),
            ("eth0,ii,123456789", "network number"),
            ("eth0,ii,1,2", "not expected"),
        ] {
            let mistake = text.parse::<NcpEtherOptions>().unwrap_err();
            assert!(mistake.contains(word), "{text}: {mistake}");
        }
    }
}
