//! The contract of every volume.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_server::{ListedIn, NodeId, ROOT, SetAttributes, Volume, VolumeError};

use crate::volumes::on_every_volume;

fn read_all(volume: &dyn Volume, file: NodeId) -> Vec<u8> {
    let size = volume.attributes(file).unwrap().size;
    let mut bytes = vec![0xee; usize::try_from(size).unwrap() + 10];
    let count = volume.read(file, 0, &mut bytes).unwrap();
    bytes.truncate(count);
    bytes
}

fn list_by(volume: &dyn Volume, directory: NodeId, page: usize) -> Vec<String> {
    let mut names = Vec::new();
    let mut cookie = 0;
    loop {
        let entries = volume.list(directory, cookie, page).unwrap();
        let Some(last) = entries.last() else { return names };
        cookie = last.cookie;
        assert_ne!(cookie, 0);
        names.extend(entries.into_iter().map(|entry| entry.name));
    }
}

#[test]
fn a_node_is_listed_in_the_directory_of_its_only_name() {
    on_every_volume(|volume| {
        let directory = volume.make_directory(ROOT, "directory", 0o755).unwrap().node;
        let file = volume.create(ROOT, "file", 0o644).unwrap().node;
        assert_eq!(volume.listed_in(ROOT), ListedIn::Directory(ROOT));
        assert_eq!(volume.listed_in(directory), ListedIn::Directory(ROOT));
        assert_eq!(volume.listed_in(file), ListedIn::Directory(ROOT));
        volume.rename(ROOT, "file", directory, "moved").unwrap();
        assert_eq!(volume.listed_in(file), ListedIn::Directory(directory));
        volume.add_name(file, ROOT, "second").unwrap();
        assert_eq!(volume.listed_in(file), ListedIn::Unknown);
        // A volume may not know which of its names is left, but it must not name the other directory.
        volume.lookup(ROOT, "second").unwrap();
        volume.remove(ROOT, "second").unwrap();
        assert_ne!(volume.listed_in(file), ListedIn::Directory(ROOT));
        assert_ne!(volume.listed_in(file), ListedIn::Nowhere);
        volume.remove(directory, "moved").unwrap();
        assert_eq!(volume.listed_in(file), ListedIn::Nowhere);
    });
}

#[test]
fn a_read_returns_the_written_bytes() {
    on_every_volume(|volume| {
        let file = volume.create(ROOT, "file", 0o640).unwrap();
        assert_eq!((file.size, file.mode, file.directory, file.links), (0, 0o640, false, 1));
        let data: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
        volume.write(file.node, 0, &data, false).unwrap();
        volume.write(file.node, 100_000, b"durable", true).unwrap();
        volume.commit(file.node).unwrap();
        let mut expected = data.clone();
        expected[100_000..100_007].copy_from_slice(b"durable");
        assert_eq!(read_all(volume, file.node), expected);
        let found = volume.lookup(ROOT, "file").unwrap();
        assert_eq!((found.node, found.size), (file.node, 300_000));
        assert!(found.allocated >= 300_000, "{}", found.allocated);
    });
}

#[test]
fn reads_are_short_only_at_the_end() {
    on_every_volume(|volume| {
        let file = volume.create(ROOT, "file", 0o644).unwrap().node;
        volume.write(file, 0, b"0123456789", false).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(volume.read(file, 0, &mut buffer), Ok(8));
        assert_eq!(volume.read(file, 6, &mut buffer), Ok(4));
        assert_eq!(&buffer[..4], b"6789");
        assert_eq!(volume.read(file, 10, &mut buffer), Ok(0));
        assert_eq!(volume.read(file, u64::MAX, &mut buffer), Ok(0));
        assert_eq!(volume.read(file, 3, &mut []), Ok(0));
    });
}

#[test]
fn holes_read_as_zeros_and_use_no_space() {
    on_every_volume(|volume| {
        let file = volume.create(ROOT, "sparse", 0o644).unwrap().node;
        volume.write(file, 1 << 33, b"end", false).unwrap();
        let attributes = volume.attributes(file).unwrap();
        assert_eq!(attributes.size, (1 << 33) + 3);
        assert!(attributes.allocated <= 128 << 10, "{}", attributes.allocated);
        let mut buffer = [1; 10];
        assert_eq!(volume.read(file, (1 << 33) - 5, &mut buffer), Ok(8));
        assert_eq!(&buffer[..8], b"\0\0\0\0\0end");
    });
}

#[test]
fn truncated_and_extended_bytes_are_zeros() {
    on_every_volume(|volume| {
        let file = volume.create(ROOT, "file", 0o644).unwrap().node;
        volume.write(file, 0, b"secret", false).unwrap();
        let size = |size| SetAttributes { size: Some(size), ..SetAttributes::default() };
        assert_eq!(volume.set_attributes(file, &size(2)).unwrap().size, 2);
        assert_eq!(volume.set_attributes(file, &size(6)).unwrap().size, 6);
        assert_eq!(read_all(volume, file), b"se\0\0\0\0");
        assert_eq!(volume.set_attributes(file, &size(1 << 63)), Err(VolumeError::TooBig));
        assert_eq!(volume.write(file, i64::MAX as u64, b"x", false), Err(VolumeError::TooBig));
        assert_eq!(volume.write(file, u64::MAX, b"xx", false), Err(VolumeError::TooBig));
    });
}

#[test]
fn attributes_are_stored() {
    on_every_volume(|volume| {
        let file = volume.create(ROOT, "file", 0o644).unwrap().node;
        let then = UNIX_EPOCH + Duration::new(981_173_106, 123_456_700);
        let before_1970 = UNIX_EPOCH - Duration::new(1_000, 250_000_000);
        let change = SetAttributes {
            mode: Some(0o604),
            accessed: Some(before_1970),
            modified: Some(then),
            ..SetAttributes::default()
        };
        volume.set_attributes(file, &change).unwrap();
        let found = volume.attributes(file).unwrap();
        assert_eq!((found.mode, found.accessed, found.modified), (0o604, before_1970, then));
        assert!(found.changed > then);
        volume.write(file, 0, b"x", false).unwrap();
        let written = volume.attributes(file).unwrap();
        let age = SystemTime::now().duration_since(written.modified).unwrap_or_default();
        assert!(age < Duration::from_secs(60), "{age:?}");
    });
}

#[test]
fn names_behave_as_names() {
    on_every_volume(|volume| {
        let directory = volume.make_directory(ROOT, "dir", 0o755).unwrap();
        assert!(directory.directory);
        let file = volume.create(directory.node, "file", 0o644).unwrap().node;
        assert_eq!(volume.create(directory.node, "file", 0o644), Err(VolumeError::Exists));
        assert_eq!(volume.make_directory(directory.node, "file", 0o755), Err(VolumeError::Exists));
        assert_eq!(volume.lookup(directory.node, "FILE"), Err(VolumeError::NotFound));
        assert_eq!(volume.lookup(file, "x"), Err(VolumeError::NotDirectory));
        assert_eq!(volume.create(file, "x", 0o644), Err(VolumeError::NotDirectory));
        assert_eq!(volume.parent(directory.node), Ok(ROOT));
        assert_eq!(volume.parent(ROOT), Ok(ROOT));
        assert_eq!(volume.remove(ROOT, "dir"), Err(VolumeError::IsDirectory));
        assert_eq!(volume.remove_directory(ROOT, "dir"), Err(VolumeError::NotEmpty));
        assert_eq!(volume.remove_directory(directory.node, "file"), Err(VolumeError::NotDirectory));
        assert_eq!(volume.remove(directory.node, "none"), Err(VolumeError::NotFound));
        volume.remove(directory.node, "file").unwrap();
        volume.remove_directory(ROOT, "dir").unwrap();
        assert_eq!(volume.lookup(ROOT, "dir"), Err(VolumeError::NotFound));
        assert_eq!(list_by(volume, ROOT, 10), Vec::<String>::new());
    });
}

#[test]
fn a_removed_node_is_stale_and_its_number_is_not_reused() {
    on_every_volume(|volume| {
        let mut gone = Vec::new();
        for _ in 0..20 {
            let file = volume.create(ROOT, "file", 0o644).unwrap().node;
            assert!(!gone.contains(&file));
            volume.remove(ROOT, "file").unwrap();
            gone.push(file);
        }
        for file in gone {
            assert_eq!(volume.attributes(file), Err(VolumeError::Stale));
            assert_eq!(volume.read(file, 0, &mut [0]), Err(VolumeError::Stale));
            assert_eq!(volume.write(file, 0, b"x", false), Err(VolumeError::Stale));
        }
        let directory = volume.make_directory(ROOT, "dir", 0o755).unwrap().node;
        volume.remove_directory(ROOT, "dir").unwrap();
        assert_eq!(volume.create(directory, "x", 0o644), Err(VolumeError::Stale));
        assert_eq!(volume.attributes(NodeId(u64::MAX)), Err(VolumeError::NotFound));
        assert_eq!(volume.attributes(NodeId(0)), Err(VolumeError::NotFound));
    });
}

#[test]
fn a_rename_keeps_the_node_and_replaces_only_what_it_may_replace() {
    on_every_volume(|volume| {
        let a = volume.make_directory(ROOT, "a", 0o755).unwrap().node;
        let b = volume.make_directory(ROOT, "b", 0o755).unwrap().node;
        let file = volume.create(a, "file", 0o644).unwrap().node;
        volume.write(file, 0, b"moved", false).unwrap();
        let old = volume.create(b, "old", 0o644).unwrap().node;
        volume.rename(a, "file", b, "old").unwrap();
        assert_eq!(volume.lookup(b, "old").unwrap().node, file);
        assert_eq!(volume.lookup(a, "file"), Err(VolumeError::NotFound));
        assert_eq!(read_all(volume, file), b"moved");
        assert_eq!(volume.attributes(old), Err(VolumeError::Stale));
        volume.rename(b, "old", b, "old").unwrap();
        assert_eq!(read_all(volume, file), b"moved");

        assert_eq!(volume.rename(b, "old", ROOT, "a"), Err(VolumeError::IsDirectory));
        assert_eq!(volume.rename(ROOT, "a", b, "old"), Err(VolumeError::NotDirectory));
        assert_eq!(volume.rename(ROOT, "a", ROOT, "b"), Err(VolumeError::NotEmpty));
        assert_eq!(volume.rename(ROOT, "none", ROOT, "b"), Err(VolumeError::NotFound));
        volume.rename(ROOT, "b", a, "c").unwrap();
        assert_eq!(volume.parent(b), Ok(a));
        assert_eq!(volume.rename(ROOT, "a", b, "loop"), Err(VolumeError::BadName));
        assert_eq!(volume.rename(ROOT, "a", a, "loop"), Err(VolumeError::BadName));
        let empty = volume.make_directory(ROOT, "empty", 0o755).unwrap().node;
        volume.rename(a, "c", ROOT, "empty").unwrap();
        assert_eq!(volume.lookup(ROOT, "empty").unwrap().node, b);
        assert_eq!(volume.attributes(empty), Err(VolumeError::Stale));
        assert_eq!(list_by(volume, b, 10), ["old"]);
    });
}

#[test]
fn a_listing_has_every_permanent_entry_once_while_others_are_added_and_removed() {
    on_every_volume(|volume| {
        for nth in 0..200 {
            volume.create(ROOT, &format!("stays{nth}"), 0o644).unwrap();
            volume.create(ROOT, &format!("goes{nth}"), 0o644).unwrap();
        }
        let mut seen = BTreeMap::new();
        let mut cookie = 0;
        for round in 0.. {
            let page = volume.list(ROOT, cookie, 7).unwrap();
            let Some(last) = page.last() else { break };
            cookie = last.cookie;
            for entry in &page {
                *seen.entry(entry.name.clone()).or_insert(0) += 1;
                assert_eq!(volume.lookup(ROOT, &entry.name).unwrap().node, entry.attributes.node);
            }
            if round < 200 {
                volume.remove(ROOT, &format!("goes{round}")).unwrap();
                if round < 20 {
                    volume.create(ROOT, &format!("new{round}"), 0o644).unwrap();
                }
            }
        }
        assert!(seen.values().all(|count| *count == 1));
        assert_eq!(seen.keys().filter(|name| name.starts_with("stays")).count(), 200);
        for page in [1, 3, 1000] {
            let names = list_by(volume, ROOT, page);
            assert_eq!(names.iter().filter(|name| name.starts_with("stays")).count(), 200);
        }
    });
}

#[test]
fn a_lookup_without_case_finds_a_unique_name() {
    on_every_volume(|volume| {
        let file = volume.create(ROOT, "ReadMe Ünsinn", 0o644).unwrap().node;
        let (stored, found) = volume.lookup_any_case(ROOT, "README üNSINN").unwrap();
        assert_eq!((stored.as_str(), found.node), ("ReadMe Ünsinn", file));
        volume.create(ROOT, "readme ünsinn", 0o644).unwrap();
        assert_eq!(volume.lookup_any_case(ROOT, "README ÜNSINN"), Err(VolumeError::NotFound));
        volume.remove(ROOT, "ReadMe Ünsinn").unwrap();
        assert_eq!(volume.lookup_any_case(ROOT, "README ÜNSINN").unwrap().0, "readme ünsinn");
    });
}

#[test]
fn space_adds_up() {
    on_every_volume(|volume| {
        let space = volume.space().unwrap();
        assert!(space.free_bytes > 0 && space.free_bytes <= space.total_bytes, "{space:?}");
        assert!(space.free_files > 0 && space.free_files <= space.total_files, "{space:?}");
    });
}
