//! Which steps can be used, and their rates.

use sharebench_model::{Measure, StepResult, Verdict};

use crate::types::RateUnit;

/// What rates and ratios of a step are made of; none when there is nothing to divide.
pub(crate) fn rate(measure: &Measure, unit: RateUnit) -> Option<f64> {
    let rate = match unit {
        RateUnit::BytesPerSecond => measure.throughput(),
        RateUnit::OperationsPerSecond => measure.operation_rate(),
    };
    rate.filter(|rate| rate.is_finite() && *rate > 0.0)
}

/// True when the step may be compared: not invalid, and with a rate.
pub(crate) fn usable(step: &StepResult, unit: RateUnit) -> bool {
    step.verdict() != Verdict::Invalid && rate(&step.measure, unit).is_some()
}

/// True when the step has a rate of any kind.
pub(crate) fn has_rate(step: &StepResult) -> bool {
    [crate::types::RateUnit::BytesPerSecond, crate::types::RateUnit::OperationsPerSecond]
        .into_iter()
        .any(|unit| rate(&step.measure, unit).is_some())
}
