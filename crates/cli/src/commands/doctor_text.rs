//! Findings and proofs of the doctor as text for the terminal.

use std::fmt::Write;

use sharebench_doctor::{Examination, Finding, Proof, Row, Status, Verdict};
use sharebench_model::units::percent;
use sharebench_report::{Style, wrap};

/// Columns before the name of a finding.
const STATUS: usize = 9;
/// Columns before the rows of a proof.
const INDENT: usize = 5;

/// Formats one line per finding, and a second one with the invalidated results unless it passes. Lines that are wider than
/// the terminal continue below their first word.
pub fn findings_text(findings: &[Finding], style: Style) -> String {
    let mut out = "THIS MACHINE\n".to_owned();
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    for Finding { name, status, measured, invalidates } in findings {
        let word = match status {
            Status::Pass => "pass   ",
            Status::Warn => "WARN   ",
            Status::Unknown => "unknown",
        };
        // Writing to a String cannot fail.
        let indent = STATUS + width + 2;
        let _ = writeln!(out, "{word}  {name:width$}  {}", below(measured, indent, style));
        if *status != Status::Pass {
            let text = below(&format!("invalidates {invalidates}"), indent, style);
            let _ = writeln!(out, "{:indent$}{text}", "");
        }
    }
    out
}

/// The last line: the differences that this machine shows, and the first property that invalidates results.
pub fn verdict_text(examination: &Examination, proofs: &[Proof], style: Style) -> String {
    const LABEL: &str = "VERDICT  ";
    let good = match examination.smallest_difference {
        Some(difference) => {
            format!("good for differences above {} between servers on this machine", percent(difference, 1))
        }
        None => "not known, because two equal servers could not be compared".to_owned(),
    };
    let warnings = examination.findings.iter().filter(|finding| finding.status == Status::Warn);
    let names: Vec<&str> = warnings.map(|finding| finding.name).collect();
    let warnings = if names.is_empty() { String::new() } else { format!("; warnings: {}", names.join(", ")) };
    let failed = proofs.iter().filter(|proof| proof.verdict == Verdict::Fail).map(|proof| proof.id);
    let failed: Vec<&str> = failed.collect();
    let failed = if failed.is_empty() { String::new() } else { format!("; FAILED: {}", failed.join(", ")) };
    format!("\n{LABEL}{}\n", below(&format!("{good}{warnings}{failed}"), LABEL.len(), style))
}

/// The text wrapped to the terminal, with later lines indented like the first.
fn below(text: &str, indent: usize, style: Style) -> String {
    let Some(width) = style.width else { return text.to_owned() };
    wrap(text, width.saturating_sub(indent).max(20), 0).join(&format!("\n{:indent$}", ""))
}

/// Formats one table per experiment: quantity, truth, measured value, tolerance, verdict.
pub fn proofs_text(proofs: &[Proof], style: Style) -> String {
    let mut out = String::new();
    for proof in proofs {
        let verdict = match proof.verdict {
            Verdict::Pass => "pass",
            Verdict::Fail => "FAIL",
            Verdict::TooNoisy => "too noisy",
            Verdict::NotRun => "not run",
        };
        let attempts = match proof.attempts {
            0 => String::new(),
            1 => " (1 attempt)".to_owned(),
            n => format!(" ({n} attempts)"),
        };
        let _ = writeln!(out, "{:4} {}: {verdict}{attempts}", proof.id, proof.title);
        if !proof.why.is_empty() {
            let _ = writeln!(out, "{:INDENT$}{}", "", below(&proof.why, INDENT, style));
        }
        table(&mut out, &proof.rows);
        out.push('\n');
    }
    out
}

fn table(out: &mut String, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    let header = ["quantity", "truth", "measured", "tolerance", ""].map(str::to_owned);
    let cells = |row: &Row| {
        let mark = if row.holds { "" } else { "<- off" };
        [
            row.quantity.clone(),
            row.truth.clone(),
            row.measured.clone(),
            row.tolerance.clone(),
            mark.to_owned(),
        ]
    };
    let lines: Vec<[String; 5]> = std::iter::once(header).chain(rows.iter().map(cells)).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    for line in lines {
        let padded = line.iter().zip(widths).map(|(text, width)| format!("{text:width$}"));
        let _ = writeln!(out, "{:INDENT$}{}", "", padded.collect::<Vec<_>>().join("  ").trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warning_lists_the_invalidated_results() {
        let finding = |name, status, measured: &str, invalidates| Finding {
            name,
            status,
            measured: measured.to_owned(),
            invalidates,
        };
        let findings = [
            finding("clock", Status::Pass, "resolution 1 ns", "times"),
            finding("steal", Status::Unknown, "not reported", "tails"),
        ];
        let text = findings_text(&findings, Style::piped());
        assert_eq!(
            text,
            "THIS MACHINE\npass     clock  resolution 1 ns\nunknown  steal  not reported\n                invalidates tails\n"
        );
    }

    #[test]
    fn proof_lists_truth_and_measured_value() {
        let row = |quantity: &str, holds| Row {
            quantity: quantity.to_owned(),
            truth: "10 ms".to_owned(),
            measured: "10.1 ms".to_owned(),
            tolerance: "10.0-10.3 ms".to_owned(),
            holds,
        };
        let rows = vec![row("p50", true), row("p99", false)];
        let proof =
            Proof { id: "K1", title: "one", verdict: Verdict::Fail, attempts: 3, rows, why: "why".into() };
        let text = proofs_text(&[proof], Style::piped());
        assert!(
            text.starts_with("K1   one: FAIL (3 attempts)\n     why\n     quantity  truth  measured"),
            "{text}"
        );
        assert!(text.contains("p99       10 ms  10.1 ms   10.0-10.3 ms  <- off\n"), "{text}");
    }
}
