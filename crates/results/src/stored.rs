//! What the store gives back.

use std::fmt;

use sharebench_model::{Facts, RepeatRule, RunHeader, RunOutcome, StepError, StepResult};

/// Number of a run within its file, from 1; never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub i64);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// Its process lives.
    Running,
    /// Its process went away without an end; it can be resumed.
    Interrupted,
    /// It ended by itself.
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

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Its number.
    pub id: RunId,
    /// What the user calls it.
    pub title: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// How it stands.
    pub state: RunState,
    /// Steps recorded.
    pub steps_done: u32,
    /// Steps the plan holds: at most, where a rule decides how many.
    pub steps_planned: u32,
    /// What decides how often cells are measured; none when the number is fixed.
    pub repeat: Option<RepeatRule>,
    /// Names of the targets, in the plan's order.
    pub targets: Vec<String>,
    /// True when another program measured it.
    pub imported: bool,
}

/// A run that is complete before it meets the store, such as an imported one.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedRun {
    /// Its title, origin and targets.
    pub header: RunHeader,
    /// Per target, what is told of it.
    pub facts: Vec<Facts>,
    /// Its steps; their indexes are distinct.
    pub steps: Vec<StepResult>,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// Its number.
    pub id: RunId,
    /// What is needed to repeat it.
    pub header: RunHeader,
    /// How it stands.
    pub state: RunState,
    /// Per target, what was negotiated; empty where it was not reached.
    pub facts: Vec<Facts>,
    /// Finished steps, in the order of the schedule.
    pub steps: Vec<StepResult>,
}
