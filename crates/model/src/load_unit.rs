//! The unit of a load: what its users stand for, and the objective that decides whether a target sustains them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// When a target sustains the users of a load. Limits are in millionths, so that they are equal when their texts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitObjective {
    /// At most this share of the transactions with a deadline end later than it, or fail.
    Missed {
        /// Millionths.
        most_ppm: u32,
    },
    /// Users complete at least this share of the transactions that their pace requests.
    Pace {
        /// Millionths.
        least_ppm: u32,
    },
    /// Users spend at least this share of their time on what their pauses stand for, such as computation.
    Busy {
        /// Millionths.
        least_ppm: u32,
    },
}

impl UnitObjective {
    /// The limit as a share.
    pub fn limit(self) -> f64 {
        let (Self::Missed { most_ppm: ppm } | Self::Pace { least_ppm: ppm } | Self::Busy { least_ppm: ppm }) =
            self;
        f64::from(ppm) / 1e6
    }
}

impl fmt::Display for UnitObjective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |ppm: &u32| f64::from(*ppm) / 1e4;
        match self {
            Self::Missed { most_ppm } => write!(f, "missed<={}%", percent(most_ppm)),
            Self::Pace { least_ppm } => write!(f, "pace>={}%", percent(least_ppm)),
            Self::Busy { least_ppm } => write!(f, "busy>={}%", percent(least_ppm)),
        }
    }
}

/// What each user of a load step stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadUnit {
    /// What one user is, in the singular: `stream`.
    pub name: String,
    /// What one of its transactions is, in the singular: `frame`.
    pub transaction: String,
    /// When the target sustains it.
    pub objective: UnitObjective,
    /// Names of the transactions that have a deadline.
    pub with_deadline: Vec<String>,
    /// True if users start by a pace, so that the number of transactions that are due is known.
    pub paced: bool,
    /// The share of the workload's data set that was laid out, such as `1%`; none for all of it.
    pub scale: Option<String>,
}
