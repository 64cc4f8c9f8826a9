//! Columns that hold JSON or a histogram.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sharebench_model::Histogram;

use crate::error::Problem;

pub(crate) fn to_json(column: &'static str, value: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string(value).map_err(|error| Problem::value(column, error))
}

pub(crate) fn from_json<T: DeserializeOwned>(column: &'static str, text: &str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|error| Problem::value(column, error))
}

/// An empty histogram becomes an empty text.
pub(crate) fn encoded(times: &Histogram) -> String {
    if times.is_empty() { String::new() } else { STANDARD.encode(times.to_v2()) }
}

pub(crate) fn decoded(column: &'static str, text: &str) -> Result<Histogram, Problem> {
    if text.is_empty() {
        return Ok(Histogram::new());
    }
    let bytes = STANDARD.decode(text).map_err(|error| Problem::value(column, error))?;
    Histogram::from_v2(&bytes).map_err(|error| Problem::value(column, error))
}
