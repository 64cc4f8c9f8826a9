//! Cells of a table that do not fit the surface of their neighbours, as a wrong unit or a lost digit makes them.
//!
//! Rates over two sizes are nearly a product of what each size does: a cliff of a cache or a slow record size changes a
//! whole row or column. So the log rate of a cell is predicted from three neighbours that form a rectangle with it, for
//! every such rectangle nearby, and the cell is an outlier if nearly all rectangles agree on its error. A fall of one
//! corner of the surface looks the same in the corner cell alone. There, and where a neighbour on a cliff hides the peak,
//! only an error that is a factor of [`FACTORS`] is reported.

use crate::order_statistic::median;

/// Errors of units and digits: bytes for bits, a lost digit, SI and binary prefixes.
const FACTORS: [f64; 4] = [8.0, 10.0, 1000.0, 1024.0];

/// Smallest error of an outlier with and without a factor that explains it.
const SMALLEST: f64 = 4.0;
const SMALLEST_UNEXPLAINED: f64 = 5.0;
/// Rectangles reach this far.
const REACH: usize = 2;
/// Share of the rectangles that must agree, and how much of the error they may differ by.
const AGREEING: f64 = 0.7;
const AGREEMENT: f64 = 0.25;
/// The same without a peak.
const AGREEING_WITHOUT_PEAK: f64 = 0.95;
/// Robust standard deviations of the other cells that an outlier exceeds.
const DEVIATIONS: f64 = 6.0;
/// Part of the error by which a cell exceeds its two neighbours on an axis: with and without a factor.
const PEAK: f64 = 0.2;
const PEAK_UNEXPLAINED: f64 = 0.5;
/// How far a logarithm may be from that of a factor: at least, at most, and in standard deviations of the cells.
const MATCH: (f64, f64) = (0.06, 0.11);
const MATCH_WITHOUT_PEAK: f64 = 0.02;

/// Logarithms of rates on a grid, row by row; none where nothing was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct LogTable {
    /// Cells along the first axis.
    pub rows: usize,
    /// Cells along the second axis, which is ordered.
    pub columns: usize,
    /// `rows x columns` logarithms.
    pub logs: Vec<Option<f64>>,
    /// True if neighbouring rows are neighbouring sizes; false for rows of different tests or systems.
    pub ordered_rows: bool,
}

/// A cell that does not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlier {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
    /// Logarithm of the rate over that which its neighbours predict.
    pub log_factor: f64,
    /// Factors of units and digits (8, 10, 1000, 1024) that explain the size of the error; empty if none does.
    pub factors: Vec<f64>,
    /// True if the cell is a peak or a dip between two neighbours.
    is_peak: bool,
}

/// The outliers of a table. It takes two rows and three columns.
pub fn outliers(table: &LogTable) -> Vec<Outlier> {
    let Some(deviation) = table.deviation() else { return Vec::new() };
    let judge = |cell| table.judge(cell, table.errors(cell)?, deviation);
    let found: Vec<Outlier> = (0..table.logs.len()).filter_map(judge).collect();
    let is_listed = |one: &&Outlier| !found.iter().any(|other| other.explains(one));
    found.iter().filter(is_listed).cloned().collect()
}

/// What the rectangles say of one cell.
#[derive(Clone, Copy)]
struct Errors {
    /// Median error.
    middle: f64,
    /// Share of the rectangles that agree with it.
    agreeing: f64,
}

impl Errors {
    /// Factors that are this near.
    fn factors(&self, tolerance: f64) -> Vec<f64> {
        FACTORS.into_iter().filter(|factor| (self.middle.abs() - factor.ln()).abs() <= tolerance).collect()
    }
}

impl Outlier {
    /// An opposite error of the same size in the same row or column is the shadow of this one, unless it is the clearer one.
    fn explains(&self, other: &Self) -> bool {
        let in_line = (self.row == other.row) != (self.column == other.column);
        let sum = self.log_factor + other.log_factor;
        in_line && sum.abs() < 0.3 * other.log_factor.abs() && self.is_peak >= other.is_peak
    }
}

impl LogTable {
    fn at(&self, row: usize, column: usize) -> Option<f64> {
        self.logs[row * self.columns + column]
    }

    /// Row and column of a cell.
    fn place(&self, cell: usize) -> (usize, usize) {
        (cell / self.columns, cell % self.columns)
    }

    /// Robust standard deviation of the errors: from the lower quartile, because in a table of two rows an outlier spoils
    /// those of half of the cells.
    fn deviation(&self) -> Option<f64> {
        let errors = (0..self.logs.len()).filter_map(|cell| Some(self.errors(cell)?.middle.abs()));
        // A table has up to a million cells, and single precision is plenty.
        let mut sizes: Vec<f32> = errors.map(|size| size as f32).collect();
        sizes.sort_by(f32::total_cmp);
        Some(f64::from(*sizes.get(sizes.len() / 4)?) / 0.3186)
    }

    fn errors(&self, cell: usize) -> Option<Errors> {
        let (row, column) = self.place(cell);
        let log = self.logs[cell]?;
        let reach = if self.ordered_rows { REACH } else { self.rows };
        let rows = (row.saturating_sub(reach)..self.rows.min(row + reach + 1)).filter(|r| *r != row);
        let columns = column.saturating_sub(REACH)..self.columns.min(column + REACH + 1);
        let columns: Vec<usize> = columns.filter(|c| *c != column).collect();
        let error = |r: usize, c: usize| Some(log - self.at(row, c)? - self.at(r, column)? + self.at(r, c)?);
        let mut all: Vec<f64> = rows.flat_map(|r| columns.iter().filter_map(move |c| error(r, *c))).collect();
        let middle = median(&mut all)?;
        let agrees = |error: &&f64| (**error - middle).abs() <= AGREEMENT * middle.abs();
        Some(Errors { middle, agreeing: all.iter().filter(agrees).count() as f64 / all.len() as f64 })
    }

    fn judge(&self, cell: usize, errors: Errors, deviation: f64) -> Option<Outlier> {
        let size = errors.middle.abs();
        let agreeing = errors.agreeing;
        if size < SMALLEST.ln().max(DEVIATIONS * deviation) || agreeing < AGREEING {
            return None;
        }
        let factors = errors.factors((3.0 * deviation).clamp(MATCH.0, MATCH.1));
        let near = errors.factors((2.0 * deviation).clamp(MATCH_WITHOUT_PEAK, MATCH.1));
        let lines = self.beyond(cell, errors.middle.signum());
        // By how much it exceeds both neighbours on the axis where that is most, and each neighbour.
        let both = |line: &(Option<f64>, Option<f64>)| Some(line.0?.min(line.1?));
        let peak = lines.iter().filter_map(both).reduce(f64::max);
        let least = lines.iter().flat_map(|line| [line.0, line.1]).flatten().reduce(f64::min);
        let is_peak = peak.is_some_and(|peak| peak >= PEAK * size);
        let is_outlier = match peak {
            Some(_) if factors.is_empty() => {
                size >= SMALLEST_UNEXPLAINED.ln()
                    && least.is_some_and(|least| least >= PEAK_UNEXPLAINED * size)
            }
            Some(_) => is_peak || !near.is_empty() && agreeing >= AGREEING_WITHOUT_PEAK,
            None => !near.is_empty(),
        };
        let (row, column) = self.place(cell);
        is_outlier.then_some(Outlier { row, column, log_factor: errors.middle, factors, is_peak })
    }

    /// By how much the cell exceeds its neighbours before and after it, in its row and, of ordered rows, in its column.
    fn beyond(&self, cell: usize, sign: f64) -> Vec<(Option<f64>, Option<f64>)> {
        let (row, column) = self.place(cell);
        let Some(log) = self.logs[cell] else { return Vec::new() };
        let from = |other: f64| sign * (log - other);
        let in_row =
            |mut columns: Box<dyn Iterator<Item = usize>>| columns.find_map(|c| self.at(row, c)).map(from);
        let in_column =
            |mut rows: Box<dyn Iterator<Item = usize>>| rows.find_map(|r| self.at(r, column)).map(from);
        let mut lines =
            vec![(in_row(Box::new((0..column).rev())), in_row(Box::new(column + 1..self.columns)))];
        if self.ordered_rows {
            lines.push((in_column(Box::new((0..row).rev())), in_column(Box::new(row + 1..self.rows))));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;

    use super::*;
    use crate::normal_quantile;

    /// A cliff: from this row, or this column, on the logarithm is lower.
    #[derive(Clone, Copy)]
    enum CliffLine {
        Row(usize),
        Column(usize),
    }

    /// Rates that rise with the record size up to a ceiling, with noise of 0.5 to 5 % and up to two cliffs of 2 to 50 times.
    fn surface(random: &mut Random) -> LogTable {
        let rows = 3 + random.below(6) as usize;
        let columns = 3 + random.below(8) as usize;
        let noise = [0.005, 0.01, 0.02, 0.03, 0.05][random.below(5) as usize];
        let step = [2.0f64, 4.0][random.below(2) as usize];
        let half = (random.unit() * (columns as f64 + 4.0) - 2.0).exp2();
        let slope = random.unit() * 0.6 - 0.3;
        let cliffs: Vec<(CliffLine, f64)> = (0..random.below(3))
            .map(|_| {
                let line = match random.below(2) {
                    0 => CliffLine::Row(1 + random.below(rows as u64 - 1) as usize),
                    _ => CliffLine::Column(1 + random.below(columns as u64 - 1) as usize),
                };
                let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
                (line, sign * (2f64.ln() + random.unit() * 25f64.ln()))
            })
            .collect();
        let mut logs = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                let record = step.powi(i32::try_from(column).unwrap());
                let smooth = 16.0 + (record / (record + half)).ln() + slope * row as f64;
                let fallen = |(line, _): &&(CliffLine, f64)| match line {
                    CliffLine::Row(at) => row >= *at,
                    CliffLine::Column(at) => column >= *at,
                };
                let fall: f64 = cliffs.iter().filter(fallen).map(|(_, fall)| fall).sum();
                let chance = noise * normal_quantile(random.unit().max(f64::MIN_POSITIVE));
                logs.push(Some(smooth - fall + chance));
            }
        }
        LogTable { rows, columns, logs, ordered_rows: true }
    }

    #[test]
    fn surfaces_with_cliffs_have_no_outliers_and_a_planted_factor_is_found() {
        let mut random = Random::new(49, 12);
        let mut false_alarms = 0;
        let mut found = 0;
        let mut others = 0;
        for _ in 0..200 {
            let mut table = surface(&mut random);
            false_alarms += usize::from(!outliers(&table).is_empty());
            let cell = random.below(table.logs.len() as u64) as usize;
            let factor = FACTORS[random.below(4) as usize];
            let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
            table.logs[cell] = table.logs[cell].map(|log| log + sign * factor.ln());
            for outlier in outliers(&table) {
                let is_planted = outlier.row * table.columns + outlier.column == cell;
                found += usize::from(is_planted && outlier.factors.contains(&factor));
                others += usize::from(!is_planted);
            }
        }
        assert!(false_alarms <= 2 && others <= 2 && found >= 190, "{false_alarms} {others} {found}");
    }

    #[test]
    fn fall_of_a_quarter_of_the_surface_is_no_outlier() {
        // Large records of large files miss the cache: one cell, a row of two, a staircase.
        for fallen in [vec![15], vec![14, 15], vec![11, 14, 15], vec![10, 11, 14, 15]] {
            let log =
                |cell: usize| if fallen.contains(&cell) { 12.0 } else { 16.0 + (cell % 4) as f64 * 0.4 };
            let logs = (0..16).map(log).map(Some).collect();
            assert_eq!(outliers(&LogTable { rows: 4, columns: 4, logs, ordered_rows: true }), []);
        }
    }

    #[test]
    fn one_bad_cell_of_two_systems_is_found_at_the_end_of_a_line() {
        let log = |cell: usize| Some([16.0, 16.8, 17.2, 17.3, 17.3][cell % 5] + (cell / 5) as f64);
        let mut logs: Vec<Option<f64>> = (0..15).map(log).collect();
        logs[9] = logs[9].map(|log| log - 1024f64.ln());
        let [found] = &outliers(&LogTable { rows: 3, columns: 5, logs, ordered_rows: false })[..] else {
            panic!("one outlier")
        };
        assert_eq!((found.row, found.column, found.factors.as_slice()), (1, 4, &[1000.0, 1024.0][..]));
    }

    #[test]
    fn record_size_that_is_slow_for_all_files_is_no_outlier() {
        let log = |cell: usize| Some(if cell % 5 == 2 { 14.0 } else { 16.5 } + (cell / 5) as f64 * 0.1);
        let logs = (0..20).map(log).collect();
        assert_eq!(outliers(&LogTable { rows: 4, columns: 5, logs, ordered_rows: true }), []);
    }
}
