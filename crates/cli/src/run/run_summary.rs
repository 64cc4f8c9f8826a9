//! What is said when a run has ended: all of it in a pipe, one screen of it on a terminal, and what to do next.

use std::io::{IsTerminal, stdout};
use std::path::Path;

use sharebench_analysis::{Analysis, Status};
use sharebench_model::RunOutcome;
use sharebench_report::Style;
use sharebench_results::{RunState, StoredRun};

use crate::output::line;
use crate::output::print_out;
use crate::output::{has_colours, print_object, terminal_size};
use crate::run::run_store::analysis;

/// A run that ended.
pub struct FinishedRun<'a> {
    pub run: &'a StoredRun,
    /// The results database.
    pub store: &'a Path,
    /// The report that was written.
    pub report: Option<&'a Path>,
}

impl FinishedRun<'_> {
    /// Prints it for a person.
    pub fn print(&self, quiet: bool) {
        let analysis = analysis(std::slice::from_ref(self.run));
        let measured = !self.run.steps.is_empty();
        let screen = terminal_size().filter(|_| stdout().is_terminal());
        if measured {
            let text = match screen {
                // The shell's prompt and what follows here take rows too.
                Some((columns, rows)) => {
                    let style = Style { colour: has_colours(), ..Style::terminal(columns) };
                    let summary = sharebench_report::summary(&analysis, style, rows.saturating_sub(14));
                    summary + &sharebench_report::ranks(&analysis, style)
                }
                None => sharebench_report::terminal(&analysis, Style::piped()),
            };
            // The exit code is the run's; a reader that went away changes nothing in the results database.
            let _ = print_out(&text);
        }
        if let Some(path) = self.report {
            println!("report: {}", path.display());
        }
        if quiet {
            return;
        }
        let (id, store) = (self.run.id, self.store.display());
        line(format_args!("run {id} in {store}; show it again by: sharebench show {id}"));
        if let Some(next) = self.next(&analysis).filter(|_| measured) {
            line(format_args!("next: {next}"));
        }
    }

    /// Prints it as the last JSON line.
    pub fn print_object(&self) {
        print_object(&serde_json::json!({
            "event": "stored", "run": self.run.id.0, "store": self.store.display().to_string(),
            "steps": self.run.steps.len(), "report": self.report.map(|path| path.display().to_string()),
        }));
    }

    /// The next command worth running.
    fn next(&self, analysis: &Analysis) -> Option<String> {
        let id = self.run.id;
        match &self.run.state {
            RunState::Ended(RunOutcome::Complete) => {}
            // How to finish it was said when it broke off.
            _ => return None,
        }
        let doubted = |line: &&sharebench_analysis::TrustLine| {
            line.status != Status::Ok && line.subject.starts_with("check ")
        };
        if analysis.trust.iter().any(|line| doubted(&line)) {
            return Some("sharebench doctor    # what on this machine spoils measurements".to_owned());
        }
        if self.report.is_none() {
            return Some(format!("sharebench report {id} -o run-{id}.html"));
        }
        Some("sharebench report --serve    # all runs, in the browser".to_owned())
    }
}
