//! The analysis as terminal text.

use std::fmt::Write;

use sharebench_analysis::{Analysis, RatioVerdict, Sentence, Status, Tone, TrustLine};
use sharebench_model::Verdict;

use crate::escape::terminal as safe;
use crate::layout::{blocks, pad, width, wrap};
use crate::load_table::load_tables;
use crate::rank_table::ranks;
use crate::show::counts;
use crate::study::study_table;
use crate::table::{Cell, Table, main_table};

/// What the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns; tables are split into blocks and sentences wrapped to fit. None: as wide as need be.
    pub width: Option<usize>,
    /// ANSI colours.
    pub colour: bool,
    /// Lines and marks beyond ASCII.
    pub unicode: bool,
}

impl Style {
    /// For a pipe or a file: unlimited, plain.
    pub fn piped() -> Self {
        Self { width: None, colour: false, unicode: false }
    }

    /// For a terminal of `width` columns.
    pub fn terminal(width: usize) -> Self {
        Self { width: Some(width.max(40)), colour: true, unicode: true }
    }

    pub(crate) fn limit(self) -> usize {
        self.width.unwrap_or(usize::MAX / 2)
    }

    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(crate) fn mark(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }
}

pub(crate) const BOLD: &str = "1";
pub(crate) const DIM: &str = "2";
const RED: &str = "1;31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const BLUE: &str = "34";

/// Blanks between columns.
const GAP: usize = 2;

/// The answer and the lights, what was found and what was not, and then the tables behind it.
pub fn terminal(analysis: &Analysis, style: Style) -> String {
    let mut out = String::new();
    if !analysis.title.is_empty() {
        let _ = writeln!(out, "{}\n", style.paint(BOLD, &safe(&analysis.title)));
    }
    sentences(&mut out, style, "ANSWER", &analysis.answer);
    trust(&mut out, style, analysis);
    sentences(&mut out, style, "CONTRADICTIONS", &analysis.contradictions);
    sentences(&mut out, style, "FINDINGS", &analysis.findings);
    sentences(&mut out, style, "NOT RESOLVED", &analysis.not_resolved);
    not_aligned(&mut out, style, analysis);
    for section in &analysis.sections {
        heading(&mut out, style, &safe(&section.title));
        write_table(&mut out, style, &main_table(analysis, section));
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
    for method in &analysis.methods {
        let line = format!("again: {}", safe(&method.command));
        let _ = writeln!(out, "{}", style.paint(DIM, &line));
    }
    out
}

pub(crate) fn heading(out: &mut String, style: Style, text: &str) {
    let rule = style.mark("─", "-").repeat(width(text).max(8));
    let _ = writeln!(out, "{}\n{}", style.paint(BOLD, text), style.paint(DIM, &rule));
}

pub(crate) fn write_table(out: &mut String, style: Style, table: &Table) {
    let header: Vec<String> = table.header.iter().map(|text| safe(text)).collect();
    let cells: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(|cell| marked(style, cell)).collect()).collect();
    let column = |c: usize| cells.iter().map(|row| width(&row[c])).max().unwrap_or(0).max(width(&header[c]));
    let widths: Vec<usize> = (0..header.len()).map(column).collect();
    for (index, block) in blocks(&widths, table.keys, GAP, style.limit()).iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let line = |text: &dyn Fn(usize) -> String| {
            let padded: Vec<String> = block.iter().map(|c| text(*c)).collect();
            padded.join(&" ".repeat(GAP)).trim_end().to_owned()
        };
        let head = line(&|c| pad(&header[c], widths[c], true));
        let _ = writeln!(out, "{}", style.paint(DIM, &head));
        for (row, texts) in table.rows.iter().zip(&cells) {
            let text = line(&|c| paint_cell(style, &row[c], &pad(&texts[c], widths[c], true)));
            let _ = writeln!(out, "{text}");
        }
    }
    for note in &table.notes {
        for line in wrap(&safe(note), style.limit(), 2) {
            let _ = writeln!(out, "{}", style.paint(DIM, &line));
        }
    }
}

/// A cell's text with the mark of its standing, which is there without colours too.
fn marked(style: Style, cell: &Cell) -> String {
    let text = if style.unicode { safe(&cell.text) } else { safe(&cell.text).replace('±', "+-") };
    match cell.standing {
        Some(RatioVerdict::Faster) => text + style.mark(" ▲", " >"),
        Some(RatioVerdict::Slower) => text + style.mark(" ▼", " <"),
        Some(RatioVerdict::AboutTheSame) => text + " =",
        Some(RatioVerdict::NotResolved) => text + " ?",
        None => text,
    }
}

fn paint_cell(style: Style, cell: &Cell, text: &str) -> String {
    match cell.standing {
        Some(RatioVerdict::Faster) => style.paint(BLUE, text),
        Some(RatioVerdict::Slower) => style.paint(YELLOW, text),
        Some(RatioVerdict::NotResolved) => style.paint(DIM, text),
        _ => text.to_owned(),
    }
}

pub(crate) fn sentences(out: &mut String, style: Style, title: &str, sentences: &[Sentence]) {
    if sentences.is_empty() && title != "ANSWER" {
        return;
    }
    let _ = writeln!(out, "{}", style.paint(BOLD, title));
    for sentence in sentences {
        let (mark, colour) = match sentence.tone {
            Tone::Alarm => ("!", RED),
            Tone::Difference => (style.mark("▲", ">"), BLUE),
            Tone::Same => ("=", GREEN),
            Tone::NotResolved => ("?", YELLOW),
            Tone::Note => (style.mark("·", "-"), DIM),
        };
        let lines = wrap(&safe(&sentence.text), style.limit() - 2, 0);
        for (index, line) in lines.iter().enumerate() {
            let mark = if index == 0 { style.paint(colour, mark) } else { " ".to_owned() };
            let line = if sentence.tone == Tone::Alarm { style.paint(RED, line) } else { line.clone() };
            let _ = writeln!(out, "{mark} {line}");
        }
    }
    out.push('\n');
}

/// Lists are cut after this many lines; the other formats have all of them.
const LISTED: usize = 20;

/// Positions without counterpart, in groups with their reasons.
fn not_aligned(out: &mut String, style: Style, analysis: &Analysis) {
    if analysis.unmatched.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", style.paint(BOLD, "NOT ALIGNED"));
    for unmatched in analysis.unmatched.iter().take(LISTED) {
        for line in wrap(&safe(&unmatched.words(analysis)), style.limit() - 2, 2) {
            let _ = writeln!(out, "  {line}");
        }
    }
    if let Some(more @ 1..) = analysis.unmatched.len().checked_sub(LISTED) {
        let _ = writeln!(out, "  and {more} more (in the other formats)");
    }
    out.push('\n');
}

fn left_out(out: &mut String, style: Style, analysis: &Analysis) {
    if analysis.left_out.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", style.paint(BOLD, "LEFT OUT"));
    for step in analysis.left_out.iter().take(LISTED) {
        let system = &analysis.systems[step.system].name;
        let text = format!("{system}, {}, repetition {}: {}", step.coordinates, step.repetition, step.reason);
        for line in wrap(&safe(&text), style.limit() - 2, 2) {
            let _ = writeln!(out, "  {line}");
        }
    }
    if let Some(more @ 1..) = analysis.left_out.len().checked_sub(LISTED) {
        let _ = writeln!(out, "  and {more} more (in the json and html formats)");
    }
    out.push('\n');
}

/// One line per check: in how many steps it held, and its arithmetic.
fn self_checks(out: &mut String, style: Style, analysis: &Analysis) {
    if analysis.self_checks.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", style.paint(BOLD, "SELF-CHECKS"));
    let names = analysis.self_checks.iter().map(|check| width(&safe(&check.name))).max().unwrap_or(0);
    for check in &analysis.self_checks {
        let (mark, colour) = match check.verdict() {
            Verdict::Valid => (style.mark("✓", "ok   "), GREEN),
            Verdict::NotKnown => (style.mark("·", "?    "), DIM),
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

fn trust(out: &mut String, style: Style, analysis: &Analysis) {
    lights(out, style, &analysis.trust.iter().collect::<Vec<_>>());
}

/// Traffic lights, one line or more each; nothing without any.
pub(crate) fn lights(out: &mut String, style: Style, trust: &[&TrustLine]) {
    if trust.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", style.paint(BOLD, "CAN I TRUST IT?"));
    let subjects = trust.iter().map(|line| width(&line.subject)).max().unwrap_or(0);
    for line in trust {
        let light = match line.status {
            Status::Ok => style.paint(GREEN, style.mark("✓", "ok   ")),
            Status::Warning => style.paint(YELLOW, style.mark("!", "warn ")),
            Status::Failed => style.paint(RED, style.mark("✕", "FAIL ")),
        };
        let indent = subjects + if style.unicode { 4 } else { 8 };
        let lines = wrap(&safe(&line.text), style.limit().saturating_sub(indent).max(20), 0);
        let gap = format!("\n{}", " ".repeat(indent));
        let _ = writeln!(out, "{light} {}  {}", pad(&safe(&line.subject), subjects, false), lines.join(&gap));
    }
    out.push('\n');
}
