//! Names of streams as Windows sends them.

use super::*;

#[test]
fn the_name_of_a_stream_may_have_control_characters() {
    on_both(|server, volume| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let name = "file:\u{5}SummaryInformation:$DATA";
        assert_eq!(raw.open(name, disposition::OPEN), Err(NtStatus::OBJECT_NAME_NOT_FOUND));
        let stream = raw.open(name, disposition::CREATE).unwrap();
        assert_eq!(raw.write(stream, 0, b"title"), NtStatus::SUCCESS);
        assert_eq!(raw.close(stream), NtStatus::SUCCESS);
        let again = raw.open(name, disposition::OPEN).unwrap();
        assert_eq!(raw.read(again, 0, 100).unwrap(), b"title");
        let file = volume.lookup(ROOT, "file").unwrap();
        let streams = volume.streams(file.node).unwrap();
        assert_eq!(
            streams.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["\u{5}SummaryInformation"]
        );
        for name in ["file:a\0b", "\u{5}file"] {
            assert_eq!(raw.open(name, disposition::OPEN_IF), Err(NtStatus::OBJECT_NAME_INVALID), "{name:?}");
        }
    });
}

#[test]
fn the_content_of_a_directory_cannot_be_opened() {
    on_memory_and_directory("content", |server, volume| {
        volume.make_directory(ROOT, "sub", 0o755).unwrap();
        volume.create(ROOT, "file", 0o644).unwrap();
        let mut raw = Raw::log_in(server.addr(), "share");
        let held =
            CreateRequest { share: 0, options: options::DIRECTORY_FILE, ..wanted("sub", disposition::OPEN) };
        raw.create(&held).unwrap();
        for (name, options, status) in [
            ("sub::$DATA", options::DIRECTORY_FILE, NtStatus::NOT_A_DIRECTORY),
            ("sub::$data", 0, NtStatus::FILE_IS_A_DIRECTORY),
            ("sub:stream", options::DIRECTORY_FILE, NtStatus::NOT_A_DIRECTORY),
            ("file::$DATA", options::DIRECTORY_FILE, NtStatus::NOT_A_DIRECTORY),
            ("none::$DATA", options::DIRECTORY_FILE, NtStatus::NOT_A_DIRECTORY),
        ] {
            let request = CreateRequest { options, ..wanted(name, disposition::OPEN) };
            assert_eq!(raw.create(&request).err(), Some(status), "{name}");
        }
        assert!(raw.open("file::$DATA", disposition::OPEN).is_ok());
    });
}

/// The share mode that allows reading and writing, but no removal.
const KEEP: u32 = 3;

#[test]
fn an_open_stream_that_does_not_share_removal_keeps_its_file_and_any_other_one_delays_its_removal() {
    on_memory_and_directory("removal", |server, volume| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let with = |name: &str, share, access, disposition| CreateRequest {
            share,
            access,
            ..wanted(name, disposition)
        };
        let created = disposition::OPEN_IF;
        // The opens that exist, and one that follows, which removes: with the share mode and the access of each.
        for (first, second, status) in [
            (("file:s", KEEP, READ), ("file", SHARE_ALL, ALL), NtStatus::SHARING_VIOLATION),
            (("file", SHARE_ALL, ALL), ("file:s", KEEP, READ), NtStatus::SUCCESS),
            (("file", 0, ALL), ("file:s", SHARE_ALL, ALL), NtStatus::SUCCESS),
            (("file:s", SHARE_ALL, ALL), ("file", 0, ALL), NtStatus::SUCCESS),
            (("file:s", SHARE_ALL, READ), ("file", SHARE_ALL, ALL), NtStatus::SUCCESS),
            (("file:s", KEEP, READ), ("file", SHARE_ALL, READ), NtStatus::SUCCESS),
            (("file:s", KEEP, READ), ("file", 0, READ), NtStatus::SUCCESS),
            (("file:s", KEEP, READ), ("file:t", KEEP, READ), NtStatus::SUCCESS),
        ] {
            for name in ["file:s", "file:t"] {
                let made = raw.open(name, created).unwrap();
                assert_eq!(raw.close(made), NtStatus::SUCCESS);
            }
            let held = raw.create(&with(first.0, first.1, first.2, created)).unwrap().file;
            let other = raw.create(&with(second.0, second.1, second.2, created)).map(|opened| opened.file);
            assert_eq!(other.err().unwrap_or(NtStatus::SUCCESS), status, "{first:?} {second:?}");
            if let Ok(other) = other {
                assert_eq!(raw.close(other), NtStatus::SUCCESS);
            }
            assert_eq!(raw.close(held), NtStatus::SUCCESS);
        }
        let stream = raw.create(&with("file:s", SHARE_ALL, ALL, disposition::OPEN)).unwrap().file;
        assert_eq!(raw.write(stream, 0, b"kept"), NtStatus::SUCCESS);
        let file = raw.open("file", disposition::OPEN).unwrap();
        assert_eq!(raw.set(file, DISPOSITION, vec![1]), NtStatus::SUCCESS);
        assert_eq!(raw.close(file), NtStatus::SUCCESS);
        assert_eq!(raw.read(stream, 0, 100).unwrap(), b"kept");
        for name in ["file", "file:s", "file:new"] {
            assert_eq!(raw.open(name, disposition::OPEN_IF), Err(NtStatus::DELETE_PENDING), "{name}");
        }
        assert!(volume.lookup(ROOT, "file").is_ok());
        assert_eq!(raw.close(stream), NtStatus::SUCCESS);
        assert!(volume.lookup(ROOT, "file").is_err());
        assert_eq!(raw.open("file:s", disposition::OPEN), Err(NtStatus::OBJECT_NAME_NOT_FOUND));
    });
}
