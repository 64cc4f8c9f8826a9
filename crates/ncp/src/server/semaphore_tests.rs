//! Semaphores, call by call: completion codes, waits, and what ends them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::lock_tests::{END_EVENTS, LockClient, Tested, server};
use super::*;

fn resume(server: &Tested, peer: u64) -> (Option<Duration>, Vec<u8>) {
    let mut out = Vec::new();
    let until = server.resume(Peer::Stream(peer), &mut out);
    (until, out)
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
fn semaphores_end_with_their_owner() {
    for (name, end) in END_EVENTS {
        if name == "close" {
            continue;
        }
        let server = server();
        let mut one = LockClient::new(&server, 1);
        let mut two = LockClient::new(&server, 2);
        assert_eq!((one.done("20 00 00 01 53"), two.done("20 00 00 01 53")), (0, 0));
        end(&mut one);
        let opened = two.call("20 00 00 01 53");
        assert_eq!(opened[12], 2, "{name}: only its own opens are left");
    }
}

/// File sets and logical records.
#[test]
fn locks_without_a_file_handle_are_no_functions() {
    let server = server();
    let mut one = LockClient::new(&server, 1);
    for call in [
        "03 00 01 0000 05 5359533a46",
        "04 0000",
        "69 00 01 0000 05 5359533a46",
        "09 01 0000 01 41",
        "6c 00 0000",
    ] {
        assert_eq!(one.done(call), 0xFB, "{call}");
    }
}
