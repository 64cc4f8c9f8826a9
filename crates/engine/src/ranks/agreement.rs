//! Agreement of several processes: all of them continue, or all of them end a step for the same reason.

use serde::{Deserialize, Serialize};
use sharebench_cluster::{Lost, Ranks};
use sharebench_model::{ErrorClass, OpError};

use crate::record::pass_end::PassEnd;
use crate::time::clock::Clock;

/// How long before a round of a cell its ranks hear when it starts.
const ROUND_LEAD_NS: u64 = 5_000_000;

/// Why a step ended early, as ranks report it to each other. The worst reason wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum End {
    Stopped,
    Hook(String),
    Lost(ErrorClass, String),
    Broken(String),
}

impl End {
    /// Of a rank, which is named.
    pub fn of(end: PassEnd, ranks: &Ranks) -> Self {
        let named =
            |what: &dyn std::fmt::Display| format!("rank {} ({}): {what}", ranks.rank(), ranks.host());
        match end {
            PassEnd::Stopped => Self::Stopped,
            PassEnd::Hook(why) => Self::Hook(named(&why)),
            PassEnd::Lost(error) => Self::Lost(error.class, named(&error)),
            PassEnd::Broken(why) => Self::Broken(named(&why)),
        }
    }

    pub fn worst(mine: &mut Option<Self>, other: Option<Self>) {
        let worst = mine.take().max(other);
        *mine = worst;
    }
}

impl From<End> for PassEnd {
    fn from(end: End) -> Self {
        match end {
            End::Stopped => Self::Stopped,
            End::Hook(why) => Self::Hook(why),
            End::Lost(class, why) => Self::Lost(OpError::new(class, "step", why)),
            End::Broken(why) => Self::Broken(why),
        }
    }
}

impl From<Lost> for PassEnd {
    fn from(lost: Lost) -> Self {
        Self::Broken(lost.to_string())
    }
}

/// Continues only if all ranks can. Otherwise every rank gets the same end.
pub(crate) fn agreed<T, E: Into<PassEnd>>(ranks: Option<&Ranks>, own: Result<T, E>) -> Result<T, PassEnd> {
    let own = own.map_err(Into::into);
    let Some(ranks) = ranks else { return own };
    let (value, end) = match own {
        Ok(value) => (Some(value), None),
        Err(end) => (None, Some(End::of(end, ranks))),
    };
    match (ranks.all_reduce(end, End::worst)?, value) {
        (None, Some(value)) => Ok(value),
        (Some(end), _) => Err(end.into()),
        (None, None) => Err(PassEnd::Broken("a rank did not report its end".into())),
    }
}

/// A phase that all users of all ranks have done.
pub(crate) struct Done {
    /// First start and last end, by the leader's clock.
    pub span: Option<(u64, u64)>,
    /// The leader's clock when it was done there.
    pub now: u64,
}

/// Waits until the phase is done everywhere.
pub(crate) fn together(
    clock: &Clock,
    ranks: Option<&Ranks>,
    here: Result<Option<(u64, u64)>, PassEnd>,
) -> Result<Done, PassEnd> {
    let now = clock.now();
    let Some(ranks) = ranks else { return Ok(Done { span: here?, now }) };
    let (span, end) = match here {
        Ok(span) => (span.map(|(from, to)| (ranks.to_leader_clock(from), ranks.to_leader_clock(to))), None),
        Err(end) => (None, Some(End::of(end, ranks))),
    };
    let now = if ranks.is_leader() { now } else { 0 };
    let (span, end, now) = ranks.all_reduce((span, end, now), |mine, (span, end, now)| {
        mine.0 = match (mine.0, span) {
            (Some((from, to)), Some((first, last))) => Some((from.min(first), to.max(last))),
            (mine, other) => mine.or(other),
        };
        End::worst(&mut mine.1, end);
        mine.2 = mine.2.max(now);
    })?;
    end.map_or(Ok(Done { span, now }), |end| Err(end.into()))
}

/// When a round starts on all ranks, by the clock of this one; 0, which is at once, for a process that is alone.
pub(crate) fn common_start(clock: &Clock, ranks: Option<&Ranks>) -> Result<u64, PassEnd> {
    let Some(ranks) = ranks else { return Ok(0) };
    Ok(ranks.common_instant(clock.now(), ROUND_LEAD_NS)?)
}
