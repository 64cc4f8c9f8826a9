//! Findings and proofs of the doctor as text for the terminal.

use std::fmt::Write;

use sharebench_doctor::{Examination, Finding, Proof, Row, Status, Verdict};
use sharebench_report::{Style, wrap};

/// Columns before the name of a finding.
const STATUS: usize = 9;
/// Fewest columns of a tolerance.
const MIN_TOLERANCE: usize = 8;
/// Columns before the rows of a proof.
const INDENT: usize = 5;

/// Formats the findings under their headings: one line each, and a second one with the invalidated results unless it
/// passes. Lines that are wider than the terminal continue below their first word.
pub fn findings_text(examination: &Examination, style: Style) -> String {
    let mut out = String::new();
    let width = examination.findings().map(|finding| finding.name.len()).max().unwrap_or(0);
    let indent = STATUS + width + 2;
    for section in &examination.sections {
        let gap = if out.is_empty() { "" } else { "\n" };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{gap}{}", section.heading.to_uppercase());
        for Finding { name, status, measured, invalidates } in &section.findings {
            let word = match status {
                Status::Pass => "pass   ",
                Status::Warn => "WARN   ",
                Status::Unknown => "unknown",
            };
            let _ = writeln!(out, "{word}  {name:width$}  {}", below(measured, indent, style));
            if *status != Status::Pass {
                let text = below(&format!("invalidates {invalidates}"), indent, style);
                let _ = writeln!(out, "{:indent$}{text}", "");
            }
        }
    }
    out
}

/// The last line: the differences that this machine shows, and the first property that invalidates results.
pub fn verdict_text(examination: &Examination, proofs: &[Proof], style: Style) -> String {
    const LABEL: &str = "VERDICT  ";
    let good = match examination.smallest_difference {
        Some(difference) => {
            let percent = (difference * 100.0).ceil();
            format!("good for differences above {percent} % between servers on this machine")
        }
        None => "not known, because two equal servers could not be compared".to_owned(),
    };
    let warnings = examination.findings().filter(|finding| finding.status == Status::Warn);
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
        table(&mut out, &proof.rows, style);
        out.push('\n');
    }
    out
}

/// Columns of quantity, truth, measured value, tolerance and mark. The tolerance wraps where the terminal is narrower.
fn table(out: &mut String, rows: &[Row], style: Style) {
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
    let fixed = INDENT + widths[..3].iter().map(|width| width + 2).sum::<usize>();
    let mark = widths[4] + 2;
    for [quantity, truth, measured, tolerance, off] in lines {
        let columns = [quantity, truth, measured].into_iter().zip(widths);
        let columns: Vec<String> = columns.map(|(text, width)| format!("{text:width$}  ")).collect();
        let columns = columns.concat();
        let space =
            style.width.map_or(usize::MAX, |width| width.saturating_sub(fixed + mark).max(MIN_TOLERANCE));
        let mut tolerance = wrap(&tolerance, space, 0).into_iter();
        let first = tolerance.next().unwrap_or_default();
        let width = widths[3].min(space);
        let line = format!("{:INDENT$}{columns}{first:width$}  {off}", "");
        let _ = writeln!(out, "{}", line.trim_end());
        for more in tolerance {
            let _ = writeln!(out, "{:fixed$}{more}", "");
        }
    }
}

#[cfg(test)]
mod tests {
    use sharebench_doctor::Section;

    use super::*;

    #[test]
    fn warning_lists_the_invalidated_results() {
        let finding = |name, status, measured: &str, invalidates| Finding {
            name,
            status,
            measured: measured.to_owned(),
            invalidates,
        };
        let section = |heading, finding| Section { heading, findings: vec![finding] };
        let sections = vec![
            section("Clock and timers", finding("clock", Status::Pass, "resolution 1 ns", "times")),
            section("Noise", finding("steal", Status::Unknown, "not reported", "tails")),
        ];
        let text = findings_text(&Examination { sections, smallest_difference: None }, Style::piped());
        assert_eq!(
            text,
            "CLOCK AND TIMERS\npass     clock  resolution 1 ns\n\nNOISE\nunknown  steal  not reported\n                invalidates tails\n"
        );
    }

    #[test]
    fn tolerance_wraps_in_a_narrow_terminal() {
        let row = Row {
            quantity: "2 %: rate off by".to_owned(),
            truth: "1.85 pt as executed".to_owned(),
            measured: "+0.36 pt at worst".to_owned(),
            tolerance: "1.0 pt; one of 1.8 if covered".to_owned(),
            holds: false,
        };
        let proof = Proof {
            id: "K8",
            title: "t",
            verdict: Verdict::Fail,
            attempts: 3,
            rows: vec![row],
            why: String::new(),
        };
        let text = proofs_text(&[proof], Style { colour: false, ..Style::terminal(80) });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("1.0 pt;") && text.contains("covered") && text.contains("<- off\n"), "{text}");
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
