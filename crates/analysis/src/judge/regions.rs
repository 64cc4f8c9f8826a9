//! Regions of each test in which two systems differ (docs/measurement-rules.md R3), and where along an axis their
//! ratio changes.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_model::{Value, axis};
use sharebench_stats::{
    Interval, Region, SMALLEST_SWEEPS, Surface, Work, break_points, differing_regions_among,
    total_work_log_ratio,
};

use crate::estimate::pairing::Pairs;
use crate::types::span::spans_of;
use crate::types::{
    Differences, DifferingRegion, Options, Pairing, RatioBreak, RatioVerdict, Row, Scanned, Section,
};

/// Fewest cells of a region, and so of a test that may have one.
const FEWEST_CELLS: usize = 4;

/// Fewest positions of an axis along which a break means anything.
const FEWEST_POSITIONS: usize = 3;

/// Scans all sections of one comparison together.
pub(crate) fn differences(
    sections: &[Section],
    pairs: &[&Vec<Option<Pairs>>],
    options: &Options,
) -> Differences {
    let cells = || pairs.iter().flat_map(|pairs| pairs.iter().flatten());
    // What a client's cache served is nobody's difference, unless there is nothing else.
    let felt = cells().all(Pairs::is_client_cached);
    let paired = cells().any(|cell| cell.pairing == Pairing::Interleaved);
    let pairing = if paired { Pairing::Interleaved } else { Pairing::NotInterleaved };
    let wanted = |cell: &&Pairs| (felt || !cell.is_client_cached()) && cell.pairing == pairing;
    let sweeps = shared_sweeps(cells().filter(wanted));
    if sweeps.len() < SMALLEST_SWEEPS {
        return Differences::default();
    }
    let grids: Vec<Grid<'_>> = sections
        .iter()
        .zip(pairs)
        .enumerate()
        .map(|(index, (section, pairs))| Grid::new(index, section, pairs, &sweeps, wanted))
        .filter(|grid| grid.count() >= FEWEST_CELLS)
        .collect();
    if grids.is_empty() {
        return Differences::default();
    }
    let surfaces: Vec<Surface> = grids.iter().map(Grid::surface).collect();
    let found = differing_regions_among(&surfaces, options.seed);
    let mut differences = Differences {
        scanned: Some(Scanned {
            sections: grids.len(),
            cells: grids.iter().map(Grid::count).sum(),
            sweeps: sweeps.len(),
            pairing,
        }),
        ..Differences::default()
    };
    for ((grid, surface), regions) in grids.iter().zip(&surfaces).zip(found) {
        let reported: Vec<DifferingRegion> =
            regions.iter().filter(|region| !region.negligible).map(|r| grid.region(r, options)).collect();
        // Only where something differs for sure is it worth asking from where on.
        if !reported.is_empty() {
            differences.breaks.extend(grid.breaks(surface, options));
        }
        differences.regions.extend(reported);
    }
    differences
}

/// The sweeps that most cells have in common: of all choices the one that keeps most pairs.
fn shared_sweeps<'a>(cells: impl Iterator<Item = &'a Pairs>) -> Vec<u32> {
    let cells: Vec<BTreeSet<u32>> = cells.map(|cell| cell.by_sweep().into_keys().collect()).collect();
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for sweep in cells.iter().flatten() {
        *counts.entry(*sweep).or_default() += 1;
    }
    let mut order: Vec<u32> = counts.keys().copied().collect();
    order.sort_by_key(|sweep| (std::cmp::Reverse(counts[sweep]), *sweep));
    // How many cells have the first sweeps of this order, up to the first one that they lack.
    let mut having = vec![0; order.len() + 1];
    for cell in &cells {
        having[order.iter().take_while(|sweep| cell.contains(sweep)).count()] += 1;
    }
    let mut most = (0, 0);
    let mut kept = 0;
    for k in (SMALLEST_SWEEPS..=order.len()).rev() {
        kept += having[k];
        // Of equal numbers of pairs the most sweeps.
        if kept * k > most.0 {
            most = (kept * k, k);
        }
    }
    let best = most.1;
    order.truncate(best);
    order
}

/// Row of the section, its pairs, and their rates by sweep.
type Cell<'a> = (usize, &'a Pairs, BTreeMap<u32, (f64, f64)>);

/// Where a row lies on one of its section's axes.
fn position(row: &Row, axis: usize) -> Option<&Value> {
    row.position.get(axis)?.as_ref()
}

/// One section's cells laid out on its (one or two) axes.
struct Grid<'a> {
    index: usize,
    section: &'a Section,
    rows: Vec<Option<Value>>,
    columns: Vec<Option<Value>>,
    /// Row of the section and its pairs by sweep, per place; none where there is nothing to compare.
    cells: Vec<Option<Cell<'a>>>,
    sweeps: &'a [u32],
}

impl<'a> Grid<'a> {
    fn new(
        index: usize,
        section: &'a Section,
        pairs: &'a [Option<Pairs>],
        sweeps: &'a [u32],
        wanted: impl Fn(&&Pairs) -> bool,
    ) -> Self {
        let values = |axis: usize| -> Vec<Option<Value>> {
            let all: BTreeSet<Option<&Value>> = section.rows.iter().map(|row| position(row, axis)).collect();
            all.into_iter().map(Option::<&Value>::cloned).collect()
        };
        let rows = values(0);
        let columns = values(1);
        let mut cells: Vec<_> = (0..rows.len() * columns.len()).map(|_| None).collect();
        for (at, (row, pair)) in section.rows.iter().zip(pairs).enumerate() {
            let Some(pair) = pair.as_ref().filter(|pair| wanted(pair)) else { continue };
            let by_sweep = pair.by_sweep();
            let place = |values: &[Option<Value>], axis: usize| {
                values.binary_search_by(|value| value.as_ref().cmp(&position(row, axis))).ok()
            };
            if let (Some(i), Some(j)) = (place(&rows, 0), place(&columns, 1))
                && sweeps.iter().all(|sweep| by_sweep.contains_key(sweep))
            {
                cells[i * columns.len() + j] = Some((at, pair, by_sweep));
            }
        }
        Self { index, section, rows, columns, cells, sweeps }
    }

    /// Cells that can be compared.
    fn count(&self) -> usize {
        self.cells.iter().flatten().count()
    }

    fn surface(&self) -> Surface {
        let sweep = |sweep: &u32| {
            let log = |cell: &Option<Cell<'_>>| {
                cell.as_ref().map_or(f64::NAN, |(_, _, rates)| (rates[sweep].0 / rates[sweep].1).ln())
            };
            self.cells.iter().map(log).collect()
        };
        Surface {
            rows: self.rows.len(),
            columns: self.columns.len(),
            sweeps: self.sweeps.iter().map(sweep).collect(),
        }
    }

    fn region(&self, region: &Region, options: &Options) -> DifferingRegion {
        let rows = region.place.rows;
        let columns = region.place.columns;
        let inside = (rows.0..rows.1)
            .flat_map(|row| (columns.0..columns.1).map(move |column| row * self.columns.len() + column));
        let cells: Vec<_> = inside.filter_map(|cell| self.cells[cell].as_ref()).collect();
        let allowance =
            cells.iter().map(|(_, pair, _)| pair.clock_allowance()).sum::<f64>() / cells.len() as f64;
        let log = region.log_ratio.widened(allowance);
        // The same work on both sides: every cell's file once.
        let work = |sweep: &u32| {
            let mut work = (Work { amount: 0.0, time: 0.0 }, Work { amount: 0.0, time: 0.0 });
            for (row, _, rates) in &cells {
                let amount =
                    self.section.rows[*row].coordinates.number(axis::FILE_SIZE).map_or(1.0, |n| n as f64);
                let (a, b) = rates[sweep];
                work.0.amount += amount;
                work.1.amount += amount;
                work.0.time += amount / a;
                work.1.time += amount / b;
            }
            work
        };
        let works: Vec<(Work, Work)> = self.sweeps.iter().map(work).collect();
        let total = total_work_log_ratio(&works, options.level, options.resamples, options.seed);
        DifferingRegion {
            section: self.index,
            place: spans_of(
                &self.section.axes,
                [(self.rows.as_slice(), rows), (self.columns.as_slice(), columns)],
            ),
            rows: cells.iter().map(|(row, ..)| *row).collect(),
            typical: log.map(f64::exp),
            total_work: total.map(|total| total.map(f64::exp)),
            verdict: RatioVerdict::of(&log, options.tolerance),
            refines: region.refines,
            p_value: region.p_value,
        }
    }

    /// Breaks along each axis, over the lines that have a cell at all of its positions.
    fn breaks(&self, surface: &Surface, options: &Options) -> Vec<RatioBreak> {
        let width = self.columns.len();
        let lines_down: Vec<Vec<usize>> =
            (0..width).map(|column| (0..self.rows.len()).map(|row| row * width + column).collect()).collect();
        let lines_across: Vec<Vec<usize>> =
            (0..self.rows.len()).map(|row| (0..width).map(|column| row * width + column).collect()).collect();
        let mut found = Vec::new();
        for ((axis, values), lines) in
            self.section.axes.iter().zip([&self.rows, &self.columns]).zip([lines_down, lines_across])
        {
            let whole: Vec<&Vec<usize>> =
                lines.iter().filter(|line| line.iter().all(|cell| self.cells[*cell].is_some())).collect();
            if values.len() < FEWEST_POSITIONS || whole.is_empty() {
                continue;
            }
            let mean = |sweep: &Vec<f64>, at: usize| {
                whole.iter().map(|line| sweep[line[at]]).sum::<f64>() / whole.len() as f64
            };
            let profile = |sweep: &Vec<f64>| (0..values.len()).map(|at| mean(sweep, at)).collect();
            let profiles: Vec<Vec<f64>> = surface.sweeps.iter().map(profile).collect();
            for found_break in break_points(&profiles, options.level, options.seed) {
                let sure = found_break.change.interval.is_some_and(|i| !touches_zero(i));
                if sure {
                    found.push(RatioBreak {
                        section: self.index,
                        axis: axis.clone(),
                        at: values[found_break.at].clone(),
                        between: (
                            values[found_break.between.0].clone(),
                            values[found_break.between.1].clone(),
                        ),
                        before: found_break.before.map(f64::exp),
                        after: found_break.after.map(f64::exp),
                    });
                }
            }
        }
        found
    }
}

fn touches_zero(interval: Interval) -> bool {
    interval.contains(0.0)
}
