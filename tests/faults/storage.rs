//! Faults of the storage: full, over quota, read-only, broken, or without permission.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sharebench_tests::program::{PATIENCE, poll};
use sharebench_tests::{Disk, Failing, Need};

use crate::case::{After, Case, PLAIN};
use crate::fault_test::FaultTest;
use crate::peer::Kind;
use crate::peer::Kind::{Ganesha, Ncp, Nfs, Smb, Smbd};
use crate::stage::Stage;

/// File that fills the file system, next to the run's directory.
const FILLER: &str = "filler";

const fn full(at: Kind) -> Case {
    let fault = "disk full";
    Case {
        fault,
        at,
        stage: Stage::SmallServer,
        inject: fill,
        heal: free_space,
        after: After::Resume,
        ..PLAIN
    }
}

/// The file system has space, but its quota is used up.
const fn exceeded(at: Kind) -> Case {
    Case { fault: "quota of the file system used up (btrfs)", stage: Stage::Quota, ..full(at) }
}

/// ext4 becomes read-only when it cannot write its journal.
const fn broken(at: Kind) -> Case {
    let fault = "file system made read-only by the system after an error (ext4)";
    Case { fault, at, stage: Stage::Breakable, inject: break_disk, heal: restart, ..PLAIN }
}

const fn failing(at: Kind, fault: &'static str, inject: fn(&mut FaultTest)) -> Case {
    let heal = |test: &mut FaultTest| test.failing().heal().unwrap();
    Case { fault, at, stage: Stage::FailingServer, inject, heal, ..PLAIN }
}

const fn quota(at: Kind) -> Case {
    failing(at, "quota used up", |test| fail(test, Failing::EDQUOT))
}

const fn read_only(at: Kind) -> Case {
    failing(at, "file system read-only", |test| fail(test, Failing::EROFS))
}

const fn forbidden(at: Kind) -> Case {
    failing(at, "permission revoked", |test| fail(test, Failing::EACCES))
}

/// Makes writes and the creation of files fail.
fn fail(test: &mut FaultTest, errno: i32) {
    test.failing().fail(errno, errno).unwrap();
}

/// The embedded server runs as an unprivileged user, so that permissions apply to it.
const fn locked(at: Kind) -> Case {
    let fault = "permission revoked";
    let needs = &[Need::Root, Need::Program("setpriv")];
    Case { fault, at, stage: Stage::NobodyServes, needs, inject: lock, heal: unlock, ..PLAIN }
}

/// The rows, in the order of the table.
pub const CASES: &[Case] = &[
    full(Smbd),
    full(Ganesha),
    full(Smb),
    full(Nfs),
    full(Ncp),
    quota(Smbd),
    quota(Ganesha),
    exceeded(Smbd),
    exceeded(Ganesha),
    exceeded(Smb),
    exceeded(Nfs),
    exceeded(Ncp),
    read_only(Smbd),
    read_only(Ganesha),
    broken(Smbd),
    broken(Ganesha),
    broken(Smb),
    broken(Nfs),
    broken(Ncp),
    forbidden(Smbd),
    forbidden(Ganesha),
    locked(Smb),
    locked(Nfs),
    locked(Ncp),
];

fn fill(test: &mut FaultTest) {
    // Repeats until the file system is full, because the run frees pages between two of its files.
    test.keep_full(FILLER);
}

fn free_space(test: &mut FaultTest) {
    std::fs::remove_file(test.peer.directory().join(FILLER)).unwrap();
}

/// Breaks the disk after the journal was written, so that existing files stay intact.
fn break_disk(test: &mut FaultTest) {
    let directory = test.peer.directory();
    // The exit code means nothing, because the remounted file system is broken.
    let _ = Disk::inside(&directory, "sync -f \"$0\" && mount -o remount,abort \"$0\"");
    let written = std::fs::write(directory.join("probe"), "");
    let refused = written.err().and_then(|error| error.raw_os_error());
    assert_eq!(refused, Some(Failing::EROFS), "the file system did not break");
}

/// Mounts the file system again after the killed processes have released it; an earlier mount would get the broken one.
fn restart(test: &mut FaultTest) {
    test.peer.kill();
    if let Some(Disk::Ext4(image)) = &test.disk {
        poll(PATIENCE, || !is_attached(image.path()));
    }
    test.peer.restart(&test.sharebench);
}

/// Returns true while a loop device uses a file of this directory.
fn is_attached(directory: &Path) -> bool {
    let devices = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut files = devices.map(|device| std::fs::read_to_string(device.path().join("loop/backing_file")));
    files.any(|file| file.is_ok_and(|file| Path::new(file.trim()).starts_with(directory)))
}

/// Changes the mode of the share and its content, so that only already open files stay accessible.
fn permit(test: &FaultTest, mode: u32) {
    let share = test.peer.directory();
    let ours = std::fs::read_dir(&share).unwrap().map(|entry| entry.unwrap().path());
    for path in ours.chain([share.clone()]) {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
}

fn lock(test: &mut FaultTest) {
    permit(test, 0o555);
}

fn unlock(test: &mut FaultTest) {
    permit(test, 0o777);
}
