//! How a client behaves.

use std::time::Duration;

use crate::security::level::Level;

/// What the kernel's client proposes on TCP (docs/protocols/ncp.md 2.2).
pub const MAX_BUFFER: u16 = 61_440;
/// The least data per call that is worked with.
pub const MIN_BUFFER: u16 = 512;

/// How a client behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How long to wait for a reply. A server that says "busy" is waited for as long again, ten times at most.
    pub timeout: Duration,
    /// On datagrams: how long to wait before a request is sent again; each time twice as long, up to eight times. The
    /// kernel's client begins with 0.6 s (docs/protocols/ncp.md 1.4).
    pub retry: Duration,
    /// When packets are signed. A server has no way to ask before the login: at [`Level::IfRequested`] a login that is
    /// refused for want of signatures is tried again with them.
    pub signatures: Level,
    /// When packets on IPX have checksums, where their frames let them: agreed upon as signatures are.
    pub checksums: Level,
    /// Data bytes per call that are proposed, 512 to 61440.
    pub buffer: u16,
    /// How buffers are agreed upon.
    pub negotiation: Negotiation,
    /// Large internet packets, on datagrams.
    pub large_packets: LargePackets,
    /// Packet burst, if it is wanted: on datagrams that are not signed, where the server has it.
    pub burst: Option<BurstOptions>,
}

/// How a client agrees upon buffers with its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Negotiation {
    /// 0x61, with signatures, checksums and probes; 0x21 where the server does not know it.
    #[default]
    Full,
    /// 0x21 alone, as requesters did before signatures came.
    BufferOnly,
}

/// What a client on datagrams does about packets that the path may not take (docs/protocols/ncp.md 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum LargePackets {
    /// Packets behind a router have 512 bytes of data.
    #[default]
    Off,
    /// The path is probed for the largest packet it takes.
    Probe,
    /// What is asked for was found by another connection.
    Known,
}

/// How bursts are sent. Nothing of it adapts itself: what is asked for is what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurstOptions {
    /// Bytes of a packet, with the headers of the network but without its frame.
    pub packet: u32,
    /// Most data bytes of a burst, at most 61440.
    pub window: u32,
    /// Pause between the packets of a burst, in steps of 100 µs, that both sides make.
    pub gap: Duration,
}

impl Default for BurstOptions {
    fn default() -> Self {
        Self { packet: 1500, window: u32::from(MAX_BUFFER), gap: Duration::ZERO }
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

/// Who logs in.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// Name of the user.
    pub user: &'a str,
    /// Password; it is put in upper case first, as clients do.
    pub password: &'a str,
}

/// What a client counted since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests made, each once however often it was sent.
    pub requests: u64,
    /// Requests sent again.
    pub resent: u64,
    /// Times that the server said "busy".
    pub busy: u64,
    /// Bytes of messages sent, those sent again included.
    pub sent: u64,
    /// Bytes of messages received, those of no use included.
    pub received: u64,
}
