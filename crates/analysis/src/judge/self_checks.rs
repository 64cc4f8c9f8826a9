//! The self-checks of all steps, counted.

use std::collections::BTreeMap;

use sharebench_model::{Check, Coordinates, StepResult, Verdict};

use crate::types::{CheckSummary, LeftOut, ThinnedCell};

/// Every check that any step made, in the order in which steps make them.
pub(crate) fn summaries<'a>(steps: impl Iterator<Item = &'a StepResult>) -> Vec<CheckSummary> {
    let mut summaries: Vec<(CheckSummary, Verdict)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for check in steps.flat_map(|step| &step.checks) {
        let place = *places.entry(&check.name).or_insert_with(|| {
            let name = check.name.clone();
            let example = check.detail.clone();
            let none = CheckSummary { name, valid: 0, warnings: 0, invalid: 0, not_known: 0, example };
            summaries.push((none, check.verdict));
            summaries.len() - 1
        });
        let (summary, worst) = &mut summaries[place];
        count(summary, check);
        if check.verdict > *worst {
            (*worst, summary.example) = (check.verdict, check.detail.clone());
        }
    }
    summaries.into_iter().map(|(summary, _)| summary).collect()
}

fn count(summary: &mut CheckSummary, check: &Check) {
    *match check.verdict {
        Verdict::NotKnown => &mut summary.not_known,
        Verdict::Valid => &mut summary.valid,
        Verdict::Warning => &mut summary.warnings,
        Verdict::Invalid => &mut summary.invalid,
    } += 1;
}

/// The cells of a comparison that lost steps; `compared` is true for those that are still compared.
pub(crate) fn thinned(
    systems: [usize; 2],
    left_out: &[LeftOut],
    compared: impl Fn(&Coordinates) -> bool,
) -> Vec<ThinnedCell> {
    let mut cells: BTreeMap<&Coordinates, usize> = BTreeMap::new();
    for step in left_out.iter().filter(|step| systems.contains(&step.system)) {
        *cells.entry(&step.coordinates).or_default() += 1;
    }
    let cell = |(coordinates, steps): (&Coordinates, usize)| ThinnedCell {
        coordinates: coordinates.clone(),
        steps,
        whole: !compared(coordinates),
    };
    cells.into_iter().map(cell).collect()
}
