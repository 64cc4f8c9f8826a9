//! Agreement of several processes: all of them continue, or all of them end a step for the same reason.

use sharebench_cluster::{Lost, Ranks};
use sharebench_model::StepError;

use crate::time::clock::Clock;

/// Time between the announcement of a common start of a round and the start itself.
const ROUND_LEAD_NS: u64 = 5_000_000;

/// Adds the name of this rank to an error's reason.
pub(crate) fn named(error: StepError, ranks: &Ranks) -> StepError {
    let named = |reason: String| format!("rank {} ({}): {reason}", ranks.rank(), ranks.host());
    match error {
        StepError::Stopped => StepError::Stopped,
        StepError::PreStepCommandFailed(reason) => StepError::PreStepCommandFailed(named(reason)),
        StepError::TargetLost { class, reason } => StepError::TargetLost { class, reason: named(reason) },
        StepError::EngineFailed(reason) => StepError::EngineFailed(named(reason)),
    }
}

/// Keeps the worse of two errors; all ranks then report that one.
pub(crate) fn keep_worst(mine: &mut Option<StepError>, other: Option<StepError>) {
    let worst = mine.take().max(other);
    *mine = worst;
}

/// A rank that cannot be reached ends the step as a failure of the engine: its counts are missing.
#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
pub(crate) fn rank_lost(lost: Lost) -> StepError {
    StepError::EngineFailed(lost.to_string())
}

/// Returns the value only if all ranks have one; otherwise every rank gets the same error.
pub(crate) fn agreed<T, E: Into<StepError>>(
    ranks: Option<&Ranks>,
    own: Result<T, E>,
) -> Result<T, StepError> {
    let own = own.map_err(Into::into);
    let Some(ranks) = ranks else { return own };
    let (value, error) = match own {
        Ok(value) => (Some(value), None),
        Err(error) => (None, Some(named(error, ranks))),
    };
    match (ranks.all_reduce(error, keep_worst).map_err(rank_lost)?, value) {
        (None, Some(value)) => Ok(value),
        (Some(error), _) => Err(error),
        (None, None) => Err(StepError::EngineFailed("the error of a rank was lost in the reduction".into())),
    }
}

/// The end of a phase that all users of all ranks have completed.
pub(crate) struct Done {
    /// First start and last end, by the leader's clock.
    pub span: Option<(u64, u64)>,
    /// The leader's clock when it was done there.
    pub now: u64,
}

/// Waits until all ranks have completed a phase, and merges their spans.
pub(crate) fn together(
    clock: &Clock,
    ranks: Option<&Ranks>,
    here: Result<Option<(u64, u64)>, StepError>,
) -> Result<Done, StepError> {
    let now = clock.now();
    let Some(ranks) = ranks else { return Ok(Done { span: here?, now }) };
    let (span, error) = match here {
        Ok(span) => (span.map(|(from, to)| (ranks.to_leader_clock(from), ranks.to_leader_clock(to))), None),
        Err(error) => (None, Some(named(error, ranks))),
    };
    // Zero is neutral for `max` below, so that the leader's reading survives the reduction.
    let now = if ranks.is_leader() { now } else { 0 };
    let all = ranks.all_reduce((span, error, now), |mine, (span, error, now)| {
        mine.0 = match (mine.0, span) {
            (Some((from, to)), Some((first, last))) => Some((from.min(first), to.max(last))),
            (mine, other) => mine.or(other),
        };
        keep_worst(&mut mine.1, error);
        mine.2 = mine.2.max(now);
    });
    let (span, error, now) = all.map_err(rank_lost)?;
    error.map_or(Ok(Done { span, now }), Err)
}

/// The instant at which a round starts on all ranks, by this rank's clock; 0, which means at once, for a process
/// without other ranks.
pub(crate) fn common_start(clock: &Clock, ranks: Option<&Ranks>) -> Result<u64, StepError> {
    let Some(ranks) = ranks else { return Ok(0) };
    ranks.common_instant(clock.now(), ROUND_LEAD_NS).map_err(rank_lost)
}
