//! Negotiation over a link: IPX checksums by level, and packets that the path carries.

use std::time::Duration;

use proptest::prelude::*;

use super::simulated_link::{Link, LinkFaults};
use super::tests::{LOGIN, files_are_written_and_read, server_options};
use super::*;
use crate::security::level::{Level, Negotiated};
use crate::server;
use crate::wire::Completion;
use crate::wire::TransportKind;

fn options() -> Options {
    Options { buffer: 1400, large_packets: LargePackets::Probe, ..Options::default() }
}

#[test]
fn every_pair_of_levels_negotiates_checksums() {
    for (at, server) in (0..16).map(|at| (at, Level::from_number(at / 4).unwrap())) {
        let level = Level::from_number(at % 4).unwrap();
        let served = server::Options { checksums: server, ..server_options(Level::Never) };
        let link = Link::to(served, TransportKind::IpxInUdp, 1);
        block_on(async {
            let options = Options { checksums: level, ..options() };
            let mut client = Client::connect(link, options).await.unwrap();
            match (level.negotiate(server), client.login(LOGIN).await) {
                (Negotiated::Refused, Err(ClientError::ChecksumsUnavailable { .. })) => {
                    assert_eq!(level, Level::Always);
                }
                (Negotiated::Refused, Err(ClientError::Refused { completion, .. })) => {
                    assert_eq!(completion, Completion::AddressRestriction);
                }
                (agreement, Ok(())) => {
                    let on = agreement == Negotiated::On;
                    assert_eq!(
                        (client.checks(), client.transport().checks),
                        (on, on),
                        "{level:?} {server:?}"
                    );
                    assert_eq!(client.transport().server.requires_checksums(super::simulated_link::PEER), on);
                    files_are_written_and_read(&mut client, 3000).await;
                }
                (agreement, done) => panic!("{level:?} {server:?}: {agreement:?}, {done:?}"),
            }
        });
    }
}

#[test]
fn client_requests_no_checksums_where_packets_have_none() {
    let served = server::Options { checksums: Level::IfPossible, ..server_options(Level::Never) };
    block_on(async {
        let link = Link::to(served, TransportKind::Udp, 1);
        let options = Options { checksums: Level::Always, ..options() };
        let mut client = Client::connect(link, options).await.unwrap();
        let refused = client.login(LOGIN).await;
        assert!(matches!(refused, Err(ClientError::ChecksumsUnavailable { .. })), "{refused:?}");
    });
}

/// Connects over a path that carries `longest` bytes; returns the buffer size and the result of probing.
fn probed(transport: TransportKind, longest: usize, options: Options) -> (usize, ProbeResult) {
    let mut link = Link::new(Level::IfRequested, transport, 1);
    link.faults = LinkFaults { longest, latency: Duration::from_millis(2), ..LinkFaults::default() };
    block_on(async {
        let mut client = Client::connect(link, options).await.unwrap();
        client.login(LOGIN).await.unwrap();
        files_are_written_and_read(&mut client, 3000).await;
        (client.buffer(), client.probed())
    })
}

#[test]
fn largest_returned_probe_determines_the_packet_size() {
    let far = Options { buffer: 61_440, ..options() };
    // On IPX the probe is the packet without its 30-byte header; on UDP it has 64 bytes in addition to the data.
    for (transport, longest, options, buffer, size) in [
        (TransportKind::IpxInUdp, 1434, options(), 1400, 1464),
        (TransportKind::IpxInUdp, 1433, options(), 1336, 1400),
        (TransportKind::IpxInUdp, 1000, options(), 512, 576),
        (TransportKind::IpxInUdp, 1433, Options { signatures: Level::Always, ..options() }, 1328, 1400),
        (TransportKind::Udp, 61_504, far, 61_440, 61_440),
        (TransportKind::Udp, 10_000, far, 8192, 8192),
        (TransportKind::Udp, 1564, far, 1500, 1500),
    ] {
        assert_eq!(probed(transport, longest, options), (buffer, ProbeResult::Packet(size)), "{longest}");
    }
    // No probe returns: the negotiated size stays, although the path does not carry it.
    let mut link = Link::new(Level::IfRequested, TransportKind::IpxInUdp, 1);
    link.faults.longest = 500;
    let client = block_on(Client::connect(link, options())).unwrap();
    assert_eq!((client.buffer(), client.probed()), (1400, ProbeResult::Unanswered));
    // The path is probed only if the options request it.
    let off = Options { large_packets: LargePackets::Off, ..options() };
    assert_eq!(probed(TransportKind::IpxInUdp, 0, off), (1400, ProbeResult::NotProbed));
}

#[test]
fn burst_packets_fit_the_path() {
    let bursts = Options { burst: Some(BurstOptions::default()), buffer: 1024, ..options() };
    for (transport, longest, packet) in [
        (TransportKind::Udp, 1472, 1500),
        (TransportKind::Udp, 1380, 1372),
        (TransportKind::IpxInUdp, 1370, 1400),
    ] {
        let mut link = Link::new(Level::IfRequested, transport, 1);
        link.faults.longest = longest;
        block_on(async {
            let mut client = Client::connect(link, bursts).await.unwrap();
            client.login(LOGIN).await.unwrap();
            assert_eq!(
                (client.burst_packet(1500), client.window(Direction::Write)),
                (packet, 61_440),
                "{longest}"
            );
            files_are_written_and_read(&mut client, 30_000).await;
        });
    }
}

#[test]
fn routed_packets_are_small_unless_the_path_is_probed() {
    for (large_packets, buffer) in
        [(LargePackets::Off, 512), (LargePackets::Probe, 1400), (LargePackets::Known, 1400)]
    {
        let mut link = Link::new(Level::IfRequested, TransportKind::IpxInUdp, 1);
        link.routed = true;
        let client = block_on(Client::connect(link, Options { large_packets, ..options() })).unwrap();
        assert_eq!(client.buffer(), buffer);
    }
}

#[test]
fn buffer_only_client_negotiates_nothing_else() {
    let old = Options { negotiation: Negotiation::BufferOnly, ..options() };
    block_on(async {
        let link = Link::new(Level::IfPossible, TransportKind::IpxInUdp, 1);
        let mut client = Client::connect(link, Options { buffer: 1024, ..old }).await.unwrap();
        client.login(LOGIN).await.unwrap();
        assert_eq!((client.buffer(), client.signs(), client.probed()), (1024, false, ProbeResult::NotProbed));
        let strict = Link::new(Level::Always, TransportKind::IpxInUdp, 1);
        let mut client = Client::connect(strict, old).await.unwrap();
        let refused = client.login(LOGIN).await;
        assert!(
            matches!(refused, Err(ClientError::Refused { completion: Completion::SignatureRequired, .. })),
            "{refused:?}"
        );
    });
}

proptest! {
    /// Whatever is lost, the packet size found passes the path, and the search ends.
    #[test]
    fn probing_succeeds_when_probes_are_lost(seed in 0..u64::MAX, lost in 0..30_u64, longest in 620..1500_usize) {
        let mut link = Link::new(Level::IfRequested, TransportKind::IpxInUdp, seed);
        link.faults = LinkFaults { lost, repeated: 20, longest, ..LinkFaults::default() };
        // All transmissions of a request may be lost.
        let Ok(client) = block_on(Client::connect(link, options())) else { return Ok(()) };
        if let ProbeResult::Packet(size) = client.probed() {
            prop_assert!(size - 30 <= longest, "{size} of {longest}");
        }
    }
}
