//! The server against captured packets, retransmissions, unknown clients and garbage.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::envelope::put_request;
use crate::security::level::Level;
use crate::security::signature::Signer;
use crate::wire::TransportKind;
use crate::wire::ipx::Address;
use crate::wire::server_info::DateAndTime;
use crate::wire::tcp::TcpReply;
use crate::wire::tests::hex;
use crate::wire::text::padded;

/// An environment in which every login key is that of the captures.
pub(super) struct Still;

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

/// The same, and counts the clients whose signatures stay.
#[derive(Default)]
struct Noting {
    kept: AtomicU32,
}

impl Environment for Noting {
    fn login_key(&self) -> [u8; 8] {
        Still.login_key()
    }

    fn date_and_time(&self) -> DateAndTime {
        Still.date_and_time()
    }

    fn now(&self) -> Duration {
        Still.now()
    }

    fn signatures_kept(&self, _: LoginSource) {
        self.kept.fetch_add(1, Ordering::Relaxed);
    }
}

pub(super) fn options() -> Options {
    Options {
        name: padded(b"SHARE").unwrap(),
        net_address: Address::of_server(0x5348_5242),
        version: (3, 11),
        max_connections: 2,
        users: vec![User::new("bench", 0x0001_0002, "benchpw")],
        signatures: Level::IfRequested,
        checksums: Level::Never,
        echo_socket: 0,
        max_packet: MAX_PACKET,
        clear_passwords: false,
        watchdog: Watchdog::default(),
    }
}

pub(super) fn server() -> Server<MemoryVolume, Still> {
    Server::new(options(), vec![(b"SYS".to_vec(), MemoryVolume::new(1 << 20))], Still)
}

pub(super) fn ask<W: Environment>(server: &Server<MemoryVolume, W>, peer: u64, packet: &str) -> Vec<u8> {
    let mut out = Vec::new();
    server.receive(Peer::Stream(peer), TransportKind::Udp, &hex(packet), &mut out);
    out
}

/// Sends a packet of client 1 over a transport, signed if there is a signer. Returns the packet of the reply; it is empty if
/// there is none.
fn ask_over<W: Environment>(
    server: &Server<MemoryVolume, W>,
    transport: TransportKind,
    signer: Option<&mut Signer>,
    packet: &str,
) -> Vec<u8> {
    let is_signed = signer.is_some();
    let mut message = Vec::new();
    let mut out = Vec::new();
    put_request(transport, signer, 0x1_0000, &mut message, |message| message.extend(hex(packet)));
    server.receive(Peer::Stream(1), transport, &message, &mut out);
    if transport == TransportKind::Tcp && !out.is_empty() {
        out = TcpReply::decode(&out, is_signed).unwrap().packet.to_vec();
    }
    out
}

/// The calls of one client that has logged in.
pub(super) struct Calls {
    server: Server<MemoryVolume, Still>,
    sequence: u8,
}

impl Calls {
    pub(super) fn logged_in() -> Self {
        let server = server();
        login(&server, "00");
        Self { server, sequence: 4 }
    }

    /// Completion code and data.
    pub(super) fn call(&mut self, call: &str) -> (u8, Vec<u8>) {
        self.sequence += 1;
        let out = ask(&self.server, 1, &format!("2222{:02x}010100{call}", self.sequence));
        (out[6], out[8..].to_vec())
    }

    pub(super) fn done(&mut self, call: &str) -> u8 {
        self.call(call).0
    }
}

/// Sends create, 0x61 and login as libncp does; the first request repeats the sequence number of the create.
pub(super) fn login<W: Environment>(server: &Server<MemoryVolume, W>, security: &str) {
    login_over(server, TransportKind::Udp, security);
}

fn login_over<W: Environment>(server: &Server<MemoryVolume, W>, transport: TransportKind, security: &str) {
    let ask = |packet: &str| ask_over(server, transport, None, packet);
    assert_eq!(ask("111101ff01ff00"), hex("3333010101000000"));
    let size = ask(&format!("2222010101006104 08{security}"));
    assert_eq!(size, hex(&format!("3333010101000000 0408 0000 {security}")));
    assert_eq!(ask("22220201010017000117"), hex("33330201010000000011223344556677"));
    let id = ask("2222030101001700093500010542454e4348");
    assert_eq!(id[..14], hex("3333030101000000 00010002 0001")[..]);
    let login = ask("222204010100170011187038ac5f8bcc23d200010542454e4348");
    assert_eq!(login, hex("3333040101000000"));
}

/// docs/protocols/ncp.md 5.2, from the description alone. A server at level 2 signs for a client at level 1, which
/// must learn of it from the reply.
#[test]
fn reply_to_0x61_offers_what_the_server_prefers_and_enables_what_the_client_requests() {
    let preferring = Options { signatures: Level::IfPossible, ..options() };
    let server = Server::new(preferring, vec![(b"SYS".to_vec(), MemoryVolume::new(1 << 20))], Still);
    assert_eq!(ask(&server, 1, "111101ff01ff00"), hex("3333010101000000"));
    assert_eq!(ask(&server, 1, "2222010101006104 0880"), hex("3333010101000000 0408 0000 82"));
    assert_eq!(ask(&server, 1, "2222020101006104 0882"), hex("3333020101000000 0408 0000 82"));
}

/// libncp-client-udp-tcp-unsigned.pcap: its requests, and the replies that it accepted.
#[test]
fn server_answers_libncp_packets() {
    let server = server();
    login(&server, "00");
    assert_eq!(ask(&server, 1, "22220501010014"), hex("33330501010000007e0b1501020306"));
    assert_eq!(ask(&server, 1, "2222060101001600050503535953"), hex("333306010100000000"));
    let open = "222207010100 5701000a0680ff0f00000000000003000000000000ff020353595308504545522e444154";
    let opened = ask(&server, 1, open);
    assert_eq!(opened[..14], hex("3333070101000000 01000000 03 00")[..]);
    assert_eq!(opened[90..], hex("08504545522e444154"));
    let write = ask(&server, 1, "222208010100 49 00 020001000000 00000000 0005 68656c6c6f");
    assert_eq!(write, hex("3333080101000000"));
    let odd = ask(&server, 1, "222209010100 48 00 020001000000 00000001 0010");
    assert_eq!(odd, hex("3333090101000000 0004 00 656c6c6f"));
    let far = ask(&server, 1, "22220a010100 5741 01000000 0000000100000001 0001 07");
    assert_eq!(far, hex("33330a0101000000"));
    let size = ask(&server, 1, "22220b010100 5742 01000000");
    assert_eq!(size, hex("33330b0101000000 0200000001000000"));
    let size = ask(&server, 1, "22220c010100 47 00 020001000000");
    assert_eq!(size, hex("33330c010100ff00"), "beyond 4 GiB there is no 32-bit size");
    assert_eq!(ask(&server, 1, "22220d010100 42 00 020001000000"), hex("33330d0101000000"));
    assert_eq!(ask(&server, 1, "22220e010100 42 00 020001000000"), hex("33330e0101008800"));
    assert_eq!(ask(&server, 1, "22220f010100 6801000000"), hex("33330f010100fb00"));
    assert_eq!(ask(&server, 1, "555510010100 00"), hex("3333100101000000"));
    assert_eq!(server.connections(), 0);
}

/// The reply has the actual state, and signatures stay until the next login. The operator sees it.
#[test]
fn negotiation_after_the_login_does_not_end_signatures() {
    for transport in [TransportKind::Udp, TransportKind::Tcp] {
        let volumes = vec![(b"SYS".to_vec(), MemoryVolume::new(1 << 20))];
        let server = Server::new(options(), volumes, Noting::default());
        login_over(&server, transport, "02");
        assert_eq!(server.environment.kept.load(Ordering::Relaxed), 0);
        let mut signer = Signer::new(&options().users[0].hash, &Still.login_key(), transport);
        let mut signed = |packet: &str| ask_over(&server, transport, Some(&mut signer), packet);
        let renegotiated = signed("222205010100 6104 0800");
        assert_eq!(renegotiated[..13], hex("3333050101000000 0408 0000 02"), "{transport:?}");
        assert_eq!(server.environment.kept.load(Ordering::Relaxed), 1);
        assert_eq!(ask_over(&server, transport, None, "22220601010014"), [], "{transport:?}, unsigned");
        assert_eq!(signed("22220601010014")[..8], hex("3333060101000000"), "{transport:?}");
    }
}

/// libncp-client-udp-tcp-signed.pcap, frames 11 and 13: these signatures are accepted, others are not.
#[test]
fn signed_requests_execute_once_and_wrongly_signed_ones_never() {
    let server = server();
    login(&server, "02");
    let first = "22220501010017000111 79829049e0b9ecef";
    assert_eq!(ask(&server, 1, "22220501010017000111 79829049e0b9ecee"), []);
    assert_eq!(ask(&server, 1, "22220501010017000111"), []);
    let info = ask(&server, 1, first);
    assert_eq!(info.len(), 8 + 128 + 8);
    assert_eq!(ask(&server, 1, first), info, "sent again");
    let time = ask(&server, 1, "22220601010014 75e83faf8d2ed6f8");
    assert_eq!(time, hex("33330601010000007e0b1501020306 20eba018a0b6d9d1"));
}

#[test]
fn retransmitted_request_executes_once_and_older_one_never() {
    let server = server();
    login(&server, "00");
    let make = "222205010100 160009 0a 00 ff 055359533a44";
    let made = ask(&server, 1, make);
    assert_eq!(made, hex("3333050101000000"));
    assert_eq!(ask(&server, 1, make), made, "a second execution would fail");
    assert_eq!(ask(&server, 1, "222206010100 160009 0a 00 ff 055359533a44"), hex("3333060101008500"));
    assert_eq!(ask(&server, 1, make), [], "from before the last request");
    assert_eq!(ask(&server, 1, "22220901010014"), [], "from a future that never was");
}

#[test]
fn server_refuses_unknown_connections_and_too_many_clients() {
    let server = server();
    assert_eq!(ask(&server, 9, "22220101010014"), hex("3333010101000001"));
    for peer in 1..=2 {
        assert_eq!(ask(&server, peer, "111100ffffff00")[6], 0);
    }
    assert_eq!(ask(&server, 3, "111100ff01ff00"), hex("333300ff01fff904"));
    assert_eq!(ask(&server, 2, "22220101010014"), hex("3333010101000001"), "the connection of another");
    assert_eq!(ask(&server, 1, "111100ff01ff00"), hex("3333000101000000"), "created anew");
    assert_eq!(ask(&server, 1, "222201010100 42 00 000001000000"), hex("3333010101008200"), "not logged in");
    assert_eq!(server.connections(), 2);
    server.disconnect(Peer::Stream(1));
    assert_eq!(server.connections(), 1);
}

#[test]
fn login_requires_correct_response_to_fresh_key() {
    let server = server();
    assert_eq!(ask(&server, 1, "111101ff01ff00")[6], 0);
    let answer = "170011187038ac5f8bcc23d200010542454e4348";
    assert_eq!(ask(&server, 1, &format!("222201010100{answer}"))[6], 0xff, "no key yet");
    ask(&server, 1, "22220201010017000117");
    assert_eq!(ask(&server, 1, "222203010100 170011180000000000000000 00010542454e4348")[6], 0xff);
    assert_eq!(ask(&server, 1, &format!("222204010100{answer}"))[6], 0xff, "the key is used up");
    assert_eq!(
        ask(&server, 1, "222205010100 17000b14 0001 0542454e4348 0158")[6],
        0xd6,
        "no clear passwords"
    );
}

#[test]
fn server_at_level_3_refuses_unsigned_login() {
    let options = Options { signatures: Level::Always, ..options() };
    let server = Server::new(options, vec![(b"SYS".to_vec(), MemoryVolume::new(1 << 20))], Still);
    ask(&server, 1, "111101ff01ff00");
    ask(&server, 1, "22220101010061040800");
    ask(&server, 1, "22220201010017000117");
    let login = ask(&server, 1, "222203010100170011187038ac5f8bcc23d200010542454e4348");
    assert_eq!(login, hex("333303010100ac00"));
}

/// Directory handles, classic calls and searches, from mars-server-ipx-in-udp-with-burst.pcap.
#[test]
fn server_finds_renames_and_erases_files() {
    let server = server();
    login(&server, "00");
    assert_eq!(ask(&server, 1, "222205010100160008130054045359533a"), hex("3333050101000000 01df"));
    let created = ask(&server, 1, "222206010100 43010009 42454e43482e444154");
    assert_eq!(created[16..30], hex("42454e43482e444154 0000000000"));
    assert_eq!(ask(&server, 1, "2222070101001600080a01ff0444495231")[6], 0);
    assert_eq!(ask(&server, 1, "2222080101003e0100"), hex("3333080101000000 000000ffffdf"));
    let found = ask(&server, 1, "2222090101003f000000ffff06032a2e2a");
    assert_eq!(found[..21], hex("3333090101000000 0001 0000 42454e43482e444154")[..]);
    assert_eq!(ask(&server, 1, "22220a0101003f00000000 0106032a2e2a")[6], 0xff);
    let directory = ask(&server, 1, "22220b0101003f000000ffff10032a2e2a");
    assert_eq!(directory[12..16], *b"DIR1");
    let all = ask(&server, 1, "22220c010100571400000680ff0f0000ff7f0001000000ffffffff02ff2a");
    assert_eq!(all[8..20], hex("00 01000000 03000000 00 0200"));
    let rename =
        ask(&server, 1, "22220d010100 5704000106000001000000000100010000000001 0942454e43482e444154 0141");
    assert_eq!(rename[6], 0);
    let rename = ask(&server, 1, "22220e010100 5704000106000001000000000100010000000001 0141 0444495231");
    assert_eq!(rename[6], 0x92, "the name exists");
    assert_eq!(ask(&server, 1, "22220f0101004401060141")[6], 0);
    assert_eq!(ask(&server, 1, "2222100101004401060141")[6], 0xff);
    assert_eq!(ask(&server, 1, "2222110101001600080b01000444495231")[6], 0);
}

#[test]
fn path_never_leaves_its_volume() {
    let server = server();
    login(&server, "00");
    let paths = ["SYS:..", "SYS:..\\A", "SYS:../../A", "SYS:A/../B", "OTHER:A", "A", "SYS:A:B", "..:A", ":A"];
    for (sequence, path) in (5..).zip(paths) {
        let mut packet = vec![0x22, 0x22, sequence, 1, 1, 0, 0x43, 0, 0, path.len() as u8];
        packet.extend_from_slice(path.as_bytes());
        let mut out = Vec::new();
        server.receive(Peer::Stream(1), TransportKind::Udp, &packet, &mut out);
        assert!([0x98, 0x9b, 0x9c, 0x9e].contains(&out[6]), "{path}: {out:02x?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Every call is answered, and the server keeps working.
    #[test]
    fn hostile_calls_are_answered(calls in prop::collection::vec(
        prop::collection::vec(prop_oneof![3 => Just(0u8), 1 => Just(1), 1 => Just(0xff), 3 => any::<u8>()], 0..60), 1..12,
    )) {
        let server = server();
        login(&server, "00");
        let mut sequence = 4u8;
        for (number, mut call) in calls.into_iter().enumerate() {
            if number % 2 == 0 {
                call.splice(0..0, [0x57]);
            }
            sequence = sequence.wrapping_add(1);
            let packet = [&[0x22, 0x22, sequence, 1, 1, 0], &call[..]].concat();
            let mut out = Vec::new();
            server.receive(Peer::Stream(1), TransportKind::Udp, &packet, &mut out);
            prop_assert!(out.starts_with(&[0x33, 0x33, sequence]), "{packet:02x?}");
        }
    }

    #[test]
    fn garbage_is_dropped_or_answered(bytes in prop::collection::vec(any::<u8>(), 0..80), tcp: bool) {
        let server = server();
        let mut out = Vec::new();
        let transport = if tcp { TransportKind::Tcp } else { TransportKind::IpxInUdp };
        server.receive(Peer::Stream(1), transport, &bytes, &mut out);
        prop_assert!(server.connections() <= 1);
    }
}
