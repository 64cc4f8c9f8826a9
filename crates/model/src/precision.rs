//! Repetition that stops on precision: what was asked, how it goes on, what was reached.

use serde::{Deserialize, Serialize};

use crate::Coordinates;

/// How a run decides how often its cells are measured, where the number was not fixed in advance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RepeatRule {
    /// Steps that are certain to be measured; [`crate::RunHeader::steps_planned`] is the most.
    pub steps_least: u32,
    /// Half-width of a cell's interval at which it is repeated no more, as a share; none when only time ends it.
    pub half_width: Option<f64>,
    /// Repetitions of a cell before and after which its width does not count.
    pub repetitions: (u32, u32),
    /// Time for all cells, nanoseconds.
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
    /// What is left of the time for all cells, nanoseconds.
    pub budget_left_ns: Option<u64>,
}

/// How a cell stands at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its interval is as narrow as asked.
    Precise,
    /// Its interval is wider than asked, and repetitions or time were used up.
    Wide,
    /// Too few of its repetitions were usable for an interval.
    Unusable,
}

/// How precisely one cell is known.
#[derive(Debug, Clone, PartialEq)]
pub struct CellPrecision {
    /// Which cell.
    pub coordinates: Coordinates,
    /// Usable repetitions, the fewest of any target.
    pub repetitions: u32,
    /// Half-width of the 95 % interval, in natural logarithm (near a share while small); of the ratio of
    /// targets, the widest, or of the only target's rate.
    pub half_width: Option<f64>,
    /// What that means.
    pub standing: Standing,
}

/// How precisely all cells are known after the last round.
#[derive(Debug, Clone, PartialEq)]
pub struct PrecisionReport {
    /// Half-width that was asked for, as a share; none when only time was to end it.
    pub asked: Option<f64>,
    /// Every cell, in the plan's order.
    pub cells: Vec<CellPrecision>,
}

impl PrecisionReport {
    /// How many cells stand so.
    pub fn count(&self, standing: Standing) -> usize {
        self.cells.iter().filter(|cell| cell.standing == standing).count()
    }
}
