//! What metadata tests show of directories: where a rate falls with the number of entries, what a shared directory costs
//! compared with own ones, and what a missing name costs compared with an existing one.

use std::collections::HashMap;

use sharebench_model::{Coordinates, MetadataTest, Value, axis};
use sharebench_stats::{DirectoryRate, directory_break};

use crate::estimate::Estimated;
use crate::types::{DirectoryFact, DirectoryFinding, Outcome, RateRatio, Row, Section};

/// Rates whose ratio is within this share of 1 are the same for a reader.
const ALIKE: f64 = 0.05;

/// All findings, by section, then system.
pub(crate) fn directories(estimated: &Estimated, systems: usize) -> Vec<DirectoryFinding> {
    let mut found = Vec::new();
    let outcomes = by_coordinates(&estimated.sections);
    for (index, section) in estimated.sections.iter().enumerate() {
        if !section.rows.iter().any(|row| row.coordinates.get(axis::ENTRIES).is_some()) {
            continue;
        }
        for system in 0..systems {
            let falls = directory_break(&rates(section, system)).map(DirectoryFact::Falls);
            let own = |at: &Coordinates| {
                (at.text(axis::LAYOUT) == Some("shared")).then(|| at.without(&[axis::LAYOUT]))
            };
            let shared = ratio(section, system, &outcomes, own).map(DirectoryFact::Shared);
            let hit = |at: &Coordinates| {
                let is_miss = MetadataTest::from_coordinates(at) == Some(MetadataTest::StatMiss);
                is_miss.then(|| at.clone().with(axis::TEST, Value::text(MetadataTest::Stat.name())))
            };
            let missing = ratio(section, system, &outcomes, hit).map(DirectoryFact::Missing);
            let facts = [falls, shared, missing].into_iter().flatten();
            found.extend(facts.map(|fact| DirectoryFinding { section: index, system, fact }));
        }
    }
    found
}

fn by_coordinates(sections: &[Section]) -> HashMap<&Coordinates, &Row> {
    sections.iter().flat_map(|section| &section.rows).map(|row| (&row.coordinates, row)).collect()
}

/// The curve of a system over the entries of a section. The other axes of a section of metadata tests do not vary.
fn rates(section: &Section, system: usize) -> Vec<DirectoryRate> {
    let rate = |row: &Row| {
        let outcome = row.outcomes[system].as_ref()?;
        let (low, high) = interval(outcome)?;
        let entries = row.coordinates.number(axis::ENTRIES)?;
        Some(DirectoryRate { entries, rate: outcome.rate.value, low, high })
    };
    let has_one_curve = section.axes.len() == 1 && section.axes[0] == axis::ENTRIES;
    if has_one_curve { section.rows.iter().filter_map(rate).collect() } else { Vec::new() }
}

fn interval(outcome: &Outcome) -> Option<(f64, f64)> {
    outcome.rate.interval.map(|interval| (interval.low, interval.high))
}

/// The rates of a section over those at the positions that `other` names, at the position where they differ most.
fn ratio(
    section: &Section,
    system: usize,
    outcomes: &HashMap<&Coordinates, &Row>,
    other: impl Fn(&Coordinates) -> Option<Coordinates>,
) -> Option<RateRatio> {
    let compared = section.rows.iter().filter_map(|row| {
        let own = row.outcomes[system].as_ref()?;
        let other = outcomes.get(&other(&row.coordinates)?)?.outcomes[system].as_ref()?;
        let (low, high) = interval(own)?;
        let (other_low, other_high) = interval(other)?;
        let ratio = own.rate.value / other.rate.value;
        let differs = (high < other_low || low > other_high) && (ratio - 1.0).abs() > ALIKE;
        let entries = row.coordinates.number(axis::ENTRIES)?;
        Some(RateRatio { entries, rate: own.rate.value, other: other.rate.value, differs })
    });
    let distance = |ratio: &RateRatio| (ratio.rate / ratio.other).ln().abs();
    compared.max_by(|one, another| {
        (one.differs, distance(one))
            .partial_cmp(&(another.differs, distance(another)))
            .unwrap_or(std::cmp::Ordering::Equal)
    })
}
