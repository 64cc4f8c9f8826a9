//! What the charts of the page draw: the analysis reduced to short names and four digits.

use serde::Serialize;
use sharebench_analysis::{
    Analysis, Comparison, DifferingRegion, Grade, RateUnit, RatioVerdict, Section, StressPoint,
    SystemTimeline, View,
};
use sharebench_model::Value;

use crate::chart_rows::{Notes, RowData, row};

#[derive(Serialize)]
struct Data<'a> {
    systems: Vec<&'a str>,
    comparisons: Vec<Pair<'a>>,
    sections: Vec<SectionData<'a>>,
    timelines: Vec<TimelineData<'a>>,
    /// What self-checks said, each text once.
    notes: Vec<&'a str>,
    /// Memory of the measuring machine in bytes, where the run tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
}

#[derive(Serialize)]
struct Pair<'a> {
    name: &'a str,
    a: usize,
    b: usize,
}

/// System, rate per unhindered user, forecast: users, rate, low, high.
type LineData = (usize, Option<f64>, Option<[Option<f64>; 4]>);

#[derive(Serialize)]
struct SectionData<'a> {
    title: &'a str,
    view: View,
    unit: RateUnit,
    axes: &'a [String],
    stress: &'a [StressPoint],
    knees: Vec<(usize, f64)>,
    lines: Vec<LineData>,
    /// Quantile (none for the mean) and nanoseconds.
    limits: Vec<(Option<f64>, f64)>,
    regions: Vec<RegionData<'a>>,
    rows: Vec<RowData<'a>>,
}

/// A region with its number; the sentence has the id that [`region_id`] gives.
#[derive(Serialize)]
struct RegionData<'a> {
    comparison: usize,
    number: usize,
    standing: RatioVerdict,
    ratio: [Option<f64>; 3],
    rows: &'a [usize],
}

#[derive(Serialize)]
struct TimelineData<'a> {
    system: usize,
    from: u64,
    /// Per stretch: begin and end in milliseconds since `from`, steps, lowest, middle and highest relative rate,
    /// errors, steps with a warning, invalid steps, failed checks, where.
    stretches: Vec<StretchData<'a>>,
}

type StretchData<'a> = (u64, u64, usize, Option<[f64; 3]>, u64, usize, usize, &'a [String], Option<String>);

/// Number of a region as the reader sees it: from 1, within its comparison.
pub fn region_number(region: usize) -> usize {
    region + 1
}

/// Id of the sentence that speaks of a region.
pub fn region_id(comparison: usize, region: usize) -> String {
    format!("region-{comparison}-{}", region_number(region))
}

/// JSON for the page's charts; `{}` if that fails, which it cannot.
pub fn chart_data(analysis: &Analysis) -> String {
    let mut notes = Notes::default();
    let sections =
        analysis.sections.iter().enumerate().map(|(index, s)| section(analysis, index, s, &mut notes));
    let sections: Vec<SectionData<'_>> = sections.collect();
    let data = Data {
        systems: analysis.systems.iter().map(|system| system.name.as_str()).collect(),
        comparisons: analysis.comparisons.iter().map(|c| Pair { name: &c.name, a: c.a, b: c.b }).collect(),
        sections,
        timelines: analysis.timelines.iter().map(timeline).collect(),
        notes: notes.into_texts(),
        memory: memory(analysis),
    };
    serde_json::to_string(&data).unwrap_or_else(|_| "{}".to_owned())
}

fn section<'a>(
    analysis: &'a Analysis,
    index: usize,
    section: &'a Section,
    notes: &mut Notes<'a>,
) -> SectionData<'a> {
    let Section { title, view, unit, axes, stress, .. } = section;
    let knees = section.capacity.iter().filter_map(|report| Some((report.system, report.knee?)));
    let lines = section.lines.iter().map(|line| {
        let forecast = line.forecast.map(|(users, rate)| {
            let [value, low, high] = digits_of(&rate);
            [Some(users), value, low, high]
        });
        (line.system, line.unhindered_per_user.map(four_digits), forecast)
    });
    let regions =
        analysis.comparisons.iter().enumerate().flat_map(|(at, comparison)| {
            regions(at, comparison).filter(|(region, _)| region.section == index)
        });
    SectionData {
        title,
        view: *view,
        unit: *unit,
        axes,
        stress,
        knees: knees.collect(),
        lines: lines.collect(),
        limits: section.limits.iter().map(|limit| (limit.quantile, limit.ns)).collect(),
        regions: regions.map(|(_, data)| data).collect(),
        rows: section.rows.iter().map(|at| row(at, notes)).collect(),
    }
}

fn regions(at: usize, comparison: &Comparison) -> impl Iterator<Item = (&DifferingRegion, RegionData<'_>)> {
    comparison.differences.regions.iter().enumerate().map(move |(index, region)| {
        let data = RegionData {
            comparison: at,
            number: region_number(index),
            standing: region.verdict,
            ratio: digits_of(&region.typical),
            rows: &region.rows,
        };
        (region, data)
    })
}

fn timeline(timeline: &SystemTimeline) -> TimelineData<'_> {
    let from = timeline.segments.first().map_or(0, |stretch| stretch.from_unix_ms);
    let stretches = timeline.segments.iter().map(|stretch| {
        let relative = stretch.relative.map(|(low, middle, high)| [low, middle, high].map(four_digits));
        let (begin, end) = (stretch.from_unix_ms - from, stretch.to_unix_ms.saturating_sub(from));
        let at = stretch.coordinates.as_ref().map(ToString::to_string);
        let complaints = stretch.failed_checks.as_slice();
        let counts = (stretch.errors, stretch.warnings, stretch.invalid);
        (begin, end, stretch.steps, relative, counts.0, counts.1, counts.2, complaints, at)
    });
    TimelineData { system: timeline.system, from, stretches: stretches.collect() }
}

/// The smallest memory among the machines that measured: `16384256 kB` as bytes.
fn memory(analysis: &Analysis) -> Option<u64> {
    let told = analysis.methods.iter().filter_map(|method| method.environment.get("memory"));
    let bytes = told.filter_map(|text| text.strip_suffix("kB")?.trim().parse::<u64>().ok());
    bytes.map(|kib| kib * 1024).min()
}

/// An estimate and its interval in four digits.
pub fn digits_of(estimate: &sharebench_analysis::Estimate) -> [Option<f64>; 3] {
    let bound = |of: fn(&sharebench_analysis::Interval) -> f64| estimate.interval.as_ref().map(of);
    [Some(estimate.value), bound(|i| i.low), bound(|i| i.high)].map(|value| value.map(four_digits))
}

/// The letter of a grade.
pub fn grade(grade: Grade) -> &'static str {
    match grade {
        Grade::A => "A",
        Grade::B => "B",
        Grade::C => "C",
    }
}

/// A size or count as a number; nothing for names.
pub fn number(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::Bytes(number) | Value::Count(number) => Some(*number),
        Value::Text(_) => None,
    }
}

/// Four significant digits, which is more than any interval here deserves.
pub fn four_digits(value: f64) -> f64 {
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
