//! Faults of the client: signals, the wall clock, memory and the disk of the results database.

use std::time::Duration;

use sharebench_tests::Signal;

use crate::case::{After, Case, Course, PLAIN, Work};
use crate::fault_test::FaultTest;
use crate::peer::Kind;
use crate::peer::Kind::{Local, Ncp, NcpDos, Nfs, Smb};
use crate::stage::Stage;

/// A day, in seconds.
const DAY: i64 = 86_400;

const fn signalled(at: Kind, fault: &'static str, inject: fn(&mut FaultTest)) -> Case {
    Case { fault, at, inject, after: After::Resume, ..PLAIN }
}

const fn wall_clock(fault: &'static str, inject: fn(&mut FaultTest)) -> Case {
    Case { fault, at: Smb, stage: Stage::FailingClient, inject, run: Course::Endures, ..PLAIN }
}

/// The rows, in the order of the table.
pub const CASES: &[Case] = &[
    signalled(Smb, "SIGTERM to sharebench", |test| test.running.signal(Signal::TERM)),
    signalled(Nfs, "SIGTERM to sharebench", |test| test.running.signal(Signal::TERM)),
    signalled(Ncp, "SIGTERM to sharebench", |test| test.running.signal(Signal::TERM)),
    signalled(Smb, "SIGTERM and SIGINT within milliseconds, as timeout(1) sends two signals", |test| {
        test.running.signal(Signal::TERM);
        test.running.signal(Signal::INT);
    }),
    signalled(Smb, "SIGHUP to sharebench (its terminal closed)", |test| test.running.signal(Signal::HUP)),
    Case {
        fault: "standard error closed, then SIGTERM",
        at: Smb,
        stage: Stage::ClosedStderr,
        inject: |test| test.running.signal(Signal::TERM),
        after: After::Resume,
        ..PLAIN
    },
    signalled(Smb, "SIGKILL to sharebench", |test| test.running.signal(Signal::KILL)),
    signalled(NcpDos, "SIGKILL to sharebench", |test| test.running.signal(Signal::KILL)),
    Case {
        fault: "SIGKILL to sharebench, without resume",
        at: NcpDos,
        inject: |test| test.running.signal(Signal::KILL),
        ..PLAIN
    },
    Case {
        fault: "SIGKILL to sharebench, without resume",
        at: Local,
        inject: |test| test.running.signal(Signal::KILL),
        ..PLAIN
    },
    Case {
        fault: "sharebench stopped for a second and continued",
        at: Smb,
        inject: pause,
        run: Course::Endures,
        ..PLAIN
    },
    wall_clock("wall clock set forward by a day", |test| test.failing().step_calendar(DAY).unwrap()),
    wall_clock("wall clock set back by a day", |test| test.failing().step_calendar(-DAY).unwrap()),
    Case {
        fault: "the results database's disk full",
        at: Smb,
        stage: Stage::SmallDatabaseDisk,
        inject: fill_database_disk,
        ..PLAIN
    },
    Case { fault: "out of memory (cgroup)", at: Smb, stage: Stage::LittleMemory, work: Work::Crowd, ..PLAIN },
];

/// Stops the process for one second, which is longer than any operation of the run.
fn pause(test: &mut FaultTest) {
    test.running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(1));
    test.running.signal(Signal::CONT);
}

fn fill_database_disk(test: &mut FaultTest) {
    test.fill_database_disk();
}
