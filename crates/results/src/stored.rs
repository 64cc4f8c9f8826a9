//! Runs as the store returns them.

use std::fmt;

use sharebench_model::{Facts, RepeatRule, RunHeader, RunOutcome, StepError, StepResult};

/// Number of a run within its file, from 1; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub i64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The state of a stored run. Running and interrupted differ by whether the process that owns the run is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// Its process is alive.
    Running,
    /// Its process ended without finishing it; it can be resumed.
    Interrupted,
    /// It is finished.
    Ended(RunOutcome),
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Ended(RunOutcome::Complete) => "complete",
            Self::Ended(RunOutcome::Incomplete(StepError::Stopped)) => "stopped",
            Self::Ended(RunOutcome::Incomplete(StepError::TargetLost { .. })) => "target lost",
            Self::Ended(RunOutcome::Incomplete(StepError::PreStepCommandFailed(_))) => "command failed",
            Self::Ended(RunOutcome::Incomplete(StepError::EngineFailed(_))) => "engine failed",
        })
    }
}

/// One line in a list of runs: what can be read without loading the steps.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Its number.
    pub id: RunId,
    /// Title that the user chose.
    pub title: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Its state.
    pub state: RunState,
    /// Steps recorded.
    pub steps_done: u32,
    /// Steps of the plan; the maximum where a rule decides the number.
    pub steps_planned: u32,
    /// The rule that decides how often cells are measured; none when the number is fixed.
    pub repeat: Option<RepeatRule>,
    /// Names of the targets, in the plan's order.
    pub targets: Vec<String>,
    /// True when another program measured it.
    pub imported: bool,
}

/// A run that is complete before it is stored, such as an imported one.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedRun {
    /// Its title, origin and targets.
    pub header: RunHeader,
    /// Known facts about each target.
    pub facts: Vec<Facts>,
    /// Its steps; their indexes are distinct.
    pub steps: Vec<StepResult>,
}

/// A run as it is stored.
///
/// It holds everything that the run can be repeated and judged from: the resolved plan with its seed, the environment, the
/// facts that each target negotiated, and every finished step with its histograms. `facts` has one entry per target of
/// the header. Steps are in the order of the schedule; a step that was not measured is missing, not empty.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// Its number.
    pub id: RunId,
    /// Plan, seed, environment and targets.
    pub header: RunHeader,
    /// Its state.
    pub state: RunState,
    /// Facts that each target negotiated; empty for a target that was not reached.
    pub facts: Vec<Facts>,
    /// Finished steps, in the order of the schedule.
    pub steps: Vec<StepResult>,
}
