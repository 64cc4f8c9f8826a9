//! Where the read rates of a system fall because a server's cache no longer holds the file, from cells pooled by size.

use std::collections::BTreeMap;

use sharebench_model::{Coordinates, StepResult, Value, axis};
use sharebench_stats::{SizeCurve, SizedRate};

use crate::align::Aligned;
use crate::align::rates::{rate, usable};
use crate::estimate::Estimated;
use crate::types::{Access, CacheCurve, Outcome, RateUnit, Section, View};

/// The curves of all reads that no client's cache serves, if they have a cliff or a size with two states.
pub(crate) fn cache_curves(aligned: &Aligned<'_>, estimated: &Estimated) -> Vec<CacheCurve> {
    let mut found = Vec::new();
    for (index, section) in estimated.sections.iter().enumerate() {
        let along = section.axes.iter().position(|axis| axis == axis::FILE_SIZE);
        let reads = section.title.contains("read") && section.unit == RateUnit::BytesPerSecond;
        let Some(along) = along.filter(|_| reads && section.view == View::Sweep) else { continue };
        for system in 0..aligned.systems.len() {
            if !is_uncached_by_client(aligned, section, system) {
                continue;
            }
            let curve = SizeCurve::new(&sized_rates(aligned, section, along, system));
            let cliff = curve.cliff();
            let states = curve.two_states();
            if cliff.is_some() || !states.is_empty() {
                found.push(CacheCurve { section: index, system, cliff, states });
            }
        }
    }
    found
}

/// True if every byte is known to have come from the server.
fn is_uncached_by_client(aligned: &Aligned<'_>, section: &Section, system: usize) -> bool {
    let mut outcomes = section.rows.iter().filter_map(|row| row.outcomes[system].as_ref());
    outcomes.all(|outcome| crossed_the_wire(aligned, system, outcome))
}

/// True if the bytes of a cell are known to have crossed the wire.
pub(crate) fn crossed_the_wire(aligned: &Aligned<'_>, system: usize, outcome: &Outcome) -> bool {
    let described = &aligned.systems[system];
    let imported = aligned.runs[described.run].header.is_imported();
    let counted = outcome.wire.is_some() || described.access == Access::Direct;
    !imported && counted && !outcome.is_client_cached()
}

/// Each repetition of each cell of a section, with the size of the file that the step before used.
fn sized_rates(aligned: &Aligned<'_>, section: &Section, along: usize, system: usize) -> Vec<SizedRate> {
    let described = &aligned.systems[system];
    let mut steps: Vec<&StepResult> =
        aligned.runs[described.run].steps.iter().filter(|step| described.owns(described.run, step)).collect();
    steps.sort_by_key(|step| step.index);
    let rows: BTreeMap<&Coordinates, &[Option<Value>]> =
        section.rows.iter().map(|row| (&row.coordinates, row.position.as_slice())).collect();
    let mut lines: Vec<Vec<Option<Value>>> = Vec::new();
    let mut previous = None;
    let mut found = Vec::new();
    for step in steps {
        let size = step.coordinates.number(axis::FILE_SIZE);
        let before = std::mem::replace(&mut previous, size);
        let Some(position) = rows.get(&step.coordinates).filter(|_| usable(step, section.unit)) else {
            continue;
        };
        let (Some(size), Some(rate)) = (size, rate(&step.measure, section.unit)) else { continue };
        let mut others = position.to_vec();
        others.remove(along);
        let known = lines.iter().position(|line| *line == others);
        let line = known.unwrap_or(lines.len());
        if known.is_none() {
            lines.push(others);
        }
        found.push(SizedRate { size, line, previous: before, log_rate: rate.ln() });
    }
    found
}
