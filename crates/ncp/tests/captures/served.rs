//! The packets that libncp sent, processed by the server of this crate: unsigned and signed, over UDP and TCP.

use std::time::Duration;

use sharebench_ncp::security::level::Level;
use sharebench_ncp::server::{Environment, MAX_PACKET, MemoryVolume, Options, Peer, Server, User, Watchdog};
use sharebench_ncp::wire::TransportKind;
use sharebench_ncp::wire::ipx::Address;
use sharebench_ncp::wire::server_info::DateAndTime;
use sharebench_ncp::wire::tcp::REQUEST_HEADER_LEN;
use sharebench_ncp::wire::text::padded;

use crate::captures::pcap::{Packet, Transport};

/// The environment of the captures: one key for all logins and a fixed time.
struct Still;

impl Environment for Still {
    fn login_key(&self) -> [u8; 8] {
        [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]
    }

    fn date_and_time(&self) -> DateAndTime {
        DateAndTime { year: 126, month: 11, day: 21, hour: 1, minute: 2, second: 3, weekday: 6 }
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

fn server(signatures: Level) -> Server<MemoryVolume, Still> {
    let options = Options {
        name: padded(b"PYSTUB").unwrap(),
        net_address: Address::of_server(0x5348_5242),
        version: (5, 70),
        max_connections: 100,
        users: vec![User::new("BENCH", 0x0001_0002, "BENCHPW")],
        signatures,
        checksums: Level::Never,
        echo_socket: 0,
        max_packet: MAX_PACKET,
        clear_passwords: false,
        watchdog: Watchdog::default(),
    };
    Server::new(options, vec![(b"SYS".to_vec(), MemoryVolume::new(16 << 20))], Still)
}

/// The reply of a capture without its transport header, and the reply of this server.
struct Pair {
    call: Vec<u8>,
    theirs: Vec<u8>,
    ours: Vec<u8>,
}

/// The captured server assigned the connection numbers 1 and 2, and so does this one if the first client stays.
fn pairs(name: &str, signatures: Level) -> Vec<Pair> {
    let server = server(signatures);
    let mut pairs = Vec::new();
    let mut answer = Vec::new();
    let mut call = Vec::new();
    for packet in crate::captures::capture(name) {
        let transport =
            if packet.transport == Transport::Tcp { TransportKind::Tcp } else { TransportKind::Udp };
        if packet.from_client {
            if packet.transport == Transport::Tcp && server.connections() == 0 {
                server.receive(
                    Peer::Stream(99),
                    TransportKind::Udp,
                    &[0x11, 0x11, 0, 0xff, 1, 0xff, 0],
                    &mut Vec::new(),
                );
            }
            answer.clear();
            server.receive(Peer::Stream(u64::from(packet.port)), transport, &packet.bytes, &mut answer);
            call = ncp(&packet).to_vec();
        } else {
            let theirs = packet.bytes.clone();
            let ours = answer.clone();
            pairs.push(Pair { call: call.clone(), theirs, ours });
        }
    }
    pairs
}

/// The bytes of a client packet after the transport header and, on TCP, the signature.
fn ncp(packet: &Packet) -> &[u8] {
    let starts = if packet.transport == Transport::Tcp {
        [REQUEST_HEADER_LEN, REQUEST_HEADER_LEN + 8]
    } else {
        [0, 0]
    };
    let kinds = [[0x11; 2], [0x22; 2], [0x55; 2]];
    let found =
        starts.iter().map(|start| &packet.bytes[*start..]).find(|ncp| kinds.contains(&[ncp[0], ncp[1]]));
    found.expect("a packet of a client")
}

/// Packets whose replies differ between servers: names and versions, space, times, the echo socket; size, deletion
/// and locks, which the captured server refuses; reads at offset 1, to which it returns nothing; and the end of the
/// connection, whose reply it does not sign again.
fn is_own(packet: &[u8]) -> bool {
    let Some((header, call)) = packet.split_at_checked(6) else { return false };
    match *call {
        _ if header[0] == 0x55 => true,
        [0x17, _, _, function, ..] => function == 0x11,
        [0x16, _, _, function, ..] => function == 0x2C,
        [0x57, 1 | 8 | 67..=69, ..] | [0x61 | 0x47 | 0x6D | 0x1E, ..] => true,
        [0x57, 64, ..] => call[6..14] == [0, 0, 0, 0, 0, 0, 0, 1],
        [0x48, ..] => call[8..12] == [0, 0, 0, 1],
        _ => false,
    }
}

fn check(name: &str, signatures: Level, same: usize) {
    let mut equal = 0;
    for pair in pairs(name, signatures) {
        let what = format!("{:02x?}\n{:02x?}\n{:02x?}", pair.call, pair.theirs, pair.ours);
        assert!(!pair.ours.is_empty(), "{what}");
        if !is_own(&pair.call) {
            assert!(pair.theirs == pair.ours, "{what}");
            equal += 1;
        }
    }
    assert_eq!(equal, same);
}

#[test]
fn replies_to_libncp_equal_those_of_the_capture() {
    check("libncp-client-udp-tcp-unsigned", Level::Never, 36);
}

#[test]
fn signed_replies_equal_those_that_libncp_accepted() {
    check("libncp-client-udp-tcp-signed", Level::IfPossible, 42);
}
