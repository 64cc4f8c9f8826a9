//! Two systems compared.

use serde::{Deserialize, Serialize};

use crate::types::{ComparisonVerdict, Differences, Pairing, SettingChange, Summary, ThinnedCell};

/// Two systems: `a` over `b`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Such as `nfs/smb`.
    pub name: String,
    /// Numerator: index into [`crate::Analysis::systems`].
    pub a: usize,
    /// Denominator.
    pub b: usize,
    /// The verdict: the claim that every output makes of the two.
    pub verdict: ComparisonVerdict,
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
    /// Settings in which the two systems are known to differ, and those that only one of them states.
    #[serde(default)]
    pub settings: Vec<SettingChange>,
}

impl Comparison {
    /// True when a mean of it is one of single runs.
    pub(crate) fn rests_on_single_runs(&self) -> bool {
        let overall = self.overall.iter().map(|overall| &overall.summary);
        let mut all = overall.chain(self.sections.iter().flatten());
        all.any(|summary| summary.pairing == Pairing::SingleRun)
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
