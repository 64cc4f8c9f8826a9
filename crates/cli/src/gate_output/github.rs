//! The verdict as workflow commands of GitHub Actions (docs.github.com, "Workflow commands for GitHub Actions").

use sharebench_analysis::GateOutcome;

use super::GateReport;

/// Most annotations after that of the verdict: GitHub shows ten of each kind per step.
const MAX_FINDINGS: usize = 9;

/// One line for the verdict, and one for each finding.
pub fn annotations(report: &GateReport) -> Vec<String> {
    let verdict = &report.verdict;
    let level = match verdict.outcome {
        GateOutcome::Passed => "notice",
        GateOutcome::Inconclusive => "warning",
        GateOutcome::Slower | GateOutcome::Invalid => "error",
    };
    let title = format!("sharebench gate: {}", report.title);
    let first = annotation(level, &title, &verdict.text);
    // The first finding is that of the verdict.
    let more = verdict.findings.iter().skip(1).take(MAX_FINDINGS);
    std::iter::once(first).chain(more.map(|finding| annotation(level, &title, finding))).collect()
}

fn annotation(level: &str, title: &str, text: &str) -> String {
    format!("::{level} title={}::{}", property(title), data(text))
}

/// The text of a command, of which the runner decodes `%25`, `%0D` and `%0A`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a command, in which a colon or a comma would end it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    #[test]
    fn annotations_are_escaped_and_limited() {
        let lines = annotations(&report(GateOutcome::Slower, 1));
        assert_eq!(lines.len(), 9);
        assert_eq!(lines[0], "::error title=sharebench gate%3A nightly & more::slower: smb <read>");
        let second = "::error title=sharebench gate%3A nightly & more::finding 1: 50%25 & more%0Aof it";
        assert_eq!(lines[1], second);
        assert!(lines.iter().all(|line| !line.contains('\n')));
    }

    #[test]
    fn level_follows_from_the_outcome() {
        let level = |outcome| annotations(&report(outcome, 0))[0].split(' ').next().map(str::to_owned);
        assert_eq!(level(GateOutcome::Passed).as_deref(), Some("::notice"));
        assert_eq!(level(GateOutcome::Inconclusive).as_deref(), Some("::warning"));
        assert_eq!(level(GateOutcome::Invalid).as_deref(), Some("::error"));
    }
}
