//! The analysis as JSON for the charts of the page, reduced to short names and four digits.

use serde::Serialize;
use sharebench_analysis::{
    Analysis, CacheCurve, Comparison, DifferingRegion, RateUnit, RatioVerdict, Section, StressPoint,
    SystemTimeline, View,
};
use sharebench_model::{Value, axis};

use super::digits::{digits_of, four_digits};
use super::rows::{Notes, RowData, row};

#[derive(Serialize)]
struct Data<'a> {
    systems: Vec<&'a str>,
    comparisons: Vec<Pair<'a>>,
    sections: Vec<SectionData<'a>>,
    timelines: Vec<TimelineData<'a>>,
    /// Remarks of the self-checks, each text once.
    notes: Vec<&'a str>,
    /// Memory of the measuring machine in bytes, where the run recorded it.
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
    cliffs: Vec<CliffData>,
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

/// Where the reads of a system fall: the sizes of files before and beyond the cliff as the rows have them, and the rates.
#[derive(Serialize)]
struct CliffData {
    system: usize,
    between: [String; 2],
    rates: [f64; 2],
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

/// JSON for the charts of the page.
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
    // Strings, numbers and lists always have a JSON form.
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
        cliffs: cliffs(analysis, index),
        rows: section.rows.iter().map(|at| row(at, notes)).collect(),
    }
}

/// The cliffs of one section, whose first axis is the size of files wherever there is one.
fn cliffs(analysis: &Analysis, section: usize) -> Vec<CliffData> {
    let along = analysis.sections[section].axes.first().map(String::as_str);
    let here = |curve: &&CacheCurve| curve.section == section && along == Some(axis::FILE_SIZE);
    let data = |curve: &CacheCurve| {
        let cliff = curve.cliff?;
        let (before, beyond) = cliff.between;
        let between = [before, beyond].map(|size| Value::Bytes(size).to_string());
        Some(CliffData { system: curve.system, between, rates: [cliff.from, cliff.to].map(four_digits) })
    };
    analysis.cache_curves.iter().filter(here).filter_map(data).collect()
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
        let begin = stretch.from_unix_ms - from;
        let end = stretch.to_unix_ms.saturating_sub(from);
        let at = stretch.coordinates.as_ref().map(ToString::to_string);
        let failed_checks = stretch.failed_checks.as_slice();
        let counts = (stretch.errors, stretch.warnings, stretch.invalid);
        (begin, end, stretch.steps, relative, counts.0, counts.1, counts.2, failed_checks, at)
    });
    TimelineData { system: timeline.system, from, stretches: stretches.collect() }
}

/// The smallest memory among the machines that measured: `16384256 kB` as bytes.
fn memory(analysis: &Analysis) -> Option<u64> {
    let known = analysis.methods.iter().filter_map(|method| method.environment.get("memory"));
    let bytes = known.filter_map(|text| text.strip_suffix("kB")?.trim().parse::<u64>().ok());
    bytes.map(|kib| kib * 1024).min()
}
