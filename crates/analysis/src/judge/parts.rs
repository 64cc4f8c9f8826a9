//! The map of one comparison, and the parts of it in which two systems differ (docs/measure/measurement-rules.md R3).

use sharebench_stats::{
    CellInterval, Direction, Estimate, Evidence, Interval, MapOptions, Part, PartitionedMap, partition_map,
};

use crate::estimate::pairing::Pairs;
use crate::judge::grids::{Grid, map_of};
use crate::types::span::spans_of;
use crate::types::{
    DIFFERENCE_LEVEL, Differences, DifferingPart, Options, Pairing, PartEvidence, Ratio, RatioVerdict,
    Scanned, Section, Span, StalledCells,
};

/// The interval of the log ratio of one cell. It holds for all cells of the comparison together, and includes what the
/// clocks leave open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CellBounds {
    pub section: usize,
    pub row: usize,
    pub interval: Interval,
}

/// One divided map.
#[derive(Default)]
pub(crate) struct DividedMap {
    pub differences: Differences,
    /// The cells that take part.
    pub cells: Vec<CellBounds>,
}

/// Divides the map of one comparison: the cells of all its sections together.
///
/// Cells that a client's cache served are left out, unless it served all of them: what it served is no property of the
/// two systems.
pub(crate) fn divide(
    sections: &[Section],
    pairs: &[&Vec<Option<Pairs>>],
    comparison: usize,
    options: &Options,
) -> DividedMap {
    let cells = || pairs.iter().flat_map(|pairs| pairs.iter().flatten());
    let all_cached = cells().all(Pairs::is_client_cached);
    let is_wanted = |cell: &&Pairs| all_cached || !cell.is_client_cached();
    if !cells().filter(is_wanted).any(Pairs::is_repeated) {
        return DividedMap::default();
    }
    let sections = sections.iter().zip(pairs).enumerate();
    let grids: Vec<Grid<'_>> = sections
        .map(|(index, (section, pairs))| Grid::new(index, section, pairs, is_wanted))
        .filter(|grid| grid.cells.iter().any(Option::is_some))
        .collect();
    let map_options = MapOptions {
        tolerance: options.tolerance.ln_1p(),
        level: options.level,
        wider_level: DIFFERENCE_LEVEL.max(options.level),
        seed: options.seed,
    };
    let Some(found) = partition_map(&map_of(&grids), &map_options) else { return DividedMap::default() };
    let divided = Divided { grids: &grids, found: &found, comparison, options };
    DividedMap { differences: divided.differences(), cells: divided.cells() }
}

/// A map with its partition.
struct Divided<'a> {
    grids: &'a [Grid<'a>],
    found: &'a PartitionedMap,
    comparison: usize,
    options: &'a Options,
}

impl Divided<'_> {
    fn differences(&self) -> Differences {
        let known = || {
            let cells = self.found.cells.iter().flatten();
            cells.flatten().map(|cell| cell.n)
        };
        let pairing = self.grids.iter().flat_map(|grid| grid.cells.iter().flatten());
        let pairing = pairing.filter(|(_, pairs)| pairs.is_repeated()).map(|(_, pairs)| pairs.pairing).max();
        let scanned = Scanned {
            sections: self.found.cells.iter().filter(|test| test.iter().any(Option::is_some)).count(),
            cells: known().count(),
            repetitions: (known().min().unwrap_or(0), known().max().unwrap_or(0)),
            pairing: pairing.unwrap_or(Pairing::SingleRun),
        };
        let excluded = self.found.excluded.iter();
        let excluded =
            excluded.filter_map(|(test, cell)| Some((self.grids[*test].index, self.pairs(*test, *cell)?.0)));
        Differences {
            scanned: Some(scanned),
            parts: self.found.parts.iter().filter_map(|part| self.part(part)).collect(),
            excluded: excluded.collect(),
            drift: self.found.drift,
            ..Differences::default()
        }
    }

    /// Row of a cell in its section, and its pairs.
    fn pairs(&self, test: usize, cell: usize) -> Option<(usize, &Pairs)> {
        self.grids[test].cells[cell]
    }

    /// The interval of a cell, with the allowance of its clocks.
    fn bounds(&self, test: usize, cell: usize) -> Option<Interval> {
        let CellInterval { interval, .. } = self.found.cells[test][cell]?;
        Some(interval.widened(self.pairs(test, cell)?.1.clock_allowance()))
    }

    fn cells(&self) -> Vec<CellBounds> {
        let mut cells = Vec::new();
        for (test, grid) in self.grids.iter().enumerate() {
            for cell in 0..grid.cells.len() {
                let row = self.pairs(test, cell).map(|(row, _)| row);
                if let (Some(row), Some(interval)) = (row, self.bounds(test, cell)) {
                    cells.push(CellBounds { section: grid.index, row, interval });
                }
            }
        }
        cells
    }

    /// A part, unless the resolution of the clocks leaves its direction open.
    fn part(&self, part: &Part) -> Option<DifferingPart> {
        let pairs: Vec<(usize, &Pairs)> =
            part.cells.iter().map(|(test, cell)| self.pairs(*test, *cell)).collect::<Option<_>>()?;
        let bounds: Vec<Interval> =
            part.cells.iter().map(|(test, cell)| self.bounds(*test, *cell)).collect::<Option<_>>()?;
        let allowance = pairs.iter().map(|(_, pairs)| pairs.clock_allowance()).sum::<f64>();
        let log = part.mean.widened(allowance / pairs.len() as f64);
        let direction = match part.direction {
            Direction::Faster => RatioVerdict::Faster,
            Direction::Slower => RatioVerdict::Slower,
        };
        let edge = self.options.tolerance.ln_1p();
        let is_opposite = |bounds: &Interval| match part.direction {
            Direction::Faster => bounds.low < -edge,
            Direction::Slower => bounds.high > edge,
        };
        let evidence = match part.evidence {
            Evidence::EachCell if bounds.iter().any(is_opposite) => PartEvidence::OnAverage,
            Evidence::EachCell => PartEvidence::EachCell,
            Evidence::OnAverage => PartEvidence::OnAverage,
        };
        if RatioVerdict::new(&log, self.options.tolerance) != direction {
            return None;
        }
        let range = match evidence {
            PartEvidence::EachCell => Interval {
                low: bounds.iter().map(|bounds| bounds.low).fold(f64::INFINITY, f64::min),
                high: bounds.iter().map(|bounds| bounds.high).fold(f64::NEG_INFINITY, f64::max),
            },
            PartEvidence::OnAverage => log.interval?,
        };
        Some(DifferingPart {
            sections: part.tests.iter().map(|test| self.grids[*test].index).collect(),
            place: self.place(part),
            rows: self.rows(part),
            direction,
            evidence,
            typical: log.map(f64::exp),
            range: range.map(f64::exp),
            is_uniform: bounds.iter().all(|bounds| bounds.contains(log.value)),
            total_work: self.total_work(part),
        })
    }

    /// Rows of a part, per test.
    fn rows(&self, part: &Part) -> Vec<Vec<usize>> {
        let of_test = |test: &usize| {
            let cells = part.cells.iter().filter(|(of, _)| of == test);
            cells.filter_map(|(test, cell)| Some(self.pairs(*test, *cell)?.0)).collect()
        };
        part.tests.iter().map(of_test).collect()
    }

    /// What a part covers of each axis. It covers an axis as a whole if it has every cell that exists at its positions on the other
    /// axis: files of 64 KiB have no larger records.
    fn place(&self, part: &Part) -> Vec<Span> {
        let Some(grid) = part.tests.first().map(|test| &self.grids[*test]) else { return Vec::new() };
        let rows = part.place.rows;
        let columns = part.place.columns;
        let exists = |row: usize, column: usize| {
            let cell = row * grid.columns.len() + column;
            part.tests.iter().any(|test| self.found.cells[*test][cell].is_some())
        };
        let within = |range: (usize, usize), at: usize| (range.0..range.1).contains(&at);
        let all_columns = (rows.0..rows.1)
            .all(|row| (0..grid.columns.len()).all(|column| within(columns, column) || !exists(row, column)));
        let all_rows = (columns.0..columns.1)
            .all(|column| (0..grid.rows.len()).all(|row| within(rows, row) || !exists(row, column)));
        let (rows, columns) = match (all_rows, all_columns) {
            (_, true) => (rows, (0, grid.columns.len())),
            (true, false) => ((0, grid.rows.len()), columns),
            (false, false) => (rows, columns),
        };
        spans_of(&grid.section.axes, [(grid.rows.as_slice(), rows), (grid.columns.as_slice(), columns)])
    }

    /// Ratio of all work over all time of a part in which stalls dominate in every cell.
    fn total_work(&self, part: &Part) -> Option<Estimate> {
        let ratio = |(test, cell): &(usize, usize)| {
            let row = self.pairs(*test, *cell)?.0;
            self.grids[*test].section.rows[row].ratios[self.comparison].as_ref()
        };
        let ratios: Vec<&Ratio> = part.cells.iter().filter_map(ratio).collect();
        let stalled = StalledCells::from_ratios(&ratios)?;
        (stalled.cells == ratios.len()).then_some(stalled.total_work)
    }
}
