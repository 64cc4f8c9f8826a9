//! Leases, with two clients that differ in the keys of their leases.

use sharebench_smb::wire::create_context::{CreateContext, contexts, name};
use sharebench_smb::wire::lease::{LEVEL, LeaseBreak, LeaseContext};
use sharebench_smb::wire::oplock::OplockBreak;

use super::*;

const CAN_LEASE: u32 = 2;
const KEY: [u8; 16] = [7; 16];
/// Reading, handles and writing.
const EVERYTHING: u32 = 7;

fn serve(leases: bool) -> SmbServer {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(16 << 20));
    let options = SmbServerOptions { leases, ..SmbServerOptions::default() };
    SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

/// Opens a file with a request for everything, and returns what is granted.
fn open_leased(raw: &mut Raw, name: &str, key: [u8; 16]) -> (FileId, Option<LeaseContext>) {
    let lease = LeaseContext { key, state: EVERYTHING, ..LeaseContext::default() };
    let request = CreateRequest {
        oplock: LEVEL,
        contexts: vec![CreateContext::new(name::REQUEST_LEASE, &lease.encode())],
        ..wanted(name, disposition::OPEN_IF)
    };
    let (header, reply) = raw.call(command::CREATE, |body| request.encode(body));
    assert_eq!(header.status, 0);
    let response = CreateResponse::decode(&reply).unwrap();
    let at = response.contexts_offset as usize;
    let answered = contexts(&reply[at..at + response.contexts_len as usize]).unwrap();
    let lease = answered.iter().find(|context| context.name == name::REQUEST_LEASE);
    let lease = lease.map(|context| LeaseContext::decode(&context.data).unwrap());
    assert_eq!(response.oplock, if lease.is_some() { LEVEL } else { 0 });
    (response.file, lease)
}

/// The state that is granted with an open.
fn granted(raw: &mut Raw, key: [u8; 16]) -> (FileId, u32) {
    let (file, lease) = open_leased(raw, "file", key);
    (file, lease.unwrap().state)
}

/// Receives the notification that a lease has ended.
fn assert_ended(raw: &mut Raw) {
    let message = raw.receive().unwrap();
    let header = Header::decode(&message).unwrap();
    assert_eq!((header.command, header.message_id), (command::OPLOCK_BREAK, u64::MAX));
    let ended = LeaseBreak::decode(&message).unwrap();
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
    let server = serve(true);
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
fn opens_of_one_lease_share_it_and_it_is_granted_again_after_a_change() {
    let server = serve(true);
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
    assert_eq!(NtStatus(header.status), NtStatus::UNSUCCESSFUL);
}

#[test]
fn no_lease_is_granted_for_directories_for_locked_files_and_without_the_option() {
    let server = serve(true);
    let mut raw = Raw::log_in(server.addr(), "share");
    assert_ne!(Raw::connect(server.addr()).negotiate().capabilities & CAN_LEASE, 0);
    assert_eq!(open_leased(&mut raw, "", KEY).1, None);
    let file = raw.open("file", disposition::CREATE).unwrap();
    let flags = lock_flags::SHARED | lock_flags::FAIL_IMMEDIATELY;
    assert_eq!(raw.lock(file, (0, 1), flags), NtStatus::SUCCESS);
    assert_eq!(granted(&mut raw, KEY).1, 0);

    let without = serve(false);
    assert_eq!(Raw::connect(without.addr()).negotiate().capabilities & CAN_LEASE, 0);
    let mut raw = Raw::log_in(without.addr(), "share");
    assert_eq!(open_leased(&mut raw, "file", KEY).1, None);
}
