//! Requests with several ranges that wait, cancellations of ranges, locks without `LOCKING_ANDX`, and the end of a process.

use sharebench_smb::nt1::file::{ByteRange, CANCEL_LOCK};

use super::*;

/// The bits of `LockType` for one process and its ranges.
fn message(raw: &mut Raw, fid: u16, (kind, pid): (u8, u16), ranges: &[(u32, u32)], timeout: u32) -> Vec<u8> {
    let locks = ranges.len() as u16;
    let words = LockRequest { andx: NO_ANDX, fid, kind, timeout, locks, ..LockRequest::default() };
    raw.message(command::LOCKING_ANDX, &words, |out| {
        for (offset, len) in ranges {
            LockRange { pid, offset_low: *offset, len_low: *len, ..LockRange::default() }.put(out);
        }
    })
}

/// Unlocks one range of a process.
fn unlock_message(raw: &mut Raw, fid: u16, pid: u16, (offset, len): (u32, u32)) -> Vec<u8> {
    let words = LockRequest { andx: NO_ANDX, fid, kind: LARGE_FILES, unlocks: 1, ..LockRequest::default() };
    raw.message(command::LOCKING_ANDX, &words, |out| {
        LockRange { pid, offset_low: offset, len_low: len, ..LockRange::default() }.put(out);
    })
}

/// Sends a message, and returns the status of the next reply, which may be that of an earlier one.
fn send(raw: &mut Raw, message: &[u8]) -> NtStatus {
    raw.send(message);
    raw.receive().unwrap().status()
}

#[test]
fn a_request_with_several_ranges_waits_and_keeps_those_that_it_has() {
    on_memory(|server| {
        let mut raw = Raw::log_in(server.addr());
        let fid = raw.create("file", (disposition::CREATE, SHARE_ALL)).unwrap();
        let both = [(100, 10), (120, 10)];
        let first = message(&mut raw, fid, (LARGE_FILES, 7), &both, 0);
        assert_eq!(send(&mut raw, &first), NtStatus::SUCCESS);
        let second = message(&mut raw, fid, (LARGE_FILES, 8), &both, u32::MAX);
        raw.send(&second);
        let unlock = unlock_message(&mut raw, fid, 7, (100, 10));
        assert_eq!(send(&mut raw, &unlock), NtStatus::SUCCESS);
        let third = message(&mut raw, fid, (LARGE_FILES, 9), &both[..1], 0);
        assert_eq!(send(&mut raw, &third), NtStatus::LOCK_NOT_GRANTED, "the second request has the range");
        let unlock = unlock_message(&mut raw, fid, 7, (120, 10));
        raw.send(&unlock);
        let statuses = [raw.receive().unwrap(), raw.receive().unwrap()].map(|reply| reply.status());
        assert_eq!(statuses, [NtStatus::SUCCESS; 2]);
        let third = message(&mut raw, fid, (LARGE_FILES, 9), &[(90, 5), (120, 10)], 0);
        assert_eq!(send(&mut raw, &third), NtStatus::LOCK_NOT_GRANTED);
        let again = message(&mut raw, fid, (LARGE_FILES, 9), &[(125, 1)], 0);
        assert_eq!(send(&mut raw, &again), NtStatus::LOCK_NOT_GRANTED, "at another place");
        assert_eq!(raw.lock(fid, 9, (90, 5), 0), NtStatus::SUCCESS, "a failing request keeps nothing");
    });
}

#[test]
fn a_cancelled_range_ends_the_wait_and_releases_what_the_request_held() {
    on_memory(|server| {
        let mut raw = Raw::log_in(server.addr());
        let fid = raw.create("file", (disposition::CREATE, SHARE_ALL)).unwrap();
        assert_eq!(raw.lock(fid, 7, (120, 10), 0), NtStatus::SUCCESS);
        let waiting = message(&mut raw, fid, (LARGE_FILES, 8), &[(100, 10), (120, 10)], u32::MAX);
        raw.send(&waiting);
        let kind = CANCEL_LOCK | LARGE_FILES;
        let wrong = message(&mut raw, fid, (kind, 8), &[(0, 10)], 0);
        assert_eq!(send(&mut raw, &wrong), NtStatus::OS2_CANCEL_VIOLATION, "nobody waits for it");
        let right = message(&mut raw, fid, (kind, 8), &[(120, 10)], 0);
        raw.send(&right);
        let mut statuses = [raw.receive().unwrap(), raw.receive().unwrap()].map(|reply| reply.status());
        statuses.sort_by_key(|status| status.0);
        assert_eq!(statuses, [NtStatus::SUCCESS, NtStatus::FILE_LOCK_CONFLICT]);
        assert_eq!(raw.lock(fid, 9, (100, 10), 0), NtStatus::SUCCESS);
        assert_eq!(raw.lock(fid, 9, (120, 10), 0), NtStatus::FILE_LOCK_CONFLICT, "the client knows of it");
        let change = message(&mut raw, fid, (0x04, 7), &[(120, 10)], 0);
        assert_eq!(send(&mut raw, &change), NtStatus::OS2_ATOMIC_LOCKS_NOT_SUPPORTED);
    });
}

#[test]
fn codes_of_os2_have_the_form_of_a_class_and_a_code() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let fid = raw.create("file", (disposition::CREATE, SHARE_ALL)).unwrap();
        let cancel = message(&mut raw, fid, (CANCEL_LOCK | LARGE_FILES, 7), &[(0, 1)], 0);
        raw.send(&cancel);
        let reply = raw.receive().unwrap();
        assert_eq!(reply.header.flags2 & flags2::NT_STATUS, 0);
        assert_eq!(reply.message[5..9], [1, 0, 0xAD, 0], "class, reserved, code (MS-CIFS 2.2.3.1)");
    });
}

#[test]
fn byte_ranges_are_locked_and_unlocked_without_a_wait() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let fid = raw.create("file", (disposition::CREATE, SHARE_ALL)).unwrap();
        let other = raw.create("file", (disposition::OPEN, SHARE_ALL)).unwrap();
        let mut range = |command, fid| {
            let words = ByteRange { fid, len: 10, offset: 5 };
            raw.call(command, &words, |_| {}).status()
        };
        assert_eq!(range(command::LOCK_BYTE_RANGE, fid), NtStatus::SUCCESS);
        assert_eq!(range(command::LOCK_BYTE_RANGE, other), NtStatus::LOCK_NOT_GRANTED);
        assert_eq!(range(command::UNLOCK_BYTE_RANGE, other), NtStatus::RANGE_NOT_LOCKED);
        assert_eq!(range(command::UNLOCK_BYTE_RANGE, fid), NtStatus::SUCCESS);
        assert_eq!(range(command::LOCK_BYTE_RANGE, other), NtStatus::SUCCESS);
    });
}

#[test]
fn the_end_of_a_process_closes_its_files_only() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let fid = raw.create("file", (disposition::CREATE, SHARE_ALL)).unwrap();
        let mut exit = raw.message(command::PROCESS_EXIT, &NoWords {}, |_| {});
        // The lower half of the process id, of another process.
        exit[26] = 8;
        assert_eq!(send(&mut raw, &exit), NtStatus::SUCCESS);
        assert_eq!(raw.write(fid, 0, b"x"), NtStatus::SUCCESS);
        let exit = raw.message(command::PROCESS_EXIT, &NoWords {}, |_| {});
        assert_eq!(send(&mut raw, &exit), NtStatus::SUCCESS);
        assert_eq!(raw.write(fid, 0, b"x"), NtStatus::INVALID_HANDLE);
    });
}
