//! A run as CSV and as JSON.

mod csv;
mod json;

pub use csv::{Entry, Table, table, write_csv};
pub use json::{SCHEMA, write_json};
