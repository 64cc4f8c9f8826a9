//! The verdict of a gate for people, CI systems and programs.

mod github;
mod junit;
mod markdown;

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use sharebench_analysis::{GateLine, GateVerdict};
use sharebench_report::{plain, wrap};
use sharebench_results::RunId;

use crate::exit::Failure;
use crate::files;
use crate::flags::gate_output::GateOutputFlags;
use crate::flags::output::OutputFlags;
use crate::output::{line, print_object, print_out, style};
use crate::run::hint::database_option;

/// Name and version of the JSON document of a verdict.
const SCHEMA: &str = "sharebench.gate/1";

/// Most lines and findings that the summary on the terminal has.
const MAX_SHOWN: usize = 12;

/// A run that the gate has judged: what all outputs show.
pub struct GateReport {
    /// Title of the plan.
    pub title: String,
    /// Machine that measured.
    pub host: String,
    /// The run; none if no step was measured.
    pub run: Option<RunId>,
    /// The results database.
    pub store: PathBuf,
    /// Duration of the run and the comparison.
    pub seconds: f64,
    pub verdict: GateVerdict,
}

impl GateReport {
    /// The command that shows the run.
    fn command(&self) -> Option<String> {
        self.run.map(|run| format!("sharebench show {run}{}", database_option(&self.store)))
    }

    /// The verdict for a terminal of this width.
    fn text(&self, width: usize) -> String {
        let labelled = |label: &str, text: &str| {
            let lines = wrap(&plain(text), width.saturating_sub(label.len()), 0);
            format!("{label}{}\n", lines.join(&format!("\n{}", " ".repeat(label.len()))))
        };
        let mut text = labelled("GATE  ", &self.verdict.text);
        if !self.verdict.decides.is_empty() {
            text += &labelled("decides: ", &self.verdict.decides);
        }
        let name = |line: &GateLine| plain(&line.name());
        let width = self.verdict.lines.iter().map(|line| name(line).chars().count()).max().unwrap_or(0);
        for line in self.verdict.lines.iter().take(MAX_SHOWN) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {:<width$}  {:<12}  {}", name(line), line.outcome.word(), line.change);
        }
        let more = self.verdict.lines.len().saturating_sub(MAX_SHOWN);
        if more > 0 {
            let _ = writeln!(text, "  and {more} more");
        }
        for finding in self.verdict.findings.iter().take(MAX_SHOWN / 3) {
            text += &labelled("- ", finding);
        }
        text
    }

    /// Prints the verdict as the last JSON line.
    fn print_object(&self) {
        print_object(&json!({
            "event": "gate", "schema": SCHEMA, "run": self.run.map(|run| run.0),
            "store": self.store.display().to_string(), "host": self.host, "verdict": self.verdict,
        }));
    }
}

/// Receivers of the verdict: standard output, files, and the log and summary of a workflow.
///
/// The environment is read once, at the start of the command. Every output is written even if one fails, because the
/// verdict belongs to a run that took its time; the first failure is reported at the end, with the option at fault.
pub struct OutputFiles<'a> {
    junit: Option<&'a Path>,
    markdown: Option<&'a Path>,
    /// The file to which a workflow of GitHub Actions appends.
    summary: Option<PathBuf>,
    github: bool,
    json: bool,
    quiet: bool,
}

impl<'a> OutputFiles<'a> {
    /// The outputs that options and environment select.
    pub fn new(flags: &'a GateOutputFlags, output: &OutputFlags) -> Self {
        let summary = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
        let is_github = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        Self {
            junit: flags.junit.as_deref(),
            markdown: flags.markdown.as_deref(),
            summary: summary.map(PathBuf::from),
            github: flags.github || is_github,
            json: output.json,
            quiet: output.quiet,
        }
    }

    /// Writes all outputs of a verdict.
    pub fn write(&self, report: &GateReport) -> Result<(), Failure> {
        self.print(report)?;
        let markdown = markdown::text(report);
        let written = [
            self.junit
                .map(|path| named("--junit", path, files::write(path, junit::document(report).as_bytes()))),
            self.markdown.map(|path| named("--markdown", path, files::write(path, markdown.as_bytes()))),
            self.summary.as_deref().map(|path| named("GITHUB_STEP_SUMMARY", path, append(path, &markdown))),
        ];
        written.into_iter().flatten().collect()
    }

    fn print(&self, report: &GateReport) -> Result<(), Failure> {
        if self.json {
            report.print_object();
        } else {
            print_out(&report.text(style().width.unwrap_or(usize::MAX)))?;
        }
        if self.github {
            let annotations = github::annotations(report);
            // With --json, standard output has JSON lines alone; a workflow reads both.
            if self.json {
                annotations.iter().for_each(line);
            } else {
                print_out(&(annotations.join("\n") + "\n"))?;
            }
        }
        if let Some(command) = report.command().filter(|_| !self.quiet && !self.json) {
            line(format_args!("show the run by: {command}"));
        }
        Ok(())
    }
}

/// A failed output with the option at fault.
fn named(option: &str, path: &Path, written: std::io::Result<()>) -> Result<(), Failure> {
    written.map_err(|error| Failure::usage(format!("{option} {}: {error}", path.display())))
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use sharebench_analysis::{Estimate, GateOutcome, Interval};

    use super::*;

    /// A report of some slower lines of tests with names that need escaping.
    pub(super) fn report(outcome: GateOutcome, lines: usize) -> GateReport {
        let line = |index: usize| GateLine {
            target: "smb".to_owned(),
            test: format!("read <{index}>, 100% | \"a\"\n::error::b"),
            outcome: if outcome == GateOutcome::Slower { outcome } else { GateOutcome::Passed },
            ratio: Estimate { value: 0.9, interval: Some(Interval { low: 0.88, high: 0.92 }), n: 7 },
            runs: (7, 1),
            scatter: 0.01,
            scatter_of_last: 0.01,
            change: "-10 % [-12 %, -8.0 %]".to_owned(),
        };
        let verdict = GateVerdict {
            outcome,
            max_slower: 0.05,
            good_runs: 7,
            lines: (0..lines).map(line).collect(),
            decides: "smb <read> -10 % [-12 %, -8.0 %]".to_owned(),
            findings: (0..9).map(|index| format!("finding {index}: 50% & more\nof it")).collect(),
            text: format!("{}: smb <read>", outcome.word()),
        };
        let run = Some(RunId(8));
        GateReport {
            title: "nightly & more".to_owned(),
            host: "lab".to_owned(),
            run,
            store: PathBuf::from("my runs/a.db"),
            seconds: 12.3456,
            verdict,
        }
    }

    #[test]
    fn summary_has_the_verdict_first_and_at_most_twenty_lines() {
        let text = report(GateOutcome::Slower, 40).text(usize::MAX);
        assert!(text.starts_with("GATE  slower: smb <read>\n") && text.lines().count() <= 20, "{text}");
        assert!(
            report(GateOutcome::Passed, 1).text(usize::MAX).contains("passed        -10 % [-12 %, -8.0 %]")
        );
    }

    #[test]
    fn command_names_the_database() {
        let command = report(GateOutcome::Passed, 1).command();
        assert_eq!(command.as_deref(), Some("sharebench show 8 --db 'my runs/a.db'"));
    }
}
