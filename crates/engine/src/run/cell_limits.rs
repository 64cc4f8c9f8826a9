//! Compares the cells of a plan with the limits of a target. Cells that exceed them are skipped on this target and
//! measured on the others.

use std::collections::BTreeMap;

use sharebench_model::units::{ByteSize, counted};
use sharebench_model::{DataOp, FileRef, Stability};
use sharebench_plan::{Direction, RecordWork, ResolvedPlan, SkippedCells, Work};
use sharebench_target::{CallDepth, Capabilities, Session};

/// Why a target cannot measure a cell, with the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Excess {
    /// Requests in flight on one session.
    QueueDepth(u32),
    /// Operations on names in flight on one session.
    Calls(CallDepth),
    /// Bytes of one request. A record is one request or the cell means nothing.
    Record(u32),
}

impl Excess {
    /// The limit in words, for a target of `protocol`.
    pub(crate) fn limit(self, protocol: &str) -> String {
        match self {
            Self::QueueDepth(limit) => {
                format!("a session over {protocol} has at most {} in flight", counted(limit, "request"))
            }
            Self::Calls(CallDepth { max, reason }) => format!(
                "a session over {protocol} has at most {} on names in flight, because {reason}",
                counted(max, "operation")
            ),
            Self::Record(limit) => {
                let limit = ByteSize(limit.into());
                format!("one {protocol} request carries at most {limit}, and records are never split")
            }
        }
    }
}

/// The limits of a target.
pub(crate) enum Limits<'a> {
    /// Those of its protocol, before it is connected.
    Protocol(Capabilities, CallDepth),
    /// Those that a session negotiated as well.
    Negotiated(Capabilities, CallDepth, &'a dyn Session),
}

impl Limits<'_> {
    /// Why the target cannot measure `work`; none if it can.
    fn excess(&self, work: &RecordWork) -> Option<Excess> {
        let (Self::Protocol(capabilities, _) | Self::Negotiated(capabilities, ..)) = self;
        if work.queue_depth > capabilities.max_queue_depth {
            return Some(Excess::QueueDepth(capabilities.max_queue_depth));
        }
        let len = work.request_size();
        let mut most = capabilities.max_record;
        if let Self::Negotiated(_, _, session) = self {
            let file = FileRef(0);
            let read = DataOp::Read { file, offset: 0, len };
            let write = DataOp::Write { file, offset: 0, len, stability: Stability::Unstable };
            let directions: &[DataOp] = match work.test.direction() {
                Direction::Read => &[read],
                Direction::Write => &[write],
                Direction::Mix => &[read, write],
            };
            let negotiated = directions.iter().map(|op| session.max_transfer(*op)).min();
            most = negotiated.map_or(most, |negotiated| most.min(negotiated));
        }
        (len > most).then_some(Excess::Record(most))
    }

    /// The cells of `plan` that exceed a limit.
    pub(crate) fn exceeded_by(&self, plan: &ResolvedPlan) -> Vec<(usize, Excess)> {
        let excess = |(cell, (_, work)): (usize, &(_, Work))| match work {
            Work::Records(work) => Some((cell, self.excess(work)?)),
            Work::Metadata(work) => {
                let (Self::Protocol(_, calls) | Self::Negotiated(_, calls, _)) = self;
                (work.queue_depth > calls.max).then_some((cell, Excess::Calls(*calls)))
            }
            Work::Transactions(_) => None,
        };
        plan.cells.iter().enumerate().filter_map(excess).collect()
    }
}

/// Adds the cells `exceeding` the limits of `target` to those that are skipped. Returns what is reported of them; none if
/// all cells are measured.
pub(crate) fn skip(
    skipped: &mut SkippedCells,
    target: u32,
    protocol: &str,
    exceeding: &[(usize, Excess)],
    of: usize,
) -> Option<String> {
    let mut counts: BTreeMap<Excess, usize> = BTreeMap::new();
    for (cell, excess) in exceeding {
        skipped.skip(*cell, target);
        *counts.entry(*excess).or_default() += 1;
    }
    let reasons: Vec<String> = counts
        .into_iter()
        .map(|(excess, count)| format!("{count} of {}: {}", counted(of, "cell"), excess.limit(protocol)))
        .collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}
