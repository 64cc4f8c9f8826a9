//! Positions that not every system has, grouped, each with its reason.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_model::{Coordinates, Value};

use crate::align::Aligned;
use crate::estimate::Estimated;
use crate::types::{Section, Unmatched};

/// Sizes this close are probably meant to be the same: 1 MB against 1 MiB is 4.9 %.
const NEARLY: f64 = 0.05;

/// Groups the positions without counterpart.
pub(crate) fn unmatched(aligned: &Aligned<'_>, estimated: &Estimated) -> Vec<Unmatched> {
    let mut found = Vec::new();
    for (index, section) in estimated.sections.iter().enumerate() {
        let mut groups: BTreeMap<Vec<usize>, Vec<&Coordinates>> = BTreeMap::new();
        for row in &section.rows {
            let missing: Vec<usize> = row
                .outcomes
                .iter()
                .enumerate()
                .filter(|(_, o)| o.is_none())
                .map(|(system, _)| system)
                .collect();
            if !missing.is_empty() {
                groups.entry(missing).or_default().push(&row.coordinates);
            }
        }
        for (missing, positions) in groups {
            found.push(Unmatched {
                section: index,
                positions: positions.len(),
                of: section.rows.len(),
                example: positions[0].clone(),
                why: why(aligned, estimated, section, &missing, &positions),
                missing,
            });
        }
    }
    found
}

fn why(
    aligned: &Aligned<'_>,
    estimated: &Estimated,
    section: &Section,
    missing: &[usize],
    positions: &[&Coordinates],
) -> String {
    let here: BTreeSet<&Coordinates> = positions.iter().copied().collect();
    let left_out = aligned
        .left_out
        .iter()
        .find(|step| missing.contains(&step.system) && here.contains(&step.coordinates));
    if let Some(step) = left_out {
        return format!("measured, but left out: {}", step.reason);
    }
    let has = |system: usize| section.rows.iter().any(|row| row.outcomes[system].is_some());
    if let Some(near) = missing.iter().find_map(|system| nearly(section, *system, positions)) {
        return near;
    }
    if missing.iter().any(|system| !has(*system)) {
        // Another test of the same name may differ in an axis that one side does not state.
        let alike = estimated.sections.iter().find_map(|other| other_axes(section, other, missing));
        return alike.unwrap_or_else(|| "this test was not measured there".to_owned());
    }
    "these positions were not measured there".to_owned()
}

/// A size of the system's that is nearly one of these.
fn nearly(section: &Section, system: usize, positions: &[&Coordinates]) -> Option<String> {
    let theirs: BTreeSet<(&str, u64)> = section
        .rows
        .iter()
        .filter(|row| row.outcomes[system].is_some())
        .flat_map(|row| sizes(&row.coordinates))
        .collect();
    positions.iter().flat_map(|at| sizes(at)).find_map(|(axis, size)| {
        let close = |n: u64| n != size && (n as f64 / size as f64 - 1.0).abs() <= NEARLY;
        let (_, near) = theirs.iter().find(|(other, n)| *other == axis && close(*n))?;
        let size = Value::Bytes(size);
        Some(format!(
            "{} {size} here and {} there are nearly the same size: import with the right unit (MB or MiB)",
            axis.replace('_', " "),
            Value::Bytes(*near)
        ))
    })
}

fn sizes(at: &Coordinates) -> impl Iterator<Item = (&str, u64)> {
    at.iter().filter_map(|(axis, value)| match value {
        Value::Bytes(bytes) => Some((axis, *bytes)),
        _ => None,
    })
}

/// Axes that distinguish a section from another one that the missing systems have.
fn other_axes(section: &Section, other: &Section, missing: &[usize]) -> Option<String> {
    let one = &section.rows.first()?.coordinates;
    let two = &other.rows.first()?.coordinates;
    let same_test = ["test", "workload"].iter().all(|axis| one.get(axis) == two.get(axis));
    let theirs = other.rows.iter().any(|row| missing.iter().all(|system| row.outcomes[*system].is_some()));
    if !same_test || !theirs || section.title == other.title {
        return None;
    }
    let axes: BTreeSet<&str> = one.iter().chain(two.iter()).map(|(axis, _)| axis).collect();
    let free = |axis: &&str| !section.axes.iter().any(|a| a == axis) && one.get(axis) != two.get(axis);
    let stated = |value: Option<&Value>| value.map_or_else(|| "not stated".to_owned(), ToString::to_string);
    let differing = axes.into_iter().filter(free);
    let words: Vec<String> = differing
        .map(|axis| {
            format!(
                "{} {} here, {} there",
                axis.replace('_', " "),
                stated(one.get(axis)),
                stated(two.get(axis))
            )
        })
        .collect();
    (!words.is_empty())
        .then(|| format!("the same test was measured with other parameters there: {}", words.join("; ")))
}
