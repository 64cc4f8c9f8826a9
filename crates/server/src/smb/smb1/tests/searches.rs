//! Searches that continue after a name, while their directory changes.

use sharebench_smb::nt1::trans2::{FindFirst, FindNext, find_first, subcommand};

use super::*;

/// Position of the attributes in the parameters of `FIND_FIRST2`, and of the flags in those of `FIND_NEXT2`.
const ATTRIBUTES: std::ops::Range<usize> = 0..2;
/// Names only (MS-CIFS 2.2.8.1.5).
const NAMES: u16 = 0x0103;

fn first(pattern: &str, max_entries: u16) -> Vec<u8> {
    let mut parameters = find_first(pattern, max_entries);
    // No directories, so that neither `.` nor `..` is found.
    parameters[ATTRIBUTES].copy_from_slice(&[0, 0]);
    assert!(parameters.len() > FindFirst::LEN);
    parameters[6..8].copy_from_slice(&NAMES.to_le_bytes());
    parameters
}

/// Parameters of a search that continues after a name instead of where it was.
fn after(search: u16, name: &str) -> Vec<u8> {
    let mut out = [search, 100, NAMES, 0, 0, 0].map(u16::to_le_bytes).concat();
    assert_eq!(out.len(), FindNext::LEN);
    put_text(name, 0, &mut out);
    out
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[test]
fn a_search_continues_after_a_name_that_it_leaves_out_and_finds_what_was_added_meanwhile() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        let create = |raw: &mut Raw, name: &str| {
            let fid = raw.create(name, (disposition::CREATE, SHARE_ALL)).unwrap();
            assert_eq!(raw.close(fid), NtStatus::SUCCESS);
        };
        for number in 0..20 {
            create(&mut raw, &format!("file{number}"));
        }
        let found = raw.transact(subcommand::FIND_FIRST2, &first("\\file*", 2), &[]).unwrap();
        let search = u16_at(&found.parameters, 0);
        assert_eq!(u16_at(&found.parameters, 2), 2, "entries");
        create(&mut raw, "file20");
        create(&mut raw, "other");
        let words = sharebench_smb::nt1::path::SearchAttributes { attributes: 0 };
        let put = |out: &mut Vec<u8>| sharebench_smb::nt1::path::put_name("\\file10", 0, out);
        assert_eq!(raw.call(command::DELETE, &words, put).status(), NtStatus::SUCCESS);
        // From the start, as `.` is before everything.
        let found = raw.transact(subcommand::FIND_NEXT2, &after(search, "."), &[]).unwrap();
        assert_eq!(
            u16_at(&found.parameters, 0),
            20,
            "entries: 20 and one that was added less one that was deleted"
        );
    });
}

#[test]
fn a_search_continues_after_a_name_that_is_gone() {
    on_both(|server| {
        let mut raw = Raw::log_in(server.addr());
        for number in 0..5 {
            raw.create(&format!("file{number}"), (disposition::CREATE, SHARE_ALL)).unwrap();
        }
        let found = raw.transact(subcommand::FIND_FIRST2, &first("\\*", 2), &[]).unwrap();
        let search = u16_at(&found.parameters, 0);
        let found = raw.transact(subcommand::FIND_NEXT2, &after(search, "gone"), &[]).unwrap();
        assert_eq!(u16_at(&found.parameters, 0), 3, "entries: those after the two");
    });
}
