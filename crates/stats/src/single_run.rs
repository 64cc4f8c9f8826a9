//! Regions and breaks of a surface of which every cell was measured once.
//!
//! Without repetitions nothing is known of chance, so these rules bound what else could explain a ratio. A cell counts
//! where its log ratio exceeds the uncertainty that is known of it (clocks, runs declared equal) and three robust
//! standard deviations of the cells among themselves. The latter come from the differences of neighbouring cells: two
//! equal systems differ from cell to cell as much as anywhere, and a difference that a region has in common cancels.
//! What all cells of a run have in common, such as a slow night, remains possible.

use crate::Rectangle;
use crate::order_statistic::median;

/// Fewest cells of a region.
const SMALLEST_REGION: usize = 4;
/// Most regions of a surface.
const MAX_REGIONS: usize = 5;
/// Fewest pairs of neighbouring cells from which their scatter is known.
const FEWEST_NEIGHBOURS: usize = 4;
/// Fewest lines, and positions of a line, of a break.
const FEWEST_LINES: usize = 2;
const FEWEST_POSITIONS: usize = 3;
/// Log ratios within this of zero are negligible: ln 1.02.
const NEGLIGIBLE: f64 = 0.019_802_627;
/// Robust standard deviations that a log ratio must exceed.
const DEVIATIONS: f64 = 3.0;

/// A cell that was measured once on both systems.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SingleCell {
    /// Logarithm of the ratio of the two rates.
    pub log_ratio: f64,
    /// What is known to be uncertain in it, either way: the clocks above all.
    pub margin: f64,
}

/// Cells on a grid, row by row; none where there is nothing to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleSurface {
    /// Cells along the first axis.
    pub rows: usize,
    /// Cells along the second.
    pub columns: usize,
    /// `rows x columns` cells.
    pub cells: Vec<Option<SingleCell>>,
}

/// A rectangle in which every cell differs in the same direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SingleRegion {
    /// Where.
    pub place: Rectangle,
    /// Cells in it.
    pub cells: usize,
    /// Mean of their log ratios.
    pub log_ratio: f64,
    /// Lowest and highest of them.
    pub range: (f64, f64),
}

/// A position along an axis at which the log ratio of every line changes in the same direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SingleBreak {
    /// First position after the change.
    pub at: usize,
    /// Mean log ratio at the position before it, over the lines that have both.
    pub before: f64,
    /// Mean log ratio at the position itself.
    pub after: f64,
    /// Lines that have both: all of them show it.
    pub lines: usize,
}

impl SingleSurface {
    fn at(&self, row: usize, column: usize) -> Option<SingleCell> {
        self.cells[row * self.columns + column]
    }

    /// The rows, or the columns, as lines.
    fn lines(&self, along_rows: bool) -> Vec<Vec<Option<SingleCell>>> {
        let column = |column: usize| (0..self.rows).map(|row| self.at(row, column)).collect();
        let row = |row: usize| (0..self.columns).map(|column| self.at(row, column)).collect();
        if along_rows { (0..self.columns).map(column).collect() } else { (0..self.rows).map(row).collect() }
    }

    fn region(&self, place: Rectangle) -> SingleRegion {
        let columns = place.columns;
        let inside =
            (place.rows.0..place.rows.1).flat_map(|row| (columns.0..columns.1).map(move |c| (row, c)));
        let logs: Vec<f64> = inside.filter_map(|(row, c)| Some(self.at(row, c)?.log_ratio)).collect();
        SingleRegion {
            place,
            cells: logs.len(),
            log_ratio: logs.iter().sum::<f64>() / logs.len() as f64,
            range: logs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x))),
        }
    }

    /// Robust standard deviation of a cell from the differences of neighbouring cells, which a difference common to a
    /// region leaves alone; none with too few neighbours.
    fn scatter(&self) -> Option<f64> {
        let lines = [self.lines(true), self.lines(false)].concat();
        let pairs = lines.iter().flat_map(|line| line.windows(2));
        let differences = pairs.filter_map(|pair| Some((pair[1]?.log_ratio - pair[0]?.log_ratio).abs()));
        let mut differences: Vec<f64> = differences.collect();
        if differences.len() < FEWEST_NEIGHBOURS {
            return None;
        }
        Some(1.4826 * median(&mut differences)? / std::f64::consts::SQRT_2)
    }
}

/// The regions of a surface, the most important first: rectangles of four or more cells, each of which differs in the
/// same direction by more than its margin, the scatter of the cells and 2 %. They have no cell in common.
pub fn single_run_regions(surface: &SingleSurface) -> Vec<SingleRegion> {
    let Some(scatter) = surface.scatter() else { return Vec::new() };
    let sums = Sums::new(surface, |cell| {
        cell.log_ratio.abs() > cell.margin.max(DEVIATIONS * scatter).max(NEGLIGIBLE)
    });
    let row_spans = || (0..surface.rows).flat_map(|top| (top + 1..=surface.rows).map(move |end| (top, end)));
    let mut found: Vec<SingleRegion> = Vec::new();
    while found.len() < MAX_REGIONS {
        let mut best: Option<(f64, Rectangle)> = None;
        for rows in row_spans() {
            for first in 0..surface.columns {
                for last in first + 1..=surface.columns {
                    let place = Rectangle { rows, columns: (first, last) };
                    let [cells, up, down, sum] = sums.within(place);
                    // What excludes a rectangle excludes all wider ones.
                    if up.max(down) < cells || found.iter().any(|known| known.place.overlaps(place)) {
                        break;
                    }
                    let importance = sum.abs() / cells.sqrt();
                    // Of equal importance the first, which is the tightest around its cells.
                    if cells >= SMALLEST_REGION as f64 && best.is_none_or(|(most, _)| importance > most) {
                        best = Some((importance, place));
                    }
                }
            }
        }
        let Some((_, place)) = best else { break };
        found.push(surface.region(place));
    }
    found
}

/// Sums over everything above and to the left, so that a rectangle takes four look-ups: cells, those that differ upwards,
/// those that differ downwards, log ratios.
struct Sums {
    width: usize,
    table: Vec<[f64; 4]>,
}

impl Sums {
    fn new(surface: &SingleSurface, differs: impl Fn(SingleCell) -> bool) -> Self {
        let width = surface.columns + 1;
        let mut table = vec![[0.0; 4]; width * (surface.rows + 1)];
        for row in 0..surface.rows {
            let mut left = [0.0; 4];
            for column in 0..surface.columns {
                if let Some(cell) = surface.at(row, column) {
                    let up = f64::from(u8::from(differs(cell) && cell.log_ratio > 0.0));
                    let down = f64::from(u8::from(differs(cell) && cell.log_ratio < 0.0));
                    left = add(left, [1.0, up, down, cell.log_ratio], 1.0);
                }
                table[(row + 1) * width + column + 1] = add(table[row * width + column + 1], left, 1.0);
            }
        }
        Self { width, table }
    }

    fn within(&self, place: Rectangle) -> [f64; 4] {
        let at = |row: usize, column: usize| self.table[row * self.width + column];
        let (top, bottom) = place.rows;
        let (first, last) = place.columns;
        let outside = add(at(top, last), at(bottom, first), 1.0);
        add(add(at(bottom, last), outside, -1.0), at(top, first), 1.0)
    }
}

fn add(one: [f64; 4], other: [f64; 4], sign: f64) -> [f64; 4] {
    std::array::from_fn(|index| one[index] + sign * other[index])
}

/// The breaks along the rows (`along_rows`) or the columns of a surface: positions at which every line that has both
/// cells changes in the same direction, by more than both margins and the scatter of two cells. It takes two lines, and
/// an axis of three positions.
pub fn single_run_breaks(surface: &SingleSurface, along_rows: bool) -> Vec<SingleBreak> {
    let lines = surface.lines(along_rows);
    let positions = if along_rows { surface.rows } else { surface.columns };
    let Some(scatter) = surface.scatter().filter(|_| positions >= FEWEST_POSITIONS) else {
        return Vec::new();
    };
    let noise = DEVIATIONS * scatter * std::f64::consts::SQRT_2;
    let found = |at: usize| {
        let pairs: Vec<(SingleCell, SingleCell)> =
            lines.iter().filter_map(|line| Some((line[at - 1]?, line[at]?))).collect();
        let change = |(before, after): &(SingleCell, SingleCell)| after.log_ratio - before.log_ratio;
        let up = pairs.first().is_some_and(|pair| change(pair) > 0.0);
        let beyond = |pair: &(SingleCell, SingleCell)| {
            let known = pair.0.margin + pair.1.margin;
            change(pair).abs() > known.max(noise).max(NEGLIGIBLE) && (change(pair) > 0.0) == up
        };
        let n = pairs.len() as f64;
        (pairs.len() >= FEWEST_LINES && pairs.iter().all(beyond)).then(|| SingleBreak {
            at,
            before: pairs.iter().map(|(before, _)| before.log_ratio).sum::<f64>() / n,
            after: pairs.iter().map(|(_, after)| after.log_ratio).sum::<f64>() / n,
            lines: pairs.len(),
        })
    };
    (1..positions).filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;

    use super::*;
    use crate::normal_quantile;

    fn surface(rows: usize, columns: usize, log_ratio: impl FnMut(usize) -> f64) -> SingleSurface {
        let cell = |log_ratio| Some(SingleCell { log_ratio, margin: 0.05 });
        SingleSurface { rows, columns, cells: (0..rows * columns).map(log_ratio).map(cell).collect() }
    }

    #[test]
    fn a_region_of_cells_beyond_clock_and_scatter_is_found_and_its_break() {
        let planted = surface(2, 5, |cell| if cell % 5 >= 2 { 0.3 } else { 0.01 });
        let [region] = single_run_regions(&planted)[..] else { panic!("one region") };
        assert_eq!((region.place.rows, region.place.columns, region.cells), ((0, 2), (2, 5), 6));
        let [found] = single_run_breaks(&planted, false)[..] else { panic!("one break") };
        assert_eq!((found.at, found.lines), (2, 2));
        assert!((found.before - 0.01).abs() < 1e-12 && (found.after - 0.3).abs() < 1e-12);
        assert_eq!(single_run_breaks(&planted, true), [], "two positions are no axis");
        // The same within the clock's uncertainty.
        let coarse = |cell: Option<SingleCell>| cell.map(|cell| SingleCell { margin: 0.4, ..cell });
        let blunt = SingleSurface { cells: planted.cells.into_iter().map(coarse).collect(), ..planted };
        assert_eq!((single_run_regions(&blunt), single_run_breaks(&blunt, false)), (vec![], vec![]));
    }

    #[test]
    fn cells_of_two_directions_are_two_regions() {
        let found = single_run_regions(&surface(4, 4, |cell| if cell < 8 { 0.3 } else { -0.2 }));
        let places: Vec<_> = found.iter().map(|region| (region.place.rows, region.log_ratio > 0.0)).collect();
        assert_eq!(places, [((0, 2), true), ((2, 4), false)]);
    }

    #[test]
    fn equal_systems_that_scatter_have_neither_regions_nor_breaks() {
        let mut random = Random::new(7, 0);
        let mut found = 0;
        for _ in 0..2000 {
            // The clock is fine, and the runs scatter by 5 %.
            let mut noisy = surface(5, 6, |_| 0.05 * normal_quantile(random.unit().max(1e-12)));
            noisy.cells.iter_mut().flatten().for_each(|cell| cell.margin = 1e-9);
            let breaks = [true, false].map(|along| single_run_breaks(&noisy, along).len());
            found += usize::from(!single_run_regions(&noisy).is_empty() || breaks != [0, 0]);
        }
        assert_eq!(found, 0);
    }
}
