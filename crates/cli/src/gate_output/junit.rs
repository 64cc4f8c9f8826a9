//! The verdict as JUnit XML, in the form that CI systems read (testsuites, testsuite, testcase).

use std::fmt::Write as _;

use sharebench_analysis::{GateLine, GateOutcome};
use sharebench_report::plain;

use super::GateReport;

/// The document: a test case for each test of each target, and one for the verdict of the whole run.
pub fn document(report: &GateReport) -> String {
    let verdict = &report.verdict;
    let slower = verdict.lines.iter().filter(|line| line.outcome == GateOutcome::Slower).count();
    let is_invalid = verdict.outcome == GateOutcome::Invalid;
    let failures = slower + usize::from(verdict.outcome > GateOutcome::Passed && !is_invalid);
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{}\" time=\"{:.3}\"",
        verdict.lines.len() + 1,
        u8::from(is_invalid),
        report.seconds
    );
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a String cannot fail.
    let _ = writeln!(text, "<testsuites name=\"sharebench gate\" {counts}>");
    let title = attribute(&report.title);
    let host = attribute(&report.host);
    let _ = writeln!(text, "  <testsuite name=\"{title}\" hostname=\"{host}\" skipped=\"0\" {counts}>");
    verdict.lines.iter().for_each(|line| text.push_str(&case(line)));
    text.push_str(&verdict_case(report));
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// One test of a target.
fn case(line: &GateLine) -> String {
    let head = head(&line.target, &line.test, 0.0);
    let change = attribute(&line.change);
    match line.outcome {
        GateOutcome::Slower => {
            format!("{head}>\n      <failure type=\"slower\" message=\"{change}\"/>\n    </testcase>\n")
        }
        _ => format!("{head}>\n      <system-out>{change}</system-out>\n    </testcase>\n"),
    }
}

/// The verdict with its findings.
fn verdict_case(report: &GateReport) -> String {
    let verdict = &report.verdict;
    let head = head("gate", "verdict", report.seconds);
    let word = verdict.outcome.word();
    let message = attribute(&verdict.text);
    let findings: Vec<String> = verdict.findings.iter().map(|finding| attribute(finding)).collect();
    let findings = findings.join("\n");
    let element = match verdict.outcome {
        GateOutcome::Passed => format!("<system-out>{message}</system-out>"),
        GateOutcome::Invalid => format!("<error type=\"{word}\" message=\"{message}\">{findings}</error>"),
        GateOutcome::Slower | GateOutcome::Inconclusive => {
            format!("<failure type=\"{word}\" message=\"{message}\">{findings}</failure>")
        }
    };
    format!("{head}>\n      {element}\n    </testcase>\n")
}

fn head(class: &str, name: &str, seconds: f64) -> String {
    let class = attribute(class);
    let name = attribute(name);
    format!("    <testcase classname=\"{class}\" name=\"{name}\" time=\"{seconds:.3}\"")
}

/// Text for an attribute or an element: no markup, and no character that XML 1.0 does not have.
fn attribute(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    #[test]
    fn slower_tests_are_failures_and_names_are_escaped() {
        let text = document(&report(GateOutcome::Slower, 2));
        assert!(text.contains("tests=\"3\" failures=\"3\" errors=\"0\" time=\"12.346\""), "{text}");
        assert!(text.contains("name=\"nightly &amp; more\" hostname=\"lab\""), "{text}");
        let name = "name=\"read &lt;0&gt;, 100% | &quot;a&quot;\u{fffd}::error::b\"";
        assert!(text.contains(name), "{text}");
        assert!(text.contains("<failure type=\"slower\" message=\"-10 % [-12 %, -8.0 %]\"/>"), "{text}");
        assert_eq!(text.matches("<testcase").count(), text.matches("</testcase>").count());
    }

    #[test]
    fn invalid_is_an_error_and_inconclusive_a_failure() {
        let text = document(&report(GateOutcome::Invalid, 0));
        assert!(text.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{text}");
        assert!(text.contains("<error type=\"invalid\" message=\"invalid: smb &lt;read&gt;\">"), "{text}");
        let text = document(&report(GateOutcome::Inconclusive, 1));
        assert!(text.contains("failures=\"1\" errors=\"0\""), "{text}");
        assert!(text.contains("<failure type=\"inconclusive\""), "{text}");
        let passed = document(&report(GateOutcome::Passed, 1));
        assert!(passed.contains("failures=\"0\" errors=\"0\"") && !passed.contains("<failure"), "{passed}");
    }
}
