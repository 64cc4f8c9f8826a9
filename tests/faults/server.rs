//! What becomes of a run when its server's process ends, stops, or starts again.

use crate::case::{After, Case, PLAIN};
use crate::peer::Kind;
use crate::peer::Kind::{Ganesha, Ncp, Nfs, Smb, Smbd};
use crate::scene::Scene;

const fn killed(at: Kind) -> Case {
    Case { fault: "server killed", at, strike: kill, heal: restart, ..PLAIN }
}

const fn stopped(at: Kind) -> Case {
    Case { fault: "server stopped (SIGSTOP)", at, silent: true, strike: freeze, heal: thaw, ..PLAIN }
}

const fn restarted(at: Kind) -> Case {
    Case { fault: "server restarted", at, strike: restart, after: After::Resume, ..PLAIN }
}

/// The rows, in the order of the table.
pub const CASES: &[Case] = &[
    killed(Smbd),
    killed(Ganesha),
    killed(Smb),
    killed(Nfs),
    killed(Ncp),
    stopped(Smbd),
    stopped(Ganesha),
    stopped(Smb),
    stopped(Nfs),
    stopped(Ncp),
    restarted(Smbd),
    restarted(Ganesha),
    restarted(Smb),
    restarted(Nfs),
    restarted(Ncp),
];

fn kill(scene: &mut Scene) {
    scene.peer.kill();
}

fn freeze(scene: &mut Scene) {
    scene.peer.freeze();
}

fn thaw(scene: &mut Scene) {
    scene.peer.thaw();
}

fn restart(scene: &mut Scene) {
    scene.peer.restart(&scene.sharebench);
}
