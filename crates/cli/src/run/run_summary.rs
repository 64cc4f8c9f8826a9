//! The summary at the end of a run: one screen, on a terminal and in a pipe, and the next command.

use std::fmt::Write;
use std::io::{IsTerminal, stdout};
use std::path::Path;

use sharebench_analysis::{Analysis, Status};
use sharebench_report::{Screen, Style, columns};
use sharebench_results::RunId;

use crate::output::{line, print_object, print_out, style, terminal_size};
use crate::run::hint::{database_option, shell_word};

/// Rows of the summary with the lines after it, on a terminal of any size.
const MAX_ROWS: usize = 24;
/// Row of the shell's prompt.
const PROMPT: usize = 1;

/// A run after its end, with what was written for it.
pub struct FinishedRun<'a> {
    pub id: RunId,
    /// True if every planned step was measured.
    pub complete: bool,
    /// Number of measured steps.
    pub steps: usize,
    /// The results database.
    pub store: &'a Path,
    /// The report that was written, if any.
    pub report: Option<&'a Path>,
    /// What the command adds to the summary.
    pub words: SummaryWords,
}

/// What a command that knows its targets adds to the summary of a run.
#[derive(Debug, Clone, Default)]
pub struct SummaryWords {
    /// What was measured.
    pub measured: Option<String>,
    /// Why the result is not sharper, as far as the command knows it, from the smallest difference that would be detected.
    pub cause: Option<fn(f64) -> String>,
    /// The command that is most useful next.
    pub next: Option<&'static str>,
}

impl FinishedRun<'_> {
    /// Prints the summary as text.
    pub fn print(&self, analysis: &Analysis, quiet: bool) {
        let screen = terminal_size().filter(|_| stdout().is_terminal());
        let rows = screen.map_or(MAX_ROWS, |(_, rows)| rows);
        // The exit code is that of the run, even if nobody reads its result.
        let _ = print_out(&self.result(analysis, style(), rows));
        if !quiet {
            self.commands(analysis).iter().for_each(line);
        }
    }

    /// The text for standard output: one screen of `rows` rows; `show` prints everything.
    pub fn result(&self, analysis: &Analysis, style: Style, rows: usize) -> String {
        let mut text = String::new();
        if self.steps > 0 {
            let report = usize::from(self.report.is_some());
            let width = style.width.unwrap_or(usize::MAX).max(1);
            let commands = self.commands(analysis);
            let after: usize = commands.iter().map(|line| columns(line).div_ceil(width)).sum();
            let rows = rows.min(MAX_ROWS).saturating_sub(report + after + PROMPT);
            let cause = self.words.cause.zip(sharpness(analysis)).map(|(cause, sharpness)| cause(sharpness));
            let screen = Screen { rows, measured: self.words.measured.as_deref(), cause: cause.as_deref() };
            text = sharebench_report::summary(analysis, style, &screen);
            text.push_str(&sharebench_report::ranks(analysis, style));
        }
        if let Some(path) = self.report {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "report: {}", path.display());
        }
        text
    }

    /// The lines for standard error: where the run is, and the command that is most useful next.
    pub fn commands(&self, analysis: &Analysis) -> Vec<String> {
        let id = self.id;
        let database = database_option(self.store);
        let stored =
            format!("run {id} in {}; show it again by: sharebench show {id}{database}", self.store.display());
        let next = self.next(analysis).filter(|_| self.steps > 0).map(|next| format!("next: {next}"));
        std::iter::once(stored).chain(next).collect()
    }

    /// Prints the last JSON line.
    pub fn print_object(&self) {
        print_object(&serde_json::json!({
            "event": "stored", "run": self.id.0, "store": self.store.display().to_string(),
            "steps": self.steps, "report": self.report.map(|path| path.display().to_string()),
        }));
    }

    /// The command that is most useful next.
    fn next(&self, analysis: &Analysis) -> Option<String> {
        let id = self.id;
        // The command that finishes an incomplete run was already printed.
        if !self.complete {
            return None;
        }
        if let Some(next) = self.words.next {
            return Some(next.to_owned());
        }
        let has_warning = |line: &&sharebench_analysis::TrustLine| {
            line.status != Status::Ok && line.subject.starts_with("check ")
        };
        if analysis.trust.iter().any(|line| has_warning(&line)) {
            return Some("sharebench doctor    # what disturbs measurements on this machine".to_owned());
        }
        match &analysis.systems[..] {
            [one] => {
                return Some(format!(
                    "sharebench diagnose {}    # where its time goes",
                    shell_word(&one.url)
                ));
            }
            [one, two] if one.url != two.url => {
                let [one, two] = [one, two].map(|system| shell_word(&system.url));
                return Some(format!("sharebench diagnose {one} --against {two}    # why they differ"));
            }
            _ => {}
        }
        let database = database_option(self.store);
        if self.report.is_none() {
            return Some(format!("sharebench report {id}{database} -o run-{id}.html"));
        }
        Some(format!("sharebench report --serve{database}    # all runs, in the browser"))
    }
}

/// The smallest difference that every comparison with a verdict would detect, as a share; none without an interval.
fn sharpness(analysis: &Analysis) -> Option<f64> {
    let sharpness = analysis.verdicts().map(|verdict| verdict.sharpness);
    sharpness.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}
