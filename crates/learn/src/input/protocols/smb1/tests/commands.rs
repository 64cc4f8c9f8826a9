//! Commands of SMB 1 one by one.

use super::*;
use crate::operation::Access;
use crate::operation::Outcome::{Done, Failed, NotFound};

const fn open(file: u32, created: bool) -> (Action, Outcome) {
    (Action::Open { file: Some(file), access: Access::Write, created }, Done)
}

const fn read(asked: u32, offset: u64, bytes: u32) -> (Action, Outcome) {
    (Action::Read { file: 0, offset, asked, bytes }, Done)
}

const fn lock(release: bool) -> (Action, Outcome) {
    (Action::Lock { file: 0, release }, Done)
}

const CLOSE: (Action, Outcome) = (Action::Close { file: 0 }, Done);

#[test]
fn commands_of_a_chain_are_operations_and_those_after_an_error_are_not() {
    let missing = Action::Open { file: None, access: Access::Read, created: false };
    let opened = Action::Open { file: Some(0), access: Access::Read, created: false };
    let expected = [(missing, NotFound), (opened, Done), read(4, 0, 4), CLOSE];
    assert_eq!(operations("chain"), expected);
    assert_eq!(decode(&section("chain")).files[0].size, Some(7));
}

#[test]
fn raw_reads_have_the_length_of_their_message() {
    let write = (Action::Write { file: 0, offset: 0, bytes: 9, stable: false }, Done);
    let expected = [open(0, true), read(1, 0, 0), write, read(9, 0, 9), read(9, 1, 8)];
    assert_eq!(operations("raw"), expected);
}

#[test]
fn a_raw_read_whose_data_are_lost_leaves_the_next_reply_alone() {
    let mut samples = section("raw");
    // The data of the first READ_RAW.
    samples.remove(3);
    let observed = decode(&samples);
    let outcomes: Vec<Outcome> = observed.operations.iter().map(|operation| operation.outcome).collect();
    assert_eq!(outcomes, [Done, Outcome::NoReply, Done, Done, Done]);
    assert_eq!((observed.unseen.without_request, observed.unseen.not_understood), (0, 0));
}

#[test]
fn breaks_of_oplocks_and_their_acknowledgements_are_nothing() {
    assert_eq!(operations("oplock"), [open(0, true), CLOSE]);
    let observed = decode(&section("oplock"));
    assert_eq!((observed.unseen.without_reply, observed.unseen.without_request), (0, 0));
}

#[test]
fn a_connection_that_begins_with_the_break_of_an_oplock_has_the_right_sides() {
    let samples: Vec<Sample> = section("oplock").into_iter().skip(2).collect();
    assert_eq!(super::super::sender(&samples[0].2), Some(Side::Server));
    assert_eq!(decode(&samples).operations.len(), 1);
}

#[test]
fn commands_that_are_two_operations_are_counted_as_two() {
    assert_eq!(operations("lock-and-read"), [open(0, true), lock(false), read(1, 1, 0)]);
    assert_eq!(operations("locks"), [open(0, true), lock(false), lock(true)]);
    let mut samples = section("write-and-close");
    let write = |bytes| (Action::Write { file: 0, offset: 0, bytes, stable: false }, Done);
    assert_eq!(operations("write-and-close"), [open(0, true), write(0)]);
    // The number of bytes.
    samples[2].2[35] = 5;
    let observed = decode(&samples);
    let actions: Vec<_> = observed.operations.iter().map(|operation| operation.action).collect();
    assert_eq!(actions, [open(0, true).0, write(5).0, CLOSE.0]);
}

#[test]
fn a_write_through_is_stable() {
    let mut samples = section("nt1");
    let write = samples.iter_mut().find(|(_, _, head)| head[4] == 0x2F).unwrap();
    // WriteMode.
    write.2[33 + 14] = 1;
    let observed = decode(&samples);
    let stable = Action::Write { file: 2, offset: 0, bytes: 12, stable: true };
    assert!(observed.operations.iter().any(|operation| operation.action == stable));
}

#[test]
fn a_read_at_the_end_of_the_file_has_no_bytes() {
    let mut samples = section("nt1");
    let index = samples.iter().position(|(side, _, head)| *side == Side::Server && head[4] == 0x2E).unwrap();
    let (_, len, head) = &mut samples[index];
    // STATUS_END_OF_FILE, and neither words nor bytes.
    head[5..9].copy_from_slice(&0xC000_0011u32.to_le_bytes());
    head.truncate(32);
    head.extend([0, 0, 0]);
    *len = head.len();
    let observed = decode(&samples);
    let expected = Action::Read { file: 3, offset: 0, asked: 64_512, bytes: 0 };
    assert!(observed.operations.iter().any(|operation| operation.action == expected));
}

#[test]
fn a_write_without_bytes_sets_the_size() {
    assert_eq!(operations("truncate"), [open(0, true), (Action::SetSize { file: 0, size: 0 }, Done)]);
}

#[test]
fn what_is_to_be_deleted_is_removed_with_the_close() {
    let removed = (Action::Remove { file: Some(0) }, Done);
    assert_eq!(operations("disposition"), [open(0, true), CLOSE, removed]);
}

#[test]
fn an_open_file_gets_a_name_in_its_directory() {
    let renamed = (Action::Rename { file: Some(0), replaced: None }, Done);
    assert_eq!(operations("rename"), [open(0, true), renamed]);
    let files = decode(&section("rename")).files;
    assert_eq!((files.len(), files[0].parent), (2, Some(1)));
}

#[test]
fn a_reply_in_several_messages_ends_with_the_last_one() {
    let observed = decode(&section("multipart"));
    let listings: Vec<_> =
        observed.operations.iter().map(|operation| (operation.action, operation.end)).collect();
    let list = |entries, first| Action::List { directory: 0, entries, first };
    assert_eq!(listings, [(list(512, true), Some(4_010)), (list(188, false), Some(7_010))]);
    assert_eq!(observed.unseen.without_request, 0);
    // Without its last part, an operation ends with the one before.
    let mut samples = section("multipart");
    samples.pop();
    assert_eq!(decode(&samples).operations[1].end, Some(6_010));
}

#[test]
fn a_cancelled_notification_is_one_operation() {
    let observed = decode(&section("notify"));
    let [_, notify] = observed.operations.as_slice() else { panic!("{:?}", observed.operations) };
    assert_eq!(notify.action, Action::Other("NT_TRANSACT_NOTIFY_CHANGE"));
    assert_eq!(notify.outcome, Failed(0xC000_0120));
    assert_eq!((notify.start, notify.end), (2_000, Some(4_010)));
}

#[test]
fn rarer_opens_have_files_too() {
    assert_eq!(operations("nt-create"), [open(0, true)]);
    assert_eq!(decode(&section("nt-create")).files[0].extension, Some("text"));
    assert_eq!(operations("temporary"), [open(0, true)]);
    assert!(!decode(&section("temporary")).files[0].directory);
}

#[test]
fn an_echo_has_as_many_replies_as_it_requests() {
    assert_eq!(operations("echo"), [(Action::Other("ECHO"), Done)]);
    let mut samples = section("echo");
    // EchoCount; the next reply is the second one.
    samples[0].2[33] = 2;
    samples.push(samples[1].clone());
    let observed = decode(&samples);
    assert_eq!((observed.operations.len(), observed.unseen.without_request), (1, 0));
    assert_eq!(observed.operations[0].end, Some(2_010));
    // Without a number there is no reply.
    samples.truncate(1);
    samples[0].2[33] = 0;
    assert_eq!(decode(&samples).operations, []);
}

/// A message that no server at hand sends: command, words and MID 7.
fn made(side: Side, command: u8, words: &[u16]) -> Sample {
    let mut head = b"\xFFSMB".to_vec();
    head.push(command);
    head.resize(32, 0);
    head[9] = if side == Side::Server { 0x80 } else { 0 };
    head[30] = 7;
    head.push(words.len() as u8);
    head.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    head.extend([0, 0]);
    (side, head.len(), head)
}

#[test]
fn a_raw_write_ends_with_its_interim_reply_or_where_it_is_stable_with_the_final_one() {
    for stable in [false, true] {
        // FID, CountOfBytes, Reserved, Offset, Timeout, WriteMode, Reserved, DataLength, DataOffset, OffsetHigh.
        let mode = u16::from(stable);
        let request = [5, 40_000, 0, 0x1000, 0, 0, 0, mode, 0, 0, 0, 0, 1, 0];
        let mut samples = vec![
            made(Side::Client, 0x1D, &request),
            made(Side::Server, 0x1D, &[0xFFFF]),
            (Side::Client, 40_000, vec![b'x'; 100]),
        ];
        if stable {
            samples.push(made(Side::Server, 0x20, &[40_000]));
        }
        let observed = decode(&samples);
        let [write] = observed.operations.as_slice() else { panic!("{:?}", observed.operations) };
        let offset = 0x1_0000_1000;
        assert_eq!(write.action, Action::Write { file: 0, offset, bytes: 40_000, stable });
        assert_eq!(write.end, Some(if stable { 3_010 } else { 1_010 }));
        assert_eq!(observed.unseen, crate::operation::Unseen::default());
    }
}

#[test]
fn reads_of_more_than_64_kib_and_beyond_4_gib_have_high_words() {
    // AndX, FID, Offset, MaxCount, MinCount, MaxCountHigh, Remaining, OffsetHigh (MS-SMB 2.2.4.2.1).
    let request = [0xFF, 0, 5, 0, 1, 0x10, 0, 2, 0, 0, 3, 0];
    // AndX, Available, DataCompactionMode, Reserved, DataLength, DataOffset, DataLengthHigh.
    let reply = [0xFF, 0, 0, 0, 0, 8, 60, 2, 0, 0, 0, 0];
    let samples = [made(Side::Client, 0x2E, &request), made(Side::Server, 0x2E, &reply)];
    let observed = decode(&samples);
    let expected = Action::Read { file: 0, offset: 0x3_0001_0000, asked: 0x2_0010, bytes: 0x2_0008 };
    assert_eq!(observed.operations[0].action, expected);
}
