//! The analysis as terminal text.

mod bars;
mod layout;
mod parts;
mod style;
mod summary;

use std::fmt::Write;

use sharebench_analysis::Analysis;
use sharebench_model::Verdict;

use crate::escape::terminal as safe;
use crate::show::counts;
use crate::tables::{load_tables, main_table, operation_sentence, rank_tables, study_table};
use layout::pad;
use parts::{
    compared_systems, heading, ratio_note, sentences, sentences_within, statuses, unlike_conditions,
    verdicts, write_table,
};
use style::{BOLD, DIM, GREEN, RED, YELLOW};

pub use layout::{width, wrap};
pub use style::Style;
pub use summary::{Screen, summary};

/// Renders the analysis as text for a terminal, a pipe or a file.
///
/// Warnings about differing conditions follow the title, then the verdict; the answer and the statuses come next, then findings
/// and what was not resolved, then the tables with the numbers.
/// [`Style`] decides the width, which splits tables into blocks and wraps sentences; piped text is plain ASCII without
/// a limit. Control characters in names and messages are replaced, so that a server cannot send escape sequences.
pub fn terminal(analysis: &Analysis, style: Style) -> String {
    let mut out = String::new();
    if !analysis.title.is_empty() {
        let _ = writeln!(out, "{}\n", style.paint(BOLD, &safe(&analysis.title)));
    }
    unlike_conditions(&mut out, style, analysis);
    verdicts(&mut out, style, analysis, usize::MAX);
    compared_systems(&mut out, style, analysis);
    sentences(&mut out, style, "ANSWER", &analysis.answer);
    ratio_note(&mut out, style);
    statuses(&mut out, style, &analysis.trust.iter().collect::<Vec<_>>());
    sentences(&mut out, style, "CONTRADICTIONS", &analysis.contradictions);
    let mut open = String::new();
    sentences_within(&mut open, style, "NOT RESOLVED", &analysis.not_resolved, MAX_OPEN);
    not_aligned(&mut open, style, analysis);
    let left = MAX_BEFORE_TABLES.saturating_sub(out.lines().count() + open.lines().count());
    sentences_within(&mut out, style, "FINDINGS", &analysis.findings, left.max(MIN_FINDINGS));
    out.push_str(&open);
    for section in &analysis.sections {
        heading(&mut out, style, &safe(&section.title));
        let mut table = main_table(analysis, section);
        table.notes.extend(operation_sentence(section));
        write_table(&mut out, style, &table);
        if let Some(study) = study_table(analysis, section, true) {
            out.push('\n');
            write_table(&mut out, style, &study);
        }
        for table in load_tables(analysis, section, true) {
            out.push('\n');
            write_table(&mut out, style, &table);
        }
        out.push('\n');
    }
    out.push_str(&ranks(analysis, style));
    left_out(&mut out, style, analysis);
    self_checks(&mut out, style, analysis);
    let mut commands: Vec<&str> = analysis.methods.iter().map(|method| method.command.as_str()).collect();
    // Runs of one plan have the same command.
    commands.dedup();
    for command in commands {
        let line = format!("again: {}", safe(command));
        let _ = writeln!(out, "{}", style.paint(DIM, &line));
    }
    out
}

/// Most lines before the first table, unless the answer and the checks alone need more.
const MAX_BEFORE_TABLES: usize = 60;
/// Most lines of what is not resolved, and fewest of the findings.
const MAX_OPEN: usize = 10;
const MIN_FINDINGS: usize = 8;

/// Most lines of a list; the other formats have all of them.
const MAX_LISTED: usize = 20;
/// The same of positions that are not aligned, which come before the tables.
const MAX_UNMATCHED: usize = 6;

/// Positions without counterpart, in groups with their reasons.
fn not_aligned(out: &mut String, style: Style, analysis: &Analysis) {
    if analysis.unmatched.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", style.paint(BOLD, "NOT ALIGNED"));
    for unmatched in analysis.unmatched.iter().take(MAX_UNMATCHED) {
        for line in wrap(&safe(&unmatched.words(analysis)), style.limit() - 2, 2) {
            let _ = writeln!(out, "  {line}");
        }
    }
    if let Some(more @ 1..) = analysis.unmatched.len().checked_sub(MAX_UNMATCHED) {
        let _ = writeln!(out, "  and {more} more (in the other formats)");
    }
    out.push('\n');
}

fn left_out(out: &mut String, style: Style, analysis: &Analysis) {
    if analysis.left_out.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", style.paint(BOLD, "LEFT OUT"));
    for step in analysis.left_out.iter().take(MAX_LISTED) {
        let system = &analysis.systems[step.system].name;
        let repetition = step.repetition + 1;
        let text = format!("{system}, {}, repetition {repetition}: {}", step.coordinates, step.reason);
        for line in wrap(&safe(&text), style.limit() - 2, 2) {
            let _ = writeln!(out, "  {line}");
        }
    }
    if let Some(more @ 1..) = analysis.left_out.len().checked_sub(MAX_LISTED) {
        let _ = writeln!(out, "  and {more} more (in the json and html formats)");
    }
    out.push('\n');
}

/// One line per check: the number of steps in which it held, and its arithmetic.
fn self_checks(out: &mut String, style: Style, analysis: &Analysis) {
    if analysis.self_checks.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", style.paint(BOLD, "SELF-CHECKS"));
    let names = analysis.self_checks.iter().map(|check| width(&safe(&check.name))).max().unwrap_or(0);
    for check in &analysis.self_checks {
        let (mark, colour) = match check.verdict() {
            Verdict::Valid => (style.mark("✓", "ok   "), GREEN),
            Verdict::NotKnown => (style.mark("·", "-    "), DIM),
            Verdict::Warning => (style.mark("!", "warn "), YELLOW),
            Verdict::Invalid => (style.mark("✕", "FAIL "), RED),
        };
        let indent = names + if style.unicode { 4 } else { 8 };
        let text = format!("{}; {}", counts(check), safe(&check.example));
        let lines = wrap(&text, style.limit().saturating_sub(indent).max(20), 0);
        let gap = format!("\n{}", " ".repeat(indent));
        let name = pad(&safe(&check.name), names, false);
        let _ = writeln!(out, "{} {name}  {}", style.paint(colour, mark), lines.join(&gap));
    }
    out.push('\n');
}

/// Most ranks with a line of their own on a terminal.
const MAX_RANKS_SHOWN: usize = 64;

/// Renders a table for each run of several ranks; empty for other runs.
pub fn ranks(analysis: &Analysis, style: Style) -> String {
    let mut out = String::new();
    for (title, table) in rank_tables(analysis, Some(MAX_RANKS_SHOWN)) {
        heading(&mut out, style, &title);
        write_table(&mut out, style, &table);
        out.push('\n');
    }
    out
}
