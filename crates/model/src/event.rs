//! Run events: the only interface between the engine and everything that shows or stores.

use crate::{Coordinates, ErrorClass, Facts, PrecisionReport, Round, RunHeader, RunOutcome, StepResult};

/// Something that happened in a run, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// First event of a run.
    Started(Box<RunHeader>),
    /// A target was reached and negotiated.
    TargetReady {
        /// Index into [`RunHeader::targets`].
        target: u32,
        /// Negotiated parameters, and what the server reports about itself.
        facts: Facts,
    },
    /// All steps of a target are done.
    TargetDone {
        /// Index into [`RunHeader::targets`].
        target: u32,
        /// The facts reported when it was ready, and the counts of its sessions since then.
        facts: Facts,
    },
    /// A round over the cells begins.
    Round(Round),
    /// A step begins (its preparation included).
    StepStarted {
        /// Position in the schedule.
        index: u32,
        /// Index into [`RunHeader::targets`].
        target: u32,
        /// Which repetition.
        repetition: u32,
        /// Its coordinates.
        coordinates: Coordinates,
    },
    /// What the step under way has done so far; a few per second at most.
    Progress {
        /// Position in the schedule.
        index: u32,
        /// Operations completed since the step started.
        operations: u64,
        /// Application bytes moved since the step started.
        bytes: u64,
        /// Transactions that ended since the step started.
        transactions: u64,
        /// Failures since the step started.
        failures: u64,
        /// Users that have a session.
        users: u64,
    },
    /// How far the preparation of the step under way is; a few per second at most.
    Preparing {
        /// Index into [`RunHeader::targets`].
        target: u32,
        /// The things that are counted, such as `files of the data set`.
        what: &'static str,
        /// Number of things that are ready.
        done: u64,
        /// Total number of things.
        of: u64,
    },
    /// How far the removal of the run's directory is; a few per second at most.
    Removing {
        /// Index into [`RunHeader::targets`].
        target: u32,
        /// Files and directories that are removed so far.
        entries: u64,
    },
    /// A failure of the target within a step; at most a few per step are sent, all are counted.
    Failure {
        /// Position in the schedule.
        index: u32,
        /// Kind of failure.
        class: ErrorClass,
        /// The failure, as the target reported it.
        detail: String,
    },
    /// A step was measured.
    StepFinished(Box<StepResult>),
    /// The last round over the cells has ended; only where their number was not fixed in advance.
    Precision(Box<PrecisionReport>),
    /// Something the user should know.
    Warning(String),
    /// Last event of a run.
    Finished(RunOutcome),
}
