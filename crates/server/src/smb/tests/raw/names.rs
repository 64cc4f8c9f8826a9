//! New names of open files, and names as clients written in Java send them: with a separator at the end.

use sharebench_smb::wire::info::LINK;

use super::*;

#[test]
fn a_separator_at_the_end_of_a_name_is_ignored_in_every_request() {
    on_both(|server, volume| {
        volume.make_directory(ROOT, "parent", 0o755).unwrap();
        let mut raw = Raw::log_in(server.addr(), "share\\");
        let directory = |name: &str, disposition| CreateRequest {
            options: options::DIRECTORY_FILE,
            ..wanted(name, disposition)
        };
        for name in ["made\\", "made/", "made\\\\", "parent\\below\\", "parent/below//"] {
            let made = raw.create(&directory(name, disposition::OPEN_IF)).unwrap();
            assert_eq!(raw.close(made.file), NtStatus::SUCCESS, "{name}");
        }
        let file = raw.open("parent\\file\\", disposition::CREATE).unwrap();
        let made = raw.create(&directory("made", disposition::OPEN)).unwrap().file;
        // The class, the open, the new path as it is sent and as it is found.
        for (class, open, sent, found) in [
            (10, made, "renamed\\", "renamed"),
            (65, made, "parent/again/", "again"),
            (10, file, "parent\\moved\\", "moved"),
            (LINK, file, "parent\\second\\", "second"),
        ] {
            assert_eq!(raw.set(open, class, rename(sent)), NtStatus::SUCCESS, "{class} {sent}");
            let above =
                if sent.starts_with("parent") { volume.lookup(ROOT, "parent").unwrap().node } else { ROOT };
            assert!(volume.lookup(above, found).is_ok(), "{class} {sent}");
        }
        assert_eq!(raw.open("\\", disposition::OPEN), Err(NtStatus::INVALID_PARAMETER));
        assert_eq!(raw.set(file, 10, rename("\\")), NtStatus::OBJECT_NAME_INVALID);
    });
}

#[test]
fn a_file_has_several_names_and_each_is_renamed_and_removed_by_itself() {
    on_memory_and_directory("links", |server, volume| {
        let mut raw = Raw::log_in(server.addr(), "share");
        let first = raw.open("first", disposition::CREATE).unwrap();
        assert_eq!(raw.write(first, 0, b"content"), NtStatus::SUCCESS);
        let link = |replace: u8, name: &str| {
            let mut information = rename(name);
            information[0] = replace;
            information
        };
        assert_eq!(raw.set(first, LINK, link(0, "second")), NtStatus::SUCCESS);
        let links = |raw: &mut Raw, file| raw.query(file, 1, 5, 24).unwrap()[16];
        assert_eq!(links(&mut raw, first), 2);
        let second = raw.open("second", disposition::OPEN).unwrap();
        assert_eq!(raw.read(second, 0, 100).unwrap(), b"content");
        // An existing name is replaced only on request, and not while it is open.
        let other = raw.open("other", disposition::CREATE).unwrap();
        assert_eq!(raw.set(first, LINK, link(0, "OTHER")), NtStatus::OBJECT_NAME_COLLISION);
        assert_eq!(raw.set(first, LINK, link(1, "OTHER")), NtStatus::ACCESS_DENIED);
        assert_eq!(raw.close(other), NtStatus::SUCCESS);
        assert_eq!(raw.set(first, LINK, link(1, "OTHER")), NtStatus::SUCCESS);
        assert_eq!(links(&mut raw, first), 3);
        // Each open concerns the name by which it was opened.
        assert_eq!(raw.set(second, 10, rename("renamed")), NtStatus::SUCCESS);
        assert_eq!(raw.set(second, DISPOSITION, vec![1]), NtStatus::SUCCESS);
        assert_eq!([raw.close(second), raw.close(first)], [NtStatus::SUCCESS; 2]);
        for (name, exists) in
            [("first", true), ("second", false), ("renamed", false), ("OTHER", true), ("other", false)]
        {
            assert_eq!(volume.lookup(ROOT, name).is_ok(), exists, "{name}");
        }
        let root = CreateRequest { options: options::DIRECTORY_FILE, ..wanted("", disposition::OPEN) };
        let root = raw.create(&root).unwrap().file;
        assert_eq!(raw.set(root, LINK, link(0, "root")), NtStatus::FILE_IS_A_DIRECTORY);
        let first = raw.open("first", disposition::OPEN).unwrap();
        for (name, status) in [
            ("", NtStatus::OBJECT_NAME_INVALID),
            ("no\\name", NtStatus::OBJECT_PATH_NOT_FOUND),
            ("con", NtStatus::OBJECT_NAME_INVALID),
        ] {
            assert_eq!(raw.set(first, LINK, link(0, name)), status, "{name:?}");
        }
        assert_eq!(raw.set(first, LINK, vec![0; 19]), NtStatus::INFO_LENGTH_MISMATCH);
    });
}

/// Requests are encoded here, because no text has such a name.
#[test]
fn a_name_with_half_of_a_character_equals_no_other_name() {
    on_both(|server, volume| {
        volume.create(ROOT, "a\u{FFFD}", 0o644).unwrap();
        let mut raw = Raw::log_in(server.addr(), "share");
        let file = raw.open("file", disposition::CREATE).unwrap();
        for lone in [0xD83Du16, 0xD800, 0xDFFF] {
            for (class, before, after) in [(10, "a", ""), (65, "a", "b"), (LINK, "a", ""), (LINK, "", "b")] {
                let mut information = rename(&format!("{before}X{after}"));
                let at = information.len() - 2 * (1 + after.len());
                information[at..at + 2].copy_from_slice(&lone.to_le_bytes());
                let status = raw.set(file, class, information);
                assert_eq!(status, NtStatus::OBJECT_NAME_INVALID, "{lone:#x} {class} {before}X{after}");
            }
            for (disposition, before, after) in [
                (disposition::OPEN, "a", ""),
                (disposition::OPEN_IF, "", "b"),
                (disposition::CREATE, "a:", ""),
            ] {
                let placeholder = format!("{before}X{after}");
                let request = wanted(&placeholder, disposition);
                let mut message = raw.message(command::CREATE, 0, |body| request.encode(body));
                let name = sharebench_smb::wire::utf16(&placeholder);
                let at = message.windows(name.len()).rposition(|bytes| bytes == name).unwrap();
                let at = at + 2 * before.len();
                message[at..at + 2].copy_from_slice(&lone.to_le_bytes());
                raw.send(&message);
                assert_eq!(raw.status(), NtStatus::OBJECT_NAME_INVALID, "{lone:#x} {placeholder}");
            }
        }
        let names: Vec<_> = volume.list(ROOT, 0, 10).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["a\u{FFFD}", "file"]);
    });
}
