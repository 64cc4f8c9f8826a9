//! What a file keeps that Linux has no place for: times of changes and of creation, extended attributes, descriptors.

use sharebench_smb::wire::create_context::{CreateContext, name};
use sharebench_smb::wire::extended_attributes::{attributes, put_attributes};

use super::*;

/// FILETIME of 1970.
const EPOCH: u64 = 116_444_736_000_000_000;

#[test]
fn all_four_times_are_stored_also_before_1970() {
    on_memory_and_directory("times", |server, _| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let directory =
            CreateRequest { options: options::DIRECTORY_FILE, ..wanted("sub", disposition::CREATE) };
        for file in [raw.open("file", disposition::CREATE).unwrap(), raw.create(&directory).unwrap().file] {
            // Seconds from 1970, and the rest in units of 100 ns.
            for (seconds, rest) in
                [(1_000_000_000, 1_234_567), (-1, 0), (-1, 5), (-86_400, 0), (-2_000_000_000, 7)]
            {
                let first = EPOCH.checked_add_signed(seconds * 10_000_000 + rest).unwrap();
                let times = [0, 10_000_000, 20_000_000, 30_000_000].map(|later: u64| first + later);
                let mut basic: Vec<u8> = times.iter().flat_map(|time| time.to_le_bytes()).collect();
                basic.resize(40, 0);
                assert_eq!(raw.set(file, 4, basic.clone()), NtStatus::SUCCESS);
                let found = raw.query(file, 1, 4, 40).unwrap();
                assert_eq!(found[..32], basic[..32], "{seconds} s and {rest} of 100 ns");
            }
            // A change that follows at once ends the stated time of the last change.
            let mut modified = vec![0; 40];
            modified[16..24].copy_from_slice(&EPOCH.to_le_bytes());
            assert_eq!(raw.set(file, 4, modified), NtStatus::SUCCESS);
            let found = raw.query(file, 1, 4, 40).unwrap();
            assert!(u64::from_le_bytes(*found[24..].first_chunk().unwrap()) > EPOCH + (1 << 53));
        }
    });
}

/// Names and values of extended attributes.
type Pairs<'a> = &'a [(&'a str, &'a [u8])];

fn list(pairs: Pairs<'_>) -> Vec<u8> {
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect();
    let mut out = Vec::new();
    put_attributes(&pairs, &mut out);
    out
}

#[test]
fn extended_attributes_are_stored() {
    const FULL: u8 = 15;
    on_memory_and_directory("extended", |server, volume| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let file = raw.open("file", disposition::CREATE).unwrap();
        assert_eq!(raw.query(file, 1, FULL, 4096), Err(NtStatus::NO_EAS_ON_FILE));
        let two = list(&[("COLOR", b"red"), ("Size", b"1")]);
        assert_eq!(raw.set(file, FULL, two), NtStatus::SUCCESS);
        // What is set, and what the file has then: names are equal in any case, and an empty value removes one.
        let steps: [(Pairs<'_>, Pairs<'_>); 4] = [
            (&[], &[("COLOR", b"red"), ("Size", b"1")]),
            (&[("color", b"blue")], &[("COLOR", b"blue"), ("Size", b"1")]),
            (&[("SIZE", b""), ("none", b"")], &[("COLOR", b"blue")]),
            (&[("COLOR", b""), ("last", b"\0\x01")], &[("last", b"\0\x01")]),
        ];
        for (set, expected) in steps {
            assert_eq!(raw.set(file, FULL, list(set)), NtStatus::SUCCESS, "{set:?}");
            let mut found = attributes(&raw.query(file, 1, FULL, 4096).unwrap()).unwrap();
            found.sort();
            assert_eq!(list(expected), list_of(&found), "{set:?}");
        }
        let size = 4 + 4 + 5 + 2u32;
        assert_eq!(raw.query(file, 1, 7, 4), Ok(size.to_le_bytes().to_vec()));
        assert_eq!(raw.query(file, 1, 18, 4096).unwrap()[72..76], size.to_le_bytes());
        assert_eq!(raw.query(file, 1, FULL, 4), Err(NtStatus::INFO_LENGTH_MISMATCH));
        if !volume.never_blocks() {
            // Those in which the server keeps its own data are no clients' business.
            assert_eq!(raw.set(file, FULL, list(&[("sharebench.dos", b"x")])), NtStatus::ACCESS_DENIED);
        }
        assert_eq!(raw.set(file, FULL, vec![1; 3]), NtStatus::INVALID_PARAMETER);
        let readable = CreateRequest { access: READ & !0x10, ..wanted("file", disposition::OPEN) };
        let readable = raw.create(&readable).unwrap().file;
        assert_eq!(raw.set(readable, FULL, list(&[("A", b"1")])), NtStatus::ACCESS_DENIED);
        let contexts = vec![CreateContext::new(name::EXTENDED_ATTRIBUTES, &list(&[("A", b"1")]))];
        let made = CreateRequest { contexts, ..wanted("made", disposition::CREATE) };
        let made = raw.create(&made).unwrap().file;
        assert_eq!(raw.query(made, 1, FULL, 4096), Ok(list(&[("A", b"1")])));
    });
}

fn list_of(pairs: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    put_attributes(pairs, &mut out);
    out
}

#[test]
fn new_files_inherit_the_entries_of_their_directory() {
    /// Everybody: inherited by files, by directories, and not at all.
    fn descriptor(flags: &[u8]) -> Vec<u8> {
        let entry = |flags: &u8| {
            [&[0, *flags, 20, 0][..], &[0xFF, 1, 31, 0], &[1, 1, 0, 0, 0, 0, 0, 1], &[0; 4]].concat()
        };
        let entries: Vec<u8> = flags.iter().flat_map(entry).collect();
        let mut bytes = vec![1, 0, 4, 0x80];
        bytes.extend_from_slice(&[0, 0, 0, 20].map(u32::to_le_bytes).concat());
        bytes.extend_from_slice(&[2, 0, 8 + entries.len() as u8, 0, flags.len() as u8, 0, 0, 0]);
        bytes.extend_from_slice(&entries);
        bytes
    }
    on_memory_and_directory("inherited", |server, _| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let directory = |name: &str, disposition| CreateRequest {
            options: options::DIRECTORY_FILE,
            ..wanted(name, disposition)
        };
        let sub = raw.create(&directory("sub", disposition::CREATE)).unwrap().file;
        let request = SetInfoRequest {
            info_type: 3,
            class: 0,
            file: sub,
            additional: 4,
            information: descriptor(&[1, 2, 0]),
        };
        assert_eq!(raw.call(command::SET_INFO, |body| request.encode(body)).0.status, 0);
        let file = raw.open("sub\\file", disposition::CREATE).unwrap();
        let below = raw.create(&directory("sub\\below", disposition::CREATE)).unwrap().file;
        // Owner and group are those of every file, before the list.
        for (made, flags) in [(file, &[0][..]), (below, &[9, 2])] {
            let found = raw.query(made, 3, 0, 4096).unwrap();
            let list = u32::from_le_bytes(*found[16..].first_chunk().unwrap()) as usize;
            assert_eq!(found[list..], descriptor(flags)[20..]);
        }
    });
}
