//! Leases, with two clients that differ in the keys of their leases.

use std::io::Write;

use sharebench_smb::wire::create_context::{CreateContext, contexts, name};
use sharebench_smb::wire::frame::prefix;
use sharebench_smb::wire::lease::{LEVEL, LeaseAcknowledgment, LeaseBreak, LeaseContext};
use sharebench_smb::wire::oplock::OplockBreak;

use super::*;

const CAN_LEASE: u32 = 2;
pub(super) const KEY: [u8; 16] = [7; 16];
/// Reading, handles and writing.
pub(super) const EVERYTHING: u32 = 7;

fn volume() -> Arc<dyn Volume> {
    Arc::new(MemoryVolume::new(16 << 20))
}

fn serve(leases: bool, exclusive: bool) -> SmbServer {
    let options = SmbServerOptions { leases, exclusive, ..SmbServerOptions::default() };
    SmbServer::start("127.0.0.1:0".parse().unwrap(), volume(), options).unwrap()
}

pub(super) fn leased(name: &str, key: [u8; 16], state: u32) -> CreateRequest {
    let lease = LeaseContext { key, state, ..LeaseContext::default() };
    CreateRequest {
        oplock: LEVEL,
        contexts: vec![CreateContext::new(name::REQUEST_LEASE, &lease.encode())],
        ..wanted(name, disposition::OPEN_IF)
    }
}

/// Opens a file with a request for a lease, and returns what is granted.
pub(super) fn open_leased(
    raw: &mut Raw,
    name: &str,
    key: [u8; 16],
    state: u32,
) -> (FileId, Option<LeaseContext>) {
    open_with_lease(raw, &leased(name, key, state))
}

/// Opens something, and returns the lease that is granted.
pub(super) fn open_with_lease(raw: &mut Raw, request: &CreateRequest) -> (FileId, Option<LeaseContext>) {
    let (header, reply) = raw.call(command::CREATE, |body| request.encode(body));
    assert_eq!((header.command, NtStatus(header.status)), (command::CREATE, NtStatus::SUCCESS));
    let response = CreateResponse::decode(&reply).unwrap();
    let at = response.contexts_offset as usize;
    let answered = contexts(&reply[at..at + response.contexts_len as usize]).unwrap();
    let lease = answered.iter().find(|context| context.name == name::REQUEST_LEASE);
    let lease = lease.map(|context| LeaseContext::decode(&context.data).unwrap());
    assert_eq!(response.oplock, if lease.is_some() { LEVEL } else { 0 });
    (response.file, lease)
}

/// The state that is granted with an open that wants to cache reads.
fn granted(raw: &mut Raw, key: [u8; 16]) -> (FileId, u32) {
    let (file, lease) = open_leased(raw, "file", key, 1);
    (file, lease.unwrap().state)
}

/// Receives the notification of a break.
pub(super) fn broken(raw: &mut Raw) -> LeaseBreak {
    let message = raw.receive().unwrap();
    let header = Header::decode(&message).unwrap();
    assert_eq!((header.command, header.message_id), (command::OPLOCK_BREAK, u64::MAX));
    LeaseBreak::decode(&message).unwrap()
}

pub(super) fn acknowledge(raw: &mut Raw, key: [u8; 16], state: u32) -> NtStatus {
    let acknowledgment = LeaseAcknowledgment { key, state, ..LeaseAcknowledgment::default() };
    NtStatus(raw.call(command::OPLOCK_BREAK, |body| acknowledgment.encode(body)).0.status)
}

/// Receives the notification that a lease has ended.
fn assert_ended(raw: &mut Raw) {
    let ended = broken(raw);
    assert_eq!((ended.key, ended.flags, ended.current, ended.new), (KEY, 0, 1, 0));
}

#[test]
fn a_change_by_another_client_ends_a_lease_once() {
    type Change = fn(&mut Raw, FileId) -> NtStatus;
    let changes: [Change; 5] = [
        |raw, file| raw.write(file, 0, b"new"),
        |raw, file| raw.set(file, 20, 1u64.to_le_bytes().to_vec()),
        |raw, file| raw.set(file, 19, 0u64.to_le_bytes().to_vec()),
        |raw, _| {
            raw.open("file", disposition::OVERWRITE).map_or_else(|status| status, |file| raw.close(file))
        },
        |raw, file| {
            let status = raw.lock(file, (0, 1), lock_flags::EXCLUSIVE | lock_flags::FAIL_IMMEDIATELY);
            assert_eq!(raw.lock(file, (0, 1), lock_flags::UNLOCK), NtStatus::SUCCESS);
            status
        },
    ];
    let server = serve(true, false);
    let mut reader = Raw::log_in(server.addr(), "share");
    let mut writer = Raw::log_in(server.addr(), "share");
    for change in changes {
        let (file, state) = granted(&mut reader, KEY);
        assert_eq!(state, 1, "reading and nothing else may be cached");
        assert_eq!(reader.write(file, 0, b"its own"), NtStatus::SUCCESS);
        let other = writer.open("file", disposition::OPEN).unwrap();
        assert_eq!(change(&mut writer, other), NtStatus::SUCCESS);
        assert_ended(&mut reader);
        // The next message is the reply, so that a lease ends once, and its client's own change ended none.
        assert_eq!(change(&mut writer, other), NtStatus::SUCCESS);
        assert_eq!(reader.close(file), NtStatus::SUCCESS);
        assert_eq!(writer.close(other), NtStatus::SUCCESS);
    }
}

#[test]
fn a_write_of_no_bytes_ends_no_lease() {
    let server = serve(true, false);
    let mut reader = Raw::log_in(server.addr(), "share");
    let mut writer = Raw::log_in(server.addr(), "share");
    let (file, _) = granted(&mut reader, KEY);
    let other = writer.open("file", disposition::OPEN).unwrap();
    for offset in [0, 64, 1 << 40] {
        assert_eq!(writer.write(other, offset, b""), NtStatus::SUCCESS);
    }
    // The next message to the reader is the reply, and the one after the first byte is the break.
    assert_eq!(reader.write(file, 0, b"its own"), NtStatus::SUCCESS);
    assert_eq!(writer.write(other, 0, b"n"), NtStatus::SUCCESS);
    assert_ended(&mut reader);
}

#[test]
fn opens_of_one_lease_share_it_and_it_is_granted_again_after_a_change() {
    let server = serve(true, false);
    let mut reader = Raw::log_in(server.addr(), "share");
    let mut writer = Raw::log_in(server.addr(), "share");
    let (first, _) = granted(&mut reader, KEY);
    let (second, state) = granted(&mut reader, KEY);
    assert_eq!(state, 1);
    assert_eq!(reader.close(first), NtStatus::SUCCESS);
    let other = writer.open("file", disposition::OPEN).unwrap();
    assert_eq!(writer.write(other, 0, b"new"), NtStatus::SUCCESS);
    assert_ended(&mut reader);
    let (third, state) = granted(&mut reader, KEY);
    assert_eq!(state, 1);
    assert_eq!(reader.close(second), NtStatus::SUCCESS);
    assert_eq!(reader.close(third), NtStatus::SUCCESS);
    // With the last open the lease is gone, and nobody is notified of a change.
    assert_eq!(writer.write(other, 0, b"newer"), NtStatus::SUCCESS);
    let (file, state) = granted(&mut reader, KEY);
    assert_eq!(state, 1);
    let acknowledgment = OplockBreak { file, ..OplockBreak::default() };
    let (header, _) = reader.call(command::OPLOCK_BREAK, |body| acknowledgment.encode(body));
    assert_eq!(NtStatus(header.status), NtStatus::INVALID_OPLOCK_PROTOCOL);
}

#[test]
fn no_lease_is_granted_for_directories_for_locked_files_and_without_the_option() {
    let server = serve(true, false);
    let mut raw = Raw::log_in(server.addr(), "share");
    assert_ne!(Raw::connect(server.addr()).negotiate().capabilities & CAN_LEASE, 0);
    assert_eq!(open_leased(&mut raw, "", KEY, EVERYTHING).1, None);
    let file = raw.open("file", disposition::CREATE).unwrap();
    let flags = lock_flags::SHARED | lock_flags::FAIL_IMMEDIATELY;
    assert_eq!(raw.lock(file, (0, 1), flags), NtStatus::SUCCESS);
    assert_eq!(granted(&mut raw, KEY).1, 0);

    let without = serve(false, false);
    assert_eq!(Raw::connect(without.addr()).negotiate().capabilities & CAN_LEASE, 0);
    let mut raw = Raw::log_in(without.addr(), "share");
    assert_eq!(open_leased(&mut raw, "file", KEY, EVERYTHING).1, None);
}

#[test]
fn an_open_waits_until_a_lease_on_writes_is_given_back() {
    let server = serve(true, true);
    let mut writer = Raw::log_in(server.addr(), "share");
    let mut other = Raw::log_in(server.addr(), "share");
    let (file, lease) = open_leased(&mut writer, "file", KEY, EVERYTHING);
    assert_eq!(lease.unwrap().state, EVERYTHING);
    for cancelled in [true, false] {
        let request = wanted("file", disposition::OPEN);
        let create = other.message(command::CREATE, 0, |body| request.encode(body));
        other.send(&create);
        assert_eq!(other.status(), NtStatus::PENDING);
        if cancelled {
            let ended = broken(&mut writer);
            assert_eq!((ended.flags, ended.current, ended.new), (1, 7, 3));
            other.send(&cancellation(&create));
            assert_eq!(other.status(), NtStatus::CANCELLED);
        }
    }
    // What the client has cached is written back before its acknowledgment.
    assert_eq!(writer.write(file, 0, b"cached"), NtStatus::SUCCESS);
    assert_eq!(acknowledge(&mut writer, KEY, 7), NtStatus::REQUEST_NOT_ACCEPTED);
    assert_eq!(acknowledge(&mut writer, KEY, 3), NtStatus::SUCCESS);
    assert_eq!(acknowledge(&mut writer, KEY, 3), NtStatus::UNSUCCESSFUL);
    let reply = other.receive().unwrap();
    assert_eq!(Header::decode(&reply).unwrap().status, 0);
    let opened = CreateResponse::decode(&reply).unwrap();
    assert_eq!((opened.end_of_file, other.read(opened.file, 0, 100)), (6, Ok(b"cached".to_vec())));
}

/// The Linux client waits for ever if the last reply of a compound arrives before the others.
#[test]
fn a_compound_whose_requests_wait_one_after_another_is_answered_in_its_order() {
    let server = serve(true, true);
    let mut writer = Raw::log_in(server.addr(), "share");
    let mut other = Raw::log_in(server.addr(), "share");
    for (name, key) in [("file", KEY), ("replaced", [8; 16])] {
        assert_eq!(open_leased(&mut writer, name, key, EVERYTHING).1.unwrap().state, EVERYTHING);
    }
    let create = wanted("file", disposition::OPEN);
    let file = FileId::PREVIOUS;
    let information = rename("replaced");
    let set = SetInfoRequest { info_type: 1, class: 10, file, additional: 0, information };
    let close = CloseRequest { file, ..CloseRequest::default() };
    let compound = compound([
        other.message(command::CREATE, 0, |body| create.encode(body)),
        other.message(command::SET_INFO, flags::RELATED, |body| set.encode(body)),
        other.message(command::CLOSE, flags::RELATED, |body| close.encode(body)),
    ]);
    other.send(&compound);
    let mut seen = Vec::new();
    while !seen.iter().any(|(command, _)| *command == command::CLOSE) {
        let replies = other.replies();
        let waits = replies.iter().any(|reply| NtStatus(reply.status) == NtStatus::PENDING);
        seen.extend(replies.iter().map(|reply| (reply.command, NtStatus(reply.status) == NtStatus::PENDING)));
        if waits {
            let ended = broken(&mut writer);
            assert_eq!(acknowledge(&mut writer, ended.key, ended.new), NtStatus::SUCCESS);
        }
    }
    let expected = [
        (command::CREATE, true),
        (command::CREATE, false),
        (command::SET_INFO, true),
        (command::SET_INFO, false),
        (command::CLOSE, false),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_client_that_disappears_delays_nobody() {
    let server = serve(true, true);
    let mut writer = Raw::log_in(server.addr(), "share");
    let mut other = Raw::log_in(server.addr(), "share");
    open_leased(&mut writer, "file", KEY, EVERYTHING);
    let request = wanted("file", disposition::OPEN);
    let create = other.message(command::CREATE, 0, |body| request.encode(body));
    other.send(&create);
    assert_eq!(other.status(), NtStatus::PENDING);
    drop(writer);
    assert_eq!(other.status(), NtStatus::SUCCESS);
}

#[test]
fn a_lease_belongs_to_one_file() {
    let server = serve(true, false);
    let mut raw = Raw::log_in(server.addr(), "share");
    open_leased(&mut raw, "file", KEY, EVERYTHING);
    // The second one is the directory, which is granted none.
    for other in ["other", ""] {
        assert_eq!(
            raw.create(&leased(other, KEY, EVERYTHING)).err(),
            Some(NtStatus::INVALID_PARAMETER),
            "{other}"
        );
    }
}

/// On a volume that blocks, requests run in parallel.
#[test]
fn the_breaks_of_a_rename_precede_the_replies_to_later_requests() {
    let slow = DeviceVolume::new(MemoryVolume::new(16 << 20), DeviceOptions::default());
    let options = SmbServerOptions { leases: true, exclusive: true, ..SmbServerOptions::default() };
    let server = SmbServer::start("127.0.0.1:0".parse().unwrap(), Arc::new(slow), options).unwrap();
    let mut raw = Raw::log_in(server.addr(), "share");
    for round in 0..50 {
        let [from, to] = ["from", "to"].map(|name| format!("{name}-{round}"));
        let [(file, _), (other, _)] = [[1; 16], [2; 16]].map(|key| open_leased(&mut raw, &from, key, 3));
        let set = SetInfoRequest { info_type: 1, class: 10, file, additional: 0, information: rename(&to) };
        let create = wanted(&to, disposition::OPEN);
        let requests = [
            raw.message(command::SET_INFO, 0, |body| set.encode(body)),
            raw.message(command::CREATE, 0, |body| create.encode(body)),
        ];
        let framed = requests.map(|message| [&prefix(message.len()).unwrap()[..], &message].concat());
        raw.stream.write_all(&framed.concat()).unwrap();
        let mut seen: Vec<_> =
            (0..3).map(|_| Header::decode(&raw.receive().unwrap()).unwrap().command).collect();
        assert_eq!(seen.pop(), Some(command::CREATE), "round {round}: {seen:?} came first");
        let acknowledgment = LeaseAcknowledgment { key: [2; 16], state: 1, ..LeaseAcknowledgment::default() };
        let acknowledge = raw.message(command::OPLOCK_BREAK, 0, |body| acknowledgment.encode(body));
        raw.send(&acknowledge);
        assert_eq!([raw.status(), raw.status()], [NtStatus::SUCCESS; 2], "the acknowledgment and the rename");
        assert_eq!([raw.close(file), raw.close(other)], [NtStatus::SUCCESS; 2]);
    }
}
