//! Where the read rates of a system fall because a server's cache no longer holds the file, from cells pooled by size.

use std::collections::BTreeMap;

use sharebench_model::{StepResult, Value, axis};
use sharebench_stats::{SizeCurve, SizedRate};

use crate::align::Aligned;
use crate::align::rates::{rate, usable};
use crate::estimate::Estimated;
use crate::types::{Access, CacheCurve, Outcome, RateUnit, Section, View};

/// The curves of all reads that no client's cache serves, if they have a cliff or a size with two states.
pub(crate) fn cache_curves(aligned: &Aligned<'_>, estimated: &Estimated) -> Vec<CacheCurve> {
    let mut found = Vec::new();
    // System by system, so that one schedule is in memory at a time.
    for system in 0..aligned.systems.len() {
        let schedule = schedule(aligned, system);
        for (index, section) in estimated.sections.iter().enumerate() {
            let along = section.axes.iter().position(|axis| axis == axis::FILE_SIZE);
            let reads = section.title.contains("read") && section.unit == RateUnit::BytesPerSecond;
            let Some(along) = along.filter(|_| reads && section.view == View::Sweep) else { continue };
            if !is_uncached_by_client(aligned, section, system) {
                continue;
            }
            let curve = SizeCurve::new(&sized_rates(aligned, section, along, system, &schedule));
            let cliff = curve.cliff();
            let states = curve.two_states();
            if cliff.is_some() || !states.is_empty() {
                found.push(CacheCurve { section: index, system, cliff, states });
            }
        }
    }
    found.sort_by_key(|curve| (curve.section, curve.system));
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

/// The steps of a system in the order of the schedule, each with its index there.
type Schedule<'a> = Vec<(u32, &'a StepResult)>;

fn schedule<'a>(aligned: &Aligned<'a>, system: usize) -> Schedule<'a> {
    let described = &aligned.systems[system];
    let steps = aligned.runs[described.run].steps.iter();
    let own = steps.filter(|step| described.owns(described.run, step));
    let mut schedule: Schedule<'a> = own.map(|step| (step.index, step)).collect();
    schedule.sort_unstable_by_key(|(index, _)| *index);
    schedule
}

/// The file size of the step before, on the same system; none of the first step.
fn size_before(schedule: &Schedule<'_>, step: &StepResult) -> Option<u64> {
    let at = schedule.partition_point(|(index, _)| *index < step.index);
    let (_, before) = schedule.get(at.checked_sub(1)?)?;
    before.coordinates.number(axis::FILE_SIZE)
}

/// Each repetition of each cell of a section, with the size of the file that the step before used.
fn sized_rates(
    aligned: &Aligned<'_>,
    section: &Section,
    along: usize,
    system: usize,
    schedule: &Schedule<'_>,
) -> Vec<SizedRate> {
    let rows = section.rows.iter();
    let mut steps: Vec<(&StepResult, &[Option<Value>])> = rows
        .flat_map(|row| {
            let steps = aligned.steps.at_system(&row.coordinates, system).iter();
            steps.map(|step| (*step, row.position.as_slice()))
        })
        .collect();
    steps.sort_unstable_by_key(|(step, _)| step.index);
    let mut lines: BTreeMap<Vec<Option<&Value>>, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (step, position) in steps.into_iter().filter(|(step, _)| usable(step, section.unit)) {
        let size = step.coordinates.number(axis::FILE_SIZE);
        let (Some(size), Some(rate)) = (size, rate(&step.measure, section.unit)) else { continue };
        let others = position.iter().enumerate().filter(|(axis, _)| *axis != along);
        let others: Vec<Option<&Value>> = others.map(|(_, value)| value.as_ref()).collect();
        let next = lines.len();
        let line = *lines.entry(others).or_insert(next);
        let previous = size_before(schedule, step);
        found.push(SizedRate { size, line, previous, log_rate: rate.ln() });
    }
    found
}
