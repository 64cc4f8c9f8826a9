//! One screen after a run: unlike conditions, the verdict, the answer, the statuses that are not ok, and one line per test.

use std::fmt::Write;

use sharebench_analysis::{Analysis, Section, Sentence, Status, TrustLine};
use sharebench_model::units::counted;

use super::parts::{sentences, statuses, unlike_conditions, verdicts, write_table};
use super::style::{BOLD, DIM, Style};
use crate::show;
use crate::tables::{Cell, Table};

/// Fewest sentences and tests on a screen, even if they do not fit.
const MIN_SHOWN: usize = 3;

/// Renders the verdict, the answer, the statuses that are not ok, and a line per test, in about `rows` rows.
pub fn summary(analysis: &Analysis, style: Style, rows: usize) -> String {
    let mut out = String::new();
    unlike_conditions(&mut out, style, analysis);
    verdicts(&mut out, style, analysis);
    let third = (rows / 3).max(MIN_SHOWN);
    let shown: Vec<Sentence> = analysis.answer.iter().take(third / 2 + 1).cloned().collect();
    sentences(&mut out, style, "ANSWER", &shown);
    if shown.len() < analysis.answer.len() {
        let more = format!("  and {}", counted(analysis.answer.len() - shown.len(), "more sentence"));
        // After the sentences, before the empty line that follows them.
        let at = out.len() - 1;
        out.insert_str(at, &format!("{}\n", style.paint(DIM, &more)));
    }
    let worst = |light: Status| analysis.trust.iter().filter(move |line| line.status == light);
    let open: Vec<&TrustLine> = worst(Status::Failed).chain(worst(Status::Warning)).take(third).collect();
    if open.is_empty() {
        let text = format!("{} checks, all ok", analysis.trust.len());
        let _ = writeln!(out, "{}  {text}\n", style.paint(BOLD, "CAN I TRUST IT?"));
    } else {
        statuses(&mut out, style, &open);
    }
    let tests = analysis.sections.len();
    let mut table = tests_table(analysis);
    table.rows.truncate(third);
    let left = tests - table.rows.len();
    if left > 0 {
        table.notes.push(format!("and {left} more"));
    }
    if tests > 0 {
        write_table(&mut out, style, &table);
        out.push('\n');
    }
    out
}

/// Per test: cells, slowest and fastest of each system, summary of each comparison.
fn tests_table(analysis: &Analysis) -> Table {
    let mut header = vec!["test".to_owned(), "cells".to_owned()];
    header.extend(analysis.systems.iter().map(|system| system.name.clone()));
    header.extend(analysis.comparisons.iter().map(|comparison| comparison.name.clone()));
    let rows = analysis.sections.iter().enumerate().map(|(index, section)| {
        let mut cells: Vec<Cell> = vec![section.title.clone().into(), section.rows.len().to_string().into()];
        cells.extend((0..analysis.systems.len()).map(|system| Cell::from(range(section, system))));
        cells.extend(analysis.comparisons.iter().map(|comparison| {
            let summary = comparison.sections.get(index).and_then(Option::as_ref);
            summary.map_or_else(
                || show::NOTHING.to_owned().into(),
                |summary| Cell { text: estimate(&summary.typical), standing: Some(summary.verdict) },
            )
        }));
        cells
    });
    Table { caption: String::new(), header, keys: 1, rows: rows.collect(), notes: Vec::new() }
}

fn estimate(ratio: &sharebench_analysis::Estimate) -> String {
    match ratio.interval {
        Some(i) => format!("{:.2} [{:.2}, {:.2}]", ratio.value, i.low, i.high),
        None => format!("{:.2} (n={})", ratio.value, ratio.n),
    }
}

/// Slowest to fastest cell of a system: `39.0 to 140 MB/s`.
fn range(section: &Section, system: usize) -> String {
    let rates = section.rows.iter().filter_map(|row| Some(row.outcomes[system].as_ref()?.rate.value));
    let (least, most) = rates.fold((f64::INFINITY, 0.0_f64), |(l, m), rate| (l.min(rate), m.max(rate)));
    if most == 0.0 {
        return show::NOTHING.to_owned();
    }
    section.unit.show_range(least, most)
}
