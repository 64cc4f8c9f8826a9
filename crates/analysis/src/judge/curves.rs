//! The shape of each system's curve along an axis.

use std::collections::BTreeMap;

use sharebench_model::Value;
use sharebench_stats::{Shape, ShapePoint, clock_allowance, shapes};

use crate::align::Aligned;
use crate::types::{Outcome, Section};

/// Fewest positions of a line that has a shape.
const FEWEST: usize = 3;

/// A line of one system: the positions along one axis, the others fixed.
pub(crate) struct Line {
    pub positions: Vec<Option<Value>>,
    pub shapes: Vec<Shape>,
    pub single: bool,
}

/// Outcomes along an axis.
type Points<'a> = Vec<(Option<Value>, &'a Outcome)>;

/// What kind of feature, and the index of the axis position where it begins.
pub(crate) type Kind = (u8, Option<Value>);

pub(crate) fn lines(aligned: &Aligned<'_>, section: &Section, along: usize, system: usize) -> Vec<Line> {
    let clock = aligned.clocks[aligned.systems[system].run].resolution_ns.unwrap_or(0.0);
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

/// Groups lines by a feature; only those that half of the lines show.
pub(crate) fn grouped(
    lines: &[Line],
    kind: impl Fn(&Line, &Shape) -> Option<Kind>,
) -> Vec<(Kind, Vec<(&Line, Shape)>)> {
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
