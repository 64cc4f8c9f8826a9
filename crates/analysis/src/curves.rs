//! What each system's curves look like along an axis, in words: cliffs, levels, saturation.

use std::collections::BTreeMap;

use sharebench_model::units::{show_rate, three_digits};
use sharebench_model::{Value, axis};
use sharebench_stats::{Shape, ShapePoint, clock_allowance, shapes};

use crate::clocks::Clock;
use crate::span::position_words;
use crate::{Analysis, Outcome, RateUnit, Section, Sentence, Tone, View};

/// Fewest positions of a line that has a shape.
const FEWEST: usize = 3;

/// A line of one system: the positions along one axis, the others fixed.
struct Line {
    positions: Vec<Option<Value>>,
    shapes: Vec<Shape>,
    single: bool,
}

/// Outcomes along an axis.
type Points<'a> = Vec<(Option<Value>, &'a Outcome)>;

/// What kind of feature, and the index of the axis position where it begins.
type Kind = (u8, Option<Value>);

/// The sentences of one section.
pub(crate) fn sentences(analysis: &Analysis, index: usize, clocks: &[Clock]) -> Vec<Sentence> {
    let section = &analysis.sections[index];
    let mut found = Vec::new();
    for (along, axis) in section.axes.iter().enumerate() {
        // Users and depths have sentences of their own.
        if section.view == View::Load || axis == axis::QUEUE_DEPTH {
            continue;
        }
        let systems: Vec<Vec<Line>> = (0..analysis.systems.len())
            .map(|system| lines(analysis, section, along, system, clocks))
            .collect();
        found.extend(
            systems
                .iter()
                .enumerate()
                .flat_map(|(system, lines)| falls(section, axis, &analysis.systems[system].name, lines)),
        );
        // Where growth ends matters along records; files have no growth of their own.
        if axis == axis::RECORD_SIZE {
            found.extend(levels(analysis, section, axis, &systems));
        }
    }
    found
        .into_iter()
        .map(|text| Sentence::new(Tone::Note, format!("{}: {text}", section.title)).about(index))
        .collect()
}

fn lines(analysis: &Analysis, section: &Section, along: usize, system: usize, clocks: &[Clock]) -> Vec<Line> {
    let clock = clocks[analysis.systems[system].run].resolution_ns.unwrap_or(0.0);
    let mut lines: BTreeMap<Vec<Option<Value>>, Points<'_>> = BTreeMap::new();
    for row in &section.rows {
        let Some(outcome) = row.outcomes[system].as_ref() else { continue };
        let mut others = row.position.clone();
        let position = others.remove(along);
        lines.entry(others).or_default().push((position, outcome));
    }
    let line = |mut points: Points<'_>| {
        points.sort_by(|a, b| a.0.cmp(&b.0));
        let shape = |(_, outcome): &(Option<Value>, &Outcome)| ShapePoint {
            rate: outcome.rate.value,
            margin: margin(outcome, clock),
        };
        let single = points.iter().any(|(_, outcome)| outcome.rate.interval.is_none());
        let shapes = shapes(&points.iter().map(shape).collect::<Vec<_>>());
        Line { positions: points.into_iter().map(|(position, _)| position).collect(), shapes, single }
    };
    lines.into_values().filter(|points| points.len() >= FEWEST).map(line).collect()
}

/// What ln(rate) may be off by.
fn margin(outcome: &Outcome, clock_ns: f64) -> f64 {
    let spread =
        outcome.rate.interval.map_or(0.0, |i| i.map(|rate| rate.max(f64::MIN_POSITIVE).ln()).half_width());
    spread + clock_allowance(clock_ns, outcome.measured_ns, f64::INFINITY)
}

/// `22.0 to 2.10 MB/s`, in one unit.
fn rates(unit: RateUnit, from: f64, to: f64) -> String {
    if unit == RateUnit::OperationsPerSecond {
        return format!("{} to {} ops/s", three_digits(from), three_digits(to));
    }
    let (one, other) = (show_rate(from), show_rate(to));
    match (one.split_once(' '), other.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {other}"),
        _ => format!("{one} to {other}"),
    }
}

/// Groups lines by a feature; only those that half of the lines show.
fn grouped(lines: &[Line], kind: impl Fn(&Line, &Shape) -> Option<Kind>) -> Vec<(Kind, Vec<(&Line, Shape)>)> {
    let mut groups: BTreeMap<Kind, Vec<(&Line, Shape)>> = BTreeMap::new();
    for line in lines {
        for shape in &line.shapes {
            if let Some(kind) = kind(line, shape) {
                groups.entry(kind).or_default().push((line, *shape));
            }
        }
    }
    groups.into_iter().filter(|(_, group)| group.len() * 2 >= lines.len()).collect()
}

/// `at 2 of 3 file sizes`, nothing where there is only one line.
fn share(section: &Section, axis: &str, some: usize, all: usize) -> String {
    let other = section.axes.iter().find(|other| *other != axis);
    match other {
        Some(other) if all > 1 => format!(" (at {some} of {all} {}s)", other.replace('_', " ")),
        _ => String::new(),
    }
}

fn falls(section: &Section, axis: &str, name: &str, lines: &[Line]) -> Vec<String> {
    let groups = grouped(lines, |line, shape| match shape {
        Shape::Fall { at, .. } => Some((0, line.positions[*at].clone())),
        _ => None,
    });
    let sentence = |((_, at), group): (Kind, Vec<(&Line, Shape)>)| {
        let (line, shape) = group[group.len() / 2];
        let Shape::Fall { from, to, until, .. } = shape else { return String::new() };
        let stays = line.shapes.iter().find_map(|shape| match shape {
            Shape::Stays { first, range } if *first >= until => Some(format!(
                ", then stays at {} from {} on",
                rates(section.unit, range.0, range.1),
                position_words(axis, line.positions[*first].as_ref())
            )),
            _ => None,
        });
        let single = if line.single { "; single run" } else { "" };
        format!(
            "{name} falls from {} at {}{}{}{single}.",
            rates(section.unit, from, to),
            position_words(axis, at.as_ref()),
            stays.unwrap_or_default(),
            share(section, axis, group.len(), lines.len())
        )
    };
    groups.into_iter().map(sentence).collect()
}

/// Where growth ends, systems that agree in one sentence.
fn levels(analysis: &Analysis, section: &Section, axis: &str, systems: &[Vec<Line>]) -> Vec<String> {
    let mut together: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    for (system, lines) in systems.iter().enumerate() {
        let groups = grouped(lines, |line, shape| match shape {
            Shape::Saturates { first, .. } => Some((0, line.positions[*first].clone())),
            Shape::Flat { .. } => Some((1, None)),
            _ => None,
        });
        for (kind, group) in groups {
            if let (_, Shape::Saturates { range, .. } | Shape::Flat { range }) = group[group.len() / 2] {
                let name = &analysis.systems[system].name;
                let at = share(section, axis, group.len(), lines.len());
                together
                    .entry(kind)
                    .or_default()
                    .push(format!("{name} {}{at}", rates(section.unit, range.0, range.1)));
            }
        }
    }
    let sentence = |((kind, at), names): (Kind, Vec<String>)| match kind {
        0 => format!("no more growth from {} on: {}.", position_words(axis, at.as_ref()), names.join("; ")),
        _ => format!("the {} makes no difference: {}.", axis.replace('_', " "), names.join("; ")),
    };
    together.into_iter().map(sentence).collect()
}
