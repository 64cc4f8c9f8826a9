//! Numbers of the charts: four significant digits.

use sharebench_analysis::{Estimate, Grade, Interval};
use sharebench_model::Value;

/// An estimate and its interval in four digits.
pub(super) fn digits_of(estimate: &Estimate) -> [Option<f64>; 3] {
    let bound = |of: fn(&Interval) -> f64| estimate.interval.as_ref().map(of);
    [Some(estimate.value), bound(|i| i.low), bound(|i| i.high)].map(|value| value.map(four_digits))
}

/// The letter of a grade.
pub(super) fn grade(grade: Grade) -> &'static str {
    match grade {
        Grade::A => "A",
        Grade::B => "B",
        Grade::C => "C",
    }
}

/// A size or count as a number; nothing for names.
pub(super) fn number(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::Bytes(number) | Value::Count(number) => Some(*number),
        Value::Text(_) => None,
    }
}

/// Four significant digits, which is more than the width of any interval here justifies.
pub(super) fn four_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powf(3.0 - value.abs().log10().floor());
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::four_digits;

    #[test]
    fn four_digits_are_significant() {
        assert!((four_digits(123_456.0) - 123_500.0).abs() < 1e-6);
        assert!((four_digits(0.001_234_56) - 0.001_235).abs() < 1e-12);
        assert!(four_digits(f64::NAN).abs() < 1e-12);
    }
}
