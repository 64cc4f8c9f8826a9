//! Tests, systems, rows and columns of imported tables that are equal digit for digit: one is probably a copy of the other
//! (docs/measure/measurement-rules.md R11).

use std::collections::BTreeSet;

use sharebench_model::units::counted;

use crate::align::Aligned;
use crate::estimate::Estimated;
use crate::judge::tables::{Table, tables};
use crate::types::span::position_words;
use crate::types::{Sentence, Tone};

/// Fewest different numbers that both lines have.
const FEWEST: usize = 4;
/// Measurements of one and the same thing scatter by this share at least, up and down together.
const SCATTER: f64 = 0.02;
/// Probability by chance from which on equality says nothing.
const BY_CHANCE: f64 = 1e-6;

/// All of them, one sentence per pair of tables, and one per table for its rows and one for its columns.
pub(super) fn sentences(aligned: &Aligned<'_>, estimated: &Estimated) -> Vec<Sentence> {
    let tables = tables(aligned, estimated);
    let name = |table: &Table<'_>| aligned.systems[table.system].name.as_str();
    let title = |table: &Table<'_>| estimated.sections[table.section].title.as_str();
    let step = |table: &Table<'_>| LineStep::new(aligned, table);
    let mut found = Vec::new();
    let mut copies = BTreeSet::new();
    for (index, two) in tables.iter().enumerate() {
        for (other, one) in tables[..index].iter().enumerate() {
            let same_system = one.system == two.system;
            if same_system == (one.section == two.section)
                || one.rows != two.rows
                || one.columns != two.columns
            {
                continue;
            }
            let Some(cells) = equal(all(one), all(two), &step(one), 0.0) else { continue };
            let both = if same_system {
                format!("{}: {} and {}", name(two), title(one), title(two))
            } else {
                format!("{}: {} and {}", title(two), name(one), name(two))
            };
            found.push(about(two.section, &format!("{both} are {}", words(cells))));
            copies.extend([index, other]);
        }
    }
    for (_, table) in tables.iter().enumerate().filter(|(index, _)| !copies.contains(index)) {
        let axes = &estimated.sections[table.section].axes;
        let last = axes.len().saturating_sub(1);
        for (axis, values, along_rows) in [(0, &table.rows, true), (last, &table.columns, false)] {
            let line = |line: usize| numbers(table, line, along_rows);
            let pairs = equal_lines(values.len(), &line, &step(table));
            let Some(((one, two), cells)) = pairs.first() else { continue };
            let at = |line: usize| position_words(&axes[axis], values[line].as_ref());
            let more = match pairs.len() {
                1 => String::new(),
                more => format!(" ({} more)", counted(more - 1, "such pair")),
            };
            let text = format!(
                "{}: {}: {} and {} are {}",
                title(table),
                name(table),
                at(*one),
                at(*two),
                words(*cells)
            );
            found.push(about(table.section, &(text + &more)));
        }
    }
    found
}

fn about(section: usize, text: &str) -> Sentence {
    Sentence::new(Tone::Note, format!("{text}.")).about(section)
}

fn words(cells: usize) -> String {
    format!("equal digit for digit in all {}: one is probably a copy of the other", counted(cells, "cell"))
}

/// A number of a table and the time from which it was computed, nanoseconds; none where nothing was measured.
type Number = Option<(f64, f64)>;

/// The numbers of a row, or of a column.
fn numbers(table: &Table<'_>, line: usize, is_row: bool) -> impl Iterator<Item = Number> {
    let length = if is_row { table.columns.len() } else { table.rows.len() };
    (0..length).map(move |at| {
        let row = if is_row { table.at(line, at) } else { table.at(at, line) }?;
        Some((table.rate(row)?, table.measured_ns(row)))
    })
}

fn all(table: &Table<'_>) -> impl Iterator<Item = Number> {
    (0..table.rows.len()).flat_map(|row| numbers(table, row, true))
}

/// Steps in which the numbers of a table are known: of printing, and of the clock.
struct LineStep {
    /// Rate.
    printed: f64,
    /// Nanoseconds.
    tick: f64,
}

impl LineStep {
    fn new(aligned: &Aligned<'_>, table: &Table<'_>) -> Self {
        let thousandths = all(table).flatten().map(|(rate, _)| (rate * 1e3).round() as u64);
        let clock = &aligned.clocks[aligned.systems[table.system].run];
        Self {
            printed: thousandths.fold(0, common_divisor) as f64 / 1e3,
            tick: clock.resolution_ns.unwrap_or(0.0),
        }
    }

    /// Probability that a second measurement of the same thing gives the same number.
    fn by_chance(&self, rate: f64, time_ns: f64) -> f64 {
        (self.printed / rate).max(self.tick / time_ns).min(SCATTER) / SCATTER
    }
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Number of cells of two lines if all are equal and that is no chance. `usual` is the share of cells that are equal in
/// other pairs of lines: a table of a system that always takes the same time has many.
fn equal(
    one: impl Iterator<Item = Number>,
    two: impl Iterator<Item = Number>,
    step: &LineStep,
    usual: f64,
) -> Option<usize> {
    let mut different = BTreeSet::new();
    let mut chance = 1.0;
    let mut cells = 0;
    for (one, two) in one.zip(two).filter_map(|(one, two)| one.zip(two)) {
        if one.0.to_bits() != two.0.to_bits() {
            return None;
        }
        cells += 1;
        // Numbers that repeat within the line, such as those of a limit, are known already.
        if different.insert(one.0.to_bits()) {
            chance *= step.by_chance(one.0, one.1).max(usual);
        }
    }
    (different.len() >= FEWEST && chance < BY_CHANCE).then_some(cells)
}

/// Pairs of lines that are equal, with the number of cells.
fn equal_lines<I: Iterator<Item = Number>>(
    lines: usize,
    line: &impl Fn(usize) -> I,
    step: &LineStep,
) -> Vec<((usize, usize), usize)> {
    let pairs = || (0..lines).flat_map(|two| (0..two).map(move |one| (one, two)));
    let equal = |(one, two): (usize, usize), usual: f64| equal(line(one), line(two), step, usual);
    let candidates: Vec<(usize, usize)> = pairs().filter(|pair| equal(*pair, 0.0).is_some()).collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let others = pairs().filter(|pair| !candidates.contains(pair));
    let cells = others.flat_map(|(one, two)| line(one).zip(line(two)));
    let mut same = 0usize;
    let mut measured = 0usize;
    for (one, two) in cells.filter_map(|(one, two)| one.zip(two)) {
        measured += 1;
        same += usize::from(one.0.to_bits() == two.0.to_bits());
    }
    let usual = same as f64 / measured.max(1) as f64;
    candidates.into_iter().filter_map(|pair| Some((pair, equal(pair, usual)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: LineStep = LineStep { printed: 1.0, tick: 0.0 };

    fn line(rates: &[f64]) -> impl Iterator<Item = Number> {
        rates.iter().map(|rate| Some((*rate, 1e9)))
    }

    #[test]
    fn numbers_with_many_digits_are_not_equal_by_chance() {
        let equal =
            |one: &[f64], two: &[f64], step: &LineStep, usual: f64| equal(line(one), line(two), step, usual);
        let one = [1680.0, 4533.0, 7567.0, 9194.0];
        assert_eq!(equal(&one, &one, &STEP, 0.0), Some(4));
        assert_eq!(equal(&one, &[1680.0, 4533.0, 7567.0, 9195.0], &STEP, 0.0), None);
        // Tens of units, a coarse clock, a limit, and systems that take the same time again and again.
        let coarse = [16.0, 45.0, 75.0, 91.0];
        assert_eq!(equal(&coarse, &coarse, &STEP, 0.0), None);
        assert_eq!(equal(&one, &one, &LineStep { printed: 1.0, tick: 1e8 }, 0.0), None);
        assert_eq!(equal(&[9194.0; 12], &[9194.0; 12], &STEP, 0.0), None);
        assert_eq!(equal(&one, &one, &STEP, 0.2), None);
    }

    #[test]
    fn pair_of_equal_lines_is_found_among_others() {
        let lines = [
            [1680.0, 4533.0, 7567.0, 9194.0],
            [1671.0, 4540.0, 7600.0, 9210.0],
            [1680.0, 4533.0, 7567.0, 9194.0],
        ];
        assert_eq!(equal_lines(3, &|at: usize| line(&lines[at]), &STEP), [((0, 2), 4)]);
    }
}
