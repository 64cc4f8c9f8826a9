//! Options and counters of a client.

use std::time::Duration;

use crate::security::level::Level;

/// The data size that the kernel's client proposes on TCP (docs/protocols/ncp.md 2.2).
pub const MAX_BUFFER: u16 = 61_440;
/// The smallest supported number of data bytes per call.
pub const MIN_BUFFER: u16 = 512;

/// Options of a client. They are fixed for the life of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Deadline of a reply. Each "busy" packet of the server restarts it, ten times at most.
    pub timeout: Duration,
    /// First retransmission pause on datagrams. It doubles with each retransmission, up to eight times the first. The
    /// kernel's client starts with 0.6 s (docs/protocols/ncp.md 1.4).
    pub retry: Duration,
    /// When packets are signed. A server cannot request signatures before the login, so a login at
    /// [`Level::IfRequested`] that fails for want of signatures is repeated with them.
    pub signatures: Level,
    /// When IPX packets have checksums; negotiated like signatures, and only where the frames support them.
    pub checksums: Level,
    /// Proposed data bytes per call, 512 to 61440.
    pub buffer: u16,
    /// Function that negotiates the buffer size.
    pub negotiation: Negotiation,
    /// Use of large internet packets, on datagrams.
    pub large_packets: LargePackets,
    /// Packet burst, if wanted. It needs datagrams without signatures and a server that supports it.
    pub burst: Option<BurstOptions>,
}

/// How a client negotiates the buffer size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Negotiation {
    /// Function 0x61, with signatures, checksums and probes; 0x21 where the server does not support it.
    #[default]
    Full,
    /// Function 0x21 alone, as requesters did before packet signatures existed.
    BufferOnly,
}

/// How a client on datagrams deals with the packet size of the path (docs/protocols/ncp.md 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum LargePackets {
    /// Packets through a router have 512 data bytes.
    #[default]
    Off,
    /// The client probes the path for its largest packet.
    Probe,
    /// Another connection has probed the path; its result is proposed.
    Known,
}

/// Options of packet burst. Unless they adapt, a run measures exactly the requested values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurstOptions {
    /// Bytes of a packet, including network headers but not the frame.
    pub packet: u32,
    /// Data bytes of a burst, at most 61440; the largest number if it adapts.
    pub window: u32,
    /// Whether the window adapts to loss.
    pub adapts_window: bool,
    /// Pause between the packets of a burst on both sides, in steps of 100 µs, unless it adapts.
    pub gap: Duration,
    /// Whether the gap adapts to loss.
    pub adapts_gap: bool,
}

impl Default for BurstOptions {
    fn default() -> Self {
        Self {
            packet: 1500,
            window: u32::from(MAX_BUFFER),
            adapts_window: false,
            gap: Duration::ZERO,
            adapts_gap: false,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            retry: Duration::from_millis(600),
            signatures: Level::IfRequested,
            checksums: Level::Never,
            buffer: MAX_BUFFER,
            negotiation: Negotiation::Full,
            large_packets: LargePackets::Off,
            burst: None,
        }
    }
}

/// Credentials of a login.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// User name.
    pub user: &'a str,
    /// Password; it is converted to upper case before hashing, as clients do.
    pub password: &'a str,
}

/// Counters of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests, not counting retransmissions.
    pub requests: u64,
    /// Retransmissions.
    pub resent: u64,
    /// Fragments of bursts that either side requested again.
    pub lost_fragments: u64,
    /// "Busy" packets received.
    pub busy: u64,
    /// Bytes of sent messages, including retransmissions.
    pub sent: u64,
    /// Bytes of received messages, including discarded ones.
    pub received: u64,
}
