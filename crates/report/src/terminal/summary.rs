//! One screen after a run: differing conditions, the verdict, a bar per system, the reason not to trust it more, and a line
//! per test.

use std::fmt::Write;

use sharebench_analysis::{Analysis, Sentence, Status, Tone};
use sharebench_model::units::counted;

use super::bars::write_bars;
use super::layout::wrap;
use super::parts::{labelled, ratio_note, sentences, table_width, unlike_conditions, verdicts, write_table};
use super::style::{GREEN, RED, Style, YELLOW};
use crate::escape::terminal as safe;
use crate::first_screen::{TrustSummary, bars, restates_a_verdict, trust_summary};
use crate::tables::{Table, main_table, operation_sentence, tests_table};

/// Most sentences of the answer besides the verdict.
const MAX_SENTENCES: usize = 2;
/// Most lines of the trust section that are no failed checks.
const MAX_TRUST_LINES: usize = 3;
/// Fewest lines of a table that are worth their header.
const MIN_TABLE: usize = 3;

/// The space of a summary, and the words around the numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Screen<'a> {
    /// Rows that the summary fills at most.
    pub rows: usize,
    /// What was measured: the first line.
    pub measured: Option<&'a str>,
    /// The cause that limits the result most, if the caller knows it; it replaces the warnings, but not failed checks.
    pub cause: Option<&'a str>,
}

/// Renders the result of a run in the rows of a screen: what was measured, the first verdict, the bars and the first line of
/// the trust section are always there, the rest as far as there is space. Verdicts and failed checks without space are counted.
///
/// Each claim has one number: the verdict has the ratio, and the rates of the bars differ by that ratio. What was left
/// out is in [`super::terminal`].
pub fn summary(analysis: &Analysis, style: Style, screen: &Screen<'_>) -> String {
    let rows = screen.rows;
    let claims = [usize::MAX, 1].map(|max| {
        let mut claims = String::new();
        verdicts(&mut claims, style, analysis, max);
        if let Some(bars) = bars(analysis) {
            write_bars(&mut claims, style, &bars);
        }
        claims
    });
    let trusts: Vec<String> = [MAX_TRUST_LINES, 1, 0]
        .into_iter()
        .map(|lines| {
            let mut trust = String::new();
            self::trust(&mut trust, style, analysis, screen.cause, lines);
            trust
        })
        .collect();
    let mut measured = String::new();
    for line in screen.measured.iter().flat_map(|text| wrap(&safe(text), style.limit(), 2)) {
        // Writing to a String cannot fail.
        let _ = writeln!(measured, "{line}");
    }
    if !measured.is_empty() {
        measured.push('\n');
    }
    let mut conditions = String::new();
    unlike_conditions(&mut conditions, style, analysis);
    let answer = answer(analysis, style);
    // The first that fits; the last one has the least.
    let none = String::new();
    let least = if analysis.reported.is_empty() { &answer } else { &none };
    let choices = [
        [&conditions, &claims[0], &answer, &trusts[0]],
        [&conditions, &claims[0], least, &trusts[0]],
        [&none, &claims[0], least, &trusts[0]],
        [&none, &claims[0], least, &trusts[1]],
        [&none, &claims[0], least, &trusts[2]],
        [&none, &claims[1], least, &trusts[2]],
    ];
    let render = |parts: &[&String; 4]| {
        let mut text = measured.clone() + &parts.map(String::as_str).concat();
        ratio_note(&mut text, style);
        text
    };
    let fits = |choice: &&[&String; 4]| render(choice).lines().count() <= rows;
    let mut out = render(choices.iter().find(fits).unwrap_or(&choices[5]));
    let mut table = table(analysis, style);
    let mut left = rows.saturating_sub(out.lines().count() + 1);
    let notes = table.notes.iter().map(|note| wrap(&safe(note), style.limit(), 2).len()).sum::<usize>();
    if left < MIN_TABLE + notes {
        table.notes.clear();
    } else {
        left -= notes;
    }
    if table.rows.is_empty() || left < MIN_TABLE {
        return out;
    }
    // The header, and the line that counts the rest.
    let shown = if table.rows.len() < left { table.rows.len() } else { left - 2 };
    let more = table.rows.len() - shown;
    table.rows.truncate(shown);
    if more > 0 {
        table.notes.insert(0, format!("and {more} more"));
    }
    write_table(&mut out, style, &table);
    out.push('\n');
    out
}

/// The sentences of the answer that add something to the verdict.
fn answer(analysis: &Analysis, style: Style) -> String {
    // Next to a verdict, a note such as the caveat of load steps that were measured once explains nothing on this screen.
    let is_shown = |sentence: &&Sentence| {
        !restates_a_verdict(analysis, sentence)
            && (analysis.reported.is_empty() || sentence.tone != Tone::Note)
    };
    let shown = analysis.answer.iter().filter(is_shown);
    let shown: Vec<Sentence> = shown.take(MAX_SENTENCES).cloned().collect();
    let mut out = String::new();
    if analysis.reported.is_empty() || !shown.is_empty() {
        sentences(&mut out, style, "ANSWER", &shown);
    }
    out
}

/// The failed checks, or the one cause that lowers the confidence most, and the number of the other warnings; the first
/// `max` of these lines and every failed check; with 0 one line and the number of the other failed checks. A cause that the
/// caller knows replaces the warnings.
fn trust(out: &mut String, style: Style, analysis: &Analysis, known: Option<&str>, max: usize) {
    let TrustSummary { status, causes, sensitivity, more } = trust_summary(analysis);
    let colour = match status {
        Status::Failed => RED,
        Status::Warning => YELLOW,
        Status::Ok => GREEN,
    };
    let mut lines: Vec<String> = Vec::new();
    if let Some(known) = known.filter(|_| status != Status::Failed) {
        lines.push(known.to_owned());
    } else {
        for line in &causes {
            let mark = if line.status == Status::Failed { style.mark("✕ ", "FAIL ") } else { "" };
            lines.push(format!("{mark}{}: {}", line.subject, line.text));
        }
        if causes.is_empty() {
            lines.push(format!("{} passed", counted(analysis.trust.len(), "check")));
        }
        lines.extend(sensitivity.map(|line| line.text.clone()));
        if more > 0 {
            lines.push(format!("and {}", counted(more, "more warning")));
        }
    }
    let failed = causes.iter().filter(|line| line.status == Status::Failed).count();
    if max > 0 {
        lines.truncate(max.max(failed));
    } else {
        lines.truncate(1);
        if failed > 1 {
            lines.push(format!("and {} failed", counted(failed - 1, "more check")));
        }
    }
    labelled(out, style, "TRUST", colour, &lines);
    out.push('\n');
}

/// The cells of a single section, or a line per test; without the rates where they do not fit.
fn table(analysis: &Analysis, style: Style) -> Table {
    if let [section] = analysis.sections.as_slice() {
        let notes = operation_sentence(section).into_iter().collect();
        let table = Table { notes, ..main_table(analysis, section) };
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
