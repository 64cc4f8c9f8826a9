//! Repetition until a requested precision: the rule, its progress, and what was reached.

use serde::{Deserialize, Serialize};

use crate::Coordinates;

/// The rule that decides how many times a run repeats its cells, where the number is not fixed in advance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RepeatRule {
    /// Minimum number of steps; [`crate::RunHeader::steps_planned`] is the maximum.
    pub steps_least: u32,
    /// Half-width of a cell's interval at which its repetition stops, as a share; none if only the time budget ends it.
    pub half_width: Option<f64>,
    /// Minimum and maximum repetitions of a cell.
    pub repetitions: (u32, u32),
    /// Time budget for all cells, in nanoseconds.
    pub budget_ns: Option<u64>,
}

/// A round over cells is about to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// From 0.
    pub number: u32,
    /// Steps of the rounds before.
    pub steps_before: u32,
    /// Cells that take part.
    pub cells: u32,
    /// Cells of the plan.
    pub of: u32,
    /// Steps that will probably still be measured in this and later rounds, judged by the widths so far.
    pub expected_steps: u32,
    /// Time budget that is left for all cells, in nanoseconds.
    pub budget_left_ns: Option<u64>,
}

/// The final state of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The interval is as narrow as requested.
    Precise,
    /// The interval is wider than requested, and no repetitions or time were left.
    Wide,
    /// Too few of its repetitions were usable for an interval.
    Unusable,
}

/// The precision of one cell: its repetitions and the width of its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct CellPrecision {
    /// Which cell.
    pub coordinates: Coordinates,
    /// Usable repetitions, the fewest of any target.
    pub repetitions: u32,
    /// Half-width of the 95 % interval, in natural logarithm (near a share while small); of the ratio of
    /// targets, the widest, or of the only target's rate.
    pub half_width: Option<f64>,
    /// The state that follows from it.
    pub standing: Standing,
}

/// The precision of all cells after the last round.
#[derive(Debug, Clone, PartialEq)]
pub struct PrecisionReport {
    /// Requested half-width, as a share; none if only the time budget ends the repetition.
    pub asked: Option<f64>,
    /// Every cell, in the plan's order.
    pub cells: Vec<CellPrecision>,
}

impl PrecisionReport {
    /// Number of cells in this state.
    pub fn count(&self, standing: Standing) -> usize {
        self.cells.iter().filter(|cell| cell.standing == standing).count()
    }
}
