//! What becomes of a run when the server's storage is full, forbidden or broken.

use std::fs::File;
use std::io::Write;

use sharebench_tests::Failing;

use crate::case::{After, Case, PLAIN};
use crate::peer::Kind::{Ganesha, Ncp, Nfs, Smb, Smbd};
use crate::peer::Kind;
use crate::scene::{Scene, Stage};

/// What somebody else put there, beside the run's directory.
const FILLER: &str = "filler";

const fn full(at: Kind) -> Case {
    let fault = "disk full";
    Case { fault, at, stage: Stage::SmallServer, strike: fill, heal: make_room, after: After::Resume, ..PLAIN }
}

const fn failing(at: Kind, fault: &'static str, strike: fn(&mut Scene)) -> Case {
    let heal = |scene: &mut Scene| scene.failing().heal().unwrap();
    Case { fault, at, stage: Stage::FailingServer, strike, heal, ..PLAIN }
}

const fn quota(at: Kind) -> Case {
    failing(at, "quota used up", |scene| scene.failing().fail(Failing::EDQUOT, Failing::EDQUOT).unwrap())
}

const fn read_only(at: Kind) -> Case {
    failing(at, "file system read-only", |scene| scene.failing().fail(Failing::EROFS, Failing::EROFS).unwrap())
}

const fn forbidden(at: Kind) -> Case {
    failing(at, "permission revoked", |scene| scene.failing().fail(Failing::EACCES, Failing::EACCES).unwrap())
}

/// The rows, in the order of the table.
pub const CASES: &[Case] = &[
    full(Smbd),
    full(Ganesha),
    quota(Smbd),
    quota(Ganesha),
    quota(Smb),
    quota(Nfs),
    quota(Ncp),
    read_only(Smbd),
    read_only(Ganesha),
    read_only(Smb),
    read_only(Nfs),
    read_only(Ncp),
    forbidden(Smbd),
    forbidden(Ganesha),
    forbidden(Smb),
    forbidden(Nfs),
    forbidden(Ncp),
];

fn fill(scene: &mut Scene) {
    let mut filler = File::create(scene.peer.directory().join(FILLER)).unwrap();
    // Until the last page is gone; the run may free some between two of its files.
    for size in [1 << 20, 4096] {
        while filler.write_all(&vec![7; size]).is_ok() {}
    }
    scene.keep_full(FILLER);
}

fn make_room(scene: &mut Scene) {
    std::fs::remove_file(scene.peer.directory().join(FILLER)).unwrap();
}
