//! Packet burst without I/O, for both sides: fragments go out, fragments come in, and what is missing is asked for again
//! (docs/protocols/ncp.md 4). Bursts are not signed: connections that sign packets do without.

mod assembly;
mod line;

pub use assembly::Assembly;
pub use line::{Line, Outgoing, Piece};

use crate::security::signature::Transport;
use crate::wire::burst::HEADER_LEN;

/// Longest burst that is sent or taken: the call and the data of the largest transfer.
pub const MAX_BURST: usize = 61_440 + 24;
/// Most holes that one packet asks for: more are asked for when these are filled.
pub const MAX_HOLES: usize = 64;

/// Bytes of a fragment in packets of `max_packet` bytes, which count the headers of the network but not its frames.
pub fn fragment_len(max_packet: u32, transport: Transport) -> usize {
    let network = match transport {
        Transport::Ipx => 30,
        // Headers of IP and UDP.
        Transport::Udp | Transport::Tcp => 28,
    };
    (max_packet as usize).saturating_sub(network + HEADER_LEN).clamp(64, 8192)
}
