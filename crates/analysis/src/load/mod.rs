//! Loads: outcomes of a step, stress points, forecasts, lines to draw, what the number of transactions supports, and
//! verdicts on response times, users at the objective and capacity.

pub(crate) mod capacity;
#[cfg(test)]
mod coverage;
pub(crate) mod figures;
pub(crate) mod levels;
pub(crate) mod lines;
mod log_ratio;
pub(crate) mod outcome;
mod series;
pub(crate) mod stress;
pub(crate) mod support;
pub(crate) mod unit;
