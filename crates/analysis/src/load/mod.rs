//! Loads: outcomes of a step, stress points, forecasts, lines to draw, and what the number of transactions supports.

pub(crate) mod capacity;
pub(crate) mod lines;
pub(crate) mod outcome;
pub(crate) mod stress;
pub(crate) mod support;
pub(crate) mod unit;
