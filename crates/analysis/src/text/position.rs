//! Positions and rates in words.

use sharebench_model::axis;
use sharebench_model::units::{show_rate, three_digits};

use crate::types::{RateUnit, Section};

pub(crate) fn position(section: &Section, position: &[Option<sharebench_model::Value>]) -> String {
    let named = section.axes.iter().zip(position).filter_map(|(axis, value)| {
        let value = value.as_ref()?;
        Some(match axis.as_str() {
            axis::FILE_SIZE => format!("{value} file"),
            axis::RECORD_SIZE => format!("{value} records"),
            axis::USERS => format!("{value} users"),
            axis::JOBS => format!("{value} jobs"),
            axis::RATE => format!("{value} starts/s"),
            axis::QUEUE_DEPTH => format!("depth {value}"),
            other => format!("{} {value}", other.replace('_', " ")),
        })
    });
    named.collect::<Vec<_>>().join(", ")
}

pub(crate) fn show(unit: RateUnit, rate: f64) -> String {
    match unit {
        RateUnit::BytesPerSecond => show_rate(rate),
        RateUnit::OperationsPerSecond => format!("{} ops/s", three_digits(rate)),
    }
}
