//! What becomes of a run when the server's storage is full, forbidden or broken.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sharebench_tests::program::{PATIENCE, poll};
use sharebench_tests::{Disk, Failing, Need};

use crate::case::{After, Case, PLAIN};
use crate::peer::Kind;
use crate::peer::Kind::{Ganesha, Ncp, Nfs, Smb, Smbd};
use crate::scene::Scene;
use crate::stage::Stage;

/// What somebody else put there, beside the run's directory.
const FILLER: &str = "filler";

const fn full(at: Kind) -> Case {
    let fault = "disk full";
    Case {
        fault,
        at,
        stage: Stage::SmallServer,
        strike: fill,
        heal: make_room,
        after: After::Resume,
        ..PLAIN
    }
}

/// The same when the file system would have room, and its quota has none.
const fn exceeded(at: Kind) -> Case {
    Case { fault: "quota of the file system used up (btrfs)", stage: Stage::Quota, ..full(at) }
}

/// What ext4 does when its journal cannot be written.
const fn broken(at: Kind) -> Case {
    let fault = "file system made read-only by the system after an error (ext4)";
    Case { fault, at, stage: Stage::Breakable, strike: break_disk, heal: restart, ..PLAIN }
}

const fn failing(at: Kind, fault: &'static str, strike: fn(&mut Scene)) -> Case {
    let heal = |scene: &mut Scene| scene.failing().heal().unwrap();
    Case { fault, at, stage: Stage::FailingServer, strike, heal, ..PLAIN }
}

const fn quota(at: Kind) -> Case {
    failing(at, "quota used up", |scene| fail(scene, Failing::EDQUOT))
}

const fn read_only(at: Kind) -> Case {
    failing(at, "file system read-only", |scene| fail(scene, Failing::EROFS))
}

const fn forbidden(at: Kind) -> Case {
    failing(at, "permission revoked", |scene| fail(scene, Failing::EACCES))
}

/// Lets writes and new files fail.
fn fail(scene: &mut Scene, errno: i32) {
    scene.failing().fail(errno, errno).unwrap();
}

/// Of our own servers, which permissions bind as they do others.
const fn locked(at: Kind) -> Case {
    let fault = "permission revoked";
    let needs = &[Need::Root, Need::Program("setpriv")];
    Case { fault, at, stage: Stage::NobodyServes, needs, strike: lock, heal: unlock, ..PLAIN }
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

fn fill(scene: &mut Scene) {
    // Until the last page is gone, and as often as the run frees some between two of its files.
    scene.keep_full(FILLER);
}

fn make_room(scene: &mut Scene) {
    std::fs::remove_file(scene.peer.directory().join(FILLER)).unwrap();
}

/// What was there stays: the journal is written before it breaks.
fn break_disk(scene: &mut Scene) {
    let directory = scene.peer.directory();
    // How the command ends says nothing, since what it mounts anew is broken.
    let _ = Disk::inside(&directory, "sync -f \"$0\" && mount -o remount,abort \"$0\"");
    let written = std::fs::write(directory.join("probe"), "");
    let refused = written.err().and_then(|error| error.raw_os_error());
    assert_eq!(refused, Some(Failing::EROFS), "the file system did not break");
}

/// Mounts it again, once those who were killed have let it go: until then a mount would get the broken one.
fn restart(scene: &mut Scene) {
    scene.peer.kill();
    if let Some(Disk::Ext4(image)) = &scene.disk {
        poll(PATIENCE, || !is_attached(image.path()));
    }
    scene.peer.restart(&scene.sharebench);
}

/// True while a loop device holds a file of this directory.
fn is_attached(directory: &Path) -> bool {
    let devices = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut files = devices.map(|device| std::fs::read_to_string(device.path().join("loop/backing_file")));
    files.any(|file| file.is_ok_and(|file| Path::new(file.trim()).starts_with(directory)))
}

/// The share and what is in it, so that whoever has it open may go on, and no more.
fn permit(scene: &Scene, mode: u32) {
    let share = scene.peer.directory();
    let ours = std::fs::read_dir(&share).unwrap().map(|entry| entry.unwrap().path());
    for path in ours.chain([share.clone()]) {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
}

fn lock(scene: &mut Scene) {
    permit(scene, 0o555);
}

fn unlock(scene: &mut Scene) {
    permit(scene, 0o777);
}
