//! Files and directories by the number of their directory entry, their rights, full paths and space.

use std::fmt::Write as _;

use super::tests::Calls;
use crate::wire::tests::hex;

/// Hexadecimal digits.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A client that has made SYS:DIR with the file A in it.
fn calls() -> Calls {
    let mut calls = Calls::logged_in();
    assert_eq!(calls.done("16000b 0a 00 ff 07 5359533a444952"), 0);
    assert_eq!(calls.done("43 00 00 09 5359533a4449522f41"), 0);
    assert_eq!(calls.done("42 00 000001000000"), 0);
    calls
}

impl Calls {
    /// The start of a path at the entry of these components, without any.
    fn by_number(&mut self, components: &str) -> String {
        let (done, info) = self.call(&format!("5706 00 00 1600 ff0f 0000 00 00000000 ff {components}"));
        assert_eq!(done, 0, "{components}");
        let number = digits(&info[48..52]);
        format!("00 {number} 01 00")
    }

    fn file(&mut self) -> String {
        self.by_number("03 03535953 03444952 0141")
    }

    fn directory(&mut self) -> String {
        self.by_number("02 03535953 03444952")
    }
}

#[test]
fn a_file_is_opened_renamed_and_deleted_by_its_number() {
    let mut calls = calls();
    let file = calls.file();
    let (done, info) = calls.call(&format!("5706 00 00 0600 ff0f 0000 {file}"));
    assert_eq!((done, &info[76..]), (0, &b"\x01A"[..]), "its name");
    let (done, opened) = calls.call(&format!("5701 00 01 0600 ff0f 0000 00000000 0100 {file}"));
    assert_eq!((done, opened[4]), (0, 1));
    assert_eq!(calls.done("42 00 000002000000"), 0);
    let root = calls.by_number("01 03535953").replace("01 00", "01 01");
    assert_eq!(calls.done(&format!("5704 00 01 0600 {file} {root} 0142")), 0, "to SYS:B");
    assert_eq!(calls.by_number("02 03535953 0142"), file);
    assert_eq!(calls.done(&format!("5708 00 00 0600 {file}")), 0);
    assert_eq!(calls.done(&format!("5708 00 00 0600 {file}")), 0xFF, "the number is gone");
    assert_eq!(calls.done("4c 00 06 01 05 5359533a42"), 0xFF);
}

#[test]
fn a_directory_is_renamed_and_removed_by_its_number_and_the_root_is_not() {
    let mut calls = calls();
    let directory = calls.directory();
    let root = calls.by_number("01 03535953");
    let to = root.replace("01 00", "01 01");
    assert_eq!(calls.done(&format!("5708 00 00 1600 {directory}")), 0xA0, "not empty");
    let file = calls.file();
    assert_eq!(calls.done(&format!("5708 00 00 0600 {file}")), 0);
    assert_eq!(calls.done(&format!("5704 00 01 1600 {directory} {to} 03 4e4557")), 0);
    assert_eq!(calls.done(&format!("5708 00 00 1600 {directory}")), 0);
    for (call, completion) in [
        (format!("5708 00 00 1600 {root}"), 0x9C),
        (format!("5704 00 01 1600 {root} {to} 03 4e4557"), 0x9C),
        (format!("5706 00 00 1600 ff0f 0000 {directory}"), 0xFF),
    ] {
        assert_eq!(calls.done(&call), completion, "{call}");
    }
}

#[test]
fn rights_trustees_and_the_full_path_belong_to_an_entry() {
    let mut calls = calls();
    let file = calls.file();
    let directory = calls.directory();
    let root = calls.by_number("01 03535953");
    let (done, rights) = calls.call(&format!("571d 00 00 0600 0100 0000 {file}"));
    assert_eq!((done, &rights[..2], &rights[78..]), (0, &hex("df00")[..], &b"\x01A"[..]));
    assert_eq!(calls.done(&format!("571d 00 09 0600 0100 0000 {file}")), 0xBF, "no such name space");
    assert_eq!(calls.done(&format!("5705 00 00 0600 00000000 {file}")), 0x9C, "no trustees");
    assert_eq!(calls.done("5705 00 00 0600 00000000 00 99000000 01 00"), 0xFF);
    for (place, path) in [
        (&file, "0100 ffffffff ffffffff 0a00 0300 0141 03444952 03535953"),
        (&directory, "0000 ffffffff ffffffff 0800 0200 03444952 03535953"),
        (&root, "0000 ffffffff ffffffff 0400 0100 03535953"),
    ] {
        let (done, full) = calls.call(&format!("571c 00 00 0000 ffffffff ffffffff {place}"));
        assert_eq!((done, full), (0, hex(path)), "{path}");
    }
}

#[test]
fn a_path_that_is_longer_than_a_reply_is_continued() {
    let mut calls = calls();
    let name = "4c".repeat(200);
    let mut components = "03535953".to_owned();
    for level in 1..4 {
        components.push_str("c8");
        components.push_str(&name);
        let count = level + 1;
        let make = format!("5701 04 08 1600 0000 0000 10000000 0000 00 00000000 ff {count:02x} {components}");
        assert_eq!(calls.done(&make), 0, "level {level}");
    }
    let (done, info) = calls.call(&format!("5706 04 04 1600 0004 0000 00 00000000 ff 04 {components}"));
    assert_eq!(done, 0);
    let number = digits(&info[48..52]);
    let place = format!("00 {number} 01 00");
    let (done, first) = calls.call(&format!("571c 04 04 0000 ffffffff ffffffff {place}"));
    assert_eq!((done, &first[10..14]), (0, &hex("9201 0200")[..]), "two of three names");
    let cookie = digits(&first[..10]);
    let (done, rest) = calls.call(&format!("571c 04 04 {cookie} {place}"));
    assert_eq!((done, rest), (0, hex(&format!("0000 ffffffff ffffffff cd00 0200 c8{name} 03535953"))));
}

#[test]
fn space_of_a_directory_is_that_of_its_volume() {
    let mut calls = calls();
    let (done, handle) = calls.call("160008 13 00 54 04 5359533a");
    assert_eq!(done, 0);
    let (done, usage) = calls.call("160002 2c 00");
    assert_eq!(done, 0);
    let (done, space) = calls.call(&format!("160002 2d {:02x}", handle[0]));
    assert_eq!(done, 0);
    let expected = [&usage[..8], &usage[16..24], &[0; 4], &usage[28..]].concat();
    assert_eq!(space, expected);
    assert_eq!(calls.done("160002 2d 63"), 0x9B);
}
