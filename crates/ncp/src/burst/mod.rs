//! Packet burst without I/O, for both sides: fragments go out, fragments come in, and what is missing is asked for again
//! (docs/protocols/ncp.md 4). Bursts are not signed: connections that sign packets do without.

mod connection;
mod reassembly;

pub use connection::{BurstConnection, Fragment, OutgoingBurst};
pub use reassembly::Reassembly;

use crate::wire::TransportKind;
use crate::wire::burst::HEADER_LEN;

/// Longest burst that is sent or taken: the call and the data of the largest transfer.
pub const MAX_BURST: usize = 61_440 + 24;
/// Most holes that one packet asks for: more are asked for when these are filled.
pub const MAX_HOLES: usize = 64;

/// Bytes of a fragment in packets of `max_packet` bytes, which count the headers of the network but not its frames.
pub fn fragment_len(max_packet: u32, transport: TransportKind) -> usize {
    let network = match transport {
        TransportKind::IpxInUdp | TransportKind::IpxOnEthernet => 30,
        // Headers of IP and UDP.
        TransportKind::Udp | TransportKind::Tcp => 28,
    };
    (max_packet as usize).saturating_sub(network + HEADER_LEN).clamp(64, 8192)
}
