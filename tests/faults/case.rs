//! One fault: its target, how it is injected, and the expected outcome.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sharebench_tests::{Need, need};

use crate::fault_test::FaultTest;
use crate::memory_group::MemoryGroup;
use crate::peer::Kind;
use crate::stage::Stage;

/// Repetitions of a run of a few seconds.
const SHORT: u32 = 3;
/// Repetitions of a run of half a minute.
const LONG: u32 = 30;
/// Repetitions of a long run that continues to its end.
const LONG_ENDURED: u32 = 12;

/// A fault and the run that it is injected into.
pub struct Case {
    /// Name in the table.
    pub fault: &'static str,
    /// The server of the run.
    pub at: Kind,
    /// Options of the URL.
    pub options: &'static str,
    /// Environment of the run.
    pub stage: Stage,
    /// The server stops answering, so the run uses a short timeout.
    pub silent: bool,
    /// Verify every byte that is read instead of the stamps.
    pub verify_full: bool,
    /// The work during the fault.
    pub work: Work,
    /// Expected course of the run.
    pub run: Course,
    /// Requirements of the machine in addition to the server.
    pub needs: &'static [Need],
    /// Injects the fault in the middle of the run.
    pub inject: fn(&mut FaultTest),
    /// Removes the fault after the run, so that leftovers can be removed.
    pub heal: fn(&mut FaultTest),
    /// What the user does afterwards.
    pub after: After,
}

/// How a run reacts to its fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// It ends.
    Ends,
    /// It ends; the server is back at once, so that cleaning up may succeed or fail.
    EndsAndMayCleanUp,
    /// It completes in spite of the fault.
    Endures,
}

/// Work of the run during the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A sweep of small cells.
    Cells,
    /// Few users, then more users than fit into memory.
    Crowd,
    /// Few users, then more users than a small server accepts.
    MoreUsers,
    /// Users whose think time is longer than the timeout of a watchdog.
    Thinking,
}

/// What the user does after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Runs the command that the program printed, if it left files.
    Clean,
    /// Finishes the run with `run --resume`.
    Resume,
}

/// The observed outcome, in the words of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Exit code or signal.
    pub exit: String,
    /// The message to the user.
    pub message: String,
    /// Content of the results database.
    pub kept: String,
    /// Files on the target at the end of the run.
    pub left: String,
    /// The action of the user and its result.
    pub then: String,
}

/// Result of a case.
#[derive(Debug)]
pub enum Row {
    /// It ran.
    Ran(Outcome),
    /// The machine lacks a requirement.
    Skipped,
    /// It did not complete.
    Broken(String),
}

/// The values that most cases share.
pub const PLAIN: Case = Case {
    fault: "",
    at: Kind::Local,
    options: "",
    stage: Stage::Plain,
    silent: false,
    verify_full: false,
    work: Work::Cells,
    run: Course::Ends,
    needs: &[],
    inject: nothing,
    heal: nothing,
    after: After::Clean,
};

/// Does nothing.
pub fn nothing(_: &mut FaultTest) {}

impl Case {
    /// Returns fault and target.
    pub fn name(&self) -> String {
        format!("{}, {}", self.fault, self.target())
    }

    /// Returns the server and the options of the URL.
    pub fn target(&self) -> String {
        let server = self.at.name();
        if self.options.is_empty() { server.to_owned() } else { format!("{server}, `{}`", self.options) }
    }

    /// Returns true if the run uses SMB1.
    pub fn is_smb1(&self) -> bool {
        self.options.contains("dialect=nt1")
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
        // On a busy machine a run may be over before the fault is injected. A longer run follows then.
        let again = || {
            println!("again, longer: {} was injected too late", self.name());
            FaultTest::run(self, if self.run == Course::Endures { LONG_ENDURED } else { LONG })
        };
        // The suite cannot reach a full results database after the run, so this run is long from the start.
        let first = if self.stage == Stage::SmallDatabaseDisk { LONG } else { SHORT };
        let attempt = || FaultTest::run(self, first).or_else(again);
        let why = match catch_unwind(AssertUnwindSafe(attempt)) {
            Ok(Some(outcome)) => return Row::Ran(outcome),
            Ok(None) => return Row::Broken("the run was over before the fault was injected".into()),
            Err(panic) => panic,
        };
        let text = why.downcast_ref::<String>().cloned();
        let text = text.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Row::Broken(text.unwrap_or_else(|| "a panic without a message".into()))
    }
}

/// Runs cases concurrently and returns the rows in the order of the cases.
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
