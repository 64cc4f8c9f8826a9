//! Names as clients written in Java send them, with a separator at the end; and further names of a file.

use sharebench_smb::nt1::attributes::SetRequest;
use sharebench_smb::nt1::file::{OpenRequest, OpenResponse};
use sharebench_smb::nt1::path::{ALL as ALL_ENTRIES, SearchAttributes, put_name};
use sharebench_smb::nt1::trans2::{Found, find_first, subcommand};
use sharebench_smb::wire::utf16;

use super::*;

/// Information of SMB1 with a new name (MS-FSCC 2.4.42.1): not replacing, no directory.
fn new_name(name: &str) -> Vec<u8> {
    let name = utf16(name);
    [&[0; 8][..], &(name.len() as u32).to_le_bytes(), &name].concat()
}

/// The parameters of a transaction: 2 bytes, then the level, then a path after a reserved field if there is one.
fn with_path(level: u16, path: &str) -> Vec<u8> {
    [&level.to_le_bytes()[..], &[0; 4], &utf16(path), &[0, 0]].concat()
}

#[test]
fn a_separator_at_the_end_of_a_name_is_ignored_in_every_command() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        assert_eq!(raw.connect_tree("share\\").status(), NtStatus::SUCCESS);
        let named = |raw: &mut Raw, command: u8, name: &str| {
            let reply = raw.call(command, &NoWords {}, |out| put_name(name, 0, out));
            assert_eq!(reply.status(), NtStatus::SUCCESS, "{command:#x} {name}");
        };
        named(&mut raw, command::CREATE_DIRECTORY, "\\parent\\");
        named(&mut raw, command::CREATE_DIRECTORY, "\\parent\\below/");
        named(&mut raw, command::CHECK_DIRECTORY, "\\parent\\below\\");
        let fid = raw.create("\\parent\\file\\", (disposition::CREATE, SHARE_ALL)).unwrap();
        for path in ["\\parent\\file\\", "\\parent\\"] {
            let found = raw.transact(subcommand::QUERY_PATH_INFORMATION, &with_path(0x0102, path), &[]);
            assert!(found.is_ok(), "{path}");
        }
        // Pass-through levels of a rename and of a further name; a name without a directory stays in that of the file.
        for (level, sent, found) in [
            (1010u16, "renamed\\", "\\parent\\renamed"),
            (1011, "second\\", "\\parent\\second"),
            (1010, "\\moved\\", "\\moved"),
        ] {
            let parameters = [&fid.to_le_bytes()[..], &level.to_le_bytes(), &[0; 2]].concat();
            let set = raw.transact(subcommand::SET_FILE_INFORMATION, &parameters, &new_name(sent));
            assert!(set.is_ok(), "{level} {sent}");
            let again = raw.create(found, (disposition::OPEN, SHARE_ALL));
            assert_eq!(again.map(|fid| raw.close(fid)), Ok(NtStatus::SUCCESS), "{level} {sent}");
        }
        assert_eq!(raw.close(fid), NtStatus::SUCCESS);
        let path = "\\parent\\second\\";
        let open = OpenRequest { andx: NO_ANDX, action: 1, ..OpenRequest::default() };
        let opened = raw.call(command::OPEN_ANDX, &open, |out| put_text(path, 0, out));
        assert_eq!(opened.status(), NtStatus::SUCCESS);
        assert_eq!(raw.close(opened.words::<OpenResponse>().fid), NtStatus::SUCCESS);
        named(&mut raw, command::QUERY_INFORMATION, path);
        let set = raw.call(command::SET_INFORMATION, &SetRequest::default(), |out| put_name(path, 0, out));
        assert_eq!(set.status(), NtStatus::SUCCESS);
        assert!(raw.transact(subcommand::SET_PATH_INFORMATION, &with_path(0x0101, path), &[0; 40]).is_ok());
        let found = raw.transact(subcommand::FIND_FIRST2, &find_first(path, 9), &[]).unwrap();
        assert_eq!(Found::decode(&found.parameters, true).unwrap().entries, 1);
        let words = SearchAttributes { attributes: ALL_ENTRIES };
        let deleted = raw.call(command::DELETE, &words, |out| put_name(path, 0, out));
        assert_eq!(deleted.status(), NtStatus::SUCCESS);
        assert_eq!(raw.create(path, (disposition::OPEN, SHARE_ALL)), Err(NtStatus::OBJECT_NAME_NOT_FOUND));
        let renamed = raw.call(command::RENAME, &words, |out| {
            put_name("\\parent\\below\\", 0, out);
            put_name("\\other\\", 0, out);
        });
        assert_eq!(renamed.status(), NtStatus::SUCCESS);
        named(&mut raw, command::DELETE_DIRECTORY, "\\other\\");
    });
}

/// Requests are changed after they are encoded, because no text has such a name.
#[test]
fn a_name_with_half_of_a_character_equals_no_other_name() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let whole = "a\u{FFFD}";
        let fid = raw.create(whole, (disposition::CREATE, SHARE_ALL)).unwrap();
        assert_eq!(raw.close(fid), NtStatus::SUCCESS);
        for lone in [0xD83Du16, 0xD800, 0xDFFF] {
            for half in ["aX", "Xb"] {
                let words = create_words(disposition::OPEN_IF, SHARE_ALL);
                let open = raw.message(command::NT_CREATE_ANDX, &words, |out| put_text(half, 0, out));
                let words = SearchAttributes { attributes: ALL_ENTRIES };
                let renames = [(whole, half), (half, "b")].map(|(from, to)| {
                    raw.message(command::RENAME, &words, |out| {
                        put_name(from, 0, out);
                        put_name(to, 0, out);
                    })
                });
                for mut message in [&[open][..], &renames].concat() {
                    let at = message.windows(2).rposition(|unit| unit == b"X\0").unwrap();
                    message[at..at + 2].copy_from_slice(&lone.to_le_bytes());
                    raw.send(&message);
                    let status = raw.receive().unwrap().status();
                    assert_eq!(status, NtStatus::OBJECT_NAME_INVALID, "{lone:#x} {half}");
                }
            }
        }
        let found = raw.transact(subcommand::FIND_FIRST2, &find_first("\\*", 9), &[]).unwrap();
        assert_eq!(Found::decode(&found.parameters, true).unwrap().entries, 3, "the file, `.` and `..`");
    });
}
