//! Where two systems differ: regions of a test, and positions where the ratio changes.

use serde::{Deserialize, Serialize};
use sharebench_model::Value;
use sharebench_stats::Estimate;

use crate::types::{Pairing, RatioVerdict, Span};

/// A region of one test in which two systems differ. Its interval holds for all regions of all tests together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DifferingRegion {
    /// Index into [`crate::Analysis::sections`].
    pub section: usize,
    /// What it covers of each of the section's axes.
    pub place: Vec<Span>,
    /// Cells in it: indices into the section's rows.
    pub rows: Vec<usize>,
    /// Ratio of the rates, mean over its cells; `n` counts sweeps.
    pub typical: Estimate,
    /// Ratio of the times that it takes to do the same work in all its cells once, interval of its own (bootstrap).
    pub total_work: Option<Estimate>,
    /// Its verdict.
    pub verdict: RatioVerdict,
    /// True if it is part of an earlier region, and its ratio deviates from that of the rest.
    #[serde(default)]
    pub refines: bool,
    /// Chance that two equal systems would show one as clear anywhere; of a part, that it does not differ from
    /// the rest.
    pub p_value: f64,
}

/// Where along an axis the ratio of two systems changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RatioBreak {
    /// Index into [`crate::Analysis::sections`].
    pub section: usize,
    /// Which axis.
    pub axis: String,
    /// First position with the new ratio.
    pub at: Option<Value>,
    /// First positions between which the break lies at 95 %.
    pub between: (Option<Value>, Option<Value>),
    /// Ratio before it, from the break before or the axis's begin.
    pub before: Estimate,
    /// Ratio from it on.
    pub after: Estimate,
}

/// A region of one test that was measured once per system: in every cell the ratio lies on the same side of one, further
/// than the clocks and the scatter of the cells explain. Chance of a whole run is not excluded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SingleRunRegion {
    /// Index into [`crate::Analysis::sections`].
    pub section: usize,
    /// What it covers of each of the section's axes.
    pub place: Vec<Span>,
    /// Cells in it: indices into the section's rows.
    pub rows: Vec<usize>,
    /// Ratio of the rates, geometric mean over its cells.
    pub ratio: f64,
    /// Lowest and highest ratio of its cells.
    pub range: (f64, f64),
}

/// Where along an axis the ratio of two systems changes in every line, of single runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SingleRunBreak {
    /// Index into [`crate::Analysis::sections`].
    pub section: usize,
    /// Which axis.
    pub axis: String,
    /// First position after the change.
    pub at: Option<Value>,
    /// Ratio at the position before it, geometric mean over the lines.
    pub before: f64,
    /// Ratio at the position itself.
    pub after: f64,
    /// Lines that have both positions: all of them show it.
    pub lines: usize,
}

/// What a scan has looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scanned {
    /// Tests, workloads.
    pub sections: usize,
    /// Cells.
    pub cells: usize,
    /// Whole sweeps: the replicates.
    pub sweeps: usize,
    /// How the sweeps were brought together.
    pub pairing: Pairing,
}

/// What the scan of one comparison yields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Differences {
    /// What was looked at; none with fewer than six common sweeps.
    pub scanned: Option<Scanned>,
    /// By section, the most important first.
    pub regions: Vec<DifferingRegion>,
    /// By section and axis.
    pub breaks: Vec<RatioBreak>,
    /// By section, of cells that were measured once; the most important first.
    #[serde(default)]
    pub single_run_regions: Vec<SingleRunRegion>,
    /// By section and axis, of cells that were measured once.
    #[serde(default)]
    pub single_run_breaks: Vec<SingleRunBreak>,
}
