//! One screen after a run: unlike conditions, the verdict, a bar per system, the reason not to trust it more, and a line
//! per test.

use sharebench_analysis::{
    Analysis, ComparisonOutcome, Outcome, RateUnit, Row, Section, Sentence, Status, Tone, TrustLine, View,
};
use sharebench_model::units::counted;

use super::bars::{Bar, Bars, write_bars};
use super::parts::{labelled, sentences, table_width, unlike_conditions, verdicts, write_table};
use super::style::{GREEN, RED, Style, YELLOW};
use crate::show;
use crate::tables::{Cell, Table, main_table};

/// Most sentences of the answer besides the verdict.
const MAX_SENTENCES: usize = 2;
/// Fewest lines of a table that are worth their header.
const MIN_TABLE: usize = 3;

/// Subject of the status that states which difference would be detected.
const SENSITIVITY: &str = "sensitivity";

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
    let restates = |sentence: &&Sentence| {
        analysis.verdicts().any(|verdict| claims_the_same(&verdict.text, &sentence.text))
    };
    // Next to a verdict, a note such as the caveat of load steps that were measured once explains nothing on this screen.
    let is_shown = |sentence: &&Sentence| {
        !restates(sentence) && (analysis.reported.is_empty() || sentence.tone != Tone::Note)
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

/// True if a sentence repeats the claim of a verdict: its text up to the interval.
fn claims_the_same(verdict: &str, sentence: &str) -> bool {
    verdict.split_once(']').is_some_and(|(claim, _)| sentence.contains(claim))
}

/// The mean rate of each system that a verdict is about, with the number of cells it is from. The rate of the first one is
/// its geometric mean over the cells that the verdict counts; the others follow from the paired ratios of the verdicts, so
/// that both agree.
fn bars(analysis: &Analysis) -> Option<Bars> {
    let mut systems: Vec<usize> = Vec::new();
    for comparison in analysis.reported.iter().map(|index| &analysis.comparisons[*index]) {
        let outcome = comparison.verdict.outcome;
        // A ratio of unusable data is no bar.
        if comparison.verdict.ratio.is_none()
            || (outcome == ComparisonOutcome::Inconclusive && comparison.verdict.sharpness.is_none())
        {
            continue;
        }
        for system in [comparison.a, comparison.b] {
            if !systems.contains(&system) {
                systems.push(system);
            }
        }
    }
    systems.sort_unstable();
    let first = systems.first().copied()?;
    let mean = mean_rate(analysis, first, &systems)?;
    let bar = |system: usize| {
        let ratio = if system == first { Some(1.0) } else { ratio_to(analysis, first, system) };
        ratio.map(|ratio| Bar {
            name: analysis.systems[system].name.clone(),
            value: mean.rate * ratio,
            text: mean.unit.show(mean.rate * ratio),
        })
    };
    Some(Bars {
        caption: match mean.cells {
            1 => "rate".to_owned(),
            cells => format!("mean rate of {cells} cells (geometric)"),
        },
        bars: systems.iter().map(|system| bar(*system)).collect::<Option<Vec<Bar>>>()?,
    })
}

/// A geometric mean.
struct MeanRate {
    rate: f64,
    unit: RateUnit,
    cells: usize,
}

/// Mean rate of one system in the cells that a verdict on these systems counts: those of the sweeps if there are any, which
/// all systems have, without those that the client's cache answered.
fn mean_rate(analysis: &Analysis, system: usize, systems: &[usize]) -> Option<MeanRate> {
    let of_view = |view: View| mean_rate_of_view(analysis, view, system, systems);
    [View::Sweep, View::Depth, View::Load].into_iter().find_map(of_view)
}

fn mean_rate_of_view(analysis: &Analysis, view: View, system: usize, systems: &[usize]) -> Option<MeanRate> {
    let sections: Vec<&Section> = analysis.sections.iter().filter(|section| section.view == view).collect();
    // Rates of unlike units have no mean; those of operations that move no data come second.
    let units = [RateUnit::BytesPerSecond, RateUnit::OperationsPerSecond];
    let unit = units.into_iter().find(|unit| sections.iter().any(|section| section.unit == *unit))?;
    let is_in_all = |row: &&Row| systems.iter().all(|at| row.outcomes[*at].is_some());
    let is_cached = |row: &Row| {
        systems.iter().any(|at| row.outcomes[*at].as_ref().is_some_and(Outcome::is_client_cached))
    };
    let rows = sections.iter().filter(|section| section.unit == unit).flat_map(|section| &section.rows);
    let (cached, counted): (Vec<&Row>, Vec<&Row>) = rows.filter(is_in_all).partition(|row| is_cached(row));
    // If the client's cache answered everything, the verdict is about its rates.
    let rows = if counted.is_empty() { cached } else { counted };
    let logs = rows.iter().filter_map(|row| Some(row.outcomes[system].as_ref()?.rate.value.ln()));
    let logs: Vec<f64> = logs.filter(|log| log.is_finite()).collect();
    let cells = logs.len();
    (cells > 0).then(|| MeanRate { rate: (logs.iter().sum::<f64>() / cells as f64).exp(), unit, cells })
}

/// Rate of a system over that of the first one, by the verdict that compares the two.
fn ratio_to(analysis: &Analysis, first: usize, system: usize) -> Option<f64> {
    analysis.comparisons.iter().find_map(|comparison| {
        let ratio = comparison.verdict.ratio?.value;
        match (comparison.a, comparison.b) {
            (a, b) if a == system && b == first => Some(ratio),
            (a, b) if a == first && b == system => Some(1.0 / ratio),
            _ => None,
        }
    })
}

/// The failed checks, or the one cause that lowers the confidence most, and the number of the others.
fn trust(out: &mut String, style: Style, analysis: &Analysis) {
    let of = |status: Status| analysis.trust.iter().filter(move |line| line.status == status);
    let mut shown: Vec<&TrustLine> = of(Status::Failed).collect();
    if shown.is_empty() {
        let warnings = || of(Status::Warning);
        shown.extend(warnings().find(|line| line.subject == "confidence").or_else(|| warnings().next()));
    }
    let more = of(Status::Warning).filter(|line| !shown.contains(line)).count();
    let mut lines: Vec<String> = Vec::new();
    for line in &shown {
        let mark = if line.status == Status::Failed { style.mark("✕ ", "FAIL ") } else { "" };
        lines.push(format!("{mark}{}: {}", line.subject, line.text));
    }
    let colour = match shown.first().map(|line| line.status) {
        Some(Status::Failed) => RED,
        Some(_) => YELLOW,
        None => GREEN,
    };
    if shown.is_empty() {
        lines.push(format!("{} passed", counted(analysis.trust.len(), "check")));
    }
    let is_sensitivity = |line: &&TrustLine| {
        line.subject == SENSITIVITY && !shown.iter().any(|other| other.subject == SENSITIVITY)
    };
    lines.extend(analysis.trust.iter().find(is_sensitivity).map(|line| line.text.clone()));
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
    let whole = tests_table(analysis, true);
    if table_width(style, &whole) <= style.limit() { whole } else { tests_table(analysis, false) }
}

/// Per test: cells, slowest and fastest of each system if `rates`, summary of each comparison that the verdicts report.
fn tests_table(analysis: &Analysis, rates: bool) -> Table {
    let shown: Vec<usize> = if rates || analysis.reported.is_empty() {
        (0..analysis.systems.len()).collect()
    } else {
        Vec::new()
    };
    let mut header = vec!["test".to_owned(), "cells".to_owned()];
    header.extend(shown.iter().map(|system| analysis.systems[*system].name.clone()));
    header.extend(analysis.reported.iter().map(|comparison| analysis.comparisons[*comparison].name.clone()));
    let rows = analysis.sections.iter().enumerate().map(|(index, section)| {
        let mut cells: Vec<Cell> = vec![section.title.clone().into(), section.rows.len().to_string().into()];
        cells.extend(shown.iter().map(|system| Cell::from(range(section, *system))));
        cells.extend(analysis.reported.iter().map(|comparison| {
            let summary = analysis.comparisons[*comparison].sections.get(index).and_then(Option::as_ref);
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
