//! What the user sees while a run is under way: one changing line on a terminal, plain lines in a pipe.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use sharebench_model::units::{show_nanos, show_rate};
use sharebench_model::{ErrorClass, Round, RunEvent, StepResult, Verdict};
use sharebench_plan::ResolvedPlan;

use crate::outlook::{reached, span};

/// Least time between two plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(5);
/// Most warnings and failures told one by one.
const TOLD: usize = 10;
/// Facts of a target that are told when it is ready; every protocol has some of them.
const CHOSEN: [&str; 10] = [
    "dialect",
    "signing",
    "encryption",
    "vers",
    "version",
    "filesystem",
    "engine",
    "transport",
    "buffer",
    "profile",
];

/// Shows a run's events on standard error.
pub struct LiveView {
    targets: Vec<String>,
    /// Steps to be expected in all; corrected as widths become known.
    expected: usize,
    done: usize,
    /// Instant at which the time for all cells is used up.
    budget_ends: Option<Instant>,
    fixed: bool,
    /// Steps of users, which follow the cells.
    loads: usize,
    measured: usize,
    started: Instant,
    last_line: Option<Instant>,
    terminal: bool,
    quiet: bool,
    failures: BTreeMap<ErrorClass, u64>,
    doubtful: usize,
    told: usize,
}

impl LiveView {
    /// A view of a run, `done` of whose steps were measured earlier.
    pub fn new(plan: &ResolvedPlan, done: usize, quiet: bool) -> Self {
        Self {
            targets: plan.targets.iter().map(|target| target.name.clone()).collect(),
            expected: plan.steps().least as usize,
            done,
            budget_ends: None,
            fixed: plan.repeat.is_fixed() && plan.search.is_none(),
            loads: plan.loads.len() * plan.targets.len(),
            measured: 0,
            started: Instant::now(),
            last_line: None,
            terminal: stderr().is_terminal(),
            quiet,
            failures: BTreeMap::new(),
            doubtful: 0,
            told: 0,
        }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &RunEvent) {
        match event {
            RunEvent::TargetReady { target, facts } => {
                let told = CHOSEN.iter().filter_map(|name| Some(format!("{name} {}", facts.get(*name)?)));
                let told = told.collect::<Vec<_>>().join(", ");
                self.line(&format!("{}: ready ({told})", self.name(*target)));
            }
            RunEvent::Round(round) => self.round(*round),
            RunEvent::Precision(report) => {
                for line in reached(report) {
                    self.line(&line);
                }
            }
            RunEvent::StepStarted { target, coordinates, .. } => {
                self.status(&format!("{} {coordinates}", self.name(*target)));
            }
            RunEvent::Preparing { target, what, done, of } => {
                self.status(&format!("{}: {done} of {of} {what}", self.name(*target)));
            }
            RunEvent::StepFinished(step) => self.finished(step),
            RunEvent::Failure { class, detail, .. } => {
                *self.failures.entry(*class).or_default() += 1;
                self.tell(&format!("failure: {detail}"));
            }
            RunEvent::Warning(text) => self.tell(&format!("warning: {text}")),
            RunEvent::Started(_) | RunEvent::TargetDone { .. } | RunEvent::Progress { .. } => {}
            RunEvent::Finished(_) => {
                let spent = self.started.elapsed();
                let doubt =
                    if self.doubtful == 0 { String::new() } else { format!(", {} doubtful", self.doubtful) };
                self.line(&format!("{} steps measured in {spent:.1?}{doubt}", self.measured));
            }
        }
    }

    /// A line that stays.
    pub fn line(&self, text: &str) {
        if self.quiet {
            return;
        }
        let clear = if self.terminal { "\r\u{1b}[K" } else { "" };
        // Progress that cannot be shown is no reason to stop measuring.
        let _ = writeln!(stderr(), "{clear}{text}");
    }

    /// Rounds in which every cell takes part are no news; those that only some need say how many.
    fn round(&mut self, round: Round) {
        self.budget_ends = round.budget_left_ns.map(|left| Instant::now() + Duration::from_nanos(left));
        if self.fixed {
            return;
        }
        self.expected = round.steps_before.saturating_add(round.expected_steps) as usize + self.loads;
        if round.cells < round.of {
            self.status(&format!("round {}: {} of {} cells", round.number + 1, round.cells, round.of));
        }
    }

    fn finished(&mut self, step: &StepResult) {
        self.done += 1;
        self.measured += 1;
        if step.verdict() != Verdict::Valid {
            self.doubtful += 1;
        }
        let rate = step.measure.throughput().map_or_else(|| "no data".into(), show_rate);
        let response = show_nanos(step.measure.response.quantile(0.5) as f64);
        self.status(&format!("{} {}: {rate}, p50 {response}", self.name(step.target), step.coordinates));
    }

    /// The changing line, or now and then a plain one.
    fn status(&mut self, text: &str) {
        if self.quiet {
            return;
        }
        let due = self.last_line.is_none_or(|last| last.elapsed() >= PLAIN_EVERY);
        if !self.terminal && !due {
            return;
        }
        self.last_line = Some(Instant::now());
        let of = match (self.fixed, self.budget_ends) {
            (true, _) => format!("/{}", self.expected),
            (false, None) => format!(" of about {}", self.expected.max(self.done)),
            (false, Some(_)) => String::new(),
        };
        let progress = format!("[{}{of}{}] {text}", self.done, self.left());
        let _ = if self.terminal {
            let width = terminal_width().saturating_sub(1);
            let shown: String = progress.chars().take(width).collect();
            write!(stderr(), "\r\u{1b}[K{shown}")
        } else {
            writeln!(stderr(), "{progress}")
        };
    }

    /// Time left, judged by the steps so far.
    fn left(&self) -> String {
        if self.measured < 3 {
            return String::new();
        }
        let seconds = self.budget_ends.map_or_else(
            || {
                let each = self.started.elapsed().as_secs_f64() / self.measured as f64;
                each * self.expected.saturating_sub(self.done) as f64
            },
            |ends| ends.saturating_duration_since(Instant::now()).as_secs_f64(),
        );
        format!(", {} left", span(seconds))
    }

    fn tell(&mut self, text: &str) {
        self.told += 1;
        match self.told {
            n if n <= TOLD => self.line(text),
            n if n == TOLD + 1 => self.line("further failures are counted, not shown"),
            _ => {}
        }
    }

    fn name(&self, target: u32) -> &str {
        self.targets.get(target as usize).map_or("?", String::as_str)
    }
}

/// Columns of the terminal on standard output or error; 100 where there is none.
pub fn terminal_width() -> usize {
    // SAFETY: TIOCGWINSZ fills the struct it is given; zeroed is a valid winsize.
    let columns = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let found = libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) == 0
            || libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &raw mut size) == 0;
        if found { size.ws_col } else { 0 }
    };
    if columns == 0 { 100 } else { columns as usize }
}
