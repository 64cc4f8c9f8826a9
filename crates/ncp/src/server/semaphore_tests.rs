//! File sets, logical records and semaphores, call by call: completion codes, waits, and what ends them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::lock_tests::{END_EVENTS, LockClient, Tested, server};
use super::*;

const OPEN_F: &str = "4c 00 06 01 05 5359533a46";
const CLOSE_F: &str = "42 00 000001000000";
const READ: &str = "48 00 000001000000 00000000 0001";

fn resume(server: &Tested, peer: u64) -> (Option<Duration>, Vec<u8>) {
    let mut out = Vec::new();
    let until = server.resume(Peer::Stream(peer), &mut out);
    (until, out)
}

/// Logs SYS:F by the call of a function code.
fn log_f(code: &str, flag: u8, ticks: u16) -> String {
    format!("{code} 00 {flag:02x} {ticks:04x} 05 5359533a46")
}

/// docs/protocols/ncp.md 3.3: from the description alone.
#[test]
fn locked_file_denies_access_to_other_connections() {
    let server = server();
    let mut one = LockClient::new(&server, 1);
    let mut two = LockClient::new(&server, 2);
    for (log, lock, refused, again) in [("03", "04 0000", 0xFE, "02"), ("69", "6a 0000", 0x7F, "03")] {
        assert_eq!(one.done(&log_f(log, 0, 0)), 0, "logged only");
        assert_eq!((two.done(READ), two.done(OPEN_F)), (0, 0));
        assert_eq!(two.done(&format!("42 00 0000{again}000000")), 0);
        assert_eq!(one.done(lock), 0);
        assert_eq!((two.done(READ), two.done(OPEN_F)), (0xA2, 0x80));
        assert_eq!(two.done(&log_f(log, 1, 0)), refused);
        assert_eq!((two.done("44 00 06 05 5359533a46"), one.done(READ)), (0x8E, 0));
        assert_eq!((one.done("06 00"), two.done(READ)), (0, 0), "released and still logged");
        assert_eq!((one.done(lock), two.done(READ)), (0, 0xA2));
        assert_eq!((one.done("05 00 05 5359533a46"), two.done(READ)), (0, 0));
        assert_eq!(
            (one.done(lock), one.done("07 00 05 5359533a46"), one.done("07 00 05 5359533a46")),
            (0, 0, 0xFF)
        );
        assert_eq!((one.done(lock), two.done(READ)), (0, 0), "nothing is logged");
        assert_eq!((one.done(&log_f(log, 3, 0)), two.done(&log_f(log, 3, 0))), (0, 0), "shared");
        assert_eq!((two.done(READ), one.done("08 00"), two.done("08")), (0, 0, 0));
    }
    assert_eq!(one.done(&log_f("03", 2, 0)), 0xFF, "no such flag");
    assert_eq!(one.done("03 00 01 0000 05 5359533a47"), 0xFF, "no such file");
    assert_eq!(one.done("03 00 01 0000 04 5359533a"), 0xFF, "a directory");
    assert_eq!(one.done("03 09 01 0000 01 46"), 0x9B, "no such directory handle");
    assert_eq!((one.done(CLOSE_F), two.done(CLOSE_F)), (0, 0));
    assert!(server.shared.open_files.is_empty());
}

/// docs/protocols/ncp.md 3.3: from the description alone.
#[test]
fn logical_records_are_logged_locked_and_released() {
    let server = server();
    let mut one = LockClient::new(&server, 1);
    let mut two = LockClient::new(&server, 2);
    for (log, lock, refused) in [("09", "0a", 0xFE), ("6b", "6c", 0x7F)] {
        for name in ["01 41", "01 42"] {
            assert_eq!(one.done(&format!("{log} 00 0000 {name}")), 0);
        }
        assert_eq!(two.done(&format!("{log} 01 0000 01 42")), 0, "nothing is locked yet");
        assert_eq!(one.done(&format!("{lock} 01 0000")), refused);
        assert_eq!(one.done(&format!("{lock} 00 0000")), refused, "a shared set");
        assert_eq!((two.done("0c 01 42"), one.done(&format!("{lock} 00 0000"))), (0, 0));
        assert_eq!(two.done(&format!("{log} 03 0000 01 42")), 0, "both share it");
        assert_eq!(one.done(&format!("{lock} 01 0000")), refused);
        assert_eq!((two.done("0b 01 42"), one.done(&format!("{lock} 01 0000"))), (0, 0));
        assert_eq!(two.done(&format!("{log} 03 0000 01 41")), refused);
        one.task = 2;
        assert_eq!((one.done("0e 00"), two.done(&format!("{log} 03 0000 01 41"))), (0, refused));
        one.task = 1;
        assert_eq!((one.done("0d 00"), two.done(&format!("{log} 01 0000 01 41"))), (0, 0));
        assert_eq!(one.done(&format!("{lock} 01 0000")), refused, "still logged");
        assert_eq!((one.done("0e 00"), one.done("0b 01 41"), two.done("0e")), (0, 0xFF, 0));
    }
    assert_eq!((one.done("09 02 0000 01 41"), one.done("09 01 0000 00")), (0xFF, 0xFF));
}

/// docs/protocols/ncp.md 3.3: from the description alone.
#[test]
fn semaphores_count_and_have_a_queue() {
    let server = server();
    for family in ["20", "6f"] {
        let mut clients: Vec<_> = (1..=3).map(|number| LockClient::new(&server, number)).collect();
        let opened: Vec<_> = clients
            .iter_mut()
            .map(|client| client.call(&format!("{family} 00 01 02 5345"))[8..].to_vec())
            .collect();
        let handle = u32::from_be_bytes(*opened[0].first_chunk().unwrap());
        let handle = format!("{handle:08x}");
        assert_eq!(opened.iter().map(|reply| reply[4]).collect::<Vec<_>>(), [1, 2, 3]);
        let wait = |ticks: u16| format!("{family} 02 {handle} {ticks:04x}");
        let call = |number: u8| format!("{family} {number:02x} {handle}");
        let [one, two, three] = &mut clients[..] else { panic!() };
        assert_eq!((one.done(&wait(0)), one.done(&wait(0))), (0, 0xFE));
        assert!(two.call(&wait(18)).is_empty() && three.call(&wait(36)).is_empty());
        assert_eq!((one.call(&call(1))[8..].to_vec(), server.waiting()), (vec![254, 3], 2));
        let released = server.environment().released.load(Ordering::Relaxed);
        assert_eq!(one.done(&call(3)), 0);
        assert!(server.environment().released.load(Ordering::Relaxed) > released);
        assert_eq!(
            (resume(&server, 3).1, one.done(&wait(0))),
            (vec![], 0xFE),
            "the first in the queue is next"
        );
        assert_eq!(resume(&server, 2).1[6], 0);
        server.environment().now_ms.fetch_add(2000, Ordering::Relaxed);
        assert_eq!((resume(&server, 3).1[6], server.waiting()), (0xFE, 0), "too late");
        assert_eq!(one.call(&call(1))[8..], [0, 3]);
        assert_eq!((one.done(&call(4)), one.done(&call(4)), one.done(&call(3))), (0, 0xFF, 0xFF));
        assert_eq!((two.done(&call(4)), three.done("18"), two.done(&call(1))), (0, 0, 0xFF));
        for client in &clients {
            server.disconnect(client.peer());
        }
    }
    let mut one = LockClient::new(&server, 1);
    assert_eq!(
        (one.done("20 00 80 01 53"), one.done("20 00 01 00"), one.done("20 01 00000063")),
        (0xFF, 0xFE, 0xFF)
    );
}

#[test]
fn file_sets_logical_records_and_semaphores_end_with_their_owner() {
    for (name, end) in END_EVENTS {
        if name == "close" {
            continue;
        }
        let server = server();
        let mut one = LockClient::new(&server, 1);
        let mut two = LockClient::new(&server, 2);
        assert_eq!((one.done(&log_f("03", 1, 0)), one.done("09 01 0000 01 41")), (0, 0));
        assert_eq!((one.done("20 00 00 01 53"), two.done("20 00 00 01 53")), (0, 0));
        assert_eq!((two.done(READ), two.done("09 01 0000 01 41")), (0xA2, 0xFE));
        end(&mut one);
        assert_eq!((two.done(READ), two.done("09 01 0000 01 41")), (0, 0), "{name}");
        let opened = two.call("20 00 00 01 53");
        assert_eq!(opened[12], 2, "{name}: only its own opens are left");
    }
}

#[test]
fn request_that_waits_for_a_file_or_a_name_is_resumed_by_its_release() {
    let server = server();
    let mut one = LockClient::new(&server, 1);
    let mut two = LockClient::new(&server, 2);
    for (lock, release) in [(log_f("69", 1, 180), "08 00"), ("6b 01 00b4 01 41".to_owned(), "0e 00")] {
        assert_eq!(one.done(&lock), 0);
        assert!(two.call(&lock).is_empty());
        assert_eq!((resume(&server, 2).1, one.done(release)), (vec![], 0));
        assert_eq!(resume(&server, 2).1[6], 0);
        assert_eq!((two.done(release), server.waiting()), (0, 0));
    }
}
