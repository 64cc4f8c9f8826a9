//! Maps whose true log ratio of each cell is known.

use sharebench_model::Random;

/// Shape of the true map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One ratio everywhere.
    Flat,
    /// One direction, growing along one axis or both.
    Gradient,
    /// The direction changes along one axis, as a ramp or a step.
    ReversalByAxis,
    /// The direction is the product of the positions on both axes.
    ReversalByProduct,
    /// One row or column differs from the rest.
    Line,
    /// One cell differs from the rest.
    Cell,
    /// One test has the opposite direction.
    ReversalByTest,
    /// All but a corner has one direction; the corner has the other one.
    LShaped,
    /// Neighbouring cells have opposite directions.
    Checkerboard,
    /// Two rectangles that do not touch have the same direction; the rest is equal.
    TwoParts,
    /// Tests with different axes, each a map of its own.
    DifferentAxes,
    /// A step along each axis, so that four levels meet: two of them within the tolerance.
    FourLevels,
}

impl Kind {
    /// The kinds that issue and documentation name, and five more.
    pub const ALL: [Self; 12] = [
        Self::Flat,
        Self::Gradient,
        Self::ReversalByAxis,
        Self::ReversalByProduct,
        Self::Line,
        Self::Cell,
        Self::ReversalByTest,
        Self::LShaped,
        Self::Checkerboard,
        Self::TwoParts,
        Self::DifferentAxes,
        Self::FourLevels,
    ];
}

/// One test: the true log ratio of each cell that exists, row by row.
#[derive(Debug, Clone)]
pub struct TrueGrid {
    pub rows: usize,
    pub columns: usize,
    pub axes: usize,
    pub cells: Vec<Option<f64>>,
}

/// Level of the map where its kind does not say otherwise, and size of the difference. Drawn where not given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Levels {
    pub base: Option<f64>,
    pub effect: Option<f64>,
}

/// Draws a map of 1 to 4 tests with 2 to 12 rows and 2 to 6 columns.
pub fn draw(random: &mut Random, kind: Kind, levels: Levels) -> Vec<TrueGrid> {
    let tests = match kind {
        Kind::DifferentAxes | Kind::ReversalByTest => 2 + random.below(3) as usize,
        _ => 1 + random.below(4) as usize,
    };
    // Effects of 3 to 100 %, evenly by their logarithm.
    let drawn = (0.03f64.ln() * random.unit()).exp().ln_1p();
    let base = if random.unit() < 0.5 { 0.0 } else { 0.08 * random.normal() };
    let shape = Shape {
        effect: levels.effect.unwrap_or(drawn) * if random.unit() < 0.5 { -1.0 } else { 1.0 },
        base: levels.base.unwrap_or(base),
    };
    if kind == Kind::DifferentAxes {
        let grid = |axes| {
            let (rows, columns) = size(random);
            let kind = Kind::ALL[random.below(6) as usize];
            let mut grid = shape.grids(random, kind, 1, rows, columns).remove(0);
            grid.axes = axes;
            grid
        };
        return (0..tests).map(grid).collect();
    }
    let (rows, columns) = size(random);
    shape.grids(random, kind, tests, rows, columns)
}

fn size(random: &mut Random) -> (usize, usize) {
    (2 + random.below(11) as usize, 2 + random.below(5) as usize)
}

/// Removes cells: records larger than their file, or any cells at random. At least one remains.
pub fn remove_cells(random: &mut Random, grids: &mut [TrueGrid]) {
    let triangle = random.unit() < 0.5;
    for grid in grids {
        for row in 0..grid.rows {
            for column in 0..grid.columns {
                let beyond = (column + 1) * grid.rows > (row + 1 + grid.rows / 3) * grid.columns;
                if if triangle { beyond } else { random.unit() < 0.25 } {
                    grid.cells[row * grid.columns + column] = None;
                }
            }
        }
        if grid.cells.iter().all(Option::is_none) {
            grid.cells[0] = Some(0.0);
        }
    }
}

struct Shape {
    base: f64,
    effect: f64,
}

impl Shape {
    fn grids(
        &self,
        random: &mut Random,
        kind: Kind,
        tests: usize,
        rows: usize,
        columns: usize,
    ) -> Vec<TrueGrid> {
        let plan = Plan::draw(random, kind, tests, rows, columns);
        let grid = |test: usize| {
            let cell = |index: usize| Some(self.value(kind, &plan, test, index / columns, index % columns));
            TrueGrid { rows, columns, axes: 0, cells: (0..rows * columns).map(cell).collect() }
        };
        (0..tests).map(grid).collect()
    }

    fn value(&self, kind: Kind, plan: &Plan, test: usize, row: usize, column: usize) -> f64 {
        let along = |at: usize, len: usize| 2.0 * at as f64 / (len - 1) as f64 - 1.0;
        let down = along(row, plan.rows);
        let right = along(column, plan.columns);
        let sign = |yes: bool| if yes { 1.0 } else { -1.0 };
        let step = if plan.by_row { row < plan.row } else { column < plan.column };
        match kind {
            Kind::Flat => plan.flip * self.effect,
            Kind::Gradient if plan.by_row => self.effect * f64::midpoint(down, 1.0),
            Kind::Gradient => self.effect * (down + right + 2.0) / 4.0,
            Kind::ReversalByAxis if plan.smooth => self.effect * if plan.by_row { down } else { right },
            Kind::ReversalByAxis => self.effect * sign(step),
            Kind::ReversalByProduct if plan.smooth => self.effect * down * right,
            Kind::ReversalByProduct => self.effect * sign(row < plan.row) * sign(column < plan.column),
            Kind::Line | Kind::Cell => {
                let there = if plan.by_row { row == plan.row - 1 } else { column == plan.column - 1 };
                let here = row == plan.row - 1 && column == plan.column - 1 && test == plan.test;
                match kind {
                    Kind::Line if there => -self.effect.abs() * sign(self.base >= 0.0),
                    Kind::Cell if here => self.effect,
                    _ => self.base,
                }
            }
            Kind::ReversalByTest => self.effect * sign(test != plan.test),
            Kind::LShaped => self.effect * sign(row >= plan.row || column >= plan.column),
            Kind::Checkerboard => self.effect * sign((row + column).is_multiple_of(2)),
            Kind::TwoParts => {
                let above = row < plan.row && column < plan.column;
                let below = row > plan.row && column > plan.column;
                if above || below { self.effect } else { 0.0 }
            }
            Kind::FourLevels => {
                let level = f64::from(u8::from(row < plan.row)) + f64::from(u8::from(column < plan.column));
                // -effect, within the tolerance, and +effect.
                self.effect * (level - 1.0) + 0.005
            }
            Kind::DifferentAxes => unreachable!("drawn test by test"),
        }
    }
}

/// Where a map changes.
struct Plan {
    rows: usize,
    columns: usize,
    /// 1 to rows - 1, or to rows for a line or cell.
    row: usize,
    column: usize,
    test: usize,
    by_row: bool,
    smooth: bool,
    flip: f64,
}

impl Plan {
    fn draw(random: &mut Random, kind: Kind, tests: usize, rows: usize, columns: usize) -> Self {
        let last = usize::from(matches!(kind, Kind::Line | Kind::Cell));
        Self {
            rows,
            columns,
            row: 1 + random.below((rows - 1 + last) as u64) as usize,
            column: 1 + random.below((columns - 1 + last) as u64) as usize,
            test: random.below(tests as u64) as usize,
            by_row: random.unit() < 0.5,
            smooth: random.unit() < 0.5,
            flip: f64::from(u8::from(random.unit() < 0.5)),
        }
    }
}
