//! Where two systems differ: the parts of their map, and regions and breaks of tests that were measured once.

use serde::{Deserialize, Serialize};
use sharebench_model::Value;
use sharebench_stats::{Estimate, Interval};

use crate::types::{Pairing, RatioVerdict, Span};

/// What a statement about a part of a map claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartEvidence {
    /// The interval of each of its cells excludes the opposite direction.
    EachCell,
    /// Only the mean over its cells is known to differ. No single cell is known to differ in the opposite direction.
    OnAverage,
}

/// A part of the map of a comparison in which one of the two systems is faster: a rectangle, a line, or one cell.
///
/// All parts of a comparison come from one partition of its map ([`partition_map`](sharebench_stats::partition_map)).
/// Verdicts, findings and drawn frames use these parts, so they cannot contradict each other. Its intervals hold for all
/// cells and parts of the comparison together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DifferingPart {
    /// The tests that it covers: indices into [`crate::Analysis::sections`].
    pub sections: Vec<usize>,
    /// What it covers of each axis of these tests.
    pub place: Vec<Span>,
    /// Its cells: for each of `sections`, indices into the rows of that section.
    pub rows: Vec<Vec<usize>>,
    /// Whether the later system is faster or slower in it.
    pub direction: RatioVerdict,
    /// What is known of it.
    pub evidence: PartEvidence,
    /// Ratio of the rates, geometric mean over its cells; `n` counts repetitions.
    pub typical: Estimate,
    /// Lowest and highest ratio that its cells may have.
    pub range: Interval,
    /// True if the interval of each of its cells contains the mean: the cells are not known to differ from each other.
    pub is_uniform: bool,
    /// Ratio of the times that the same work takes in all of its cells; only where stalls dominate in each of them.
    pub total_work: Option<Estimate>,
}

impl DifferingPart {
    /// Number of its cells.
    pub fn cells(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }

    /// Section and row of each of its cells.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let tests = self.sections.iter().zip(&self.rows);
        tests.flat_map(|(section, rows)| rows.iter().map(|row| (*section, *row)))
    }
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

/// The map that was divided into parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scanned {
    /// Tests, workloads.
    pub sections: usize,
    /// Cells.
    pub cells: usize,
    /// Fewest and most repetitions of a cell.
    pub repetitions: (usize, usize),
    /// How the repetitions were brought together.
    pub pairing: Pairing,
}

/// Where the two systems of one comparison differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Differences {
    /// The map; none without a cell of six repetitions.
    pub scanned: Option<Scanned>,
    /// The parts that differ, the most important first.
    pub parts: Vec<DifferingPart>,
    /// Cells with fewer than six repetitions next to cells with more, which take part in no mean: section and row.
    pub excluded: Vec<(usize, usize)>,
    /// Correlation of neighbouring repetitions, where the repetitions drift: the intervals are wider for it.
    pub drift: Option<f64>,
    /// By section, of cells that were measured once; the most important first.
    #[serde(default)]
    pub single_run_regions: Vec<SingleRunRegion>,
    /// By section and axis, of cells that were measured once.
    #[serde(default)]
    pub single_run_breaks: Vec<SingleRunBreak>,
}
