//! Which systems are compared with which.

use serde::{Deserialize, Serialize};

use crate::{Summary, System, ThinnedCell};

/// Above this many systems each is compared with the first only.
const EACH_WITH_EACH: usize = 4;

/// Two systems: `a` over `b`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Such as `nfs/smb`.
    pub name: String,
    /// Numerator: index into [`crate::Analysis::systems`].
    pub a: usize,
    /// Denominator.
    pub b: usize,
    /// Over every cell of the sweeps; none without a sweep.
    pub overall: Option<Overall>,
    /// Per section, in the order of [`crate::Analysis::sections`]; none where they share no cell.
    pub sections: Vec<Option<Summary>>,
    /// Cells that lost steps to failed self-checks.
    #[serde(default)]
    pub thinned: Vec<ThinnedCell>,
}

/// The overall answer and what it covers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overall {
    /// Geometric mean over cells.
    pub summary: Summary,
    /// How many sweeps (tests) it covers.
    pub tests: usize,
}

/// Within a run each with each; across runs the same target name, or the only targets.
pub(crate) fn comparisons(systems: &[System], targets: &[(usize, String)]) -> Vec<Comparison> {
    let each = systems.len() <= EACH_WITH_EACH;
    let mut found = Vec::new();
    for (a, one) in systems.iter().enumerate() {
        for (b, other) in systems.iter().enumerate().take(a) {
            let same_run = one.run == other.run;
            let alone = |run: usize| targets.iter().filter(|(r, _)| *r == run).count() == 1;
            let counterpart = targets[a].1 == targets[b].1 || (alone(one.run) && alone(other.run));
            let wanted = if same_run { each || other.target == 0 } else { counterpart };
            if wanted {
                let name = format!("{}/{}", one.name, other.name);
                let (sections, thinned) = (Vec::new(), Vec::new());
                found.push(Comparison { name, a, b, overall: None, sections, thinned });
            }
        }
    }
    found
}
