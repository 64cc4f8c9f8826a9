//! Rectangles of one grid, and sums over each of them for eight quantities at a time.
//!
//! The search evaluates every rectangle under hundreds of patterns of signs, which is most of the work of a large
//! comparison. A table of sums over everything above and to the left of a corner makes each evaluation four look-ups,
//! and eight patterns go through the same loop without branches.

use std::collections::HashSet;

use crate::Rectangle;

/// Quantities that are added up together.
pub(super) const QUANTITIES: usize = 8;
/// One number per quantity.
pub(super) type Quantities = [f64; QUANTITIES];
/// Largest number of rectangles of one grid; larger grids use coarser edges, plus all cells and lines.
const MAX_RECTANGLES: usize = 20_000;

/// First and last (excluded) row or column.
type Span = (usize, usize);

/// All rectangles with one of these spans of rows and one of these spans of columns.
struct Spans {
    rows: Vec<Span>,
    columns: Vec<Span>,
}

/// The cells of one test, or the cells of several tests with the same axes on top of each other.
pub(super) struct Sheet {
    /// Its tests.
    pub tests: Vec<usize>,
    pub rows: usize,
    pub columns: usize,
    spans: Vec<Spans>,
}

impl Sheet {
    pub fn new(tests: Vec<usize>, rows: usize, columns: usize) -> Self {
        Self { tests, rows, columns, spans: spans(rows, columns) }
    }

    /// Number of its rectangles.
    pub fn rectangles(&self) -> usize {
        self.spans.iter().map(|spans| spans.rows.len() * spans.columns.len()).sum()
    }

    /// The rectangle at an index below [`Self::rectangles`].
    pub fn place(&self, mut index: usize) -> Rectangle {
        for spans in &self.spans {
            let here = spans.rows.len() * spans.columns.len();
            if index < here {
                return Rectangle {
                    rows: spans.rows[index / spans.columns.len()],
                    columns: spans.columns[index % spans.columns.len()],
                };
            }
            index -= here;
        }
        unreachable!("an index of a rectangle of this sheet")
    }

    /// Sums over everything above and to the left of each corner.
    pub fn table(&self, value: impl Fn(usize) -> Quantities) -> Vec<Quantities> {
        let width = self.columns + 1;
        let mut table = vec![[0.0; QUANTITIES]; (self.rows + 1) * width];
        for row in 0..self.rows {
            let mut left = [0.0; QUANTITIES];
            for column in 0..self.columns {
                let added = value(row * self.columns + column);
                let above = table[row * width + column + 1];
                let sum = &mut table[(row + 1) * width + column + 1];
                for quantity in 0..QUANTITIES {
                    left[quantity] += added[quantity];
                    sum[quantity] = above[quantity] + left[quantity];
                }
            }
        }
        table
    }

    /// Calls `each` with the index of every rectangle and the sums of a table over it.
    pub fn scan(&self, table: &[Quantities], mut each: impl FnMut(usize, &Quantities)) {
        let width = self.columns + 1;
        let mut strip = vec![[0.0; QUANTITIES]; width];
        let mut index = 0;
        for spans in &self.spans {
            for (top, bottom) in &spans.rows {
                let above = &table[top * width..][..width];
                let below = &table[bottom * width..][..width];
                for ((strip, below), above) in strip.iter_mut().zip(below).zip(above) {
                    *strip = difference(below, above);
                }
                for (first, last) in &spans.columns {
                    each(index, &difference(&strip[*last], &strip[*first]));
                    index += 1;
                }
            }
        }
    }

    /// True for each rectangle that is the smallest one around the cells that exist in it, and the first such one.
    pub fn distinct(&self, exists: &[bool]) -> Vec<bool> {
        let all = exists.iter().all(|exists| *exists);
        if all && self.spans.len() == 1 {
            return vec![true; self.rectangles()];
        }
        let counts = self.table(|cell| [f64::from(u8::from(exists[cell])); QUANTITIES]);
        let width = self.columns + 1;
        let occupied = |rows: Span, columns: Span| {
            let at = |row: usize, column: usize| counts[row * width + column][0];
            at(rows.1, columns.1) - at(rows.0, columns.1) - at(rows.1, columns.0) + at(rows.0, columns.0)
                > 0.5
        };
        let mut seen = HashSet::new();
        (0..self.rectangles())
            .map(|index| {
                let Rectangle { rows, columns } = self.place(index);
                occupied((rows.0, rows.0 + 1), columns)
                    && occupied((rows.1 - 1, rows.1), columns)
                    && occupied(rows, (columns.0, columns.0 + 1))
                    && occupied(rows, (columns.1 - 1, columns.1))
                    && seen.insert((rows, columns))
            })
            .collect()
    }
}

#[inline]
fn difference(a: &Quantities, b: &Quantities) -> Quantities {
    let mut difference = *a;
    for quantity in 0..QUANTITIES {
        difference[quantity] -= b[quantity];
    }
    difference
}

/// Every rectangle, or of large grids those with coarse edges, the cells, and whole rows and columns.
fn spans(rows: usize, columns: usize) -> Vec<Spans> {
    let count = |len: usize, step: usize| {
        let edges = len.div_ceil(step) + 1;
        edges * (edges - 1) / 2
    };
    let mut row_step = 1;
    let mut column_step = 1;
    while count(rows, row_step) * count(columns, column_step) > MAX_RECTANGLES {
        // The finer axis gives way first, so that rectangles stay about equally fine in both directions.
        if rows / row_step > columns / column_step {
            row_step += 1;
        } else {
            column_step += 1;
        }
    }
    let mut found = vec![Spans { rows: between(rows, row_step), columns: between(columns, column_step) }];
    if row_step > 1 || column_step > 1 {
        let single = |len: usize| (0..len).map(|at| (at, at + 1)).collect::<Vec<Span>>();
        found.push(Spans { rows: single(rows), columns: single(columns) });
        found.push(Spans { rows: single(rows), columns: vec![(0, columns)] });
        found.push(Spans { rows: vec![(0, rows)], columns: single(columns) });
    }
    found
}

/// All spans between edges that are `step` apart.
fn between(len: usize, step: usize) -> Vec<Span> {
    let edges: Vec<usize> = (0..len).step_by(step).chain([len]).collect();
    let mut spans = Vec::new();
    for (index, first) in edges.iter().enumerate() {
        spans.extend(edges[index + 1..].iter().map(|last| (*first, *last)));
    }
    spans
}
