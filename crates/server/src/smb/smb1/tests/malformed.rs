//! Messages that no client sends: each one has an error or ends its connection, and others are served.

use sharebench_smb::nt1::trans2::{Request, find_first, query_path, subcommand};

use super::*;

/// Commands that take words.
const COMMANDS: [u8; 26] = [
    command::CREATE_DIRECTORY,
    command::DELETE_DIRECTORY,
    command::CLOSE,
    command::FLUSH,
    command::DELETE,
    command::RENAME,
    command::QUERY_INFORMATION,
    command::SET_INFORMATION,
    command::CHECK_DIRECTORY,
    command::SET_INFORMATION2,
    command::QUERY_INFORMATION2,
    command::LOCKING_ANDX,
    command::LOCK_BYTE_RANGE,
    command::UNLOCK_BYTE_RANGE,
    command::OPEN_ANDX,
    command::READ_ANDX,
    command::WRITE_ANDX,
    command::TRANSACTION2,
    command::FIND_CLOSE2,
    command::SESSION_SETUP_ANDX,
    command::TREE_CONNECT_ANDX,
    command::NT_TRANSACT,
    command::NT_CREATE_ANDX,
    command::TRANSACTION,
    0x0A,
    0xFE,
];

#[test]
fn truncated_words_and_wrong_counts_are_errors() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        for command in COMMANDS {
            for (count, len, bytes) in
                [(0, 0, 0), (1, 0, 0), (255, 0, 0), (3, 60_000, 2), (40, 0, 0), (0, 7, 0)]
            {
                let mut message = Vec::new();
                raw.header(command).encode(&mut message);
                message.push(count);
                // Fewer words than stated if there are too many for any command.
                message.resize(message.len() + if count == 255 { 9 } else { usize::from(count) * 2 }, 0xEE);
                message.extend_from_slice(&u16::to_le_bytes(len));
                message.resize(message.len() + bytes, 0xFF);
                raw.send(&message);
                let reply = raw.receive().expect("a reply");
                assert_ne!(reply.status(), NtStatus::SUCCESS, "command {command:#x}, {count} words");
                let words = Message::split(&reply.message).unwrap();
                assert!(words.words.is_empty() && words.bytes.is_empty(), "command {command:#x}");
            }
        }
        assert!(raw.create("file", (disposition::CREATE, SHARE_ALL)).is_ok());
    });
}

#[test]
fn headers_that_are_cut_and_replies_end_the_connection() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let message = raw.message(command::READ_ANDX, &read_words(1, 0, 1), |_| {});
        for len in [1, 4, 5, 31] {
            let mut other = Raw::log_in(server.addr());
            other.send(&message[..len]);
            assert!(other.receive().is_none(), "{len}");
        }
        let mut reply = message.clone();
        reply[9] |= 0x80;
        let mut other = Raw::log_in(server.addr());
        other.send(&reply);
        assert!(other.receive().is_none());
        let mut other = Raw::log_in(server.addr());
        other.send(b"\xFESMB\x40\0");
        assert!(other.receive().is_none());
    });
}

#[test]
fn data_outside_of_the_message_is_neither_written_nor_read() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let fid = raw.create("file", (disposition::CREATE, SHARE_ALL)).unwrap();
        for (offset, low, high) in [(64, 100, 0), (65_535, 1, 0), (0, 0, 0xFFFF), (64, 0xFFFF, 1)] {
            let words =
                WriteRequest { data_offset: offset, len_low: low, len_high: high, ..write_words(fid, 0, 0) };
            let status = raw.call(command::WRITE_ANDX, &words, |out| out.push(1)).status();
            assert_eq!(status, NtStatus::INVALID_PARAMETER, "{offset} {low} {high}");
        }
        assert_eq!(raw.read(fid, 0, 10), Ok(Vec::new()));
        // Far more bytes than the server gives in one reply.
        let words = ReadRequest { count_low: 0xFFFF, count_high: 0xFFFE, ..read_words(fid, 0, 0) };
        assert_eq!(raw.call(command::READ_ANDX, &words, |_| {}).status(), NtStatus::SUCCESS);
        let words =
            LockRequest { andx: NO_ANDX, fid, locks: u16::MAX, unlocks: u16::MAX, ..LockRequest::default() };
        assert_eq!(raw.call(command::LOCKING_ANDX, &words, |_| {}).status(), NtStatus::INVALID_PARAMETER);
    });
}

#[test]
fn transactions_with_wrong_offsets_and_levels_are_errors() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let plain = Request { setup_count: 1, subcommand: subcommand::FIND_FIRST2, ..Request::default() };
        for (words, expected) in [
            (
                Request { parameters: 20, total_parameters: 20, parameters_offset: 60_000, ..plain },
                NtStatus::INVALID_PARAMETER,
            ),
            (Request { data: 20, total_data: 20, data_offset: 60_000, ..plain }, NtStatus::INVALID_PARAMETER),
            (Request { total_data: 60_000, ..plain }, NtStatus::NOT_SUPPORTED),
            (Request { setup_count: 0, ..plain }, NtStatus::INVALID_PARAMETER),
            (Request { subcommand: 99, ..plain }, NtStatus::NOT_SUPPORTED),
            (plain, NtStatus::INVALID_PARAMETER),
        ] {
            assert_eq!(raw.call(command::TRANSACTION2, &words, |_| {}).status(), expected, "{words:?}");
        }
        for subcommand in 0..20 {
            for parameters in [&[][..], &[0], &[0xFF; 5], &[0xFF; 12], &[0; 12], &[1; 40]] {
                let found = raw.transact(subcommand, parameters, &[0xFF; 3]);
                // The level 1 exists for the volume and for the root directory.
                assert!(
                    found.is_err() || parameters.len() == 40 || parameters == [0; 12],
                    "{subcommand} {parameters:?}"
                );
            }
        }
        for level in [0, 3, 0x1FF, 999, 1255, 1256, u16::MAX] {
            let found = raw.transact(subcommand::QUERY_PATH_INFORMATION, &query_path(level, "\\"), &[]);
            assert!(found.is_err(), "{level}");
        }
        for path in ["\\..\\..", "\\a\\..\\..\\b", "\\:", "\\a|b", "\\\u{1}"] {
            let parameters = query_path(0x101, path);
            assert!(raw.transact(subcommand::QUERY_PATH_INFORMATION, &parameters, &[]).is_err(), "{path}");
        }
    });
}

#[test]
fn searches_of_a_connection_have_a_limit() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        for name in ["a", "b", "c"] {
            raw.create(name, (disposition::CREATE, SHARE_ALL)).unwrap();
        }
        let parameters = find_first("\\*", 1);
        let started =
            (0..2000).take_while(|_| raw.transact(subcommand::FIND_FIRST2, &parameters, &[]).is_ok()).count();
        assert_eq!(started, 1024);
    });
}
