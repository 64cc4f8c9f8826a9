//! Requesters of NetWare's time as sets of options. Only the packets of ncpfs were observed; the other profiles
//! follow documents (docs/protocols/ncp.md 5.4).

use std::time::Duration;

use crate::client::{BurstOptions, Negotiation};
use crate::security::level::Level;
use crate::wire::TransportKind;

/// The defaults of a requester.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) name: &'static str,
    /// Name of the profile in facts and reports.
    pub(crate) shown: &'static str,
    pub(crate) transports: &'static [TransportKind],
    pub(crate) negotiation: Negotiation,
    /// Proposed data bytes on TCP and on datagrams.
    pub(crate) buffers: (u16, u16),
    pub(crate) lip: bool,
    pub(crate) signatures: Level,
    /// Level of checksums, where the frames support them.
    pub(crate) checksums: Level,
    /// Packets of the largest burst; none without packet burst.
    pub(crate) burst_packets: Option<u32>,
    /// Buffers of its cache.
    pub(crate) cache: u32,
    pub(crate) retry: Duration,
}

const IPX: &[TransportKind] = &[TransportKind::IpxInUdp, TransportKind::IpxOnEthernet];
const ALL: &[TransportKind] =
    &[TransportKind::Tcp, TransportKind::Udp, TransportKind::IpxInUdp, TransportKind::IpxOnEthernet];
const RETRY: Duration = Duration::from_millis(600);
/// Data bytes of a fragment in burst packets of 1500 bytes.
const FRAGMENT: u32 = 1434;
/// Data bytes that fit into the largest frame together with headers and a signature.
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
        // One window of the size that NetWare 4.1 documents mention (docs/protocols/ncp.md 4.5).
        burst_packets: Some(24_576 / FRAGMENT),
        ..NETX
    },
    VLM,
    Profile {
        name: "vlm-1.20",
        shown: "VLM-1.20-like (from documents)",
        // PBURST READ WINDOW SIZE. The write window of 10 packets has no option of its own here.
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
    /// The profile with a name.
    pub(crate) fn from_name(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// Burst options of the profile. The requesters with packet burst adapted window and gap (docs/protocols/ncp.md
    /// 4.5).
    pub(crate) fn burst(&self) -> Option<BurstOptions> {
        self.burst_packets.map(|packets| BurstOptions {
            window: packets * FRAGMENT,
            adapts_window: true,
            adapts_gap: true,
            ..BurstOptions::default()
        })
    }

    /// The names of all profiles, separated by commas.
    pub(crate) fn names() -> String {
        PROFILES.each_ref().map(|profile| profile.name).join(", ")
    }
}
