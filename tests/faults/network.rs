//! What becomes of a run when its connection breaks, falls silent, or gets slow.

use std::time::Duration;

use crate::case::{After, Case, Course, PLAIN};
use crate::peer::Kind;
use crate::peer::Kind::{Ncp, Nfs, Smb};
use crate::scene::Scene;
use crate::stage::Stage;

const fn reset(at: Kind) -> Case {
    let fault = "connection reset";
    Case {
        fault,
        at,
        stage: Stage::Proxy,
        strike: |scene| scene.proxy().reset(),
        after: After::Resume,
        ..PLAIN
    }
}

const fn half_open(at: Kind) -> Case {
    let fault = "connection half open: the other end is gone and does not say so";
    let strike = |scene: &mut Scene| scene.proxy().leave_half_open();
    Case { fault, at, stage: Stage::Proxy, silent: true, strike, ..PLAIN }
}

const fn swallowed(at: Kind) -> Case {
    let fault = "everything swallowed, new connections too";
    let strike = |scene: &mut Scene| scene.proxy().swallow();
    let heal = |scene: &mut Scene| scene.proxy().heal();
    Case { fault, at, stage: Stage::Proxy, silent: true, strike, heal, ..PLAIN }
}

const fn slow(at: Kind) -> Case {
    let fault = "link slowed to 4 MB/s and 2 ms";
    let strike = |scene: &mut Scene| scene.proxy().slow_down(4_000_000, Duration::from_millis(2));
    Case { fault, at, stage: Stage::Proxy, strike, run: Course::Endures, ..PLAIN }
}

/// The rows, in the order of the table.
pub const CASES: &[Case] = &[
    reset(Smb),
    reset(Nfs),
    reset(Ncp),
    half_open(Smb),
    half_open(Nfs),
    half_open(Ncp),
    swallowed(Smb),
    swallowed(Nfs),
    swallowed(Ncp),
    slow(Smb),
    slow(Nfs),
    slow(Ncp),
];
