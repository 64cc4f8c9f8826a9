//! Faults of NFSv4: lost connections and replies, sessions and leases that end, grace periods, recalls.

use std::sync::mpsc;
use std::time::Duration;

use sharebench_tests::program::poll;
use sharebench_tests::{Signal, Way};

use crate::case::{After, Case, Course, PLAIN};
use crate::fault_test::FaultTest;
use crate::peer::Kind::{Ganesha4, Nfs4, Nfs4Connections};
use crate::peer::{Kind, Peer};
use crate::stage::Stage;
use crate::within::Within;

/// Length of the prefix of a message.
const PREFIX: usize = 4;
/// Offset of the COMPOUND in an accepted reply without verifier (RFC 5531, 9; RFC 8881, 16.2): status, empty tag, count.
const COMPOUND: usize = PREFIX + 24;
/// Offset of the first result: operation, status, and of SEQUENCE the session.
const RESULTS: usize = COMPOUND + 12;
const SESSION: std::ops::Range<usize> = RESULTS + 8..RESULTS + 24;
const READ: u32 = 25;
const WRITE: u32 = 38;
const SEQUENCE: u32 = 53;
const BADSESSION: u32 = 10_052;
/// Program of callbacks of this client.
const CALLBACK_PROGRAM: u32 = 0x4000_0000;
/// Longer than any wait of the suite for an event.
const LIMIT: Duration = Duration::from_secs(60);
/// Recalls in the course of a run.
const RECALLS: u32 = 20;

const fn lost_reply(at: Kind) -> Case {
    let fault = "the reply to a call in a slot lost with its connection";
    Case { fault, at, stage: Stage::Proxy, inject: lose_reply, run: Course::Endures, ..PLAIN }
}

const fn destroyed(at: Kind) -> Case {
    let fault = "session destroyed (NFS4ERR_BADSESSION)";
    Case { fault, at, stage: Stage::Proxy, inject: destroy_session, after: After::Resume, ..PLAIN }
}

/// The rows, in the order of the table.
pub const CASES: &[Case] = &[
    Case {
        fault: "one of four connections reset",
        at: Nfs4Connections,
        stage: Stage::Proxy,
        inject: reset_one,
        run: Course::Endures,
        ..PLAIN
    },
    lost_reply(Ganesha4),
    lost_reply(Nfs4),
    destroyed(Ganesha4),
    destroyed(Nfs4),
    Case {
        fault: "sharebench stopped until its lease had expired",
        at: Nfs4,
        stage: Stage::Within,
        inject: outlast_lease,
        after: After::Resume,
        ..PLAIN
    },
    Case {
        fault: "server restarted, with a grace period",
        at: Nfs4,
        stage: Stage::Within,
        inject: restart,
        run: Course::EndsAndMayCleanUp,
        after: After::Resume,
        ..PLAIN
    },
    Case {
        fault: "20 recalls of delegations that the client does not have",
        at: Nfs4,
        stage: Stage::Proxy,
        inject: recall,
        run: Course::Endures,
        ..PLAIN
    },
];

/// True for a reply to a call in a session.
fn is_in_session(way: Way, message: &[u8]) -> bool {
    let word = |at: usize| message.get(at..at + 4).map(|bytes| u32::from_be_bytes(bytes.try_into().unwrap()));
    // A reply that is accepted, with an empty tag.
    let accepted = word(PREFIX + 4) == Some(1) && word(COMPOUND + 4) == Some(0);
    way == Way::ToClient && accepted && word(RESULTS) == Some(SEQUENCE) && word(RESULTS + 4) == Some(0)
}

fn reset_one(test: &mut FaultTest) {
    assert!(poll(LIMIT, || test.proxy().accepted() >= 4), "{} connections", test.proxy().accepted());
    test.proxy().reset_one(2);
}

/// Drops the next reply, and then resets its connection.
fn lose_reply(test: &mut FaultTest) {
    let (sender, lost) = mpsc::channel();
    let mut dropped = false;
    test.proxy().tamper(move |way, message| {
        if dropped || !is_in_session(way, &message) {
            return vec![message];
        }
        dropped = true;
        let _ = sender.send(());
        Vec::new()
    });
    lost.recv_timeout(LIMIT).unwrap();
    test.proxy().reset();
}

/// True for a reply to a READ or WRITE: a file is open.
fn is_of_data(message: &[u8]) -> bool {
    // After the results of SEQUENCE and PUTFH.
    let at = RESULTS + 8 + 36 + 8;
    let operation = message.get(at..at + 4).map(|bytes| u32::from_be_bytes(bytes.try_into().unwrap()));
    matches!(operation, Some(READ | WRITE))
}

/// Replaces the next reply to a READ or WRITE by one that knows no session. A client without open files would become a new one.
fn destroy_session(test: &mut FaultTest) {
    let mut struck = false;
    test.proxy().tamper(move |way, mut message| {
        if !struck && is_in_session(way, &message) && is_of_data(&message) {
            struck = true;
            message.truncate(COMPOUND);
            for word in [BADSESSION, 0, 1, SEQUENCE, BADSESSION] {
                message.extend_from_slice(&word.to_be_bytes());
            }
            let len = (message.len() - PREFIX) as u32 | 1 << 31;
            message[..PREFIX].copy_from_slice(&len.to_be_bytes());
        }
        vec![message]
    });
}

fn within(test: &mut FaultTest) -> &mut Within {
    match &mut test.peer {
        Peer::Within(server, _) => server,
        _ => panic!("the server is in another process"),
    }
}

/// Stops the client until the server has removed it with all that it had.
fn outlast_lease(test: &mut FaultTest) {
    test.running.signal(Signal::STOP);
    let server = within(test);
    let expired = poll(LIMIT, || server.nfs4_clients() == 0);
    test.running.signal(Signal::CONT);
    assert!(expired, "the lease has not ended");
}

fn restart(test: &mut FaultTest) {
    within(test).restart();
}

/// A call that recalls a delegation in the only slot of the back channel (RFC 8881, 20.2 and 20.9).
fn recall_call(session: &[u8], number: u32) -> Vec<u8> {
    let words = |out: &mut Vec<u8>, words: &[u32]| {
        for word in words {
            out.extend_from_slice(&word.to_be_bytes());
        }
    };
    let mut call = vec![0; PREFIX];
    // Identifier, call, RPC 2, program, version, CB_COMPOUND, empty credential and verifier.
    words(&mut call, &[0xCA11_0000 + number, 0, 2, CALLBACK_PROGRAM, 1, 1, 0, 0, 0, 0]);
    // Empty tag, minor version, no identifier, two operations; CB_SEQUENCE.
    words(&mut call, &[0, 1, 0, 2, 11]);
    call.extend_from_slice(session);
    // Number, slot, highest slot, reply not kept, no referring calls; CB_RECALL with a state id, and a handle.
    words(&mut call, &[number, 0, 0, 0, 0, 4, 1, 7, 7, 7, 0, 4, 7]);
    let len = (call.len() - PREFIX) as u32 | 1 << 31;
    call[..PREFIX].copy_from_slice(&len.to_be_bytes());
    call
}

/// Inserts recalls before replies, each after the answer to the one before.
fn recall(test: &mut FaultTest) {
    let mut number = 0;
    let mut answered = 0;
    test.proxy().tamper(move |way, message| {
        let is_reply = message.get(PREFIX + 4..PREFIX + 8) == Some(&[0, 0, 0, 1]);
        if way == Way::ToServer && is_reply {
            // The server has not called.
            answered += 1;
            return Vec::new();
        }
        if number < RECALLS && number == answered && is_in_session(way, &message) {
            number += 1;
            return vec![recall_call(&message[SESSION], number), message];
        }
        vec![message]
    });
}
