//! Requesters of the time, as sets of options: what their documents say of them, and where packets of them were seen,
//! what those show (docs/protocols/ncp.md 5.4).

use std::time::Duration;

use sharebench_ncp::client::{BurstOptions, Negotiation};
use sharebench_ncp::security::level::Level;

use sharebench_ncp::wire::TransportKind;

/// What a requester does unless its options say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) name: &'static str,
    /// What a run made with it is called.
    pub(crate) shown: &'static str,
    pub(crate) transports: &'static [TransportKind],
    pub(crate) negotiation: Negotiation,
    /// Data bytes proposed on TCP, and on datagrams.
    pub(crate) buffers: (u16, u16),
    pub(crate) lip: bool,
    pub(crate) signatures: Level,
    /// Where frames let packets have checksums.
    pub(crate) checksums: Level,
    /// Packets of a burst; none for those without.
    pub(crate) burst_packets: Option<u32>,
    /// Buffers of its cache.
    pub(crate) cache: u32,
    pub(crate) retry: Duration,
}

const IPX: &[TransportKind] = &[TransportKind::IpxInUdp, TransportKind::IpxOnEthernet];
const ALL: &[TransportKind] =
    &[TransportKind::Tcp, TransportKind::Udp, TransportKind::IpxInUdp, TransportKind::IpxOnEthernet];
const RETRY: Duration = Duration::from_millis(600);
/// Data of the fragments of a burst in packets of 1500 bytes.
const FRAGMENT: u32 = 1434;
/// Most data that the largest frames leave room for, with a signature.
const FRAME: u16 = 1420;

const NETX: Profile = Profile {
    name: "netx",
    shown: "NETX-like (3.1x, from documents)",
    transports: IPX,
    negotiation: Negotiation::BufferOnly,
    buffers: (1024, 1024),
    lip: false,
    signatures: Level::Never,
    checksums: Level::Never,
    burst_packets: None,
    cache: 0,
    retry: RETRY,
};

const VLM: Profile = Profile {
    name: "vlm",
    shown: "VLM-like without packet burst (from documents)",
    negotiation: Negotiation::Full,
    buffers: (FRAME, FRAME),
    lip: true,
    signatures: Level::IfRequested,
    checksums: Level::IfRequested,
    cache: 5,
    ..NETX
};

/// All profiles.
static PROFILES: [Profile; 8] = [
    NETX,
    Profile {
        name: "netx-3.32",
        shown: "NETX-like (3.32, from documents)",
        negotiation: Negotiation::Full,
        lip: true,
        signatures: Level::IfRequested,
        ..NETX
    },
    Profile {
        name: "bnetx",
        shown: "BNETX-like (from documents)",
        // One window of the size that documents of 4.1 name.
        burst_packets: Some(24_576 / FRAGMENT),
        ..NETX
    },
    VLM,
    Profile {
        name: "vlm-1.20",
        shown: "VLM-1.20-like (from documents)",
        // PBURST READ WINDOW SIZE; that for writes is 10, for which there is no window of its own here.
        burst_packets: Some(16),
        ..VLM
    },
    Profile {
        name: "ncpfs",
        shown: "ncpfs 2.2.6 (from packets of libncp)",
        transports: ALL,
        negotiation: Negotiation::Full,
        buffers: (61_440, 1024),
        retry: Duration::from_secs(3),
        ..NETX
    },
    Profile {
        name: "ncpfs-kernel",
        shown: "ncpfs of Linux, without its page cache (from packets of the kernel)",
        transports: ALL,
        negotiation: Negotiation::Full,
        buffers: (61_440, 1024),
        signatures: Level::IfRequested,
        ..NETX
    },
    Profile {
        name: "client32",
        shown: "Client32-like (from documents)",
        transports: ALL,
        buffers: (61_440, FRAME),
        checksums: Level::Never,
        burst_packets: Some(16),
        ..VLM
    },
];

impl Profile {
    /// The profile of a name.
    pub(crate) fn of(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// Its bursts.
    pub(crate) fn burst(&self) -> Option<BurstOptions> {
        self.burst_packets
            .map(|packets| BurstOptions { window: packets * FRAGMENT, ..BurstOptions::default() })
    }

    /// Names of all, for people.
    pub(crate) fn names() -> String {
        PROFILES.each_ref().map(|profile| profile.name).join(", ")
    }
}
