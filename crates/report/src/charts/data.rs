//! The analysis as JSON for the charts of the page, reduced to short names and four digits.

use std::cell::RefCell;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use sharebench_analysis::{
    Analysis, CacheCurve, Comparison, DifferingPart, PartEvidence, RateUnit, RatioVerdict, Section,
    StressPoint, SystemTimeline, View,
};
use sharebench_model::{Value, axis};

use super::digits::{digits_of, four_digits};
use super::rows::{Notes, Rows};
use crate::show;

/// What the charts of the page draw, as a value that has a JSON form.
///
/// It makes each section and each row when it is written, because all of them take more memory than the analysis. So
/// `notes`, the remarks of the self-checks with each text once, comes after the rows that refer to it. `verdict` is the
/// comparison of the first verdict, and `memory` that of the measuring machine in bytes; both are missing where there is
/// none.
pub struct ChartData<'a>(pub &'a Analysis);

impl Serialize for ChartData<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let analysis = self.0;
        let systems: Vec<&str> = analysis.systems.iter().map(|system| system.name.as_str()).collect();
        let comparisons: Vec<Pair<'_>> =
            analysis.comparisons.iter().map(|c| Pair { name: &c.name, a: c.a, b: c.b }).collect();
        let timelines: Vec<TimelineData<'_>> = analysis.timelines.iter().map(timeline).collect();
        let notes = RefCell::default();
        let memory = memory(analysis);
        let verdict = analysis.reported.first();
        let fields = 5 + usize::from(memory.is_some()) + usize::from(verdict.is_some());
        let mut data = serializer.serialize_struct("ChartData", fields)?;
        data.serialize_field("systems", &systems)?;
        data.serialize_field("comparisons", &comparisons)?;
        if let Some(verdict) = verdict {
            data.serialize_field("verdict", verdict)?;
        }
        data.serialize_field("sections", &Sections { analysis, notes: &notes })?;
        data.serialize_field("timelines", &timelines)?;
        data.serialize_field("notes", &notes.into_inner().into_texts())?;
        if let Some(memory) = memory {
            data.serialize_field("memory", &memory)?;
        }
        data.end()
    }
}

/// The sections, each made when it is written.
struct Sections<'a, 'n> {
    analysis: &'a Analysis,
    notes: &'n RefCell<Notes<'a>>,
}

impl Serialize for Sections<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sections = self.analysis.sections.iter().enumerate();
        serializer.collect_seq(sections.map(|(index, at)| section(self.analysis, index, at, self.notes)))
    }
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
struct SectionData<'a, 'n> {
    title: &'a str,
    view: View,
    unit: RateUnit,
    axes: &'a [String],
    stress: &'a [StressPoint],
    knees: Vec<(usize, f64)>,
    lines: Vec<LineData>,
    /// Quantile (none for the mean) and nanoseconds.
    limits: Vec<(Option<f64>, f64)>,
    parts: Vec<PartData<'a>>,
    cliffs: Vec<CliffData>,
    rows: Rows<'a, 'n>,
}

/// A part of the map with its number; the sentence has the id that [`part_id`] gives.
#[derive(Serialize)]
struct PartData<'a> {
    comparison: usize,
    number: usize,
    direction: RatioVerdict,
    evidence: PartEvidence,
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

/// Number of a part as the reader sees it: from 1, within its comparison.
pub fn part_number(part: usize) -> usize {
    part + 1
}

/// Id of the sentence about a part.
pub fn part_id(comparison: usize, part: usize) -> String {
    format!("part-{comparison}-{}", part_number(part))
}

fn section<'a, 'n>(
    analysis: &'a Analysis,
    index: usize,
    section: &'a Section,
    notes: &'n RefCell<Notes<'a>>,
) -> SectionData<'a, 'n> {
    let Section { title, view, unit, axes, stress, .. } = section;
    let knees = section.capacity.iter().filter_map(|report| Some((report.system, report.knee?)));
    let lines = section.lines.iter().map(|line| {
        let forecast = line.forecast.map(|(users, rate)| {
            let [value, low, high] = digits_of(&rate);
            [Some(users), value, low, high]
        });
        (line.system, line.unhindered_per_user.map(four_digits), forecast)
    });
    let parts =
        analysis.comparisons.iter().enumerate().flat_map(|(at, comparison)| parts(at, comparison, index));
    SectionData {
        title,
        view: *view,
        unit: *unit,
        axes,
        stress,
        knees: knees.collect(),
        lines: lines.collect(),
        limits: section.limits.iter().map(|limit| (limit.quantile, limit.ns)).collect(),
        parts: parts.collect(),
        cliffs: cliffs(analysis, index),
        rows: Rows { rows: &section.rows, notes },
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

/// The parts of one comparison in one section.
fn parts(at: usize, comparison: &Comparison, section: usize) -> impl Iterator<Item = PartData<'_>> {
    comparison.differences.parts.iter().enumerate().filter_map(move |(index, part)| {
        let test = part.sections.iter().position(|known| *known == section)?;
        Some(part_data(at, index, part, test))
    })
}

fn part_data(comparison: usize, part: usize, found: &DifferingPart, test: usize) -> PartData<'_> {
    PartData {
        comparison,
        number: part_number(part),
        direction: found.direction,
        evidence: found.evidence,
        ratio: digits_of(&found.typical),
        rows: &found.rows[test],
    }
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

/// The smallest memory among the machines that measured.
fn memory(analysis: &Analysis) -> Option<u64> {
    analysis.methods.iter().filter_map(|method| show::memory(&method.environment)).min()
}
