//! What the charts of the page draw: the analysis reduced to short names and four digits.

use serde::Serialize;
use sharebench_analysis::{
    Analysis, Curve, Estimate, Outcome, RateUnit, Ratio, Section, Standing, StressPoint, View,
};
use sharebench_model::Verdict;

#[derive(Serialize)]
struct Data<'a> {
    systems: Vec<&'a str>,
    comparisons: Vec<Pair<'a>>,
    sections: Vec<SectionData<'a>>,
}

#[derive(Serialize)]
struct Pair<'a> {
    name: &'a str,
    a: usize,
    b: usize,
}

#[derive(Serialize)]
struct SectionData<'a> {
    title: &'a str,
    view: View,
    unit: RateUnit,
    axes: &'a [String],
    stress: &'a [StressPoint],
    rows: Vec<RowData<'a>>,
}

#[derive(Serialize)]
struct RowData<'a> {
    at: Vec<Option<String>>,
    outcomes: Vec<Option<OutcomeData<'a>>>,
    ratios: Vec<Option<RatioData>>,
}

#[derive(Serialize)]
struct OutcomeData<'a> {
    rate: f64,
    low: Option<f64>,
    high: Option<f64>,
    n: usize,
    mean: f64,
    p50: u64,
    p95: u64,
    p99: u64,
    mps: u32,
    assigned: u32,
    errors: u64,
    cpu_user: f64,
    cpu_kernel: f64,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<&'a Curve>,
}

#[derive(Serialize)]
struct RatioData {
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    standing: Standing,
}

/// JSON for the page's charts; `{}` if that fails, which it cannot.
pub fn chart_data(analysis: &Analysis) -> String {
    let data = Data {
        systems: analysis.systems.iter().map(|system| system.name.as_str()).collect(),
        comparisons: analysis.comparisons.iter().map(|c| Pair { name: &c.name, a: c.a, b: c.b }).collect(),
        sections: analysis.sections.iter().map(section).collect(),
    };
    serde_json::to_string(&data).unwrap_or_else(|_| "{}".to_owned())
}

fn section(section: &Section) -> SectionData<'_> {
    let rows = section.rows.iter().map(|row| RowData {
        at: row.position.iter().map(|value| value.as_ref().map(ToString::to_string)).collect(),
        outcomes: row.outcomes.iter().map(|outcome| outcome.as_ref().map(outcome_data)).collect(),
        ratios: row.ratios.iter().map(|ratio| ratio.as_ref().map(ratio_data)).collect(),
    });
    let rows = rows.collect();
    let Section { title, view, unit, axes, stress, .. } = section;
    SectionData { title, view: *view, unit: *unit, axes, stress, rows }
}

fn bounds(estimate: &Estimate) -> (Option<f64>, Option<f64>) {
    (estimate.interval.map(|i| four_digits(i.low)), estimate.interval.map(|i| four_digits(i.high)))
}

fn outcome_data(outcome: &Outcome) -> OutcomeData<'_> {
    let (low, high) = bounds(&outcome.rate);
    OutcomeData {
        rate: four_digits(outcome.rate.value),
        low,
        high,
        n: outcome.repetitions(),
        mean: four_digits(outcome.response_mean_ns),
        p50: outcome.p50.ns,
        p95: outcome.p95.ns,
        p99: outcome.p99.ns,
        mps: outcome.motors_reported,
        assigned: outcome.motors_assigned,
        errors: outcome.error_count(),
        cpu_user: four_digits(outcome.cpu_user_ns_per_operation),
        cpu_kernel: four_digits(outcome.cpu_kernel_ns_per_operation),
        verdict: outcome.verdict,
        curve: outcome.curve.as_ref(),
    }
}

fn ratio_data(ratio: &Ratio) -> RatioData {
    let (low, high) = bounds(&ratio.typical);
    RatioData { ratio: four_digits(ratio.typical.value), low, high, standing: ratio.standing }
}

/// Four significant digits, which is more than any interval here deserves.
fn four_digits(value: f64) -> f64 {
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
    fn digits_are_significant_ones() {
        assert!((four_digits(123_456.0) - 123_500.0).abs() < 1e-6);
        assert!((four_digits(0.001_234_56) - 0.001_235).abs() < 1e-12);
        assert!(four_digits(f64::NAN).abs() < 1e-12);
    }
}
