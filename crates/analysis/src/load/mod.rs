//! Loads: outcomes of a step, stress points, forecasts, lines to draw.

pub(crate) mod capacity;
pub(crate) mod lines;
pub(crate) mod outcome;
pub(crate) mod stress;
