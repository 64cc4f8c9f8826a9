//! docs/measurement-rules.md R3: where two systems differ on a surface of cells. The finding is a region, the
//! replicate a whole sweep.
//!
//! Source: largest statistic over all regions under flips of sign of whole replicates (Winkler et al.,
//! `NeuroImage` 92 (2014) 381; Westfall and Young: Resampling-Based Multiple Testing): exact when the
//! differences are symmetric, however cells of one sweep depend on each other.

use std::ops::Range;

use sharebench_model::Random;

use crate::winsorise::winsorised;
use crate::{Estimate, Interval};

/// Fewest sweeps: five can never reach 5 %, for 1/2^4 is more.
pub const SMALLEST_SWEEPS: usize = 6;
/// Fewest cells of a region.
const SMALLEST_REGION: usize = 4;
/// Maximum number of regions that a comparison reports.
const MAX_REGIONS: usize = 5;
/// Up to this many sweeps every pattern of signs is evaluated; above, a random draw of patterns.
const ALL_FLIPS_UP_TO: usize = 8;
const DRAWN_FLIPS: usize = 199;
/// Largest number of rectangles of one surface; larger surfaces use a coarser grid of edges.
const MAX_RECTANGLES: usize = 20_000;
/// Error allowed over all regions together.
const ERROR: f64 = 0.05;
/// Differences below this are negligible even if significant: ln 1.02.
pub(crate) const NEGLIGIBLE: f64 = 0.019_802_627;

/// Log ratios of two systems on a grid of cells, one layer per sweep; cells that do not exist are NaN.
#[derive(Debug, Clone)]
pub struct Surface {
    /// Cells along the first axis.
    pub rows: usize,
    /// Cells along the second.
    pub columns: usize,
    /// `rows x columns` log ratios per sweep, row by row.
    pub sweeps: Vec<Vec<f64>>,
}

/// Cells `rows` x `columns`, ends excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rectangle {
    /// First row and the one after the last.
    pub rows: (usize, usize),
    /// First column and the one after the last.
    pub columns: (usize, usize),
}

impl Rectangle {
    /// True when the two have a cell in common.
    pub fn overlaps(self, other: Self) -> bool {
        let common = |a: (usize, usize), b: (usize, usize)| a.0 < b.1 && b.0 < a.1;
        common(self.rows, other.rows) && common(self.columns, other.columns)
    }

    /// True when all of the other lies inside.
    pub fn holds(self, other: Self) -> bool {
        let inside = |a: (usize, usize), b: (usize, usize)| a.0 <= b.0 && b.1 <= a.1;
        inside(self.rows, other.rows) && inside(self.columns, other.columns)
    }
}

/// A region in which the systems differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// The cells of the region.
    pub place: Rectangle,
    /// Cells in it.
    pub cells: usize,
    /// Mean log ratio in it, with an interval that holds for all regions at once; `n` counts sweeps.
    pub log_ratio: Estimate,
    /// True if it is part of an earlier region and its difference deviates from that of the rest.
    pub refines: bool,
    /// Probability that surfaces without any difference show one as large anywhere; of a region that refines another,
    /// that its difference does not deviate.
    pub p_value: f64,
    /// True if the mean differs by less than 2 % (from the region that it refines, if any): significant but negligible.
    pub negligible: bool,
}

/// The regions in which two systems differ, most important first, at a family-wise error of 5 %. Empty when
/// there is none, and with fewer than six sweeps.
pub fn differing_regions(surface: &Surface, seed: u64) -> Vec<Region> {
    differing_regions_among(std::slice::from_ref(surface), seed).pop().unwrap_or_default()
}

/// The same over several surfaces that were measured in the same sweeps (one per test): the error of 5 % and
/// the intervals hold for all their regions together, whatever the surfaces have in common. One list per surface.
pub fn differing_regions_among(surfaces: &[Surface], seed: u64) -> Vec<Vec<Region>> {
    let mut found = vec![Vec::new(); surfaces.len()];
    let n = surfaces.first().map_or(0, |surface| surface.sweeps.len());
    let whole =
        |s: &Surface| s.sweeps.len() == n && s.sweeps.iter().all(|sweep| sweep.len() == s.rows * s.columns);
    if n < SMALLEST_SWEEPS || !surfaces.iter().all(whole) {
        return found;
    }
    let scans: Vec<Scan> = surfaces.iter().map(Scan::new).collect();
    let mut data: Vec<Vec<Vec<f64>>> = surfaces.iter().map(|surface| surface.sweeps.clone()).collect();
    let flips = flips(n, seed);
    let largest = |data: &[Vec<Vec<f64>>]| -> Vec<Vec<f64>> {
        scans.iter().zip(data).map(|(scan, data)| scan.largest(data, &flips)).collect()
    };
    // The maximum over all regions under each pattern: comparing with it holds the error of 5 % for the
    // whole report (docs/adr/0024).
    let mut maxima = largest(&data);
    // A region's mean taken off changes nothing here: every cell's mean is.
    let mut centred = None;
    for _ in 0..MAX_REGIONS {
        let joint = joint(&maxima);
        let mut changed = false;
        for (at, scan) in scans.iter().enumerate() {
            let earlier: Vec<Rectangle> = found[at].iter().map(|region: &Region| region.place).collect();
            // Disjoint from earlier regions, or part of one: a sentence can describe nothing else.
            let fits = |place: Rectangle| {
                earlier
                    .iter()
                    .all(|earlier| *earlier != place && (!earlier.overlaps(place) || earlier.holds(place)))
            };
            let Some((look, region)) = scan.most_important(&data[at], &joint, fits) else { continue };
            let place = scan.place(region);
            // Within an earlier region only the deviation from it is left to test.
            let whole = scan.look(&surfaces[at].sweeps, &vec![1.0; n]).of(region);
            // Simultaneous intervals need the maxima without any difference; they are computed once, for the
            // first region found.
            let centred = centred.get_or_insert_with(|| {
                let centred: Vec<_> = scans.iter().zip(surfaces).map(|(s, d)| s.centred(&d.sweeps)).collect();
                self::joint(&largest(&centred))
            });
            let reach = centred[quantile_index(centred.len())] * whole.error;
            let refines = earlier.iter().any(|region| region.overlaps(place));
            found[at].push(Region {
                place,
                cells: scan.counts[region] as usize,
                log_ratio: Estimate {
                    value: whole.mean,
                    interval: Some(Interval::new(whole.mean - reach, whole.mean + reach)),
                    n,
                },
                refines,
                p_value: p_value(&joint, look.statistic()),
                negligible: look.mean.abs() < NEGLIGIBLE,
            });
            for sweep in &mut data[at] {
                // The region's effect is subtracted, so that the next round finds what remains and not a part of
                // the same region.
                scan.cells(place).for_each(|cell| sweep[cell] -= look.mean);
            }
            maxima[at] = scan.largest(&data[at], &flips);
            changed = true;
        }
        if !changed {
            break;
        }
    }
    found
}

/// Largest statistic over all surfaces of every pattern of signs, in ascending order.
fn joint(maxima: &[Vec<f64>]) -> Vec<f64> {
    let patterns = maxima.first().map_or(0, Vec::len);
    let over = |pattern: usize| maxima.iter().map(|of| of[pattern]).fold(0.0, f64::max);
    let mut joint: Vec<f64> = (0..patterns).map(over).collect();
    joint.sort_unstable_by(f64::total_cmp);
    joint
}

/// Signs per sweep; the first pattern flips nothing. The last sweep is never flipped: flipping all changes
/// no statistic.
fn flips(n: usize, seed: u64) -> Vec<Vec<f64>> {
    let signs = |bits: u64| (0..n).map(|sweep| if bits >> sweep & 1 == 1 { -1.0 } else { 1.0 }).collect();
    if n <= ALL_FLIPS_UP_TO {
        return (0..1u64 << (n - 1)).map(signs).collect();
    }
    let mut random = Random::new(seed, 3);
    std::iter::once(signs(0)).chain((0..DRAWN_FLIPS).map(|_| signs(random.next()))).collect()
}

/// Every region of a surface, and how to evaluate them.
///
/// The search evaluates each region under hundreds of patterns of signs, which is most of the work of a large
/// comparison. Regions with the same rows and the same first column are neighbours in memory, and one loop without
/// branches evaluates them together.
struct Scan {
    columns: usize,
    exists: Vec<bool>,
    /// Rows at which regions begin and end, in ascending order.
    row_edges: Vec<usize>,
    /// Columns at which regions begin and end.
    column_edges: Vec<usize>,
    /// Number of cells of each region.
    counts: Vec<f64>,
    /// In the order of the regions, which they divide without gaps.
    strips: Vec<Strip>,
}

/// Regions that differ in their last column only. The last columns are consecutive edges: what has fewest cells is left
/// out at the narrow end.
struct Strip {
    /// Index of the first row's edge, and of the edge after the last row.
    rows: (usize, usize),
    /// Index of the first column's edge.
    first: usize,
    /// Index of the edge at which the narrowest region ends.
    narrowest: usize,
    /// The regions.
    regions: Range<usize>,
}

/// Mean, variance and standardised mean of a region over sweeps.
#[derive(Clone, Copy)]
struct Look {
    mean: f64,
    error: f64,
}

impl Look {
    fn statistic(self) -> f64 {
        (self.mean / self.error).abs()
    }
}

/// What every region shows under one pattern of signs.
struct Looks {
    /// Number of sweeps.
    n: f64,
    /// Sums of the regions' means over sweeps.
    sums: Vec<f64>,
    variances: Vec<f64>,
    /// Lower bound of the variances.
    usual: f64,
}

impl Looks {
    fn of(&self, region: usize) -> Look {
        let error = ((self.variances[region] + self.usual) / self.n).sqrt();
        Look { mean: self.sums[region] / self.n, error }
    }

    fn iter(&self) -> impl Iterator<Item = Look> {
        (0..self.sums.len()).map(|region| self.of(region))
    }
}

/// Sums of the regions' means over sweeps, and of their squares.
struct Sums {
    means: Vec<f64>,
    squares: Vec<f64>,
}

impl Scan {
    fn new(surface: &Surface) -> Self {
        let cells = surface.rows * surface.columns;
        let exists = |cell: usize| surface.sweeps.iter().all(|sweep| sweep[cell].is_finite());
        let exists: Vec<bool> = (0..cells).map(exists).collect();
        let mut row_step = 1;
        let mut column_step = 1;
        while spans(surface.rows, row_step) * spans(surface.columns, column_step) > MAX_RECTANGLES {
            // The finer axis gives way first, so that regions stay about equally fine in both directions.
            if surface.rows / row_step > surface.columns / column_step {
                row_step += 1;
            } else {
                column_step += 1;
            }
        }
        let mut scan = Self {
            columns: surface.columns,
            exists,
            row_edges: edges(surface.rows, row_step),
            column_edges: edges(surface.columns, column_step),
            counts: Vec::new(),
            strips: Vec::new(),
        };
        let counts: Vec<f64> = scan.exists.iter().map(|exists| f64::from(u8::from(*exists))).collect();
        // Whole numbers below 2^53 add up exactly.
        let counts = scan.edge_sums(&counts);
        for top in 0..scan.row_edges.len() {
            for bottom in top + 1..scan.row_edges.len() {
                for first in 0..scan.column_edges.len() {
                    scan.add_strip((top, bottom), first, &counts);
                }
            }
        }
        scan
    }

    /// Adds the regions of these rows that begin at this column's edge.
    fn add_strip(&mut self, rows: (usize, usize), first: usize, counts: &[f64]) {
        let width = self.column_edges.len();
        let at = |row: usize, column: usize| counts[row * width + column];
        let before = self.counts.len();
        for last in first + 1..width {
            let cells = at(rows.1, last) - at(rows.0, last) - at(rows.1, first) + at(rows.0, first);
            if cells >= SMALLEST_REGION as f64 {
                self.counts.push(cells);
            }
        }
        let regions = before..self.counts.len();
        if !regions.is_empty() {
            // A wider region has at least as many cells, so only the narrowest ones are missing.
            self.strips.push(Strip { rows, first, narrowest: width - regions.len(), regions });
        }
    }

    /// The cells that a region covers.
    fn place(&self, region: usize) -> Rectangle {
        let strip = &self.strips[self.strips.partition_point(|strip| strip.regions.end <= region)];
        let last = strip.narrowest + region - strip.regions.start;
        Rectangle {
            rows: (self.row_edges[strip.rows.0], self.row_edges[strip.rows.1]),
            columns: (self.column_edges[strip.first], self.column_edges[last]),
        }
    }

    /// Cells of a rectangle that exist.
    fn cells(&self, place: Rectangle) -> impl Iterator<Item = usize> {
        (place.rows.0..place.rows.1)
            .flat_map(move |row| {
                (place.columns.0..place.columns.1).map(move |column| row * self.columns + column)
            })
            .filter(|cell| self.exists[*cell])
    }

    /// Sums over everything above and to the left of each crossing of edges, so that a rectangle takes four look-ups.
    fn edge_sums(&self, cells: &[f64]) -> Vec<f64> {
        let mut sums = Vec::with_capacity(self.row_edges.len() * self.column_edges.len());
        let mut above = vec![0.0; self.columns + 1];
        let mut row = 0;
        for edge in &self.row_edges {
            while row < *edge {
                let mut left = 0.0;
                for (column, value) in cells[row * self.columns..][..self.columns].iter().enumerate() {
                    left += value;
                    above[column + 1] += left;
                }
                row += 1;
            }
            sums.extend(self.column_edges.iter().map(|column| above[*column]));
        }
        sums
    }

    /// Adds up the means of every region over sweeps that were winsorised.
    fn sums(&self, sweeps: &[Vec<f64>]) -> Sums {
        let tables: Vec<Vec<f64>> = sweeps.iter().map(|sweep| self.edge_sums(sweep)).collect();
        let width = self.column_edges.len();
        let mut sums = Sums { means: vec![0.0; self.counts.len()], squares: vec![0.0; self.counts.len()] };
        // Per sweep, what lies between the top and the bottom of the current strips, left of each edge.
        let mut between = vec![0.0; tables.len() * width];
        let mut rows = None;
        for strip in &self.strips {
            if rows != Some(strip.rows) {
                rows = Some(strip.rows);
                let (top, bottom) = strip.rows;
                for (table, between) in tables.iter().zip(between.chunks_mut(width)) {
                    let below = &table[bottom * width..][..width];
                    let above = &table[top * width..][..width];
                    for ((between, below), above) in between.iter_mut().zip(below).zip(above) {
                        *between = below - above;
                    }
                }
            }
            let counts = &self.counts[strip.regions.clone()];
            let means = &mut sums.means[strip.regions.clone()];
            let squares = &mut sums.squares[strip.regions.clone()];
            for (table, between) in tables.iter().zip(between.chunks(width)) {
                let low = table[strip.rows.1 * width + strip.first];
                let high = table[strip.rows.0 * width + strip.first];
                let ends = &between[strip.narrowest..];
                for (((end, count), mean_sum), square_sum) in
                    ends.iter().zip(counts).zip(means.iter_mut()).zip(squares.iter_mut())
                {
                    let mean = (end - low + high) / count;
                    *mean_sum += mean;
                    *square_sum += mean * mean;
                }
            }
        }
        sums
    }

    /// Evaluates every region under one pattern of signs.
    fn look(&self, data: &[Vec<f64>], signs: &[f64]) -> Looks {
        let n = data.len() as f64;
        // After flipping, as docs/measurement-rules.md R3 prescribes.
        let Sums { means: sums, squares: mut variances } = self.sums(&winsorised(data, signs, &self.exists));
        // In place: the search looks hundreds of times, each time at up to 20,000 regions.
        for (squares, sum) in variances.iter_mut().zip(&sums) {
            *squares = ((*squares - sum * sum / n) / (n - 1.0)).max(0.0);
        }
        // The typical variance of a region as a lower bound: a variance that is small by chance must not look significant.
        let mut sorted = variances.clone();
        let middle = sorted.len() / 2;
        let usual = if sorted.is_empty() {
            f64::MIN_POSITIVE
        } else {
            sorted.select_nth_unstable_by(middle, f64::total_cmp).1.max(f64::MIN_POSITIVE)
        };
        Looks { n, sums, variances, usual }
    }

    /// Largest statistic of every pattern of signs, in the order of the patterns.
    fn largest(&self, data: &[Vec<f64>], flips: &[Vec<f64>]) -> Vec<f64> {
        let of = |signs: &Vec<f64>| self.look(data, signs).iter().map(Look::statistic).fold(0.0, f64::max);
        flips.iter().map(of).collect()
    }

    /// The most important of the significant regions: a large difference over many cells.
    fn most_important(
        &self,
        data: &[Vec<f64>],
        largest: &[f64],
        fits: impl Fn(Rectangle) -> bool,
    ) -> Option<(Look, usize)> {
        let looks = self.look(data, &vec![1.0; data.len()]);
        let critical = largest[quantile_index(largest.len())];
        let sure = |look: &Look| look.statistic() >= critical && p_value(largest, look.statistic()) <= ERROR;
        let importance = |(region, look): &(usize, Look)| look.mean.abs() * self.counts[*region].sqrt();
        let (region, look) = looks
            .iter()
            .enumerate()
            .filter(|(region, look)| sure(look) && fits(self.place(*region)))
            .max_by(|a, b| importance(a).total_cmp(&importance(b)))?;
        Some((look, region))
    }

    /// The data with every cell's mean taken off.
    fn centred(&self, data: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut centred = data.to_vec();
        for cell in (0..self.exists.len()).filter(|cell| self.exists[*cell]) {
            let mean = data.iter().map(|sweep| sweep[cell]).sum::<f64>() / data.len() as f64;
            for sweep in &mut centred {
                sweep[cell] -= mean;
            }
        }
        centred
    }
}

/// The multiples of `step` on an axis of `len` cells, and the axis's end.
fn edges(len: usize, step: usize) -> Vec<usize> {
    (0..len).step_by(step).chain([len]).collect()
}

/// Number of spans between two edges of an axis.
fn spans(len: usize, step: usize) -> usize {
    let edges = len.div_ceil(step) + 1;
    edges * (edges - 1) / 2
}

/// Position of the 95th percentile among sorted values.
fn quantile_index(len: usize) -> usize {
    (((1.0 - ERROR) * len as f64).ceil() as usize).clamp(1, len) - 1
}

/// Share of the patterns, the unflipped one among them, whose largest statistic reaches this.
fn p_value(largest: &[f64], statistic: f64) -> f64 {
    // Flipping the other half gives the same number up to rounding.
    let reached = largest.iter().filter(|value| **value >= statistic * (1.0 - 1e-12)).count();
    // The unflipped pattern is among them, so p is at least 1 / patterns.
    reached.max(1) as f64 / largest.len() as f64
}
