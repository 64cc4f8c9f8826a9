//! A run: its header, its steps and its end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sparse::absent;
use crate::{Check, Coordinates, ErrorClass, Measure, OpError, RepeatRule, Sparse, Verdict, axis};

absent!(Vec<Check>);

/// Named facts: environment, versions, and, as a run stores it, what a target negotiated. Never a secret.
pub type Facts = BTreeMap<String, String>;

/// Name of the environment fact that says where a run comes from, when sharebench did not measure it.
pub const ORIGIN_FACT: &str = "origin";
/// Its value for results of another program.
pub const IMPORTED: &str = "imported";

/// The value of [`Fact::UsersBetweenSteps`](crate::Fact::UsersBetweenSteps) where users stay logged on and work on.
pub const USERS_STAY: &str = "stay logged on";

/// A target as the run names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetIdentity {
    /// Short name, unique within the run.
    pub name: String,
    /// URL without password.
    pub url: String,
}

/// Everything that is needed to repeat a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// The title that the user chose, otherwise the command.
    pub title: String,
    /// Start, milliseconds since 1970 (UTC); 0 where an imported source does not report it.
    pub started_unix_ms: u64,
    /// Version of sharebench.
    pub version: String,
    /// The resolved plan as TOML; running it again repeats the run.
    pub plan: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Number of steps of the plan; the maximum where a rule decides the number.
    pub steps_planned: u32,
    /// The rule for the number of repetitions; none if the number is fixed.
    pub repeat: Option<RepeatRule>,
    /// Machine, kernel, CPU, clock.
    pub environment: Facts,
    /// Systems under test, in the plan's order.
    pub targets: Vec<TargetIdentity>,
}

impl RunHeader {
    /// True when another program measured it.
    pub fn is_imported(&self) -> bool {
        self.environment.get(ORIGIN_FACT).is_some_and(|origin| origin == IMPORTED)
    }
}

/// One finished step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// Position in the resolved plan's schedule; unique within the run.
    pub index: u32,
    /// Index into [`RunHeader::targets`].
    pub target: u32,
    /// Which repetition (pair) it belongs to, from 0.
    pub repetition: u32,
    /// The values that identify it among the other steps.
    pub coordinates: Coordinates,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Time that it took outside its window, milliseconds: files, warm passes, opening and closing. Turns of other targets
    /// are not included; 0 for imported steps.
    pub unmeasured_ms: u32,
    /// Its results.
    pub measure: Measure,
    /// All self-checks, including those that passed.
    pub checks: Sparse<Vec<Check>>,
}

impl StepResult {
    /// The worst verdict of the step's checks; what could not be checked does not count.
    pub fn verdict(&self) -> Verdict {
        self.checks.iter().map(|check| check.verdict).max().unwrap_or_default().max(Verdict::Valid)
    }

    /// True if its rate is one of bytes. Metadata tests count operations, also those that write or read small files.
    pub fn is_rated_in_bytes(&self) -> bool {
        self.measure.bytes.total() > 0 && self.coordinates.get(axis::ENTRIES).is_none()
    }
}

/// Why a step ended before its end, and with it the run.
///
/// The engine returns it from whatever a step does, ranks agree on the worst of theirs, and a run stores it. The
/// order of the variants is their severity: of several ranks with different errors, all report the greatest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum StepError {
    /// The user stopped the run.
    #[error("stopped")]
    Stopped,
    /// The user's own command before a step failed.
    #[error("{0}")]
    PreStepCommandFailed(String),
    /// The target cannot be used any longer.
    #[error("{reason}")]
    TargetLost {
        /// The class of the operation's error.
        class: ErrorClass,
        /// The operation and the peer's own words or code.
        reason: String,
    },
    /// The engine itself failed: what it measured in this step must not be used.
    #[error("{0}")]
    EngineFailed(String),
}

impl StepError {
    /// The word that machines read, as in `--json`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::PreStepCommandFailed(_) => "pre-step-command-failed",
            Self::TargetLost { .. } => "target-lost",
            Self::EngineFailed(_) => "engine-failed",
        }
    }

    /// The reason; none for a stop, which has no other reason than the user's request.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Stopped => None,
            Self::PreStepCommandFailed(reason)
            | Self::TargetLost { reason, .. }
            | Self::EngineFailed(reason) => Some(reason),
        }
    }
}

impl From<OpError> for StepError {
    fn from(error: OpError) -> Self {
        Self::TargetLost { class: error.class, reason: error.to_string() }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunOutcome {
    /// Every planned step was measured.
    Complete,
    /// A step ended early, and the run with it; earlier steps are kept.
    Incomplete(StepError),
}
