//! What the user sees while a run is under way: a progress on a terminal, plain lines in a pipe, or JSON lines.

mod frame;
mod json_events;
pub mod plan_preview;
mod progress;
mod screen;

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use sharebench_model::units::{show_nanos, show_rate};
use sharebench_model::{Round, RunEvent, StepResult};
use sharebench_plan::ResolvedPlan;

use crate::flags::output::OutputFlags;
use crate::output::{has_colours, terminal_width};
use plan_preview::{reached, span};
use progress::RunProgress;
use screen::Screen;

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

/// Where and how a run is shown.
enum Shown {
    /// Not at all.
    Quiet,
    /// JSON lines on standard output, nothing else.
    Json,
    /// A line now and then on standard error.
    Plain { last: Option<Instant> },
    /// The progress at the bottom of the terminal on standard error.
    Screen(Screen),
}

/// Shows a run's events.
pub struct LiveView {
    progress: RunProgress,
    shown: Shown,
    told: usize,
}

impl LiveView {
    /// A view of a run of `ranks` processes, `done` of whose steps were measured earlier.
    pub fn new(plan: &ResolvedPlan, done: usize, ranks: u32, output: &OutputFlags) -> Self {
        let shown = match (output.json, output.quiet) {
            (true, _) => Shown::Json,
            (false, true) => Shown::Quiet,
            (false, false) if stderr().is_terminal() && !is_dumb() => Shown::Screen(Screen::new()),
            (false, false) => Shown::Plain { last: None },
        };
        Self { progress: RunProgress::new(plan, done, ranks), shown, told: 0 }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &RunEvent) {
        self.progress.take(event);
        if let Shown::Json = self.shown {
            let names: Vec<&str> = self.progress.targets.iter().map(|target| target.name.as_str()).collect();
            return json_events::print(event, &names, self.progress.ranks);
        }
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
            RunEvent::Failure { detail, .. } => self.tell(&format!("failure: {detail}")),
            RunEvent::Warning(text) => self.tell(&format!("warning: {text}")),
            RunEvent::Started(_) | RunEvent::TargetDone { .. } | RunEvent::Progress { .. } => {}
            RunEvent::Finished(_) => self.ended(),
        }
        self.tick();
    }

    /// Draws again where it is time to.
    pub fn tick(&mut self) {
        if let Shown::Screen(screen) = &mut self.shown
            && screen.is_due()
        {
            screen.draw(&frame::frame(&self.progress, terminal_width().saturating_sub(1), has_colours()));
        }
    }

    /// True when the user asked to stop by a key; the progress says that it is being done.
    pub fn wants_stop(&mut self) -> bool {
        let wanted = matches!(&self.shown, Shown::Screen(screen) if screen.wants_stop());
        let first = wanted && !self.progress.stopping;
        self.progress.stopping |= wanted;
        first
    }

    /// Gives the terminal back.
    pub fn close(&mut self) {
        if let Shown::Screen(screen) = &mut self.shown {
            screen.close();
        }
    }

    /// A line that stays.
    pub fn line(&mut self, text: &str) {
        match &mut self.shown {
            Shown::Quiet | Shown::Json => {}
            // What servers and files say must not steer the terminal.
            Shown::Screen(screen) => screen.line(&sharebench_report::plain(text)),
            Shown::Plain { .. } => {
                let _ = writeln!(stderr(), "{}", sharebench_report::plain(text));
            }
        }
    }

    fn ended(&mut self) {
        let spent = self.progress.started.elapsed();
        let doubtful = self.progress.verdicts[1] + self.progress.verdicts[2];
        let doubt = if doubtful == 0 { String::new() } else { format!(", {doubtful} doubtful") };
        let measured = self.progress.measured;
        self.close();
        if let Shown::Screen(_) = self.shown {
            self.shown = Shown::Plain { last: None };
        }
        self.line(&format!("{measured} steps measured in {spent:.1?}{doubt}"));
    }

    /// Rounds in which every cell takes part are no news; those that only some need say how many.
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

    /// A plain line now and then; a progress says it anyway.
    fn status(&mut self, text: &str) {
        let Shown::Plain { last } = &mut self.shown else { return };
        if last.is_some_and(|last| last.elapsed() < PLAIN_EVERY) {
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
        let left = left.map_or(String::new(), |seconds| format!(", {} left", span(seconds)));
        let _ = writeln!(stderr(), "[{}{of}{left}] {}", progress.done, sharebench_report::plain(text));
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
        self.progress.targets.get(target as usize).map_or("?", |target| target.name.as_str())
    }
}

/// A terminal that cannot move its cursor.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty())
}
