//! Cache regions in words: up to which files and records a client's cache serves a system.

use std::collections::BTreeSet;

use sharebench_model::Value;

use crate::span::{place_words, spans_of};
use crate::wording::counted;
use crate::{Analysis, Section, Sentence, Tone, View};

/// A cache that serves this share is what one measures; one below it, weakly.
const STRONG: f64 = 0.5;
/// Below this share it changes nothing.
const WEAK: f64 = sharebench_model::CLIENT_CACHED_FROM;

/// One sentence per system whose client's cache served any cell of a section, and one where it did nothing there
/// although it did elsewhere.
pub(crate) fn sentences(analysis: &Analysis, index: usize) -> Vec<Sentence> {
    let section = &analysis.sections[index];
    if section.view == View::Load {
        return Vec::new();
    }
    let of = |system: usize| {
        let text = words(section, system, &analysis.systems[system].name)?;
        Some(Sentence::new(Tone::Note, format!("{}: {text}", section.title)).about(index))
    };
    (0..analysis.systems.len()).filter_map(of).collect()
}

/// How many cells a rectangle has, its rows and its columns, ends excluded.
type Block = (usize, (usize, usize), (usize, usize));

/// Client shares on the grid of a section's two axes; none where nothing is known.
struct Shares {
    rows: Vec<Option<Value>>,
    columns: Vec<Option<Value>>,
    cells: Vec<Option<f64>>,
    bound: bool,
}

impl Shares {
    fn of(section: &Section, system: usize) -> Self {
        let at = |row: &crate::Row, axis: usize| row.position.get(axis).cloned().flatten();
        let values = |axis: usize| -> Vec<Option<Value>> {
            section.rows.iter().map(|row| at(row, axis)).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let (rows, columns) = (values(0), values(1));
        let mut shares = Self { cells: vec![None; rows.len() * columns.len()], rows, columns, bound: false };
        for row in &section.rows {
            let Some(bands) = row.outcomes[system].as_ref().and_then(|outcome| outcome.bands.as_ref()) else {
                continue;
            };
            let place =
                |values: &[Option<Value>], axis: usize| values.iter().position(|v| *v == at(row, axis));
            if let (Some(i), Some(j)) = (place(&shares.rows, 0), place(&shares.columns, 1)) {
                shares.cells[i * shares.columns.len() + j] = Some(bands.client.low);
                shares.bound |= bands.client.high - bands.client.low > 0.5;
            }
        }
        shares
    }

    /// Cells whose share lies in `from..to`.
    fn count(&self, from: f64, to: f64) -> usize {
        self.cells.iter().flatten().filter(|share| from <= **share && **share < to).count()
    }

    /// The rectangle of most cells that all lie in `from..to`.
    fn largest(&self, from: f64, to: f64) -> Option<Block> {
        let width = self.columns.len();
        let inside = |rows: (usize, usize), columns: (usize, usize)| {
            let mut cells = (rows.0..rows.1)
                .flat_map(|row| (columns.0..columns.1).map(move |column| row * width + column))
                .filter_map(|cell| self.cells[cell])
                .peekable();
            cells.peek()?;
            cells.try_fold(0, |n, share| (from <= share && share < to).then_some(n + 1))
        };
        let spans = |len: usize| (0..len).flat_map(move |low| (low + 1..=len).map(move |high| (low, high)));
        let mut best: Option<Block> = None;
        for rows in spans(self.rows.len()) {
            for columns in spans(width) {
                // Of equal counts the first, which is the tightest around its cells.
                if let Some(n) = inside(rows, columns).filter(|n| best.is_none_or(|(most, ..)| *n >= most)) {
                    let tighter =
                        best.is_none_or(|(most, r, c)| n > most || area(rows, columns) > area(r, c));
                    if tighter {
                        best = Some((n, rows, columns));
                    }
                }
            }
        }
        best
    }
}

fn area(rows: (usize, usize), columns: (usize, usize)) -> usize {
    (rows.1 - rows.0) * (columns.1 - columns.0)
}

fn words(section: &Section, system: usize, name: &str) -> Option<String> {
    let shares = Shares::of(section, system);
    let known = shares.cells.iter().flatten().count();
    let (strong, weak) = (shares.count(STRONG, f64::INFINITY), shares.count(WEAK, STRONG));
    if known == 0 || strong + weak == 0 {
        return None;
    }
    let part = |from: f64, to: f64, all: usize, what: &str| {
        let (n, rows, columns) = shares.largest(from, to)?;
        let spans =
            spans_of(&section.axes, [(shares.rows.as_slice(), rows), (shares.columns.as_slice(), columns)]);
        let elsewhere = match all - n {
            0 => String::new(),
            more => format!(" and {} elsewhere", counted(more, "cell")),
        };
        Some(format!("{what} {}{elsewhere}", place_words(&spans)))
    };
    let mut parts = Vec::new();
    parts.extend(part(
        STRONG,
        f64::INFINITY,
        strong,
        &format!(
            "the client's cache serves {} of",
            if shares.bound { "at least half" } else { "half or more" }
        ),
    ));
    parts.extend(part(
        WEAK,
        STRONG,
        weak,
        &format!("{}less than half of", if strong > 0 { "" } else { "the client's cache serves " }),
    ));
    let none = known - strong - weak;
    if none > 0 {
        let rest = if shares.bound { "may or may not have been" } else { "not" };
        parts.push(format!("{} {rest}", counted(none, "cell")));
    }
    Some(format!("{name}: {}.", parts.join("; ")))
}
