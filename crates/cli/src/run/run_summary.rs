//! The summary at the end of a run: the whole result in a pipe, one screen on a terminal, and the next command.

use std::io::{IsTerminal, stdout};
use std::path::Path;

use sharebench_analysis::{Analysis, Status};
use sharebench_report::Style;
use sharebench_results::RunId;

use crate::output::{has_colours, line, print_object, print_out, terminal_size};

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
}

impl FinishedRun<'_> {
    /// Prints the summary as text.
    pub fn print(&self, analysis: &Analysis, quiet: bool) {
        let measured = self.steps > 0;
        let screen = terminal_size().filter(|_| stdout().is_terminal());
        if measured {
            let text = match screen {
                // Leave rows for the lines that follow and for the shell's prompt.
                Some((columns, rows)) => {
                    let style = Style { colour: has_colours(), ..Style::terminal(columns) };
                    let summary = sharebench_report::summary(analysis, style, rows.saturating_sub(14));
                    summary + &sharebench_report::ranks(analysis, style)
                }
                None => sharebench_report::terminal(analysis, Style::piped()),
            };
            // The exit code is that of the run, even if nobody reads its result.
            let _ = print_out(&text);
        }
        if let Some(path) = self.report {
            let _ = print_out(&format!("report: {}\n", path.display()));
        }
        if quiet {
            return;
        }
        let id = self.id;
        let store = self.store.display();
        line(format_args!("run {id} in {store}; show it again by: sharebench show {id}"));
        if let Some(next) = self.next(analysis).filter(|_| measured) {
            line(format_args!("next: {next}"));
        }
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
        let has_warning = |line: &&sharebench_analysis::TrustLine| {
            line.status != Status::Ok && line.subject.starts_with("check ")
        };
        if analysis.trust.iter().any(|line| has_warning(&line)) {
            return Some("sharebench doctor    # what disturbs measurements on this machine".to_owned());
        }
        if self.report.is_none() {
            return Some(format!("sharebench report {id} -o run-{id}.html"));
        }
        Some("sharebench report --serve    # all runs, in the browser".to_owned())
    }
}
