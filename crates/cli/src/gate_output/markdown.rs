//! The verdict as Markdown of at most 30 lines, for the summary of a job or a comment.

use std::fmt::Write as _;

use sharebench_model::units::counted;
use sharebench_report::{markdown_text as escaped, plain};

use super::GateReport;

/// Most rows of the table, and most findings. With headings and the line at the end they are 26 lines.
const MAX_ROWS: usize = 12;
const MAX_FINDINGS: usize = 4;

/// The summary.
pub fn text(report: &GateReport) -> String {
    let verdict = &report.verdict;
    let mut text = format!("### {}: {}\n\n", escaped(&report.title), verdict.outcome.word());
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}\n", escaped(&verdict.text));
    if !verdict.decides.is_empty() {
        let _ = writeln!(text, "Decides: {}\n", escaped(&verdict.decides));
    }
    if !verdict.lines.is_empty() {
        text.push_str("| target | test | verdict | change |\n|---|---|---|---|\n");
    }
    for line in verdict.lines.iter().take(MAX_ROWS) {
        let target = escaped(&line.target);
        let test = escaped(&line.test);
        let _ = writeln!(text, "| {target} | {test} | {} | {} |", line.outcome.word(), line.change);
    }
    let more = verdict.lines.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        let _ = writeln!(text, "\n{} more.", counted(more, "test"));
    }
    if !verdict.findings.is_empty() {
        text.push('\n');
    }
    for finding in verdict.findings.iter().take(MAX_FINDINGS) {
        let _ = writeln!(text, "- {}", escaped(finding));
    }
    if let Some(command) = report.command() {
        let _ = writeln!(text, "\nOn {}: `{}`", escaped(&report.host), plain(&command).replace('`', "'"));
    }
    text
}

#[cfg(test)]
mod tests {
    use sharebench_analysis::GateOutcome;

    use super::super::tests::report;
    use super::*;

    #[test]
    fn summary_has_at_most_thirty_lines_and_escaped_names() {
        let text = text(&report(GateOutcome::Slower, 40));
        assert!(text.lines().count() <= 30, "{text}");
        assert!(text.starts_with("### nightly &amp; more: slower\n\nslower: smb &lt;read>\n"), "{text}");
        assert!(text.contains("| smb | read &lt;0>, 100% \\| \"a\"\u{fffd}::error::b | slower |"), "{text}");
        assert!(text.contains("\n28 tests more.\n") && text.contains("sharebench show 8 --db"), "{text}");
    }
}
