//! Cache regions in words: up to which files and records a client's cache serves a system.

use std::collections::BTreeSet;

use sharebench_model::Value;

use crate::span::{place_words, spans_of};
use crate::wording::counted;
use crate::{Analysis, Bands, Section, Sentence, Tone, View};

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

/// Shares on the grid of a section's two axes; none where nothing is known.
pub(crate) struct Shares {
    rows: Vec<Option<Value>>,
    columns: Vec<Option<Value>>,
    cells: Vec<Option<f64>>,
}

impl Shares {
    /// The shares that `share` finds in a system's cells.
    pub(crate) fn of(section: &Section, system: usize, share: impl Fn(&Bands) -> Option<f64>) -> Self {
        let at = |row: &crate::Row, axis: usize| row.position.get(axis).cloned().flatten();
        let values = |axis: usize| -> Vec<Option<Value>> {
            section.rows.iter().map(|row| at(row, axis)).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let (rows, columns) = (values(0), values(1));
        let mut shares = Self { cells: vec![None; rows.len() * columns.len()], rows, columns };
        for row in &section.rows {
            let found = row.outcomes[system].as_ref().and_then(|outcome| share(outcome.bands.as_ref()?));
            let place =
                |values: &[Option<Value>], axis: usize| values.iter().position(|v| *v == at(row, axis));
            if let (Some(i), Some(j), Some(found)) =
                (place(&shares.rows, 0), place(&shares.columns, 1), found)
            {
                shares.cells[i * shares.columns.len() + j] = Some(found);
            }
        }
        shares
    }

    /// Cells whose share lies in `from..to`.
    fn count(&self, from: f64, to: f64) -> usize {
        self.cells.iter().flatten().filter(|share| from <= **share && **share < to).count()
    }

    /// `what` of the largest rectangle of cells in `from..to`, and how many others there are; none without any.
    pub(crate) fn part(&self, section: &Section, from: f64, to: f64, what: &str) -> Option<String> {
        let (n, rows, columns) = self.largest(from, to)?;
        let spans =
            spans_of(&section.axes, [(self.rows.as_slice(), rows), (self.columns.as_slice(), columns)]);
        let elsewhere = match self.count(from, to) - n {
            0 => String::new(),
            more => format!(" and {} elsewhere", counted(more, "cell")),
        };
        let place = place_words(&spans);
        let place = place.strip_prefix("in ").unwrap_or(&place);
        Some(format!("{what} {place}{elsewhere}"))
    }

    /// The rectangle of most cells that all lie in `from..to`.
    fn largest(&self, from: f64, to: f64) -> Option<Block> {
        let known = self.sums(|_| true);
        let inside = self.sums(|share| from <= share && share < to);
        let spans = |len: usize| (0..len).flat_map(move |low| (low + 1..=len).map(move |high| (low, high)));
        let mut best: Option<Block> = None;
        for rows in spans(self.rows.len()) {
            for columns in spans(self.columns.len()) {
                let n = self.within(&inside, rows, columns);
                if n == 0 || n != self.within(&known, rows, columns) {
                    continue;
                }
                // Of equal counts the smallest, which is the tightest around its cells.
                let better =
                    best.is_none_or(|(most, r, c)| n > most || n == most && area(rows, columns) < area(r, c));
                if better {
                    best = Some((n, rows, columns));
                }
            }
        }
        best
    }

    /// How many cells of the first rows and columns `holds` is true of.
    fn sums(&self, holds: impl Fn(f64) -> bool) -> Vec<usize> {
        let (height, width) = (self.rows.len(), self.columns.len());
        let mut sums = vec![0; (height + 1) * (width + 1)];
        for row in 0..height {
            for column in 0..width {
                let own = usize::from(self.cells[row * width + column].is_some_and(&holds));
                let at = row * (width + 1) + column;
                sums[at + width + 2] = own + sums[at + width + 1] + sums[at + 1] - sums[at];
            }
        }
        sums
    }

    fn within(&self, sums: &[usize], rows: (usize, usize), columns: (usize, usize)) -> usize {
        let at = |row: usize, column: usize| sums[row * (self.columns.len() + 1) + column];
        at(rows.1, columns.1) + at(rows.0, columns.0) - at(rows.0, columns.1) - at(rows.1, columns.0)
    }
}

fn area(rows: (usize, usize), columns: (usize, usize)) -> usize {
    (rows.1 - rows.0) * (columns.1 - columns.0)
}

fn words(section: &Section, system: usize, name: &str) -> Option<String> {
    let shares = Shares::of(section, system, |bands| Some(bands.client.low));
    let bands = section.rows.iter().filter_map(|row| row.outcomes[system].as_ref()?.bands.as_ref());
    let bound = bands.into_iter().any(|bands| bands.client.high - bands.client.low > 0.5);
    let known = shares.cells.iter().flatten().count();
    let (strong, weak) = (shares.count(STRONG, f64::INFINITY), shares.count(WEAK, STRONG));
    if known == 0 || strong + weak == 0 {
        return None;
    }
    let most = if bound { "at least half" } else { "half or more" };
    let mut parts = Vec::new();
    parts.extend(shares.part(
        section,
        STRONG,
        f64::INFINITY,
        &format!("the client's cache serves {most} of"),
    ));
    let lead = if strong > 0 { "" } else { "the client's cache serves " };
    parts.extend(shares.part(section, WEAK, STRONG, &format!("{lead}less than half of")));
    let none = known - strong - weak;
    if none > 0 {
        let rest = if bound { "may or may not have been" } else { "not" };
        parts.push(format!("{} {rest}", counted(none, "cell")));
    }
    Some(format!("{name}: {}.", parts.join("; ")))
}
