//! No name leads out of a volume.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use sharebench_server::{
    DirectoryError, DirectoryOptions, DirectoryVolume, ROOT, SetAttributes, Volume, VolumeError,
};

use crate::volumes::scratch::Scratch;
use crate::volumes::{directory, on_every_volume};

#[test]
fn names_that_lead_elsewhere_are_rejected_everywhere() {
    on_every_volume(|volume| {
        volume.create(ROOT, "file", 0o644).unwrap();
        let long = "n".repeat(256);
        for name in ["", ".", "..", "/", "/etc/passwd", "../x", "a/../../x", "a\0b", &long] {
            let bad = VolumeError::BadName;
            assert_eq!(volume.lookup(ROOT, name), Err(bad), "{name:?}");
            assert_eq!(volume.lookup_any_case(ROOT, name), Err(bad), "{name:?}");
            assert_eq!(volume.create(ROOT, name, 0o644), Err(bad), "{name:?}");
            assert_eq!(volume.make_directory(ROOT, name, 0o755), Err(bad), "{name:?}");
            assert_eq!(volume.remove(ROOT, name), Err(bad), "{name:?}");
            assert_eq!(volume.remove_directory(ROOT, name), Err(bad), "{name:?}");
            assert_eq!(volume.rename(ROOT, name, ROOT, "x"), Err(bad), "{name:?}");
            assert_eq!(volume.rename(ROOT, "file", ROOT, name), Err(bad), "{name:?}");
        }
    });
}

/// Next to the served directory there is one that must not change.
fn with_neighbour() -> (Scratch, DirectoryVolume) {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("served")).unwrap();
    std::fs::create_dir(scratch.path().join("outside")).unwrap();
    std::fs::write(scratch.path().join("outside/secret"), b"secret").unwrap();
    let volume = DirectoryVolume::open(scratch.path().join("served"), &DirectoryOptions::default()).unwrap();
    (scratch, volume)
}

#[test]
fn links_are_neither_listed_nor_followed() {
    let (scratch, volume) = with_neighbour();
    let served = scratch.path().join("served");
    symlink("../outside", served.join("out")).unwrap();
    symlink("../outside/secret", served.join("file")).unwrap();
    symlink("/", served.join("root")).unwrap();
    symlink("nowhere", served.join("dangling")).unwrap();
    let _socket = UnixListener::bind(served.join("socket")).unwrap();
    assert_eq!(volume.list(ROOT, 0, 100).unwrap(), []);
    for name in ["out", "file", "root", "dangling", "socket"] {
        assert_eq!(volume.lookup(ROOT, name), Err(VolumeError::Denied), "{name}");
        assert_eq!(volume.create(ROOT, name, 0o644), Err(VolumeError::Exists), "{name}");
        assert_eq!(volume.remove(ROOT, name), Err(VolumeError::Denied), "{name}");
        assert_eq!(volume.rename(ROOT, name, ROOT, "x"), Err(VolumeError::Denied), "{name}");
    }
    volume.create(ROOT, "mine", 0o644).unwrap();
    assert_eq!(volume.rename(ROOT, "mine", ROOT, "file"), Err(VolumeError::Denied));
    assert_eq!(std::fs::read(scratch.path().join("outside/secret")).unwrap(), b"secret");
}

#[test]
fn a_directory_swapped_for_a_link_leads_nowhere() {
    let (scratch, volume) = with_neighbour();
    let served = scratch.path().join("served");
    let directory = volume.make_directory(ROOT, "dir", 0o755).unwrap().node;
    let file = volume.create(directory, "secret", 0o644).unwrap().node;
    volume.write(file, 0, b"mine", false).unwrap();
    // A volume without open descriptors, so that everything is opened again.
    let options = DirectoryOptions { open_files: 1, ..DirectoryOptions::default() };
    let cold = DirectoryVolume::open(&served, &options).unwrap();
    let directory = cold.lookup(ROOT, "dir").unwrap().node;
    let file = cold.lookup(directory, "secret").unwrap().node;
    std::fs::rename(served.join("dir"), served.join("moved")).unwrap();
    symlink("../outside", served.join("dir")).unwrap();
    let other = cold.create(ROOT, "other", 0o644).unwrap().node; // Pushes the descriptor out.
    cold.write(other, 0, b"x", false).unwrap();
    assert!(cold.read(file, 0, &mut [0; 6]).is_err());
    assert!(cold.write(file, 0, b"broken", false).is_err());
    assert!(cold.create(directory, "planted", 0o644).is_err());
    assert_eq!(std::fs::read(scratch.path().join("outside/secret")).unwrap(), b"secret");
    assert!(!scratch.path().join("outside/planted").exists());
    // Once it is seen under its new name, it is the same node.
    assert_eq!(cold.lookup(ROOT, "moved").unwrap().node, directory);
    let mut buffer = [0; 4];
    assert_eq!(cold.read(file, 0, &mut buffer), Ok(4));
    assert_eq!(&buffer, b"mine");
}

#[test]
fn renames_by_other_processes_keep_the_node() {
    let scratch = Scratch::new();
    let volume = directory(&scratch);
    let file = volume.create(ROOT, "before", 0o644).unwrap().node;
    std::fs::rename(scratch.path().join("before"), scratch.path().join("after")).unwrap();
    assert_eq!(volume.lookup(ROOT, "after").unwrap().node, file);
    assert_eq!(volume.lookup(ROOT, "before"), Err(VolumeError::NotFound));
    std::fs::remove_file(scratch.path().join("after")).unwrap();
    assert_eq!(volume.attributes(file), Err(VolumeError::Stale));
}

#[test]
fn names_that_are_not_utf8_are_left_out() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path().join(OsStr::from_bytes(b"caf\xe9")), b"").unwrap();
    std::fs::write(scratch.path().join("café"), b"").unwrap();
    let names: Vec<_> = directory(&scratch).list(ROOT, 0, 10).unwrap();
    assert_eq!(names.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["café"]);
}

#[test]
fn a_read_only_volume_changes_nothing() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path().join("file"), b"content").unwrap();
    std::fs::create_dir(scratch.path().join("dir")).unwrap();
    let options = DirectoryOptions { read_only: true, ..DirectoryOptions::default() };
    let volume = DirectoryVolume::open(scratch.path(), &options).unwrap();
    let file = volume.lookup(ROOT, "file").unwrap().node;
    let refused = VolumeError::ReadOnly;
    assert_eq!(volume.write(file, 0, b"x", false), Err(refused));
    assert_eq!(volume.create(ROOT, "new", 0o644), Err(refused));
    assert_eq!(volume.make_directory(ROOT, "new", 0o755), Err(refused));
    assert_eq!(volume.remove(ROOT, "file"), Err(refused));
    assert_eq!(volume.remove_directory(ROOT, "dir"), Err(refused));
    assert_eq!(volume.rename(ROOT, "file", ROOT, "new"), Err(refused));
    let cut = SetAttributes { size: Some(0), ..SetAttributes::default() };
    assert_eq!(volume.set_attributes(file, &cut), Err(refused));
    let mut buffer = [0; 16];
    assert_eq!(volume.read(file, 0, &mut buffer), Ok(7));
    assert_eq!(&buffer[..7], b"content");
}

#[test]
fn more_files_than_descriptors_are_served() {
    let scratch = Scratch::new();
    let options = DirectoryOptions { open_files: 4, ..DirectoryOptions::default() };
    let volume = DirectoryVolume::open(scratch.path(), &options).unwrap();
    let files: Vec<_> =
        (0..50_u8).map(|nth| (nth, volume.create(ROOT, &format!("f{nth}"), 0o644).unwrap().node)).collect();
    for (nth, file) in &files {
        volume.write(*file, 0, &[*nth], false).unwrap();
    }
    for (nth, file) in files.iter().rev() {
        let mut buffer = [0];
        assert_eq!(volume.read(*file, 0, &mut buffer), Ok(1));
        assert_eq!(buffer[0], *nth);
    }
    let open = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        let target = std::fs::read_link(entry.unwrap().path()).ok()?;
        (target.parent() == Some(scratch.path())).then_some(())
    });
    assert!((1..=4).contains(&open.count()));
}

#[test]
fn what_is_not_a_directory_is_not_served() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path().join("file"), b"").unwrap();
    let refused = DirectoryVolume::open(scratch.path().join("file"), &DirectoryOptions::default());
    let error = refused.err().unwrap();
    assert!(matches!(error, DirectoryError::Rejected { error: VolumeError::NotDirectory, .. }), "{error}");
}
