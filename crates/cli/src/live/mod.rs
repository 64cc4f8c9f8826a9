//! Display of a run in progress: lines at the bottom of a terminal, plain lines in a pipe, or JSON lines.

pub mod frame;
mod json_events;
pub mod plan_preview;
pub mod progress;
mod screen;

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use sharebench_model::units::{counted, show_nanos, show_operation_rate, show_rate, show_seconds};
use sharebench_model::{Fact, Round, RunEvent, StepResult, axis};
use sharebench_plan::ResolvedPlan;
use sharebench_report::{columns, wrap};

use crate::flags::output::OutputFlags;
use crate::output::{has_colours, terminal_width};
use frame::frame;
use plan_preview::reached;
use progress::RunProgress;
use screen::Screen;
pub use screen::restore_terminal;

/// Shortest time between two plain lines.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);
/// Largest number of warnings and failures that are shown one by one.
const MAX_MESSAGES: usize = 10;

/// Kind of display.
enum Display {
    /// Nothing is shown.
    Quiet,
    /// JSON lines on standard output, and nothing else.
    Json,
    /// Lines, at most one status per [`PLAIN_INTERVAL`].
    Plain { out: Box<dyn Write>, last: Option<Instant> },
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

impl Display {
    /// Lines on `out`.
    fn plain(out: impl Write + 'static) -> Self {
        Self::Plain { out: Box::new(out), last: None }
    }
}

impl LiveView {
    /// The display of a run by `ranks` processes; `done` steps were measured earlier.
    pub fn new(plan: &ResolvedPlan, done: usize, ranks: u32, output: &OutputFlags) -> Self {
        let display = match (output.json, output.quiet) {
            (true, _) => Display::Json,
            (false, true) => Display::Quiet,
            (false, false) if stderr().is_terminal() && !is_dumb() => Display::Screen(Screen::new()),
            (false, false) => Display::plain(stderr()),
        };
        Self { progress: RunProgress::new(plan, done, ranks, Instant::now()), display, messages: 0 }
    }

    /// The display of a run by this process alone in a pipe that starts at `started`.
    #[cfg(test)]
    pub fn piped(plan: &ResolvedPlan, started: Instant, out: impl Write + 'static) -> Self {
        let progress = RunProgress::new(plan, 0, 1, started);
        Self { progress, display: Display::plain(out), messages: 0 }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &RunEvent) {
        self.show_at(event, Instant::now());
    }

    /// Shows one event, which happened at `at`.
    pub fn show_at(&mut self, event: &RunEvent, at: Instant) {
        self.progress.take(event, at);
        if let Display::Json = self.display {
            let names: Vec<&str> = self.progress.targets.iter().map(|target| target.name.as_str()).collect();
            return json_events::print(event, &names, self.progress.ranks);
        }
        match event {
            RunEvent::TargetReady { target, facts } => {
                let shown = Fact::BRIEF.into_iter();
                let shown = shown.filter_map(|fact| Some(format!("{} {}", fact.words(), fact.value(facts)?)));
                let shown = shown.collect::<Vec<_>>().join(", ");
                self.line(&format!("{}: ready ({shown})", self.name(*target)));
            }
            RunEvent::Round(round) => self.round(*round, at),
            RunEvent::Precision(report) => {
                for line in reached(report) {
                    self.line(&line);
                }
            }
            RunEvent::StepStarted { target, coordinates, .. } => {
                self.status(&format!("{} {coordinates}", self.name(*target)), at);
            }
            RunEvent::Preparing { target, what, done, of } => {
                self.status(&format!("{}: {done} of {of} {what}", self.name(*target)), at);
            }
            RunEvent::Removing { target, entries } => {
                self.status(&format!("{}: entries removed: {entries}", self.name(*target)), at);
            }
            RunEvent::StepFinished(step) => self.finished(step, at),
            RunEvent::Failure { detail, .. } => self.message(&format!("failure: {detail}")),
            RunEvent::Warning(text) => self.message(&format!("warning: {text}")),
            RunEvent::Started(_) | RunEvent::TargetDone { .. } | RunEvent::Progress { .. } => {}
            RunEvent::Finished(_) => self.ended(at),
        }
        self.tick();
    }

    /// The progress of the run so far.
    pub fn progress(&self) -> &RunProgress {
        &self.progress
    }

    /// Draws again if it is time to.
    pub fn tick(&mut self) {
        if let Display::Screen(screen) = &mut self.display
            && screen.is_due()
        {
            let width = terminal_width().saturating_sub(1);
            screen.draw(&frame(&self.progress, width, has_colours(), Instant::now()));
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
            Display::Screen(screen) => {
                for line in fitted_lines(&sharebench_report::plain(text), terminal_width()) {
                    screen.line(&line);
                }
            }
            Display::Plain { out, .. } => {
                let _ = writeln!(out, "{}", sharebench_report::plain(text));
            }
        }
    }

    fn ended(&mut self, at: Instant) {
        let spent = show_seconds(self.progress.spent(at).as_secs_f64());
        let [_, warnings, invalid] = self.progress.verdicts;
        let count =
            |count: usize, what: &str| if count == 0 { String::new() } else { format!(", {count} {what}") };
        let verdicts = count(warnings, "with a warning") + &count(invalid, "invalid");
        let measured = self.progress.measured;
        self.close();
        if let Display::Screen(_) = self.display {
            self.display = Display::plain(stderr());
        }
        self.line(&format!("{} measured in {spent}{verdicts}", counted(measured, "step")));
    }

    /// Shows the number of cells of a round that does not contain all cells.
    fn round(&mut self, round: Round, at: Instant) {
        if !self.progress.fixed && round.cells < round.of {
            self.status(&format!("round {}: {} of {} cells", round.number + 1, round.cells, round.of), at);
        }
    }

    fn finished(&mut self, step: &StepResult, at: Instant) {
        let rate = if step.coordinates.get(axis::ENTRIES).is_some() {
            step.measure.operation_rate().map(show_operation_rate)
        } else {
            step.measure.throughput().map(show_rate)
        };
        let rate = rate.unwrap_or_else(|| "no data".into());
        let response = show_nanos(step.measure.response.quantile(0.5) as f64);
        self.status(&format!("{} {}: {rate}, p50 {response}", self.name(step.target), step.coordinates), at);
    }

    /// Prints a plain line, unless the last one is too recent; a screen shows the status anyway.
    fn status(&mut self, text: &str, at: Instant) {
        let Display::Plain { out, last } = &mut self.display else { return };
        if last.is_some_and(|last| at.saturating_duration_since(last) < PLAIN_INTERVAL) {
            return;
        }
        *last = Some(at);
        let progress = &self.progress;
        let of = match (progress.fixed, progress.budget_ends) {
            (true, _) => format!("/{}", progress.expected),
            (false, None) => format!(" of about {}", progress.expected.max(progress.done)),
            (false, Some(_)) => String::new(),
        };
        let left = progress.seconds_left(at).filter(|_| progress.measured >= 3);
        let left = left.map_or(String::new(), |seconds| format!(", {} left", show_seconds(seconds)));
        let _ = writeln!(out, "[{}{of}{left}] {}", progress.done, sharebench_report::plain(text));
    }

    fn message(&mut self, text: &str) {
        self.messages += 1;
        match self.messages {
            n if n <= MAX_MESSAGES => self.line(text),
            n if n == MAX_MESSAGES + 1 => self.line("further warnings and failures are in the report only"),
            _ => {}
        }
    }

    fn name(&self, target: u32) -> &str {
        self.progress.targets.get(target as usize).map_or("?", |target| target.name.as_str())
    }
}

/// The text as lines of at most `width` columns, broken between words. Later lines are indented by two columns.
pub fn fitted_lines(text: &str, width: usize) -> Vec<String> {
    if columns(text) <= width { vec![text.to_owned()] } else { wrap(text, width, 2) }
}

/// A terminal that cannot move its cursor.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty())
}
