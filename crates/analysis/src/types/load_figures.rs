//! What of a load two systems are compared by besides their throughput.

use serde::{Deserialize, Serialize};
use sharebench_stats::Estimate;

use crate::types::{Pairing, RatioVerdict};

/// A figure of a load that a verdict can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadFigure {
    /// Mean response time of a step.
    MeanResponse,
    /// 95th percentile of the response time of a step.
    P95Response,
    /// Number of users up to which a series meets its objective.
    UsersAtObjective,
    /// Highest throughput of a series.
    Capacity,
}

impl LoadFigure {
    /// True where less is better.
    pub fn is_time(self) -> bool {
        matches!(self, Self::MeanResponse | Self::P95Response)
    }
}

/// A figure of a whole series of one system, over its repetitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadLevel {
    /// Index into [`crate::Analysis::systems`].
    pub system: usize,
    /// [`LoadFigure::UsersAtObjective`] or [`LoadFigure::Capacity`].
    pub figure: LoadFigure,
    /// Users, or the section's unit per second: Hodges-Lehmann estimate over the repetitions, with its interval. None
    /// where the steps do not contain it.
    pub value: Option<Estimate>,
    /// Users of the step with the highest throughput; none for users at the objective.
    pub at_users: Option<u64>,
    /// Why the steps do not contain it.
    pub refused: Option<String>,
}

/// Two systems at one step of a load, by one figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadStepRatio {
    /// Users of the step, or starts per second where there is no step of users alone.
    pub load: u64,
    /// The figure of the first system over that of the second. The intervals of all steps hold together.
    pub ratio: Estimate,
    /// `faster` if the first system is better.
    pub verdict: RatioVerdict,
}

/// Two systems compared by one figure of a load, over its repetitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadComparison {
    /// Index into [`crate::Analysis::comparisons`].
    pub comparison: usize,
    /// The figure.
    pub figure: LoadFigure,
    /// How the repetitions were paired.
    pub pairing: Pairing,
    /// The figure of the first system over that of the second, paired by repetition: of the series, or the geometric mean
    /// over the steps. None where a system does not have the figure.
    pub ratio: Option<Estimate>,
    /// `faster` if the first system is better.
    pub verdict: RatioVerdict,
    /// Step by step, rising; empty for figures of the whole series.
    pub steps: Vec<LoadStepRatio>,
    /// True where the load of a step is its starts per second, false where it is its users.
    pub by_rate: bool,
}
