//! Display of a run in progress: lines at the bottom of a terminal, plain lines in a pipe, or JSON lines.

mod frame;
mod json_events;
pub mod plan_preview;
mod progress;
mod screen;

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use sharebench_model::units::{show_nanos, show_rate, show_seconds};
use sharebench_model::{Round, RunEvent, StepResult};
use sharebench_plan::ResolvedPlan;

use crate::flags::output::OutputFlags;
use crate::output::{has_colours, terminal_width};
use plan_preview::reached;
use progress::RunProgress;
use screen::Screen;

/// Shortest time between two plain lines.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);
/// Largest number of warnings and failures that are shown one by one.
const MAX_MESSAGES: usize = 10;
/// Facts that are shown when a target is ready; every protocol has some of them.
const SHOWN_FACTS: [&str; 10] = [
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

/// Kind of display.
enum Display {
    /// Nothing is shown.
    Quiet,
    /// JSON lines on standard output, and nothing else.
    Json,
    /// Lines on standard error, at most one per [`PLAIN_INTERVAL`].
    Plain { last: Option<Instant> },
    /// Progress at the bottom of the terminal on standard error.
    Screen(Screen),
}

/// Display of one run.
///
/// It owns the progress of the run, which only events change, and the screen, if there is one. The main thread passes
/// every event and calls [`LiveView::tick`] in between, so the display needs no thread and never delays the engine.
pub struct LiveView {
    progress: RunProgress,
    display: Display,
    messages: usize,
}

impl LiveView {
    /// The display of a run by `ranks` processes; `done` steps were measured earlier.
    pub fn new(plan: &ResolvedPlan, done: usize, ranks: u32, output: &OutputFlags) -> Self {
        let display = match (output.json, output.quiet) {
            (true, _) => Display::Json,
            (false, true) => Display::Quiet,
            (false, false) if stderr().is_terminal() && !is_dumb() => Display::Screen(Screen::new()),
            (false, false) => Display::Plain { last: None },
        };
        Self { progress: RunProgress::new(plan, done, ranks), display, messages: 0 }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &RunEvent) {
        self.progress.take(event);
        if let Display::Json = self.display {
            let names: Vec<&str> = self.progress.targets.iter().map(|target| target.name.as_str()).collect();
            return json_events::print(event, &names, self.progress.ranks);
        }
        match event {
            RunEvent::TargetReady { target, facts } => {
                let shown = SHOWN_FACTS.iter();
                let shown = shown.filter_map(|name| Some(format!("{name} {}", facts.get(*name)?)));
                let shown = shown.collect::<Vec<_>>().join(", ");
                self.line(&format!("{}: ready ({shown})", self.name(*target)));
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
            RunEvent::Failure { detail, .. } => self.message(&format!("failure: {detail}")),
            RunEvent::Warning(text) => self.message(&format!("warning: {text}")),
            RunEvent::Started(_) | RunEvent::TargetDone { .. } | RunEvent::Progress { .. } => {}
            RunEvent::Finished(_) => self.ended(),
        }
        self.tick();
    }

    /// Draws again if it is time to.
    pub fn tick(&mut self) {
        if let Display::Screen(screen) = &mut self.display
            && screen.is_due()
        {
            screen.draw(&frame::frame(&self.progress, terminal_width().saturating_sub(1), has_colours()));
        }
    }

    /// True if a key requested a stop for the first time.
    pub fn wants_stop(&mut self) -> bool {
        let wanted = matches!(&self.display, Display::Screen(screen) if screen.wants_stop());
        let first = wanted && !self.progress.stopping;
        self.progress.stopping |= wanted;
        first
    }

    /// Restores the terminal.
    pub fn close(&mut self) {
        if let Display::Screen(screen) = &mut self.display {
            screen.close();
        }
    }

    /// Prints a line that stays.
    pub fn line(&mut self, text: &str) {
        match &mut self.display {
            Display::Quiet | Display::Json => {}
            // Text of servers and files must not contain escape sequences for the terminal.
            Display::Screen(screen) => screen.line(&sharebench_report::plain(text)),
            Display::Plain { .. } => {
                let _ = writeln!(stderr(), "{}", sharebench_report::plain(text));
            }
        }
    }

    fn ended(&mut self) {
        let spent = self.progress.started.elapsed();
        let [_, warnings, invalid] = self.progress.verdicts;
        let count =
            |count: usize, what: &str| if count == 0 { String::new() } else { format!(", {count} {what}") };
        let verdicts = count(warnings, "with a warning") + &count(invalid, "invalid");
        let measured = self.progress.measured;
        self.close();
        if let Display::Screen(_) = self.display {
            self.display = Display::Plain { last: None };
        }
        self.line(&format!("{measured} steps measured in {spent:.1?}{verdicts}"));
    }

    /// Shows the number of cells of a round that does not contain all cells.
    fn round(&mut self, round: Round) {
        if !self.progress.fixed && round.cells < round.of {
            self.status(&format!("round {}: {} of {} cells", round.number + 1, round.cells, round.of));
        }
    }

    fn finished(&mut self, step: &StepResult) {
        let rate = step.measure.throughput().map_or_else(|| "no data".into(), show_rate);
        let response = show_nanos(step.measure.response.quantile(0.5) as f64);
        self.status(&format!("{} {}: {rate}, p50 {response}", self.name(step.target), step.coordinates));
    }

    /// Prints a plain line, unless the last one is too recent; a screen shows the status anyway.
    fn status(&mut self, text: &str) {
        let Display::Plain { last } = &mut self.display else { return };
        if last.is_some_and(|last| last.elapsed() < PLAIN_INTERVAL) {
            return;
        }
        *last = Some(Instant::now());
        let progress = &self.progress;
        let of = match (progress.fixed, progress.budget_ends) {
            (true, _) => format!("/{}", progress.expected),
            (false, None) => format!(" of about {}", progress.expected.max(progress.done)),
            (false, Some(_)) => String::new(),
        };
        let left = progress.seconds_left().filter(|_| progress.measured >= 3);
        let left = left.map_or(String::new(), |seconds| format!(", {} left", show_seconds(seconds)));
        let _ = writeln!(stderr(), "[{}{of}{left}] {}", progress.done, sharebench_report::plain(text));
    }

    fn message(&mut self, text: &str) {
        self.messages += 1;
        match self.messages {
            n if n <= MAX_MESSAGES => self.line(text),
            n if n == MAX_MESSAGES + 1 => self.line("further failures are counted, not shown"),
            _ => {}
        }
    }

    fn name(&self, target: u32) -> &str {
        self.progress.targets.get(target as usize).map_or("?", |target| target.name.as_str())
    }
}

/// A terminal that cannot move its cursor.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty())
}
