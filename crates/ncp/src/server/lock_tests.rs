//! Locks and share modes, call by call: completion codes, and what releases a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::tests::options;
use super::*;
use crate::wire::TransportKind;
use crate::wire::server_info::DateAndTime;
use crate::wire::tests::hex;

/// An environment with settable time that counts the notifications of released locks.
#[derive(Default)]
pub(super) struct Set {
    pub(super) now_ms: AtomicU64,
    pub(super) released: AtomicU64,
}

impl Environment for Set {
    fn login_key(&self) -> [u8; 8] {
        [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]
    }

    fn date_and_time(&self) -> DateAndTime {
        DateAndTime { year: 126, month: 11, day: 21, hour: 1, minute: 2, second: 3, weekday: 6 }
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.now_ms.load(Ordering::Relaxed))
    }

    fn released(&self) {
        self.released.fetch_add(1, Ordering::Relaxed);
    }
}

pub(super) type Tested = Server<MemoryVolume, Set>;

/// A client that is logged in and has opened SYS:F with handle 000001000000.
pub(super) struct LockClient<'s> {
    server: &'s Tested,
    number: u8,
    sequence: u8,
    pub(super) task: u8,
}

impl<'s> LockClient<'s> {
    pub(super) fn new(server: &'s Tested, number: u8) -> Self {
        let mut client = Self { server, number, sequence: 0, task: 1 };
        client.send("1111", "00");
        for (call, len) in [("17000117", 8), ("170011187038ac5f8bcc23d200010542454e4348", 0)] {
            assert_eq!(client.call(call).len(), 8 + len);
        }
        assert_eq!(client.done("54 00 00 03 09 05 5359533a46"), 0, "open or create");
        client
    }

    pub(super) fn peer(&self) -> Peer {
        Peer::Stream(u64::from(self.number))
    }

    fn send(&mut self, kind: &str, call: &str) -> Vec<u8> {
        let connection = if kind == "1111" { 0xFF } else { self.number };
        let high = if kind == "1111" { 0xFF } else { 0 };
        let mut packet = hex(kind);
        packet.extend([self.sequence, connection, self.task, high]);
        packet.extend(hex(call));
        let mut out = Vec::new();
        self.server.receive(self.peer(), TransportKind::Udp, &packet, &mut out);
        out
    }

    pub(super) fn call(&mut self, call: &str) -> Vec<u8> {
        self.sequence = self.sequence.wrapping_add(1);
        self.send("2222", call)
    }

    /// The completion code of a call.
    pub(super) fn done(&mut self, call: &str) -> u8 {
        self.call(call)[6]
    }
}

pub(super) fn server() -> Tested {
    let options = Options { max_connections: 9, ..options() };
    Server::new(options, vec![(b"SYS".to_vec(), MemoryVolume::new(1 << 20))], Set::default())
}

/// The first 100 bytes in each call, with `flag` and then ticks where the call has them.
fn lock_near(code: &str, flag: u8, ticks: u16) -> String {
    format!("{code} {flag:02x} 000001000000 00000000 00000064 {ticks:04x}")
}

fn lock_far(flag: u8, ticks: u32) -> String {
    format!("5743 {flag:02x}000000 01000000 0000000000000000 0000000000000064 {ticks:08x}")
}

const RELEASE: &str = "1c 00 000001000000 00000000 00000064";
const CLEAR: &str = "1e 00 000001000000 00000000 00000064";
const READ: &str = "48 00 000001000000 00000063 0001";
const WRITE: &str = "49 00 000001000000 00000063 0001 41";

/// docs/protocols/ncp.md 3.3: each call has its own completion code for a conflicting lock.
#[test]
fn each_lock_call_answers_conflicts_with_its_own_code() {
    let server = server();
    let mut one = LockClient::new(&server, 1);
    let mut two = LockClient::new(&server, 2);
    let calls = [
        (lock_near("1a", 1, 0), 0xFE, CLEAR.to_owned()),
        (lock_near("6d", 1, 0), 0x7F, "1e 000001000000 00000000 00000064".to_owned()),
        (lock_far(1, 0), 0xFD, "5745 01000000 0000000000000000 0000000000000064".to_owned()),
    ];
    for (lock, refused, clear) in &calls {
        assert_eq!(one.done(lock), 0);
        assert_eq!(two.done(lock), *refused);
        assert_eq!((two.done(READ), two.done(WRITE)), (0xA2, 0xA2));
        assert_eq!((one.done(WRITE), one.done(READ)), (0, 0));
        assert_eq!(two.done("49 00 000001000000 00000064 0001 41"), 0, "after it");
        assert_eq!(two.done("49 00 000001000000 00000005 0000"), 0xA2, "cut off within it");
        assert_eq!((one.done(clear), one.done(clear)), (0, 0xFF));
        assert_eq!((two.done(lock), two.done(clear)), (0, 0));
    }
    assert_eq!(one.done(&lock_near("1a", 3, 0)), 0, "shared");
    assert_eq!((two.done(&lock_near("6d", 3, 0)), two.done(READ), two.done(WRITE)), (0, 0, 0xA2));
    assert_eq!(two.done(&lock_near("6d", 1, 0)), 0x7F);
    assert_eq!((one.done(RELEASE), one.done(RELEASE), two.done(CLEAR)), (0, 0, 0));
    assert_eq!(one.done(&lock_near("1a", 2, 0)), 0xFF, "no such flag");
    assert_eq!(one.done("1a 01 000001000000 00000000 00000000 0000"), 0xFF, "nothing to lock");
    assert_eq!(one.done("1a 01 000009000000 00000000 00000064 0000"), 0x88);
    assert_eq!(one.done("5744 01000000 ffffffffffffffff ffffffffffffffff"), 0xFF);
    assert_eq!(one.done("1a 01"), 0xFF, "cut off");
}

#[test]
fn lock_set_is_locked_completely_or_not_at_all() {
    let server = server();
    let mut one = LockClient::new(&server, 1);
    let mut two = LockClient::new(&server, 2);
    for start in ["00000000", "00000100"] {
        assert_eq!(one.done(&format!("1a 00 000001000000 {start} 00000010 0000")), 0);
    }
    let second = "00 000001000000 00000108 00000001";
    assert_eq!(two.done("6d 01 000001000000 00000108 00000001 0000"), 0, "nothing is locked yet");
    assert_eq!((one.done("1b 01 0000"), one.done("6e 01 0000")), (0xFE, 0x7F));
    assert_eq!(two.done("48 00 000001000000 00000000 0001"), 0);
    assert_eq!(two.done(&format!("1e {second}")), 0);
    one.task = 2;
    assert_eq!(one.done("6e 01 0000"), 0, "that of another task is empty");
    assert_eq!(two.done("48 00 000001000000 00000000 0001"), 0);
    one.task = 1;
    assert_eq!(one.done("6e 03 0000"), 0);
    assert_eq!((two.done("48 00 000001000000 00000000 0001"), two.done(WRITE)), (0, 0));
    assert_eq!(two.done("49 00 000001000000 00000000 0001 41"), 0xA2);
    assert_eq!(one.done("1d"), 0);
    assert_eq!((two.done("49 00 000001000000 00000000 0001 41"), one.done("1b 01 0000")), (0, 0));
    assert_eq!((one.done("1f"), one.done("1b 01 0000")), (0, 0));
    assert_eq!(two.done("48 00 000001000000 00000000 0001"), 0);
    assert!(!server.shared.open_files.is_empty());
}

#[test]
fn waiting_request_is_busy_and_is_answered_once() {
    let server = server();
    let mut one = LockClient::new(&server, 1);
    let mut two = LockClient::new(&server, 2);
    let set_ms = |now_ms: u64| server.environment().now_ms.store(now_ms, Ordering::Relaxed);
    let resume = |peer: u64| {
        let mut out = Vec::new();
        let until = server.resume(Peer::Stream(peer), &mut out);
        (until, out)
    };
    assert_eq!(one.done(&lock_near("1a", 1, 18)), 0);
    assert_eq!(resume(2), (None, vec![]));
    let lock = lock_near("6d", 1, 36);
    assert!(two.call(&lock).is_empty() && server.waiting() == 1);
    let busy = [0x99, 0x99, two.sequence, 2, 1, 0, 0, 0];
    assert_eq!(two.send("2222", &lock), busy);
    assert_eq!(resume(2), (Some(Duration::from_secs(2)), vec![]));
    assert_eq!(resume(1), (None, vec![]));
    set_ms(2000);
    let late = [0x33, 0x33, two.sequence, 2, 1, 0, 0x7F, 0];
    assert_eq!(resume(2), (None, late.to_vec()));
    assert_eq!((two.send("2222", &lock), server.waiting()), (late.to_vec(), 0));
    assert!(two.call(&lock).is_empty());
    let released = server.environment().released.load(Ordering::Relaxed);
    assert_eq!(one.done(CLEAR), 0);
    assert_eq!(server.environment().released.load(Ordering::Relaxed), released + 1);
    let had = [0x33, 0x33, two.sequence, 2, 1, 0, 0, 0];
    assert_eq!(resume(2), (None, had.to_vec()));
    assert_eq!((resume(2), two.send("2222", &lock)), ((None, vec![]), had.to_vec()));
    // A client that sends another request has cancelled its wait.
    assert!(one.call(&lock).is_empty());
    assert_eq!((one.done("14"), server.waiting()), (0, 0));
    assert_eq!(two.done(CLEAR), 0);
    assert_eq!(resume(1), (None, vec![]));
    assert_eq!(two.done(&lock), 0);
}

#[test]
fn cancelled_wait_on_tcp_is_answered_before_the_next_request() {
    let server = server();
    let mut one = LockClient::new(&server, 1);
    let mut two = LockClient::new(&server, 2);
    assert_eq!(one.done(&lock_far(1, 0)), 0);
    let mut out = Vec::new();
    for call in [&lock_far(1, u32::MAX)[..], "14"] {
        two.sequence += 1;
        let packet = [&hex("2222")[..], &[two.sequence, 2, 1, 0], &hex(call)].concat();
        let head =
            [&b"DmdT"[..], &(16 + packet.len() as u32).to_be_bytes(), &[0, 0, 0, 1, 0, 1, 0, 0]].concat();
        server.receive(two.peer(), TransportKind::Tcp, &[head, packet].concat(), &mut out);
    }
    let late = [&hex("744e6350 00000010 3333")[..], &[two.sequence - 1, 2, 1, 0, 0xFD, 0]].concat();
    assert_eq!(out[..16], late);
    assert_eq!(out[16..26], *[&hex("744e6350 00000017 3333")[..]].concat());
}

/// An event that ends a connection's locks.
type EndEvent = (&'static str, fn(&mut LockClient<'_>));

pub(super) const END_EVENTS: [EndEvent; 8] = [
    ("close", |client| assert_eq!(client.done("42 00 000001000000"), 0)),
    ("end of job", |client| assert_eq!(client.done("18"), 0)),
    ("logout", |client| assert_eq!(client.done("19"), 0)),
    ("login anew", |client| {
        client.call("17000117");
        assert_eq!(client.done("170011187038ac5f8bcc23d200010542454e4348"), 0);
    }),
    ("destroy", |client| {
        client.sequence += 1;
        client.send("5555", "00");
    }),
    ("create anew", |client| {
        client.sequence = 0;
        client.send("1111", "00");
    }),
    ("end of the transport", |client| client.server.disconnect(client.peer())),
    ("watchdog", |client| {
        for minute in 1..30 {
            client.server.environment().now_ms.store(minute * 60_000, Ordering::Relaxed);
            client.server.note_activity(Peer::Stream(2));
            client.server.idle_clients();
        }
    }),
];

#[test]
fn locks_and_share_modes_end_with_their_owner() {
    for (name, end) in END_EVENTS {
        let server = server();
        let mut one = LockClient::new(&server, 1);
        let mut two = LockClient::new(&server, 2);
        assert_eq!(one.done("4c 00 06 0d 05 5359533a46"), 0x80, "another has it open for writing");
        assert_eq!(two.done("42 00 000001000000"), 0);
        assert_eq!(one.done("4c 00 06 09 05 5359533a46"), 0x80, "it has itself");
        assert_eq!(one.done(&lock_near("1a", 1, 0)), 0);
        assert_eq!(two.done("4c 00 06 0b 05 5359533a46"), 0x80);
        end(&mut one);
        assert!(server.shared.open_files.is_empty(), "{name}");
        assert_eq!(two.done("4c 00 06 0f 05 5359533a46"), 0, "{name}");
    }
}

#[test]
fn share_modes_deny_opening_truncating_and_erasing() {
    let server = server();
    let mut one = LockClient::new(&server, 1);
    let mut two = LockClient::new(&server, 2);
    assert_eq!((one.done("42 00 000001000000"), two.done("42 00 000001000000")), (0, 0));
    assert_eq!(one.done(WRITE), 0x88);
    assert_eq!(one.done("4c 00 06 0b 05 5359533a66"), 0, "whatever the case of its name");
    let refused = [
        ("4c 00 06 02 05 5359533a46", 0x80),
        ("4c 00 06 11 05 5359533a46", 0x80),
        ("43 00 00 05 5359533a46", 0x80),
        ("54 00 00 01 02 05 5359533a46", 0x80),
        ("44 00 06 05 5359533a46", 0x8E),
        ("44 00 06 06 5359533a 2a46", 0x8E),
        ("5708 00 00 0600 00 00000000 ff 02 03535953 0146", 0x8E),
    ];
    for (call, completion) in refused {
        assert_eq!(two.done(call), completion, "{call}");
    }
    assert_eq!(two.done("4d 00 00 05 5359533a47"), 0);
    assert_eq!(two.done("42 00 000002000000"), 0);
    assert_eq!(two.done("44 00 06 05 5359533aaa"), 0x8D, "all but one");
    assert_eq!(two.done("4c 00 06 01 05 5359533a46"), 0, "reading is not denied");
    assert_eq!((one.done("42 00 000002000000"), two.done("42 00 000003000000")), (0, 0));
    assert_eq!(two.done("44 00 06 05 5359533aaa"), 0);
    assert!(server.shared.open_files.is_empty());
}
