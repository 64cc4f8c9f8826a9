//! The server on arbitrary packets of several clients: no panic, no unanswered request, and no state when they have
//! left.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sharebench_ncp::security::level::Level;
use sharebench_ncp::server::{
    Datagrams, Environment, MAX_PACKET, MemoryVolume, Options, Peer, Server, User, Watchdog,
};
use sharebench_ncp::wire::TransportKind;
use sharebench_ncp::wire::ipx::Address;
use sharebench_ncp::wire::server_info::DateAndTime;
use sharebench_ncp::wire::tcp::{REPLY_HEADER_LEN, request_header};
use sharebench_ncp::wire::text::padded;

/// A clock that the input advances, and one key for all logins.
#[derive(Default)]
struct Turned(Arc<AtomicU64>);

impl Environment for Turned {
    fn login_key(&self) -> [u8; 8] {
        [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]
    }

    fn date_and_time(&self) -> DateAndTime {
        DateAndTime { year: 126, month: 11, day: 21, hour: 1, minute: 2, second: 3, weekday: 6 }
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// The login of BENCH and the open of SYS:F, as function codes and data.
const LOGIN: [&[u8]; 2] =
    [b"\x17\x00\x01\x17", b"\x17\x00\x11\x18\x70\x38\xac\x5f\x8b\xcc\x23\xd2\x00\x01\x05BENCH"];
const OPEN: &[u8] = b"\x54\x00\x00\x03\x09\x05SYS:F";

/// A client at an address that the server knows.
struct FuzzClient {
    number: u64,
    transport: TransportKind,
    connection: u16,
    sequence: u8,
    last: Vec<u8>,
    /// The input has sent raw packets, so the server may expect another sequence number.
    loose: bool,
}

impl FuzzClient {
    /// A client; the clients use the three transports in turn.
    fn new(number: u64) -> Self {
        let transport =
            [TransportKind::Udp, TransportKind::Tcp, TransportKind::IpxInUdp][number as usize % 3];
        Self { number, transport, connection: 0xFFFF, sequence: 0, last: Vec::new(), loose: false }
    }

    fn peer(&self) -> Peer {
        Peer::Stream(self.number)
    }

    /// Sends a packet in its transport header; returns the reply without it.
    fn send(&self, server: &Server<MemoryVolume, Turned>, packet: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if self.transport == TransportKind::Tcp {
            let message = [&request_header(16 + packet.len(), 0x1_0000)[..], packet].concat();
            server.receive(self.peer(), self.transport, &message, &mut out);
            return out.get(REPLY_HEADER_LEN..).unwrap_or_default().to_vec();
        }
        let mut datagrams = Datagrams::new();
        server.receive_datagram(self.peer(), self.transport, packet, &mut datagrams);
        datagrams.iter().next().unwrap_or_default().to_vec()
    }

    fn create(&mut self, server: &Server<MemoryVolume, Turned>) {
        self.sequence = 0;
        self.loose = false;
        // A late request of the previous connection would be the first of this one.
        self.last.clear();
        let reply = self.send(server, &[0x11, 0x11, 0, 0xFF, 1, 0xFF, 0]);
        if let [0x33, 0x33, _, low, _, high, 0, _] = reply[..] {
            self.connection = u16::from_be_bytes([high, low]);
        }
    }

    /// Sends a request with the next number; it is answered, unless it waits for a lock.
    fn request(&mut self, server: &Server<MemoryVolume, Turned>, task: u8, call: &[u8]) {
        self.sequence = self.sequence.wrapping_add(1);
        let [high, low] = self.connection.to_be_bytes();
        self.last = [&[0x22, 0x22, self.sequence, low, task, high][..], call].concat();
        let reply = self.send(server, &self.last);
        let answered = reply.starts_with(&[0x33, 0x33]) || server.waiting() > 0;
        assert!(answered || self.loose, "silence on {call:02x?}");
    }
}

/// BENCH, and a user with a full name in a group.
fn users() -> Vec<User> {
    let mut other = User::new("OTHER", 0x0001_0003, "OTHER");
    other.groups = vec![b"LAB".to_vec()];
    other.full_name = b"Another User".to_vec();
    vec![User::new("BENCH", 0x0001_0002, "BENCHPW"), other]
}

/// Each step is a byte that selects action and client, a length, and that many bytes.
pub fn run(input: &[u8]) {
    let clock = Arc::new(AtomicU64::new(0));
    let options = Options {
        name: padded(b"FUZZ").unwrap_or([0; 48]),
        net_address: Address::of_server(0x5348_5242),
        version: (3, 11),
        max_connections: 3,
        users: users(),
        signatures: Level::Never,
        checksums: Level::IfRequested,
        echo_socket: 0x400A,
        max_packet: MAX_PACKET,
        clear_passwords: false,
        watchdog: Watchdog::default(),
    };
    let volumes = vec![(b"SYS".to_vec(), MemoryVolume::new(1 << 18))];
    let server = Server::new(options, volumes, Turned(Arc::clone(&clock)));
    let mut clients: Vec<FuzzClient> = (0..4).map(FuzzClient::new).collect();
    for client in clients.iter_mut().take(2) {
        client.create(&server);
        for call in LOGIN.iter().chain([&OPEN]) {
            client.request(&server, 1, call);
        }
    }
    let mut rest = input;
    while let [what, len, after @ ..] = rest {
        let (bytes, next) = after.split_at(usize::from(*len).min(after.len()));
        rest = next;
        step(&server, &clock, &mut clients[usize::from(what >> 6)], what & 0x3F, bytes);
    }
    for client in &clients {
        server.disconnect(client.peer());
    }
    assert_eq!((server.connections(), server.waiting()), (0, 0));
    // No locks and share modes are left.
    let mut last = FuzzClient::new(0);
    last.create(&server);
    for call in LOGIN {
        last.request(&server, 1, call);
    }
    last.sequence += 1;
    let open = [&[0x22, 0x22, last.sequence, 1, 1, 0][..], b"\x4c\x00\x06\x0d\x05SYS:F"].concat();
    assert_ne!(last.send(&server, &open).get(6), Some(&0x80), "in use by nobody");
}

fn step(
    server: &Server<MemoryVolume, Turned>,
    clock: &AtomicU64,
    client: &mut FuzzClient,
    what: u8,
    bytes: &[u8],
) {
    match what {
        0 => client.create(server),
        1 => server.disconnect(client.peer()),
        2 => {
            // Raw bytes.
            client.loose = true;
            let mut out = Vec::new();
            server.receive(client.peer(), client.transport, bytes, &mut out);
        }
        3 => {
            client.send(server, &client.last);
        }
        4 => {
            let by = bytes.first().map_or(1000, |by| u64::from(*by) * 100);
            clock.fetch_add(by, Ordering::Relaxed);
            server.resume(client.peer(), &mut Vec::new());
        }
        5 => {
            clock.fetch_add(400_000, Ordering::Relaxed);
            server.idle_clients();
        }
        6 => {
            let mut burst = vec![0x77, 0x77];
            burst.extend_from_slice(bytes);
            server.receive_datagram(client.peer(), client.transport, &burst, &mut Datagrams::new());
        }
        7 => {
            for call in LOGIN {
                client.request(server, 1, call);
            }
        }
        8..=31 => client.request(server, what % 3, bytes),
        // Calls on paths are long, so a code and a name are added.
        _ => {
            let call = [&[0x57, what - 32][..], bytes].concat();
            client.request(server, 1, &call);
        }
    }
}
