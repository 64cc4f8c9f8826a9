//! Sentences on curves: falls, levels, saturation.

use std::collections::BTreeMap;

use sharebench_model::axis;
use sharebench_stats::Shape;

use crate::judge::curves::{Kind, Line, grouped, lines};
use crate::text::stages::Stages;
use crate::types::span::position_words;
use crate::types::{DirectoryFact, Section, Sentence, Tone, View};

/// The sentences of one section.
pub(crate) fn sentences(stages: &Stages<'_>, index: usize) -> Vec<Sentence> {
    let section = &stages.estimated.sections[index];
    let mut found = Vec::new();
    for (along, axis) in section.axes.iter().enumerate() {
        // Users and depths have sentences of their own.
        if section.view == View::Load || axis == axis::QUEUE_DEPTH {
            continue;
        }
        let systems: Vec<Vec<Line>> = (0..stages.aligned.systems.len())
            .map(|system| lines(stages.aligned, section, along, system))
            .collect();
        // What has a sentence of its own: one number for one claim.
        let has_own = |system: usize| match axis.as_str() {
            axis::FILE_SIZE => {
                let mut curves = stages.judged.cache_curves.iter();
                curves.any(|curve| (curve.section, curve.system) == (index, system))
            }
            axis::ENTRIES => {
                let mut found = stages.judged.directories.iter().filter(|found| found.system == system);
                found.any(|found| found.section == index && matches!(found.fact, DirectoryFact::Falls(_)))
            }
            _ => false,
        };
        found.extend(
            systems.iter().enumerate().filter(|(system, _)| !has_own(*system)).flat_map(|(system, lines)| {
                falls(section, axis, &stages.aligned.systems[system].name, lines)
            }),
        );
        // Where growth ends matters along records; files have no growth of their own.
        if axis == axis::RECORD_SIZE {
            found.extend(levels(stages, section, axis, &systems));
        }
    }
    found
        .into_iter()
        .map(|text| Sentence::new(Tone::Note, format!("{}: {text}", section.title)).about(index))
        .collect()
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
    let sentence = |(_, group): (Kind, Vec<(&Line, Shape)>)| {
        let (line, shape) = group[group.len() / 2];
        let Shape::Fall { at: first, from, to, until } = shape else { return String::new() };
        let stays = line.shapes.iter().find_map(|shape| match shape {
            Shape::Stays { first, range } if *first >= until => Some(format!(
                ", then stays at {} from {} on",
                section.unit.show_range(range.0, range.1),
                position_words(axis, line.positions[*first].as_ref())
            )),
            _ => None,
        });
        let place = |at: usize| position_words(axis, line.positions[at].as_ref());
        // A line may fall further than others that begin to fall at the same position.
        let end = &line.positions[until];
        let ends_here = |(line, shape): &&(&Line, Shape)| matches!(shape, Shape::Fall { until, .. } if line.positions[*until] == *end);
        let single = if line.single { "; single run" } else { "" };
        format!(
            "{name} falls from {} at {} to {} at {}{}{}{single}.",
            section.unit.show(from),
            place(first - 1),
            section.unit.show(to),
            place(until),
            stays.unwrap_or_default(),
            share(section, axis, group.iter().filter(ends_here).count(), lines.len())
        )
    };
    groups.into_iter().map(sentence).collect()
}

/// Where growth ends, systems that agree in one sentence.
fn levels(stages: &Stages<'_>, section: &Section, axis: &str, systems: &[Vec<Line>]) -> Vec<String> {
    let mut together: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    for (system, lines) in systems.iter().enumerate() {
        let groups = grouped(lines, |line, shape| match shape {
            Shape::Saturates { first, .. } => Some((0, line.positions[*first].clone())),
            Shape::Flat { .. } => Some((1, None)),
            _ => None,
        });
        for (kind, group) in groups {
            if let (_, Shape::Saturates { range, .. } | Shape::Flat { range }) = group[group.len() / 2] {
                let name = &stages.aligned.systems[system].name;
                let at = share(section, axis, group.len(), lines.len());
                together
                    .entry(kind)
                    .or_default()
                    .push(format!("{name} {}{at}", section.unit.show_range(range.0, range.1)));
            }
        }
    }
    let sentence = |((kind, at), names): (Kind, Vec<String>)| match kind {
        0 => format!("no more growth from {} on: {}.", position_words(axis, at.as_ref()), names.join("; ")),
        _ => format!("the {} makes no difference: {}.", axis.replace('_', " "), names.join("; ")),
    };
    together.into_iter().map(sentence).collect()
}
