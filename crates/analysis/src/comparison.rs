//! Which systems are compared with which.

use serde::{Deserialize, Serialize};

use crate::{Differences, Evidence, SettingChange, Summary, System, ThinnedCell};

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
    /// Where they differ.
    #[serde(default)]
    pub differences: Differences,
    /// Settings in which the two systems are known to differ.
    #[serde(default)]
    pub settings: Vec<SettingChange>,
}

impl Comparison {
    /// True when a mean of it is one of single runs.
    pub(crate) fn rests_on_single_runs(&self) -> bool {
        let overall = self.overall.iter().map(|overall| &overall.summary);
        let mut all = overall.chain(self.sections.iter().flatten());
        all.any(|summary| summary.evidence == Evidence::SingleRun)
    }
}

/// The overall answer and what it covers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overall {
    /// Geometric mean over cells.
    pub summary: Summary,
    /// How many sweeps (tests) it covers.
    pub tests: usize,
}

/// Within a run each with each. Across runs the same target name; where two runs have no name in common, each
/// with each.
pub(crate) fn comparisons(systems: &[System], targets: &[(usize, String)]) -> Vec<Comparison> {
    let each = systems.len() <= EACH_WITH_EACH;
    let related = |one: usize, other: usize| {
        let of = |run: usize| targets.iter().filter(move |(r, _)| *r == run).map(|(_, name)| name);
        of(one).any(|name| of(other).any(|known| known == name))
    };
    let mut found = Vec::new();
    for (a, one) in systems.iter().enumerate() {
        for (b, other) in systems.iter().enumerate().take(a) {
            let wanted = if one.run == other.run {
                each || other.target == 0
            } else {
                let counterpart = targets[a].1 == targets[b].1 || !related(one.run, other.run);
                counterpart && (each || other.run == 0)
            };
            if wanted {
                found.push(Comparison {
                    name: format!("{}/{}", one.name, other.name),
                    a,
                    b,
                    overall: None,
                    sections: Vec::new(),
                    thinned: Vec::new(),
                    differences: Differences::default(),
                    settings: Vec::new(),
                });
            }
        }
    }
    found
}
