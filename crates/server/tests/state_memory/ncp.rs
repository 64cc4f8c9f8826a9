//! Connections of NCP that hoard.

use std::time::Duration;

use sharebench_ncp::security::level::Level;
use sharebench_ncp::server::{Environment, MAX_PACKET, MemoryVolume, Options, Peer, Server, User, Watchdog};
use sharebench_ncp::wire::TransportKind;
use sharebench_ncp::wire::ipx::Address;
use sharebench_ncp::wire::server_info::DateAndTime;
use sharebench_server::StateBudget;

use crate::Attack;

const SERVER: &str = "NCP";
/// Completion codes.
const OUT_OF_MEMORY: u32 = 0x96;
const NO_HANDLES: u32 = 0x9D;

pub const ATTACKS: [Attack; 3] = [
    // 54: open or create SYS:F.
    Attack {
        server: SERVER,
        what: "open files",
        refusals: &[OUT_OF_MEMORY],
        run: |budget, attacked| attack(budget, attacked, 1000, |_| b"\x54\0\0\x03\x09\x05SYS:F".to_vec()),
    },
    // 20/00: open a semaphore.
    Attack {
        server: SERVER,
        what: "semaphores with names of 127 bytes",
        refusals: &[OUT_OF_MEMORY],
        run: |budget, attacked| attack(budget, attacked, 250, |number| named(&[0x20, 0, 0], number)),
    },
    Attack {
        server: SERVER,
        what: "connections with directory handles",
        refusals: &[NO_HANDLES],
        run: hoard_handles,
    },
];

/// Clients allocate permanent directory handles of SYS: (16/12). These are the smallest state: nothing else fits afterwards.
pub fn hoard_handles(budget: StateBudget, attacked: &mut dyn FnMut()) -> Vec<u32> {
    attack(budget, attacked, 255, |_| b"\x16\0\x08\x12\0A\x04SYS:".to_vec())
}

/// A call with a name that begins with a number.
fn named(head: &[u8], number: u32) -> Vec<u8> {
    let mut name = number.to_be_bytes().to_vec();
    name.resize(127, b'A');
    [head, &[127], &name].concat()
}

struct Still(StateBudget);

impl Environment for Still {
    fn login_key(&self) -> [u8; 8] {
        [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]
    }

    fn date_and_time(&self) -> DateAndTime {
        DateAndTime::default()
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn state_budget(&self) -> StateBudget {
        self.0.clone()
    }
}

/// Makes connections that each make calls, until one after the other is refused. Returns the completion codes of refused calls.
fn attack(
    budget: StateBudget,
    attacked: &mut dyn FnMut(),
    calls: u32,
    call: impl Fn(u32) -> Vec<u8>,
) -> Vec<u32> {
    let options = Options {
        name: [0; 48],
        net_address: Address::of_server(1),
        version: (3, 11),
        max_connections: 60_000,
        users: vec![User::new("bench", 0x0001_0002, "benchpw")],
        signatures: Level::Never,
        checksums: Level::Never,
        echo_socket: 0,
        max_packet: MAX_PACKET,
        clear_passwords: false,
        watchdog: Watchdog::default(),
    };
    let volume = MemoryVolume::new(1 << 20);
    let server = Server::new(options, vec![(b"SYS".to_vec(), volume)], Still(budget));
    let mut number = 0;
    let mut refusals = Vec::new();
    for peer in 0..60_000 {
        let Some(mut client) = Client::log_in(&server, peer) else { break };
        for _ in 0..calls {
            number += 1;
            let completion = client.call(&call(number)).unwrap();
            if completion != 0 {
                refusals.push(completion.into());
                break;
            }
        }
    }
    attacked();
    drop(server);
    refusals
}

struct Client<'s> {
    server: &'s Server<MemoryVolume, Still>,
    peer: Peer,
    connection: u16,
    sequence: u8,
}

impl<'s> Client<'s> {
    fn log_in(server: &'s Server<MemoryVolume, Still>, peer: u64) -> Option<Self> {
        let peer = Peer::Stream(peer);
        let mut client = Self { server, peer, connection: 0xFFFF, sequence: 0 };
        let reply = client.send(&[0x11, 0x11], &[0]);
        if reply[6] != 0 {
            return None;
        }
        client.connection = u16::from_le_bytes([reply[3], reply[5]]);
        let login = b"\x17\0\x11\x18\x70\x38\xac\x5f\x8b\xcc\x23\xd2\0\x01\x05BENCH";
        (client.call(b"\x17\0\x01\x17") == Some(0) && client.call(login) == Some(0)).then_some(client)
    }

    fn send(&mut self, kind: &[u8], call: &[u8]) -> Vec<u8> {
        let [low, high] = self.connection.to_le_bytes();
        let packet = [kind, &[self.sequence, low, 1, high], call].concat();
        let mut out = Vec::new();
        self.server.receive(self.peer, TransportKind::Udp, &packet, &mut out);
        out
    }

    /// The completion code of a call.
    fn call(&mut self, call: &[u8]) -> Option<u8> {
        self.sequence = self.sequence.wrapping_add(1);
        self.send(&[0x22, 0x22], call).get(6).copied()
    }
}
