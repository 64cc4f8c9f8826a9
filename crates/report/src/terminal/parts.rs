//! Pieces of terminal text: headings, tables, sentences, statuses.

use std::fmt::Write;

use sharebench_analysis::{Analysis, RatioVerdict, Sentence, Status, Tone, TrustLine};
use sharebench_model::units::counted;
use sharebench_model::without_secrets;

use super::layout::{blocks, pad, width, wrap};
use super::style::{BLUE, BOLD, DIM, GREEN, RED, Style, YELLOW};
use crate::escape::terminal as safe;
use crate::show;
use crate::tables::{Cell, Table};

/// Blanks between columns.
const GAP: usize = 2;

pub(super) fn heading(out: &mut String, style: Style, text: &str) {
    let rule = style.mark("─", "-").repeat(width(text).max(8));
    let _ = writeln!(out, "{}\n{}", style.paint(BOLD, text), style.paint(DIM, &rule));
}

pub(super) fn write_table(out: &mut String, style: Style, table: &Table) {
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

/// Columns of a table that is not split into blocks.
pub(super) fn table_width(style: Style, table: &Table) -> usize {
    let column = |c: usize| {
        let cells = table.rows.iter().map(|row| width(&marked(style, &row[c])));
        cells.max().unwrap_or(0).max(width(&safe(&table.header[c])))
    };
    (0..table.header.len()).map(|c| column(c) + GAP).sum::<usize>().saturating_sub(GAP)
}

/// The text of a cell with the mark of its ratio, which does not depend on colours.
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

/// Conditions that differ between the systems, one line each, before any ratio; none where no condition differs.
pub(super) fn unlike_conditions(out: &mut String, style: Style, analysis: &Analysis) {
    for unlike in &analysis.unlike_conditions {
        for (index, line) in wrap(&safe(&unlike.text), style.limit() - 2, 0).into_iter().enumerate() {
            let mark = if index == 0 { style.paint(YELLOW, "!") } else { " ".to_owned() };
            let _ = writeln!(out, "{mark} {line}");
        }
    }
    if !analysis.unlike_conditions.is_empty() {
        out.push('\n');
    }
}

/// Columns of a label and the gap after it.
const LABEL: usize = 9;

/// Lines after a label, each wrapped and indented.
pub(super) fn labelled(out: &mut String, style: Style, label: &str, colour: &str, lines: &[String]) {
    for (index, line) in lines.iter().enumerate() {
        let blanks = |columns: usize| " ".repeat(columns);
        let label = if index == 0 {
            style.paint(colour, label) + &blanks(LABEL - width(label))
        } else {
            blanks(LABEL)
        };
        let lines = wrap(&safe(line), style.limit().saturating_sub(LABEL).max(20), 0);
        let gap = format!("\n{}", " ".repeat(LABEL));
        let _ = writeln!(out, "{label}{}", lines.join(&gap));
    }
}

/// The verdicts of the first `max` comparisons that the answer reports, one line each, and the number of the others; none of
/// one system alone.
pub(super) fn verdicts(out: &mut String, style: Style, analysis: &Analysis, max: usize) {
    let mut lines: Vec<String> = analysis.verdicts().take(max).map(|verdict| verdict.text.clone()).collect();
    let more = analysis.verdicts().count() - lines.len();
    if more > 0 {
        lines.push(format!("and {}", counted(more, "more comparison")));
    }
    labelled(out, style, "VERDICT", BOLD, &lines);
    if !analysis.reported.is_empty() {
        out.push('\n');
    }
}

/// Explains both units where a text has differences that are resolved, as percent or factor, and ratios that are not.
const RATIO_NOTE: &str =
    "ratio 1.04: the rate of the first is 1.04 times that of the second, 4 % faster; [a, b]: 95 % interval";

/// Adds the explanation of ratios to a text that has both units; nothing to any other.
pub(super) fn ratio_note(out: &mut String, style: Style) {
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let has_ratio =
        words.split("ratio ").skip(1).any(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    if has_ratio && (words.contains(" faster") || words.contains(" as fast")) {
        for line in wrap(RATIO_NOTE, style.limit(), 2) {
            let _ = writeln!(out, "{}", style.paint(DIM, &line));
        }
        out.push('\n');
    }
}

/// Names and URLs of the compared systems; nothing of one system alone.
pub(super) fn compared_systems(out: &mut String, style: Style, analysis: &Analysis) {
    let systems = show::compared_systems(analysis);
    let names = systems.iter().map(|system| width(&safe(&system.name))).max().unwrap_or(0);
    for system in &systems {
        let name = pad(&safe(&system.name), names, false);
        let line = format!("{name}  {}", safe(&without_secrets(&system.url)));
        let _ = writeln!(out, "{}{}", " ".repeat(LABEL), style.paint(DIM, &line));
    }
    if !systems.is_empty() {
        out.push('\n');
    }
}

pub(super) fn sentences(out: &mut String, style: Style, title: &str, sentences: &[Sentence]) {
    if sentences.is_empty() && title != "ANSWER" {
        return;
    }
    let _ = writeln!(out, "{}", style.paint(BOLD, title));
    for sentence in sentences {
        out.push_str(&sentence_lines(style, sentence));
    }
    out.push('\n');
}

/// As many of the sentences as fit in these lines, with the heading and the blank line after them. Differences come first, so that
/// they are not among those that only the other formats have.
pub(super) fn sentences_within(
    out: &mut String,
    style: Style,
    title: &str,
    sentences: &[Sentence],
    lines: usize,
) {
    if sentences.is_empty() {
        return;
    }
    let texts: Vec<(bool, String)> =
        sentences.iter().map(|s| (s.tone == Tone::Difference, sentence_lines(style, s))).collect();
    let all: usize = texts.iter().map(|(_, text)| text.lines().count()).sum();
    let _ = writeln!(out, "{}", style.paint(BOLD, title));
    // The heading, the line that counts the rest, and the blank line.
    let mut left = if all + 2 <= lines { all } else { lines.saturating_sub(3) };
    let mut shown = vec![false; texts.len()];
    for is_difference in [true, false] {
        for (shown, (_, text)) in shown.iter_mut().zip(&texts).filter(|(_, (kind, _))| *kind == is_difference)
        {
            let needed = text.lines().count();
            *shown = needed <= left;
            left = if *shown { left - needed } else { 0 };
        }
    }
    for ((_, text), _) in texts.iter().zip(&shown).filter(|(_, shown)| **shown) {
        out.push_str(text);
    }
    let more = shown.iter().filter(|shown| !**shown).count();
    if more > 0 {
        let _ = writeln!(out, "  and {more} more (in the md, json and html formats)");
    }
    out.push('\n');
}

/// A sentence with the mark of its tone, wrapped.
fn sentence_lines(style: Style, sentence: &Sentence) -> String {
    let (mark, colour) = match sentence.tone {
        Tone::Alarm => ("!", RED),
        Tone::Difference => (style.mark("▲", ">"), BLUE),
        Tone::Same => ("=", GREEN),
        Tone::NotResolved => ("?", YELLOW),
        Tone::Note => (style.mark("·", "-"), DIM),
    };
    let mut out = String::new();
    for (index, line) in wrap(&safe(&sentence.text), style.limit() - 2, 0).iter().enumerate() {
        let mark = if index == 0 { style.paint(colour, mark) } else { " ".to_owned() };
        let line = if sentence.tone == Tone::Alarm { style.paint(RED, line) } else { line.clone() };
        let _ = writeln!(out, "{mark} {line}");
    }
    out
}

/// Statuses, one line or more each; none without any.
pub(super) fn statuses(out: &mut String, style: Style, trust: &[&TrustLine]) {
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

#[cfg(test)]
mod tests {
    use super::{Style, ratio_note};

    #[test]
    fn a_text_with_percent_and_ratio_explains_both() {
        let noted = |text: &str| {
            let mut out = text.to_owned();
            ratio_note(&mut out, Style::piped());
            out.len() > text.len()
        };
        let open = "inconclusive: nfs against smb, ratio\n  1.040 [0.987, 1.096]\n";
        assert!(noted(&format!("{open}nfs is 25 % faster than ncp [20, 31]\n")));
        assert!(noted(&format!("{open}nfs is 2.40 times as fast as ncp [2.31, 2.48]\n")));
        assert!(!noted(open) && !noted("nfs is 25 % faster than ncp; the ratio compares\n"));
    }
}
