//! What becomes of a run when its server's process ends, stops, or starts again.

use std::time::Duration;

use sharebench_tests::program::{poll, run};
use sharebench_tests::{Need, Signal};

use crate::case::{After, Case, Course, PLAIN, Work};
use crate::peer::Kind::{Ganesha, Ncp, Nfs, Smb, Smbd};
use crate::peer::{Kind, Peer};
use crate::scene::Scene;
use crate::stage::Stage;
use crate::within::Within;

/// Descriptors that a server has in use long before the fault strikes.
const FEW_DESCRIPTORS: u32 = 8;
/// What it has otherwise.
const MANY_DESCRIPTORS: u32 = 1024;
/// Files that a connection may have open otherwise.
const MANY_OPENS: usize = 16_384;
/// Far longer than the watchdog of the suite takes.
const LIMIT: Duration = Duration::from_secs(60);

const fn killed(at: Kind) -> Case {
    Case { fault: "server killed", at, strike: kill, heal: restart, ..PLAIN }
}

const fn stopped(at: Kind) -> Case {
    Case { fault: "server stopped (SIGSTOP)", at, silent: true, strike: freeze, heal: thaw, ..PLAIN }
}

const fn restarted(at: Kind) -> Case {
    Case {
        fault: "server restarted",
        at,
        strike: restart,
        run: Course::EndsAndMayCleanUp,
        after: After::Resume,
        ..PLAIN
    }
}

const fn out_of_descriptors(at: Kind) -> Case {
    let fault = "the server may open no descriptor any more (RLIMIT_NOFILE)";
    let needs = &[Need::Program("prlimit")];
    let strike = |scene: &mut Scene| limit_descriptors(scene, FEW_DESCRIPTORS);
    let heal = |scene: &mut Scene| limit_descriptors(scene, MANY_DESCRIPTORS);
    Case { fault, at, needs, strike, heal, ..PLAIN }
}

const fn crowded(at: Kind) -> Case {
    let fault = "more users than the server takes connections";
    Case { fault, at, stage: Stage::Within, work: Work::MoreUsers, ..PLAIN }
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
    out_of_descriptors(Smb),
    out_of_descriptors(Nfs),
    out_of_descriptors(Ncp),
    Case {
        fault: "the server lets a connection open no file any more",
        at: Smb,
        stage: Stage::Within,
        strike: |scene| limit_opens(scene, 0),
        heal: |scene| limit_opens(scene, MANY_OPENS),
        ..PLAIN
    },
    crowded(Smb),
    crowded(Nfs),
    crowded(Ncp),
    Case {
        fault: "the watchdog asks clients whose users think (UDP)",
        at: Ncp,
        stage: Stage::Within,
        work: Work::Thinking,
        ..PLAIN
    },
    Case {
        fault: "sharebench stopped until the watchdog has given its clients up (UDP)",
        at: Ncp,
        stage: Stage::Within,
        strike: outwait,
        after: After::Resume,
        ..PLAIN
    },
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

fn limit_descriptors(scene: &mut Scene, most: u32) {
    let pid = scene.peer.pid().to_string();
    let limit = format!("--nofile={most}:");
    run(&["prlimit", "--pid", &pid, &limit], &[]).unwrap();
}

fn limit_opens(scene: &mut Scene, most: usize) {
    if let Peer::Within(Within::Smb(server), _) = &scene.peer {
        server.limit_opens(most);
    }
}

/// A client that answers nothing loses its connection.
fn outwait(scene: &mut Scene) {
    let Peer::Within(Within::Ncp(server), _) = &scene.peer else { return };
    scene.running.signal(Signal::STOP);
    let given_up = poll(LIMIT, || server.connections() == 0);
    scene.running.signal(Signal::CONT);
    assert!(given_up, "{} connections are left", server.connections());
}
