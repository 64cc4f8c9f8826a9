//! Steps and positions that cannot be compared, with the reason.

use sharebench_model::{StepResult, Verdict};

use crate::align::layout::Layout;
use crate::align::rates::usable;
use crate::align::steps::StepTable;
use crate::types::{LeftOut, Unaligned};

/// What takes no part in a comparison.
#[derive(Default)]
pub(crate) struct Unusable {
    /// Invalid steps, and steps without a rate.
    pub left_out: Vec<LeftOut>,
    /// Positions at which a system has no usable step.
    pub unaligned: Vec<Unaligned>,
}

impl Unusable {
    /// Lists the steps that cannot be used and the positions without counterpart.
    pub fn new(layouts: &[Layout], table: &StepTable<'_>) -> Self {
        let mut found = Self::default();
        for layout in layouts {
            for coordinates in &layout.positions {
                let mut missing = Vec::new();
                for (system, steps) in table.at(coordinates).enumerate() {
                    if !steps.iter().any(|step| usable(step, layout.unit)) {
                        missing.push(system);
                    }
                    for step in steps.iter().filter(|step| !usable(step, layout.unit)) {
                        found.left_out.push(LeftOut {
                            system,
                            coordinates: coordinates.clone(),
                            repetition: step.repetition,
                            reason: reason(step),
                        });
                    }
                }
                if !missing.is_empty() {
                    found.unaligned.push(Unaligned { coordinates: coordinates.clone(), missing });
                }
            }
        }
        found
    }
}

fn reason(step: &StepResult) -> String {
    let failed = step.checks.iter().filter(|check| check.verdict == Verdict::Invalid);
    let mut reasons: Vec<String> = failed.map(|check| format!("{}: {}", check.name, check.detail)).collect();
    if reasons.is_empty() {
        let errors = step.measure.errors.iter().map(|(class, count)| format!("{count} {class}"));
        reasons.extend(errors);
        reasons.insert(0, "no operation succeeded".to_owned());
    }
    reasons.join("; ")
}
