//! Sections: the steps of one test or workload, laid out along the axes that vary within it.

use serde::{Deserialize, Serialize};
use sharebench_model::units::{show_operation_rate, show_rate};
use sharebench_model::{Coordinates, Value};

use crate::types::{
    CapacityReport, LoadComparison, LoadLevel, LoadLines, Outcome, Ratio, ResponseLimit, StressPoint,
};

/// How to draw a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// File sizes against record sizes.
    Sweep,
    /// Against users.
    Load,
    /// Record sizes against operations in flight.
    Depth,
}

/// What a section's rates count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateUnit {
    /// Application bytes.
    BytesPerSecond,
    /// Operations: tests that move no file data.
    OperationsPerSecond,
}

impl RateUnit {
    /// Writes a rate of this unit with three significant digits: `812 MB/s`, `4.10 ops/s`.
    pub fn show(self, rate: f64) -> String {
        match self {
            Self::BytesPerSecond => show_rate(rate),
            Self::OperationsPerSecond => show_operation_rate(rate),
        }
    }

    /// Writes the ends of a range of rates with their unit once where it is the same: `22.0 to 2.10 MB/s`.
    pub fn show_range(self, from: f64, to: f64) -> String {
        let first = self.show(from);
        let last = self.show(to);
        match (first.split_once(' '), last.split_once(' ')) {
            _ if first == last => last,
            (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {last}"),
            _ => format!("{first} to {last}"),
        }
    }
}

/// One position of a section.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// All coordinates.
    pub coordinates: Coordinates,
    /// Positions on the section's axes, in their order; none where an imported step lacks the axis.
    pub position: Vec<Option<Value>>,
    /// Per system, in the order of [`crate::Analysis::systems`].
    pub outcomes: Vec<Option<Outcome>>,
    /// Per comparison, in the order of [`crate::Analysis::comparisons`].
    pub ratios: Vec<Option<Ratio>>,
}

/// The steps of one test or workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Such as `random-read`.
    pub title: String,
    /// How to draw it.
    pub view: View,
    /// What the rates count.
    pub unit: RateUnit,
    /// The axes its rows vary on, slowest first.
    pub axes: Vec<String>,
    /// In the order of the axes.
    pub rows: Vec<Row>,
    /// Per system, for loads.
    pub stress: Vec<StressPoint>,
    /// Per system, for loads of users: how far they can be predicted.
    #[serde(default)]
    pub capacity: Vec<CapacityReport>,
    /// Per system, for loads of users: lines to draw with the measured points.
    #[serde(default)]
    pub lines: Vec<LoadLines>,
    /// Response times that the objective of a load promises.
    #[serde(default)]
    pub limits: Vec<ResponseLimit>,
    /// Per system, for loads that were repeated: capacity, and users at the objective.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_levels: Vec<LoadLevel>,
    /// Per comparison, for loads that were repeated: response times, capacity and users at the objective.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_comparisons: Vec<LoadComparison>,
}
