//! One screen after a run: unlike conditions, the verdict, a bar per system, the reason not to trust it more, and a line
//! per test.

use sharebench_analysis::{Analysis, Sentence, Status, Tone};
use sharebench_model::units::counted;

use super::bars::write_bars;
use super::parts::{labelled, sentences, table_width, unlike_conditions, verdicts, write_table};
use super::style::{GREEN, RED, Style, YELLOW};
use crate::first_screen::{TrustSummary, bars, restates_a_verdict, trust_summary};
use crate::tables::{Table, main_table, tests_table};

/// Most sentences of the answer besides the verdict.
const MAX_SENTENCES: usize = 2;
/// Fewest lines of a table that are worth their header.
const MIN_TABLE: usize = 3;

/// Renders the result of a run in about `rows` rows, which are reached only by failed checks and wrapped lines.
///
/// Each claim has one number: the verdict has the ratio, and the rates of the bars differ by that ratio. What was left
/// out is in [`super::terminal`].
pub fn summary(analysis: &Analysis, style: Style, rows: usize) -> String {
    let mut out = String::new();
    unlike_conditions(&mut out, style, analysis);
    verdicts(&mut out, style, analysis);
    if let Some(bars) = bars(analysis) {
        write_bars(&mut out, style, &bars);
    }
    // Next to a verdict, a note such as the caveat of load steps that were measured once explains nothing on this screen.
    let is_shown = |sentence: &&Sentence| {
        !restates_a_verdict(analysis, sentence)
            && (analysis.reported.is_empty() || sentence.tone != Tone::Note)
    };
    let answer = analysis.answer.iter().filter(is_shown);
    let answer: Vec<Sentence> = answer.take(MAX_SENTENCES).cloned().collect();
    if analysis.reported.is_empty() || !answer.is_empty() {
        sentences(&mut out, style, "ANSWER", &answer);
    }
    trust(&mut out, style, analysis);
    let mut table = table(analysis, style);
    let left = rows.saturating_sub(out.lines().count() + 1);
    if table.rows.is_empty() || left < MIN_TABLE {
        return out;
    }
    // The header, and the line that counts the rest.
    let shown = if table.rows.len() < left { table.rows.len() } else { left - 2 };
    let more = table.rows.len() - shown;
    table.rows.truncate(shown);
    if more > 0 {
        table.notes = vec![format!("and {more} more")];
    }
    write_table(&mut out, style, &table);
    out.push('\n');
    out
}

/// The failed checks, or the one cause that lowers the confidence most, and the number of the others.
fn trust(out: &mut String, style: Style, analysis: &Analysis) {
    let TrustSummary { status, causes, sensitivity, more } = trust_summary(analysis);
    let mut lines: Vec<String> = Vec::new();
    for line in &causes {
        let mark = if line.status == Status::Failed { style.mark("✕ ", "FAIL ") } else { "" };
        lines.push(format!("{mark}{}: {}", line.subject, line.text));
    }
    let colour = match status {
        Status::Failed => RED,
        Status::Warning => YELLOW,
        Status::Ok => GREEN,
    };
    if causes.is_empty() {
        lines.push(format!("{} passed", counted(analysis.trust.len(), "check")));
    }
    lines.extend(sensitivity.map(|line| line.text.clone()));
    if more > 0 {
        lines.push(format!("and {}", counted(more, "more warning")));
    }
    labelled(out, style, "TRUST", colour, &lines);
    out.push('\n');
}

/// The cells of a single section, or a line per test; without the rates where they do not fit.
fn table(analysis: &Analysis, style: Style) -> Table {
    if let [section] = analysis.sections.as_slice() {
        let table = Table { notes: Vec::new(), ..main_table(analysis, section) };
        if table_width(style, &table) <= style.limit() {
            return table;
        }
    }
    let whole = tests_table(analysis, true, &analysis.reported);
    if table_width(style, &whole) <= style.limit() {
        whole
    } else {
        tests_table(analysis, false, &analysis.reported)
    }
}
