//! The data that the page's charts draw.

mod data;
mod digits;
mod rows;

pub use data::{ChartData, part_id, part_number};
