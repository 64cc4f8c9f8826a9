//! Packet burst without I/O, for client and server: bursts are split into fragments, reassembled, and lost fragments
//! requested again (docs/protocols/ncp.md 4). Bursts are not signed, so connections that sign packets do not use
//! them.

mod connection;
mod rate;
mod reassembly;

pub use connection::{BurstConnection, Fragment, OutgoingBurst};
pub use rate::{
    ArrivalSpacing, BurstOutcome, BurstUse, MAX_GAP, RateControl, RateOptions, UsedRange, next_departure,
};
pub use reassembly::Reassembly;

use crate::wire::TransportKind;
use crate::wire::burst::HEADER_LEN;

/// Bytes of the call that precedes the data of a write.
pub const CALL_LEN: usize = 24;
/// The longest burst that is sent or accepted: the call and the data of the largest transfer.
pub const MAX_BURST: usize = 61_440 + CALL_LEN;
/// The largest number of missing ranges in one packet; further ranges are requested later.
pub const MAX_HOLES: usize = 64;

/// Data bytes of a fragment in packets of `max_packet` bytes, which include network headers but not the frame.
pub fn fragment_len(max_packet: u32, transport: TransportKind) -> usize {
    let network = match transport {
        TransportKind::IpxInUdp | TransportKind::IpxOnEthernet => 30,
        // IP and UDP headers.
        TransportKind::Udp | TransportKind::Tcp => 28,
    };
    (max_packet as usize).saturating_sub(network + HEADER_LEN).clamp(64, 8192)
}
