//! One fault: where it strikes, how, and what is found afterwards.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sharebench_tests::{Need, need};

use crate::memory_group::MemoryGroup;
use crate::peer::Kind;
use crate::scene::Scene;
use crate::stage::Stage;

/// Repetitions of the run: a few seconds of it, and half a minute; less where all of it is run.
const SHORT: u32 = 3;
const LONG: u32 = 30;
const LONG_ENDURED: u32 = 12;

/// A fault and what it strikes.
pub struct Case {
    /// As the table has it.
    pub fault: &'static str,
    /// The server of the run.
    pub at: Kind,
    /// What stands around the run.
    pub stage: Stage,
    /// Nothing answers any more, so that deadlines are short.
    pub silent: bool,
    /// Every byte that is read is checked, and not only the stamps.
    pub verify_full: bool,
    /// What is run meanwhile.
    pub work: Work,
    /// What becomes of the run.
    pub run: Course,
    /// What the machine must have beside the server.
    pub needs: &'static [Need],
    /// Lets it happen in the middle of the run.
    pub strike: fn(&mut Scene),
    /// Takes it away after the run has ended, so that what is left can be removed.
    pub heal: fn(&mut Scene),
    /// What the user does then.
    pub after: After,
}

/// How a run takes its fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// It ends.
    Ends,
    /// It ends; the server is back at once, so that it may find it there or not when it cleans up.
    EndsAndMayCleanUp,
    /// It goes on to its end all the same.
    Endures,
}

/// What is run while the fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A sweep of small cells.
    Cells,
    /// Few users, and then more than there is memory for.
    Crowd,
    /// Few users, and then more than a small server takes.
    MoreUsers,
    /// Users who pause for longer than a watchdog waits for an answer.
    Thinking,
}

/// What the user does after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Runs the command that the program printed, if it left something.
    Clean,
    /// Finishes the run by `run --resume`.
    Resume,
}

/// What was found, in the words of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Exit code or signal.
    pub exit: String,
    /// What the user reads.
    pub told: String,
    /// What the results database has.
    pub kept: String,
    /// What is on the target at the end of the run.
    pub left: String,
    /// What the user did about it, and what came of it.
    pub then: String,
}

/// What became of a case.
#[derive(Debug)]
pub enum Row {
    /// It ran.
    Ran(Outcome),
    /// The machine lacks something.
    Skipped,
    /// It did not come to its end.
    Broken(String),
}

/// What most cases have.
pub const PLAIN: Case = Case {
    fault: "",
    at: Kind::Local,
    stage: Stage::Plain,
    silent: false,
    verify_full: false,
    work: Work::Cells,
    run: Course::Ends,
    needs: &[],
    strike: nothing,
    heal: nothing,
    after: After::Clean,
};

/// Nothing to take away.
pub fn nothing(_: &mut Scene) {}

impl Case {
    /// True unless the environment asks for other faults: a word of their names.
    pub fn wanted(&self) -> bool {
        let only = std::env::var("SHAREBENCH_TEST_ONLY").unwrap_or_default();
        self.name().contains(&only)
    }

    /// Fault and server.
    pub fn name(&self) -> String {
        format!("{}, {}", self.fault, self.at.name())
    }

    fn run(&self) -> Row {
        let needs = [self.at.needs(), self.needs, self.stage.needs()].concat();
        if !need::met(&self.name(), &needs) {
            return Row::Skipped;
        }
        if self.stage == Stage::LittleMemory
            && let Err(error) = MemoryGroup::make()
        {
            need::not_allowed(&self.name(), &format!("no group of processes with little memory: {error}"));
            return Row::Skipped;
        }
        if let Some(Err(error)) = self.stage.disk().map(|disk| disk.try_mount()) {
            need::not_allowed(&self.name(), &format!("no mount of a file: {error}"));
            return Row::Skipped;
        }
        // On a busy machine a run may be over before the fault strikes: a longer one then.
        let again = || {
            println!("again, longer: {} struck too late", self.name());
            Scene::play(self, if self.run == Course::Endures { LONG_ENDURED } else { LONG })
        };
        // Nobody reaches the results database of a run that is over; a full one ends the longest.
        let first = if self.stage == Stage::SmallBook { LONG } else { SHORT };
        let play = || Scene::play(self, first).or_else(again);
        let why = match catch_unwind(AssertUnwindSafe(play)) {
            Ok(Some(outcome)) => return Row::Ran(outcome),
            Ok(None) => return Row::Broken("the run was over before the fault struck".into()),
            Err(panic) => panic,
        };
        let text = why.downcast_ref::<String>().cloned();
        let text = text.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Row::Broken(text.unwrap_or_else(|| "a panic without words".into()))
    }
}

/// Runs cases, some at once; rows in the order of the cases.
pub fn run_all(cases: &[&Case], at_once: usize) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let rows: Vec<Mutex<Option<Row>>> = cases.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let place = cases.iter().position(|other| std::ptr::eq(*other, *case)).unwrap();
                    let began = std::time::Instant::now();
                    *rows[place].lock().unwrap() = Some(case.run());
                    println!("{:>6.1} s  {}", began.elapsed().as_secs_f64(), case.name());
                }
            });
        }
    });
    rows.into_iter().map(|row| row.into_inner().unwrap().unwrap()).collect()
}
