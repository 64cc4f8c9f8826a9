//! A metadata cell, by one job or by several.

use std::collections::{BTreeMap, BTreeSet};

use sharebench_cluster::Ranks;
use sharebench_model::StepError;
use sharebench_plan::{DirectoryKey, MetadataWork};

use crate::cell::rounds::{RoundContext, RoundRules, RoundsDone};
use crate::metadata::caching_job::CachingJob;
use crate::metadata::connected::Connected;
use crate::metadata::directory_set::{BatchState, DirectorySet};
use crate::metadata::driver::Driver;
use crate::metadata::job::{MetadataCell, MetadataJob};
use crate::metadata::lock_contest::LockContest;
use crate::metadata::lock_job::LockJob;
use crate::metadata::notify_job::NotifyJob;
use crate::ranks::agreement::agreed;
use crate::record::tally::Tally;

/// The sets of directories that exist on a target, each with the state of its batches.
#[derive(Debug, Default)]
pub(crate) struct DirectorySets {
    batches: BTreeMap<DirectoryKey, BatchState>,
    /// The files that tests copy, by their directories and bytes.
    sources: BTreeSet<(DirectoryKey, u64)>,
    /// Expected time to remove the directories in nanoseconds.
    removal_ns: u64,
}

impl DirectorySets {
    /// Expected time in nanoseconds to remove the directories that were filled: as long as making their entries took. Like
    /// the filling, the removal is one session with one operation in flight.
    pub(crate) fn removal_ns(&self) -> u64 {
        self.removal_ns
    }
}

/// The time to make all entries of the directories of a cell, from the time of making their residents; 0 without any.
fn time_of_all_entries(work: &MetadataWork, residents_ns: u64) -> u64 {
    let residents = u128::from(work.residents()) * u128::from(work.directories());
    let all = u128::from(residents_ns) * u128::from(work.total_entries());
    all.checked_div(residents).map_or(0, |time| u64::try_from(time).unwrap_or(u64::MAX))
}

/// Makes sure that the directories of a cell exist with their residents. The leader of several ranks makes them.
pub(crate) async fn prepare(
    work: &MetadataWork,
    set: &DirectorySet,
    sets: &mut DirectorySets,
    ranks: Option<&Ranks>,
    at: &mut Connected<'_, '_>,
) -> Result<(), StepError> {
    let key = work.directory_key();
    let leads = ranks.is_none_or(Ranks::is_leader);
    if let std::collections::btree_map::Entry::Vacant(place) = sets.batches.entry(key) {
        let began = at.context.clock.now();
        let filled = if leads { set.fill(work, at).await } else { Ok(()) };
        let took = at.context.clock.now().saturating_sub(began);
        agreed(ranks, filled)?;
        sets.removal_ns = sets.removal_ns.saturating_add(time_of_all_entries(work, took));
        place.insert(BatchState::ABSENT);
    }
    if work.test.copies() && !sets.sources.contains(&(key, work.entry_size)) {
        let made = if leads { set.create_source(work, at).await } else { Ok(()) };
        agreed(ranks, made)?;
        sets.sources.insert((key, work.entry_size));
    }
    Ok(())
}

/// Measures a metadata cell. In real time it blocks the calling thread until the last job has left, because jobs have
/// threads of their own.
pub(crate) async fn measure(
    cell: &MetadataCell<'_>,
    sets: &mut DirectorySets,
    at: &mut Connected<'_, '_>,
) -> Result<Tally, StepError> {
    let work = cell.work;
    prepare(work, cell.set, sets, cell.ranks, at).await?;
    let state = sets.batches.get(&work.directory_key()).copied().unwrap_or(BatchState::ABSENT);
    let numbers = cell.ranks.map_or_else(|| (0..work.jobs()).collect(), |ranks| ranks.users(work.jobs()));
    let rounds = RoundContext {
        clock: cell.clock,
        ranks: cell.ranks,
        blocking: cell.target.capabilities().blocking,
        rules: RoundRules {
            creates: false,
            alone: !work.test.repeats(),
            once: false,
            sample_ns: work.min_sample_time.as_nanos() as u64,
        },
    };
    let lent = numbers.into_iter().map(|number| (number, state)).collect();
    let contest = LockContest::default();
    let job = |number, state| MetadataJob::new(cell, number, state);
    let done = match cell.driver {
        Driver::Entries(_) | Driver::Listing(_) => rounds.measure(lent, job).await?,
        Driver::Locks(subject) => {
            rounds.measure(lent, |number, state| LockJob::new(job(number, state), subject, &contest)).await?
        }
        Driver::Notifications => {
            rounds.measure(lent, |number, state| NotifyJob::new(job(number, state))).await?
        }
        Driver::Caching(right) => {
            rounds.measure(lent, |number, state| CachingJob::new(job(number, state), right)).await?
        }
    };
    let RoundsDone { mut tally, returned, window } = done;
    for (_, share, state) in returned {
        tally.users_reported += u32::from(share.passes > 0);
        tally.shares.push(share);
        sets.batches.insert(work.directory_key(), state);
    }
    tally.window_ns = window?;
    // The window divides the operations, with one job as with several, unless holders of a lock wait within it.
    if !work.test.hands_over() {
        tally.busy_ns = 0;
    }
    tally.response = tally.service.clone();
    Ok(tally)
}
