//! What becomes of a run when the server's storage is full, forbidden or broken.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use sharebench_tests::{Failing, Need};

use crate::case::{After, Case, PLAIN};
use crate::peer::Kind;
use crate::peer::Kind::{Ganesha, Ncp, Nfs, Smb, Smbd};
use crate::scene::{Scene, Stage};

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
    read_only(Smbd),
    read_only(Ganesha),
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
