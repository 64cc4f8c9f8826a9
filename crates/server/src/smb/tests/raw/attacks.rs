//! Clients that fill what the server keeps for them, or use a session that is not theirs.

use sharebench_smb::requester::anonymous_ntlm;
use sharebench_smb::wire::oplock::BATCH;
use sharebench_smb::wire::session_setup::{BINDING, SessionSetupRequest};

use super::*;

fn serve() -> SmbServer {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(16 << 20));
    let options = SmbServerOptions { leases: true, exclusive: true, ..SmbServerOptions::default() };
    SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

#[test]
fn locks_of_a_file_have_a_limit_and_end_with_its_close() {
    let server = serve();
    let mut raw = Raw::log_in(server.addr(), "share");
    let file = raw.open("file", disposition::CREATE).unwrap();
    let flags = lock_flags::EXCLUSIVE | lock_flags::FAIL_IMMEDIATELY;
    let granted = (0..100_000).take_while(|at| raw.lock(file, (*at, 1), flags) == NtStatus::SUCCESS).count();
    assert_eq!(granted, 4096);
    assert_eq!(raw.lock(file, (0, 1), lock_flags::UNLOCK), NtStatus::SUCCESS);
    assert_eq!(raw.lock(file, (5000, 1), flags), NtStatus::SUCCESS);
    assert_eq!(raw.close(file), NtStatus::SUCCESS);
    let again = raw.open("file", disposition::OPEN).unwrap();
    assert_eq!(raw.lock(again, (0, u64::MAX), flags), NtStatus::SUCCESS);
}

#[test]
fn opens_that_wait_for_one_client_have_a_limit_and_continue_when_it_closes() {
    const WAITING: usize = 512;
    let server = serve();
    let mut holder = Raw::log_in(server.addr(), "share");
    let request = CreateRequest { oplock: BATCH, ..wanted("file", disposition::CREATE) };
    let held = holder.create(&request).unwrap().file;
    let mut raw = Raw::log_in(server.addr(), "share");
    for nth in 0..=WAITING {
        let message = raw.message(command::CREATE, 0, |body| wanted("file", disposition::OPEN).encode(body));
        raw.send(&message);
        let expected = if nth < WAITING { NtStatus::PENDING } else { NtStatus::INSUFFICIENT_RESOURCES };
        assert_eq!(raw.status(), expected, "{nth}");
    }
    // One break, however many wait for it.
    let message = holder.receive().unwrap();
    assert_eq!(Header::decode(&message).unwrap().command, command::OPLOCK_BREAK);
    assert_eq!(holder.close(held), NtStatus::SUCCESS);
    for _ in 0..WAITING {
        assert_eq!(raw.status(), NtStatus::SUCCESS);
    }
}

#[test]
fn a_long_compound_of_large_replies_ends_with_an_error() {
    const PARTS: usize = 64;
    let server = serve();
    let mut raw = Raw::log_in(server.addr(), "share");
    let file = raw.open("file", disposition::CREATE).unwrap();
    assert_eq!(raw.set(file, 20, (1u64 << 30).to_le_bytes().to_vec()), NtStatus::SUCCESS);
    let mut compound = Vec::new();
    for nth in 0..PARTS {
        let request = ReadRequest { len: 64 << 10, file, ..ReadRequest::default() };
        let mut part = raw.message(command::READ, 0, |body| request.encode(body));
        if nth + 1 < PARTS {
            part.resize(part.len().next_multiple_of(8), 0);
            let next = part.len() as u32;
            part[20..24].copy_from_slice(&next.to_le_bytes());
        }
        compound.append(&mut part);
    }
    raw.send(&compound);
    let reply = raw.receive().unwrap();
    assert!(reply.len() < 3 << 20, "{} bytes", reply.len());
    // The last reply is padded as well.
    let last = reply.len() - HEADER_LEN - 16;
    let header = Header::decode(&reply[last..]).unwrap();
    assert_eq!(NtStatus(header.status), NtStatus::INSUFFICIENT_RESOURCES);
}

#[test]
fn a_session_is_not_used_over_a_connection_that_it_does_not_have() {
    let server = serve();
    let mut owner = Raw::log_in(server.addr(), "share");
    let file = owner.open("file", disposition::CREATE).unwrap();
    let mut thief = Raw::connect(server.addr());
    thief.negotiate();
    (thief.session, thief.tree) = (owner.session, owner.tree);
    assert_eq!(thief.read(file, 0, 1), Err(NtStatus::USER_SESSION_DELETED));
    for (flags, expected) in [(0, NtStatus::USER_SESSION_DELETED), (BINDING, NtStatus::REQUEST_NOT_ACCEPTED)]
    {
        let request =
            SessionSetupRequest { flags, token: anonymous_ntlm(1), ..SessionSetupRequest::default() };
        let (header, _) = thief.call(command::SESSION_SETUP, |body| request.encode(body));
        assert_eq!(NtStatus(header.status), expected);
    }
    assert_eq!(owner.write(file, 0, b"mine"), NtStatus::SUCCESS);
}
