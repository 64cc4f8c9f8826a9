//! Faults of the protocol: expired sessions, missing credits, `NFS3ERR_JUKEBOX`, damaged data, removed shares.

use std::collections::HashSet;
use std::fs;

use sharebench_tests::Way;

use crate::case::{After, Case, Course, PLAIN};
use crate::fault_test::FaultTest;
use crate::peer::Kind::{Ganesha, Local, Ncp, Nfs, Smb, Smbd};
use crate::peer::{Kind, Peer};
use crate::stage::Stage;

/// Length of the prefix of a message.
const PREFIX: usize = 4;
/// Fields of an SMB2 header (MS-SMB2 2.2.1), after the prefix.
const STATUS: std::ops::Range<usize> = PREFIX + 8..PREFIX + 12;
const COMMAND: std::ops::Range<usize> = PREFIX + 12..PREFIX + 14;
const CREDITS: std::ops::Range<usize> = PREFIX + 14..PREFIX + 16;
const FLAGS: std::ops::Range<usize> = PREFIX + 16..PREFIX + 20;
const SMB_HEADER: usize = PREFIX + 64;
/// Body of an error response without details (MS-SMB2 2.2.2).
const NO_DETAILS: [u8; 9] = [9, 0, 0, 0, 0, 0, 0, 0, 0];
const NETWORK_SESSION_EXPIRED: u32 = 0xC000_035C;
const OPLOCK_BREAK: u16 = 18;
const SMB_READ: u16 = 8;

/// Offset of the NFS status in an accepted reply without verifier (RFC 5531, RFC 1813).
const NFS_STATUS: usize = PREFIX + 24;
const NFS_READ: u32 = 6;
const JUKEBOX: u32 = 10_008;
/// Consecutive replies with `NFS3ERR_JUKEBOX`.
const LATER: usize = 20;

const fn expired(at: Kind) -> Case {
    Case { fault: "session expired", at, stage: Stage::Proxy, inject: expire, run: Course::Endures, ..PLAIN }
}

const fn unasked(at: Kind) -> Case {
    Case {
        fault: "lease break without a lease",
        at,
        stage: Stage::Proxy,
        inject: break_leases,
        run: Course::Endures,
        ..PLAIN
    }
}

const fn starved(at: Kind) -> Case {
    Case { fault: "no more credits granted", at, stage: Stage::Proxy, inject: starve, heal, ..PLAIN }
}

const fn sparing(at: Kind) -> Case {
    Case {
        fault: "one credit granted per reply",
        at,
        stage: Stage::Proxy,
        inject: spare,
        run: Course::Endures,
        ..PLAIN
    }
}

const fn later(at: Kind) -> Case {
    let fault = "20 reads answered with \"come back later\" (NFS3ERR_JUKEBOX)";
    Case { fault, at, stage: Stage::Proxy, inject: put_off_reads, run: Course::Endures, ..PLAIN }
}

const fn grace(at: Kind) -> Case {
    let fault = "grace period: 20 calls of any kind answered with \"come back later\"";
    Case { fault, at, stage: Stage::Proxy, inject: put_off_names, run: Course::Endures, ..PLAIN }
}

const fn damaged(at: Kind) -> Case {
    let fault = "one bit of the read data flipped on the path, `verify = full`";
    Case { fault, at, stage: Stage::Proxy, verify_full: true, inject: damage, ..PLAIN }
}

/// A fault that `verify = stamps` does not detect: it checks the stamps of every 512 bytes, not the bytes between them.
const fn unseen(at: Kind) -> Case {
    let fault = "one bit of the read data flipped on the path, `verify = stamps`";
    Case { fault, at, stage: Stage::Proxy, inject: damage, run: Course::Endures, ..PLAIN }
}

const fn emptied(at: Kind) -> Case {
    let fault = "the run's directory removed by another client";
    Case { fault, at, inject: empty, after: After::Resume, ..PLAIN }
}

/// The rows, in the order of the table.
pub const CASES: &[Case] = &[
    expired(Smbd),
    expired(Smb),
    unasked(Smbd),
    unasked(Smb),
    starved(Smbd),
    starved(Smb),
    sparing(Smbd),
    sparing(Smb),
    Case {
        fault: "share removed",
        at: Smbd,
        inject: remove_share,
        heal: restart,
        after: After::Resume,
        ..PLAIN
    },
    later(Ganesha),
    later(Nfs),
    grace(Ganesha),
    grace(Nfs),
    damaged(Smb),
    damaged(Nfs),
    unseen(Smb),
    emptied(Smbd),
    emptied(Ganesha),
    emptied(Smb),
    emptied(Nfs),
    emptied(Ncp),
    emptied(Local),
];

fn heal(test: &mut FaultTest) {
    test.proxy().heal();
}

fn restart(test: &mut FaultTest) {
    test.peer.restart(&test.sharebench);
}

fn command(message: &[u8]) -> Option<u16> {
    let plain = message.get(PREFIX..PREFIX + 4)? == b"\xFESMB";
    message.get(COMMAND).filter(|_| plain).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

/// Replaces the next reply by one that reports a deleted session, unsigned, because a server without a session has no key.
/// Replaces the reply to a read, which the client may perform again: the server has performed what it answers.
fn expire(test: &mut FaultTest) {
    let mut struck = false;
    test.proxy().tamper(move |way, mut message| {
        if way == Way::ToClient && !struck && command(&message) == Some(SMB_READ) {
            struck = true;
            message[STATUS].copy_from_slice(&NETWORK_SESSION_EXPIRED.to_le_bytes());
            message[FLAGS.start] &= !8;
            message.truncate(SMB_HEADER);
            message.extend_from_slice(&NO_DETAILS);
            let len = (message.len() - PREFIX) as u32;
            message[..PREFIX].copy_from_slice(&len.to_be_bytes());
        }
        vec![message]
    });
}

/// Inserts a lease break before every reply (MS-SMB2 2.2.23.1).
fn break_leases(test: &mut FaultTest) {
    test.proxy().tamper(|way, message| {
        if way == Way::ToServer || command(&message).is_none() {
            return vec![message];
        }
        let mut unasked = message[..SMB_HEADER].to_vec();
        unasked[STATUS].fill(0);
        unasked[COMMAND].copy_from_slice(&OPLOCK_BREAK.to_le_bytes());
        unasked[CREDITS].fill(0);
        unasked[FLAGS].copy_from_slice(&[1, 0, 0, 0]);
        // The message id is set; session, tree and signature are zero.
        unasked[PREFIX + 24..PREFIX + 32].fill(0xFF);
        unasked[PREFIX + 32..].fill(0);
        unasked.extend_from_slice(&[24, 0, 0, 0]);
        unasked.resize(SMB_HEADER + 24, 7);
        let len = (unasked.len() - PREFIX) as u32;
        unasked[..PREFIX].copy_from_slice(&len.to_be_bytes());
        vec![unasked, message]
    });
}

fn starve(test: &mut FaultTest) {
    test.proxy().tamper(|way, mut message| {
        if way == Way::ToClient && command(&message).is_some() {
            message[CREDITS].fill(0);
        }
        vec![message]
    });
}

fn spare(test: &mut FaultTest) {
    test.proxy().tamper(|way, mut message| {
        // Some replies grant none, such as the second one to a request; they must not gain any.
        let is_generous = |message: &[u8]| message[CREDITS] != [0, 0];
        if way == Way::ToClient && command(&message).is_some() && is_generous(&message) {
            message[CREDITS].copy_from_slice(&[1, 0]);
        }
        vec![message]
    });
}

/// Parses a call, or returns `None` for any other message.
fn procedure(message: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| Some(u32::from_be_bytes(*message.get(PREFIX + at..)?.first_chunk()?));
    (word(4)? == 0).then_some((word(0)?, word(20)?))
}

/// Builds an error reply without attributes.
fn refused(message: &[u8], status: u32) -> Vec<u8> {
    let mut reply = message[..NFS_STATUS].to_vec();
    reply.resize(NFS_STATUS, 0);
    reply.extend_from_slice(&status.to_be_bytes());
    // Neither attributes before nor after the call.
    reply.extend_from_slice(&[0; 8]);
    let len = (reply.len() - PREFIX) as u32 | 1 << 31;
    reply[..PREFIX].copy_from_slice(&len.to_be_bytes());
    reply
}

/// Builds a NULL call to replace another call, so that the server does not execute what the client sees as rejected.
fn null_call(message: &[u8]) -> Vec<u8> {
    let mut call = message[..PREFIX + 20].to_vec();
    // Procedure NULL with empty credential and verifier.
    call.extend_from_slice(&[0; 20]);
    let len = (call.len() - PREFIX) as u32 | 1 << 31;
    call[..PREFIX].copy_from_slice(&len.to_be_bytes());
    call
}

fn put_off(test: &mut FaultTest, which: fn(u32) -> bool) {
    let mut calls = HashSet::new();
    let mut left = LATER;
    test.proxy().tamper(move |way, message| {
        if way == Way::ToServer {
            if let Some((xid, asked)) = procedure(&message)
                && left > 0
                && which(asked)
            {
                left -= 1;
                calls.insert(xid);
                return vec![null_call(&message)];
            }
            return vec![message];
        }
        let xid =
            message.get(PREFIX..).and_then(|rest| rest.first_chunk()).map(|xid| u32::from_be_bytes(*xid));
        if xid.is_some_and(|xid| calls.remove(&xid)) {
            return vec![refused(&message, JUKEBOX)];
        }
        vec![message]
    });
}

fn put_off_reads(test: &mut FaultTest) {
    put_off(test, |procedure| procedure == NFS_READ);
}

/// Delays calls on names and attributes: a client that fails here would lose its run.
fn put_off_names(test: &mut FaultTest) {
    put_off(test, |procedure| !matches!(procedure, 0 | 6 | 7 | 21));
}

/// Flips a bit of the last byte of a READ reply.
fn damage(test: &mut FaultTest) {
    let mut struck = false;
    test.proxy().tamper(move |way, mut message| {
        let of_smb = command(&message);
        let read = of_smb == Some(SMB_READ) || of_smb.is_none();
        // Only replies to a READ of these records are this large.
        if way == Way::ToClient && !struck && read && message.len() > 4096 {
            struck = true;
            let place = message.len() - 7;
            message[place] ^= 0x10;
        }
        vec![message]
    });
}

fn remove_share(test: &mut FaultTest) {
    if let Peer::Smbd(smbd) = &test.peer {
        smbd.remove_share().unwrap();
    }
}

/// Repeats until the directory is empty, because the run continues to create files.
fn empty(test: &mut FaultTest) {
    let directory = test.peer.directory();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().starts_with(".sharebench-") {
            while fs::remove_dir_all(entry.path()).is_err() && entry.path().exists() {}
        }
    }
}
