//! What the user sees while a run is under way: a board on a terminal, plain lines in a pipe, or JSON lines.

mod board;
mod events;
mod frame;
mod screen;

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use sharebench_model::units::{show_nanos, show_rate};
use sharebench_model::{Round, RunEvent, StepResult};
use sharebench_plan::ResolvedPlan;

use crate::args::GlobalFlags;
use crate::outlook::{reached, span};
use board::Board;
use screen::Screen;

pub use events::line as print_object;

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
    /// The board at the bottom of the terminal on standard error.
    Screen(Screen),
}

/// Shows a run's events.
pub struct LiveView {
    board: Board,
    shown: Shown,
    told: usize,
}

impl LiveView {
    /// A view of a run of `ranks` processes, `done` of whose steps were measured earlier.
    pub fn new(plan: &ResolvedPlan, done: usize, ranks: u32, flags: &GlobalFlags) -> Self {
        let shown = match (flags.json, flags.quiet) {
            (true, _) => Shown::Json,
            (false, true) => Shown::Quiet,
            (false, false) if stderr().is_terminal() && !is_dumb() => Shown::Screen(Screen::new()),
            (false, false) => Shown::Plain { last: None },
        };
        Self { board: Board::new(plan, done, ranks), shown, told: 0 }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &RunEvent) {
        self.board.take(event);
        if let Shown::Json = self.shown {
            let names: Vec<&str> = self.board.lanes.iter().map(|lane| lane.name.as_str()).collect();
            return events::print(event, &names, self.board.ranks);
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
            screen.draw(&frame::frame(&self.board, terminal_width().saturating_sub(1), has_colours()));
        }
    }

    /// True when the user asked to stop by a key; the board says that it is being done.
    pub fn wants_stop(&mut self) -> bool {
        let wanted = matches!(&self.shown, Shown::Screen(screen) if screen.wants_stop());
        let first = wanted && !self.board.stopping;
        self.board.stopping |= wanted;
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
        let spent = self.board.started.elapsed();
        let doubtful = self.board.verdicts[1] + self.board.verdicts[2];
        let doubt = if doubtful == 0 { String::new() } else { format!(", {doubtful} doubtful") };
        let measured = self.board.measured;
        self.close();
        if let Shown::Screen(_) = self.shown {
            self.shown = Shown::Plain { last: None };
        }
        self.line(&format!("{measured} steps measured in {spent:.1?}{doubt}"));
    }

    /// Rounds in which every cell takes part are no news; those that only some need say how many.
    fn round(&mut self, round: Round) {
        if !self.board.fixed && round.cells < round.of {
            self.status(&format!("round {}: {} of {} cells", round.number + 1, round.cells, round.of));
        }
    }

    fn finished(&mut self, step: &StepResult) {
        let rate = step.measure.throughput().map_or_else(|| "no data".into(), show_rate);
        let response = show_nanos(step.measure.response.quantile(0.5) as f64);
        self.status(&format!("{} {}: {rate}, p50 {response}", self.name(step.target), step.coordinates));
    }

    /// A plain line now and then; a board says it anyway.
    fn status(&mut self, text: &str) {
        let Shown::Plain { last } = &mut self.shown else { return };
        if last.is_some_and(|last| last.elapsed() < PLAIN_EVERY) {
            return;
        }
        *last = Some(Instant::now());
        let board = &self.board;
        let of = match (board.fixed, board.budget_ends) {
            (true, _) => format!("/{}", board.expected),
            (false, None) => format!(" of about {}", board.expected.max(board.done)),
            (false, Some(_)) => String::new(),
        };
        let left = board.seconds_left().filter(|_| board.measured >= 3);
        let left = left.map_or(String::new(), |seconds| format!(", {} left", span(seconds)));
        let _ = writeln!(stderr(), "[{}{of}{left}] {}", board.done, sharebench_report::plain(text));
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
        self.board.lanes.get(target as usize).map_or("?", |lane| lane.name.as_str())
    }
}

/// A terminal that cannot move its cursor.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty())
}

/// Colours, unless `NO_COLOR` asks for none (no-color.org).
pub fn has_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns of the terminal on standard output or error; 100 where there is none.
pub fn terminal_width() -> usize {
    terminal_size().map_or(100, |(columns, _)| columns)
}

/// Columns and rows of the terminal on standard output or error; none where there is none.
pub fn terminal_size() -> Option<(usize, usize)> {
    // SAFETY: TIOCGWINSZ fills the struct it is given; zeroed is a valid winsize.
    let size = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let found = libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) == 0
            || libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &raw mut size) == 0;
        found.then_some(size)
    };
    size.filter(|size| size.ws_col > 0).map(|size| (size.ws_col as usize, size.ws_row as usize))
}
