//! Attributes, timestamps, rights, handles, searches and copies, call by call.

use super::tests::Calls;
use crate::wire::tests::hex;

/// A client that has created SYS:A and SYS:AB.
fn calls() -> Calls {
    let mut calls = Calls::logged_in();
    for name in ["5359533a41", "5359533a4142"] {
        let len = name.len() / 2;
        assert_eq!(calls.done(&format!("43 00 00 {len:02x} {name}")), 0);
    }
    calls
}

impl Calls {
    /// The information block of SYS:A from its attributes on.
    fn info(&mut self) -> Vec<u8> {
        let (done, info) = self.call("5706 00 00 0600 ff0f 0000 00 00000000 ff 02 03535953 0141");
        assert_eq!(done, 0);
        info
    }
}

/// docs/protocols/ncp.md 3.4: the last field of the block. The kernel's client shows names that were created in the DOS name space
/// in lower case.
#[test]
fn names_count_as_created_in_the_name_space_that_stores_them() {
    assert_eq!(calls().info()[72..76], hex("04000000"));
}

#[test]
fn read_only_file_rejects_writing_renaming_and_erasing() {
    let mut calls = calls();
    assert_eq!(calls.done("42 00 000001000000"), 0);
    assert_eq!(calls.done("46 01 00 06 05 5359533a41"), 0);
    assert_eq!(calls.info()[4..8], hex("21000000"));
    let refused = [
        ("4c 00 06 03 05 5359533a41", 0x94),
        ("43 00 00 05 5359533a41", 0x94),
        ("44 00 06 05 5359533a41", 0x90),
        ("44 00 06 05 5359533aaa", 0x8F),
        ("45 00 06 05 5359533a41 00 05 5359533a5a", 0x90),
        ("5708 00 00 0600 00 00000000 ff 02 03535953 0141", 0x90),
        ("46 40 00 06 05 5359533a41", 0x8C),
        ("46 00 00 06 05 5359533a5a", 0xFF),
    ];
    for (call, completion) in refused {
        assert_eq!(calls.done(call), completion, "{call}");
    }
    let (done, opened) = calls.call("4c 00 06 01 05 5359533a41");
    assert_eq!((done, opened[22]), (0, 0x21));
    assert_eq!(calls.done("46 20 00 06 06 5359533a 41bf"), 0, "a pattern with its high bit");
    assert_eq!(calls.done("44 00 06 05 5359533a41"), 0);
}

/// docs/protocols/ncp.md 3.2, 3.4: time before date in 0x4B, date before time in 87/7.
#[test]
fn every_call_sets_and_reports_timestamps() {
    let mut calls = calls();
    assert_eq!(calls.done("4b 00 000001000000 0e65 5d75"), 0);
    assert_eq!(calls.info()[28..32], hex("650e 755d"));
    let modify = |change: &str| {
        format!(
            "5707 00 00 0600 {change} 01000000 21000000 00000000 0000210c 00000000 00000000 00000000 7a5d 0000 0000
            00000000 00 00000000 ff 02 03535953 0141"
        )
    };
    assert_eq!(calls.done(&modify("00080000")), 0, "the date of access");
    assert_eq!(calls.done(&modify("00020000")), 0, "the time alone");
    let info = calls.info();
    assert_eq!((&info[28..32], &info[36..38]), (&hex("210c 755d")[..], &hex("7a5d")[..]));
    assert_eq!(info[4..8], hex("20000000"));
    assert_eq!(calls.done(&modify("02010000")), 0xFF, "0000 is no date");
    assert_eq!(calls.done(&modify("02000000")), 0);
    assert_eq!(calls.done(&modify("dc040000")), 0, "what is not kept is passed over");
    assert_eq!(calls.info()[4..8], hex("21000000"));
    for refused in ["00100000", "00200000"] {
        assert_eq!(calls.done(&modify(refused)), 0x8C);
    }
    assert_eq!(calls.done("4b 00 000001000000 ffff ffff"), 0xFF, "no moment");
    assert_eq!(calls.done("4b 00 000009000000 0e65 5d75"), 0x88);
    let (done, found) = calls.call("40 ffff 00 06 05 5359533a41");
    assert_eq!((done, &found[24..]), (0, &hex("0021 5d7a 5d75 0c21")[..]));
}

#[test]
fn directory_handle_can_be_moved_and_reports_its_path() {
    let mut calls = calls();
    assert_eq!(calls.done("16 000a 0a 00 ff 06 5359533a4431"), 0);
    assert_eq!(calls.done("16 000d 0a 00 ff 09 5359533a44315c4432"), 0);
    let (done, made) = calls.call("16 0008 16 00 54 04 5359533a");
    assert_eq!((done, &made[..]), (0, &[1, 0xDF][..]));
    assert_eq!(calls.call("16 0002 01 01"), (0, b"\x04SYS:".to_vec()));
    assert_eq!(calls.done("16 000a 00 01 00 06 5359533a4431"), 0);
    assert_eq!(calls.done("16 0006 00 01 01 02 4432"), 0, "from itself");
    assert_eq!(calls.call("16 0002 01 01"), (0, b"\x09SYS:D1/D2".to_vec()));
    assert_eq!(calls.call("16 0003 03 01 00"), (0, vec![0xDF]));
    assert_eq!((calls.done("16 0003 03 09 00"), calls.done("16 0002 01 09")), (0x9B, 0x9B));
    assert_eq!(calls.done("16 0006 00 09 01 02 4432"), 0x9C, "there is none in it");
    assert_eq!(calls.done("16 000c 0f 00 06 5359533a4431 02 4433"), 0);
    assert_eq!(calls.call("16 0002 01 01"), (0, b"\x09SYS:D3/D2".to_vec()));
    assert_eq!(calls.done("16 000c 0f 00 06 5359533a4433 02 2e2e"), 0x9E);
    assert_eq!(calls.done("16 000b 0f 00 05 5359533a41 02 5a5a"), 0x9C, "a file");
    assert_eq!(calls.done("18"), 0);
    assert_eq!(calls.done("16 0002 01 01"), 0x9B, "gone with its task");
    assert_eq!((calls.call("15 0001 0b"), calls.call("15 0001 01")), ((0, vec![0]), (0, vec![0])));
}

#[test]
fn search_0x40_accepts_patterns_in_every_form() {
    for pattern in ["2a", "aa", "aaaeaa", "ff2a", "41bf", "2a2e2a"] {
        let mut calls = calls();
        let mut sequence = "ffff".to_owned();
        let mut names = Vec::new();
        loop {
            let len = 4 + pattern.len() / 2;
            let (done, found) = calls.call(&format!("40 {sequence} 00 06 {len:02x} 5359533a{pattern}"));
            if done != 0 {
                assert_eq!(done, 0xFF);
                break;
            }
            sequence = format!("{:02x}{:02x}", found[0], found[1]);
            names.push(found[4..6].to_vec());
        }
        assert_eq!(names, [b"A\0", b"AB"], "{pattern}");
        assert_eq!(calls.done("40 4444 00 06 05 5359533a2a"), 0xA1, "a place it has never come to");
    }
}

#[test]
fn server_copies_files_and_serves_32_bit_counts() {
    let mut calls = calls();
    assert_eq!(calls.done("5749 01000000 0000000000000001 00000003 414243"), 0);
    assert_eq!(calls.call("5748 01000000 0000000000000001 ffffffff"), (0, b"\0\0\0\x03ABC".to_vec()));
    let copied = calls.call("4a 00 000001000000 000002000000 00000000 00000005 ffffffff");
    assert_eq!(copied, (0, vec![0, 0, 0, 4]));
    assert_eq!(calls.call("48 00 000002000000 00000000 0010"), (0, b"\0\x09\0\0\0\0\0\0ABC".to_vec()));
    let far = "5746 000002000000 000001000000 0000000000000006 0000000100000000 0000000000000003";
    assert_eq!(calls.call(far), (0, vec![0, 0, 0, 0, 0, 0, 0, 3]));
    let read = calls.call("5748 01000000 0000000100000000 00000010");
    assert_eq!(read, (0, b"\0\0\0\x03ABC".to_vec()));
    assert_eq!(calls.done("4a 00 000001000000 000001000000 00000000 00000001 00000002"), 0xFF, "into itself");
    assert_eq!(calls.done("4a 00 000001000000 000009000000 00000000 00000001 00000002"), 0x88);
    assert_eq!(calls.done("4c 00 06 01 05 5359533a41"), 0);
    assert_eq!(calls.done("4a 00 000002000000 000003000000 00000000 00000001 00000002"), 0x94);
    assert_eq!(calls.done("5749 01000000 0000000000000001 ffffffff 414243"), 0xFF, "cut off");
    assert_eq!(calls.done("5749 01000000 0000000000000001 00000000"), 0);
    assert_eq!(calls.call("5742 01000000").1, hex("0300000001000000"), "and its size stays");
}

#[test]
fn hidden_and_system_files_are_found_only_when_requested() {
    let mut calls = calls();
    assert_eq!(calls.done("46 02 00 06 05 5359533a41"), 0, "hidden");
    assert_eq!(calls.done("46 04 00 06 06 5359533a4142"), 0, "system");
    assert_eq!(calls.info()[4..8], hex("22000000"));
    for (search, found) in [("00", 0), ("02", 1), ("04", 1), ("06", 2)] {
        let mut sequence = "ffff".to_owned();
        let mut count = 0;
        loop {
            let (done, reply) = calls.call(&format!("40 {sequence} 00 {search} 05 5359533a2a"));
            if done != 0 {
                break;
            }
            count += 1;
            sequence = format!("{:02x}{:02x}", reply[0], reply[1]);
        }
        assert_eq!(count, found, "{search}");
    }
    let calls_of_hidden = [
        ("4c 00 00 01 05 5359533a41", 0xFF),
        ("5706 00 00 0000 ff0f 0000 00 00000000 ff 02 03535953 0141", 0xFF),
        ("45 00 00 05 5359533a41 00 05 5359533a5a", 0xFF),
        ("44 00 00 05 5359533a41", 0xFF),
        ("5708 00 00 0000 00 00000000 ff 02 03535953 0141", 0xFF),
        ("46 00 00 00 05 5359533a41", 0xFF),
        ("4d 00 00 05 5359533a41", 0x85),
        ("4c 00 02 01 05 5359533a41", 0),
        ("46 00 00 02 05 5359533a41", 0),
        ("4c 00 00 01 05 5359533a41", 0),
        ("43 00 02 06 5359533a4831", 0),
        ("4c 00 00 01 06 5359533a4831", 0xFF),
        ("4c 00 02 01 06 5359533a4831", 0),
    ];
    for (call, completion) in calls_of_hidden {
        assert_eq!(calls.done(call), completion, "{call}");
    }
}

#[test]
fn execute_only_and_inhibited_files_reject_what_their_attributes_forbid() {
    let mut calls = calls();
    let modify = |attributes: &str| {
        format!(
            "5707 00 00 0600 02000000 {attributes} 00000000 00000000 00000000 00000000 00000000 00000000 0000 0000 0000
            00000000 00 00000000 ff 02 03535953 0141"
        )
    };
    assert_eq!(calls.done(&modify("00000600")), 0, "rename and delete inhibit");
    assert_eq!(calls.info()[4..8], hex("20000600"));
    for (call, completion) in [
        ("45 00 06 05 5359533a41 00 05 5359533a5a", 0x8B),
        ("44 00 06 05 5359533a41", 0x8A),
        ("46 00 00 06 05 5359533a41", 0),
    ] {
        assert_eq!(calls.done(call), completion, "{call}");
    }
    assert_eq!(calls.info()[4..8], hex("20000600"), "0x46 has eight attributes");
    assert_eq!(calls.done(&modify("00000000")), 0);
    assert_eq!(calls.done("42 00 000001000000"), 0);
    assert_eq!(calls.done(&modify("08000000")), 0, "execute only");
    for (call, completion) in [
        ("4c 00 06 03 05 5359533a41", 0x94),
        ("43 00 00 05 5359533a41", 0x94),
        ("4c 00 06 01 05 5359533a41", 0),
        ("46 00 00 06 05 5359533a41", 0x8C),
        ("4a 00 000003000000 000002000000 00000000 00000000 00000001", 0x93),
        ("44 00 06 05 5359533a41", 0),
    ] {
        assert_eq!(calls.done(call), completion, "{call}");
    }
    assert_eq!(calls.done(&modify("00100000")), 0xFF, "erased");
    assert_eq!(calls.done("43 00 00 05 5359533a41"), 0);
    assert_eq!(calls.done(&modify("00100000")), 0x8C, "transactional");
}

/// docs/protocols/ncp.md 3.4: date before time in 87/7, time before date in the information block.
#[test]
fn creation_time_is_set_and_reported() {
    let mut calls = calls();
    let modify = |change: &str| {
        format!(
            "5707 00 00 0600 {change} 00000000 755d650e 00000000 00000000 00000000 00000000 00000000 0000 0000 0000
            00000000 00 00000000 ff 02 03535953 0141"
        )
    };
    assert_eq!(calls.done(&modify("04000000")), 0, "the date alone");
    assert_eq!(calls.info()[20..24], hex("0000 755d"));
    assert_eq!(calls.done(&modify("0c000000")), 0);
    assert_eq!(calls.info()[20..24], hex("650e 755d"));
}

#[test]
fn search_with_an_empty_pattern_finds_every_name() {
    let mut calls = calls();
    let (done, found) = calls.call("40 ffff 00 06 04 5359533a");
    assert_eq!((done, &found[4..6]), (0, &b"A\0"[..]));
    assert_eq!(calls.done("3e 00 04 5359533a"), 0);
    assert_eq!(calls.done("3f 00 0000 ffff 06 00"), 0);
    let start = "00 01000000 ffffffff";
    for pattern in ["00", "01 ff"] {
        assert_eq!(calls.done(&format!("5703 00 00 0600 ff0f 0000 {start} {pattern}")), 0);
        let (done, all) = calls.call(&format!("5714 00 00 0600 ff0f 0000 6400 {start} {pattern}"));
        assert_eq!((done, &all[10..12]), (0, &[2, 0][..]));
    }
    assert_eq!(calls.done("44 00 06 04 5359533a"), 0xFF, "erases nothing");
}

#[test]
fn volume_shows_positive_numbers_of_directory_entries() {
    let mut calls = calls();
    let (_, usage) = calls.call("16 0002 2c 00");
    let (_, info) = calls.call("12 00");
    let number = |at: usize| i32::from_le_bytes(usage[at..at + 4].try_into().unwrap());
    assert_eq!((number(16), number(20)), (257, 254), "of 256 pages, with the root and two files");
    assert_eq!(info[6..10], hex("0101 00fe"));
}
