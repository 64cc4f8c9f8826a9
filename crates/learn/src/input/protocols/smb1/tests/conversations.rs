//! Whole conversations of SMB 1.

use super::super::numbers::{Smb1Scope, Tid};
use super::*;
use crate::input::protocols::smb::shares::Shares;
use crate::operation::Access;
use crate::operation::Outcome::{Done, Failed, NotFound};
use crate::operation::Protocol;

const fn open(file: u32, write: bool) -> (Action, Outcome) {
    (Action::Open { file: Some(file), access: Access::from_write(write), created: write }, Done)
}

const fn stat(file: u32) -> (Action, Outcome) {
    (Action::Stat { file: Some(file) }, Done)
}

const fn list(directory: u32, entries: u32) -> (Action, Outcome) {
    (Action::List { directory, entries, first: true }, Done)
}

const fn remove(file: u32) -> (Action, Outcome) {
    (Action::Remove { file: Some(file) }, Done)
}

const fn close(file: u32) -> (Action, Outcome) {
    (Action::Close { file }, Done)
}

const CONNECT: (Action, Outcome) = (Action::Connect, Done);
const MAKE_DIRECTORY: (Action, Outcome) = (Action::MakeDirectory { directory: Some(0) }, Done);
const WRITE: (Action, Outcome) = (Action::Write { file: 2, offset: 0, bytes: 12, stable: false }, Done);
const RENAME: (Action, Outcome) = (Action::Rename { file: Some(2), replaced: None }, Done);
const NOT_THERE: (Action, Outcome) =
    (Action::Open { file: None, access: Access::Read, created: false }, NotFound);

#[test]
fn nt1_with_unicode() {
    let read = Action::Read { file: 3, offset: 0, asked: 64_512, bytes: 64_512 };
    let expected = [
        CONNECT,
        MAKE_DIRECTORY,
        open(2, true),
        WRITE,
        close(2),
        open(3, true),
        list(1, 4),
        (Action::Space, Done),
        open(3, false),
        stat(3),
        (read, Done),
        close(3),
        stat(2),
        open(2, false),
        (Action::Other("NT_TRANSACT_IOCTL"), Failed(0xC000_00BB)),
        close(2),
        RENAME,
        remove(2),
        NOT_THERE,
        stat(3),
        (Action::SetAttributes { file: 3 }, Done),
        stat(3),
        remove(0),
        (Action::Other("NT_RENAME"), Done),
    ];
    assert_eq!(operations("nt1"), expected);
    let observed = decode(&section("nt1"));
    assert_eq!(observed.unseen, crate::operation::Unseen::default());
    let files: Vec<_> =
        observed.files.iter().map(|file| (file.directory, file.parent, file.extension)).collect();
    let expected = [
        (true, Some(1), None),
        (true, None, None),
        (false, Some(0), Some("text")),
        (false, Some(1), Some("binary")),
    ];
    assert_eq!(files, expected);
    assert_eq!(observed.users.len(), 1);
    assert_eq!(observed.users[0].protocol, Protocol::Smb1);
}

#[test]
fn lanman1_with_oem_names_and_the_status_of_dos() {
    let expected = [
        CONNECT,
        MAKE_DIRECTORY,
        open(2, true),
        WRITE,
        close(2),
        // SEARCH, and its continuation.
        list(1, 3),
        (Action::List { directory: 1, entries: 0, first: false }, Done),
        RENAME,
        open(2, false),
        // ERRDOS, ERROR_NOT_SUPPORTED.
        (Action::Other("NT_TRANSACT_IOCTL"), Failed(0x0001_0032)),
        close(2),
        NOT_THERE,
        // It is removed by its name in capitals.
        remove(2),
        remove(0),
    ];
    assert_eq!(operations("lanman1"), expected);
    assert_eq!(decode(&section("lanman1")).unseen, crate::operation::Unseen::default());
}

#[test]
fn names_in_unicode_and_in_oem_bytes_are_the_same_files() {
    let mut recorder = Recorder::default();
    decode_into(&section("nt1"), ends(40_000), &mut recorder);
    let samples = section("lanman1");
    // Up to the close of the new file.
    decode_into(&samples[..14], ends(40_001), &mut recorder);
    let observed = recorder.finish(1, 0);
    // Directory and file were removed in between, the root was not.
    assert_eq!(observed.files.len(), 6);
    assert_eq!(observed.files[4].parent, Some(1));
    // Numbers of users are those of a connection.
    assert_eq!(observed.users.len(), 2);
}

#[test]
fn names_are_those_of_smb_2() {
    let mut shares = Shares::new();
    shares.connect(Tid(1), "\\\\SERVER\\Share");
    let mut recorder = Recorder::default();
    let recorder = &mut recorder.connection(ends(40_000));
    let scope = Smb1Scope { tree: Tid(1), shares: &mut shares, recorder };
    let name = super::super::names::within_share("\\Docs\\Report.TXT");
    // Those of SMB 2 have no separator at their ends.
    assert_eq!(scope.path(&name), b"share\\docs\\report.txt");
    // Separators of POSIX names.
    assert_eq!(super::super::names::within_share("/docs/"), "docs");
}

#[test]
fn posix_extensions_and_what_they_encrypt() {
    let expected = [MAKE_DIRECTORY, open(2, true), remove(2), remove(0)];
    assert_eq!(operations("posix"), expected);
    let observed = decode(&section("posix"));
    assert_eq!((observed.files.len(), observed.unseen.encrypted), (3, 1));
    assert_eq!(observed.files[2].extension, Some("text"));
}

#[test]
fn a_negotiation_of_all_dialects_can_lead_to_smb_2() {
    let observed = decode(&section("handover"));
    assert_eq!(observed.operations[0].action, Action::Connect);
    assert_eq!(observed.users[0].protocol, Protocol::Smb2);
    assert_eq!(observed.unseen.not_understood, 0);
}

#[test]
fn messages_of_smb_2_within_a_session_of_smb_1_have_no_part_in_it() {
    let mut samples = section("nt1");
    let expected = operations("nt1");
    let mut other = section("handover").into_iter().find(|(_, _, head)| head[0] == 0xFE).unwrap();
    other.1 = other.2.len();
    samples.insert(10, other);
    let observed = decode(&samples);
    let actions: Vec<_> =
        observed.operations.iter().map(|operation| (operation.action, operation.outcome)).collect();
    assert_eq!(actions, expected);
    assert_eq!(observed.unseen.not_understood, 1);
}

#[test]
fn a_capture_that_begins_in_the_middle_has_files_without_names() {
    let samples = section("nt1");
    let from = samples.iter().position(|(_, _, head)| head[4] == 0x2F).unwrap();
    let observed = decode(&samples[from..from + 4]);
    let actions: Vec<_> = observed.operations.iter().map(|operation| operation.action).collect();
    let write = Action::Write { file: 0, offset: 0, bytes: 12, stable: false };
    assert_eq!(actions, [write, Action::Close { file: 0 }]);
    assert_eq!(observed.files[0].extension, None);
}

#[test]
fn requests_whose_replies_are_missing_are_operations_without_a_reply() {
    let samples: Vec<Sample> =
        section("nt1").into_iter().filter(|(side, ..)| *side == Side::Client).collect();
    let observed = decode(&samples);
    assert!(observed.operations.iter().all(|operation| operation.outcome == Outcome::NoReply));
    // Without the log-on.
    assert_eq!(observed.operations.len(), 23);
    assert_eq!(observed.unseen.without_reply, 23);
}
