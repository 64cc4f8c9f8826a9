//! Faults of the server process: killed, stopped, restarted, out of descriptors or connections.

use std::time::Duration;

use sharebench_tests::program::{poll, run};
use sharebench_tests::{Need, Signal};

use crate::case::{After, Case, Course, PLAIN, Work};
use crate::fault_test::FaultTest;
use crate::peer::Kind::{Ganesha, Ncp, NcpDos, Nfs, Smb, Smbd};
use crate::peer::{Kind, Peer};
use crate::stage::Stage;
use crate::within::Within;

/// Fewer descriptors than the server uses before the fault.
const FEW_DESCRIPTORS: u32 = 8;
/// Normal limit of descriptors.
const MANY_DESCRIPTORS: u32 = 1024;
/// Normal limit of open files per connection.
const MANY_OPENS: usize = 16_384;
/// Longer than the watchdog of the suite needs to close a connection.
const LIMIT: Duration = Duration::from_secs(60);

const fn killed(at: Kind) -> Case {
    Case { fault: "server killed", at, inject: kill, heal: restart, ..PLAIN }
}

const fn stopped(at: Kind) -> Case {
    Case { fault: "server stopped (SIGSTOP)", at, silent: true, inject: freeze, heal: thaw, ..PLAIN }
}

const fn restarted(at: Kind) -> Case {
    Case {
        fault: "server restarted",
        at,
        inject: restart,
        run: Course::EndsAndMayCleanUp,
        after: After::Resume,
        ..PLAIN
    }
}

const fn out_of_descriptors(at: Kind) -> Case {
    let fault = "the server has no free descriptor (RLIMIT_NOFILE)";
    let needs = &[Need::Program("prlimit")];
    let inject = |test: &mut FaultTest| limit_descriptors(test, FEW_DESCRIPTORS);
    let heal = |test: &mut FaultTest| limit_descriptors(test, MANY_DESCRIPTORS);
    Case { fault, at, needs, inject, heal, ..PLAIN }
}

const fn crowded(at: Kind) -> Case {
    let fault = "more users than the server accepts connections";
    Case { fault, at, stage: Stage::Within, work: Work::MoreUsers, ..PLAIN }
}

/// The rows, in the order of the table.
pub const CASES: &[Case] = &[
    killed(Smbd),
    killed(Ganesha),
    killed(Smb),
    killed(Nfs),
    killed(Ncp),
    killed(NcpDos),
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
    restarted(NcpDos),
    out_of_descriptors(Smb),
    out_of_descriptors(Nfs),
    out_of_descriptors(Ncp),
    Case {
        fault: "the server rejects further open files of a connection",
        at: Smb,
        stage: Stage::Within,
        inject: |test| limit_opens(test, 0),
        heal: |test| limit_opens(test, MANY_OPENS),
        ..PLAIN
    },
    crowded(Smb),
    crowded(Nfs),
    crowded(Ncp),
    Case {
        fault: "the watchdog probes clients of users with long think times (UDP)",
        at: Ncp,
        stage: Stage::Within,
        work: Work::Thinking,
        ..PLAIN
    },
    Case {
        fault: "sharebench stopped until the watchdog closed its connections (UDP)",
        at: Ncp,
        stage: Stage::Within,
        inject: outwait,
        after: After::Resume,
        ..PLAIN
    },
];

fn kill(test: &mut FaultTest) {
    test.peer.kill();
}

fn freeze(test: &mut FaultTest) {
    test.peer.freeze();
}

fn thaw(test: &mut FaultTest) {
    test.peer.thaw();
}

fn restart(test: &mut FaultTest) {
    test.peer.restart(&test.sharebench);
}

fn limit_descriptors(test: &mut FaultTest, max: u32) {
    let pid = test.peer.pid().to_string();
    let limit = format!("--nofile={max}:");
    run(&["prlimit", "--pid", &pid, &limit], &[]).unwrap();
}

fn limit_opens(test: &mut FaultTest, max: usize) {
    if let Peer::Within(Within::Smb(server), _) = &test.peer {
        server.limit_opens(max);
    }
}

/// Stops the client until the watchdog has closed its connection.
fn outwait(test: &mut FaultTest) {
    let Peer::Within(Within::Ncp(server), _) = &test.peer else { return };
    test.running.signal(Signal::STOP);
    let given_up = poll(LIMIT, || server.connections() == 0);
    test.running.signal(Signal::CONT);
    assert!(given_up, "{} connections are left", server.connections());
}
