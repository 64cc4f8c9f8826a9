//! What becomes of a run when its own process, machine or user interferes.

use std::time::Duration;

use sharebench_tests::Signal;

use crate::case::{After, Case, Course, PLAIN, Work};
use crate::peer::Kind;
use crate::peer::Kind::{Local, Ncp, Nfs, Smb};
use crate::scene::Scene;
use crate::stage::Stage;

/// A day, in seconds.
const DAY: i64 = 86_400;

const fn signalled(at: Kind, fault: &'static str, strike: fn(&mut Scene)) -> Case {
    Case { fault, at, strike, after: After::Resume, ..PLAIN }
}

const fn calendar(fault: &'static str, strike: fn(&mut Scene)) -> Case {
    Case { fault, at: Smb, stage: Stage::FailingClient, strike, run: Course::Endures, ..PLAIN }
}

/// The rows, in the order of the table.
pub const CASES: &[Case] = &[
    signalled(Smb, "SIGTERM to sharebench", |scene| scene.running.signal(Signal::TERM)),
    signalled(Nfs, "SIGTERM to sharebench", |scene| scene.running.signal(Signal::TERM)),
    signalled(Ncp, "SIGTERM to sharebench", |scene| scene.running.signal(Signal::TERM)),
    signalled(Smb, "SIGHUP to sharebench (its terminal closed)", |scene| scene.running.signal(Signal::HUP)),
    Case {
        fault: "nobody reads standard error any more, then SIGTERM",
        at: Smb,
        stage: Stage::Deaf,
        strike: |scene| scene.running.signal(Signal::TERM),
        after: After::Resume,
        ..PLAIN
    },
    signalled(Smb, "SIGKILL to sharebench", |scene| scene.running.signal(Signal::KILL)),
    Case {
        fault: "SIGKILL to sharebench, and no resume",
        at: Local,
        strike: |scene| scene.running.signal(Signal::KILL),
        ..PLAIN
    },
    Case {
        fault: "sharebench stopped for a second and continued",
        at: Smb,
        strike: doze,
        run: Course::Endures,
        ..PLAIN
    },
    calendar("calendar put forward by a day", |scene| scene.failing().step_calendar(DAY).unwrap()),
    calendar("calendar put back by a day", |scene| scene.failing().step_calendar(-DAY).unwrap()),
    Case {
        fault: "the results database's disk full",
        at: Smb,
        stage: Stage::SmallBook,
        strike: fill_book,
        ..PLAIN
    },
    Case { fault: "out of memory (cgroup)", at: Smb, stage: Stage::LittleMemory, work: Work::Crowd, ..PLAIN },
];

/// Long enough to be noticed, and as long as it takes on any machine.
fn doze(scene: &mut Scene) {
    scene.running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(1));
    scene.running.signal(Signal::CONT);
}

fn fill_book(scene: &mut Scene) {
    scene.keep_full_book();
}
