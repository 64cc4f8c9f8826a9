//! Throughput mode: several jobs at once on files of their own or on parts of one, in rounds over a
//! common window.
//!
//! In a round every job makes the same number of whole passes. The round's window runs from the first
//! job's start to the last one's end, and the cell's rate is all bytes by the sum of its windows. IOzone
//! by default stops everybody when the first worker is done (its "stonewall"); here nobody is stopped, the
//! jobs' shares show how evenly they worked, and a window in which some were idle is marked.

use sharebench_cluster::Ranks;
use sharebench_model::StepError;
use sharebench_plan::{RecordWork, ServerCacheState, Start};

use crate::cell::access_pattern::FilePart;
use crate::cell::cell_context::CellContext;
use crate::cell::file_names::job_file_name;
use crate::cell::job::Job;
use crate::cell::ranked_files::{given_back_to_ranks, lent_by_ranks};
use crate::cell::rounds::{RoundContext, RoundRules, RoundsDone};
use crate::cell::target_files::TargetFiles;
use crate::data::context::PassContext;
use crate::data::file_state::FileState;
use crate::ranks::agreement::agreed;
use crate::record::tally::Tally;

/// Measures a throughput cell. In real time it blocks the calling thread until the last job has left,
/// because jobs have threads of their own.
pub(crate) async fn measure(
    cell: &CellContext<'_>,
    jobs: u32,
    target: &mut TargetFiles,
    context: &mut PassContext<'_>,
) -> Result<Tally, StepError> {
    let numbers = cell.numbers(jobs);
    let files = lend(cell, &numbers, target, context).await?;
    let drained = target.drain(context).await;
    agreed(cell.ranks, drained)?;
    let job_files = numbers.iter().copied().zip(files).collect();
    let rounds = RoundContext {
        clock: cell.clock,
        ranks: cell.ranks,
        blocking: cell.target.capabilities().blocking,
        rules: rules(cell),
    };
    let done = rounds.measure(job_files, |number, file| Job::new(cell, number, file)).await?;
    let RoundsDone { tally: mut total, returned, window } = done;
    target.merge_pending_failures(&mut total);
    let mut back = Vec::new();
    for (_, share, file) in returned {
        total.users_reported += u32::from(share.passes > 0);
        total.shares.push(share);
        back.push(file);
    }
    take_back(cell, jobs, &numbers, back, target)?;
    total.window_ns = window?;
    // Busy times of concurrent jobs overlap; the window divides the bytes of a cell with jobs
    // (docs/design/cells.md).
    total.busy_ns = 0;
    total.response = total.service.clone();
    Ok(total)
}

/// How the rounds of a cell follow each other.
fn rules(cell: &CellContext<'_>) -> RoundRules {
    let work = cell.work;
    let start = work.test.start();
    let creates = start == Start::Fresh;
    // A pass that needs a new file, an empty cache or a file to be opened again runs on its own.
    let cold = start == Start::Cold && cell.target.capabilities().drop_cache;
    let displaced = work.server_cache == ServerCacheState::Cold;
    let alone = creates || cold || displaced || work.include_close;
    let sample_ns = work.min_sample_time.as_nanos() as u64;
    RoundRules { creates, alone, once: work.passes_once(), sample_ns }
}

/// Makes sure that the files of a cell are there, those that its test does not make itself: of this process's jobs
/// only, and a shared one by the leader.
pub(crate) async fn prepare(
    work: &RecordWork,
    ranks: Option<&Ranks>,
    target: &mut TargetFiles,
    context: &mut PassContext<'_>,
) -> Result<(), StepError> {
    let jobs = work.jobs.unwrap_or(1);
    let numbers = match ranks {
        Some(ranks) if work.shared_file => (0..u32::from(ranks.is_leader())).collect(),
        Some(ranks) => ranks.users(jobs),
        None => (0..if work.shared_file { 1 } else { jobs }).collect::<Vec<_>>(),
    };
    if ranks.is_none_or(Ranks::is_leader) {
        target.ensure_displacing(work, context).await?;
    }
    for number in numbers.into_iter().filter(|_| work.test.start() != Start::Fresh) {
        target.ensure_for(work, &job_file_name(work, number), context).await?;
    }
    Ok(())
}

/// The files that the jobs will work on, written where the test needs them complete. Jobs that share
/// one file have a copy each of what it should hold, of which each keeps its own part up to date.
async fn lend(
    cell: &CellContext<'_>,
    numbers: &[u32],
    target: &mut TargetFiles,
    context: &mut PassContext<'_>,
) -> Result<Vec<FileState>, StepError> {
    let size = cell.work.file_size;
    let fresh = cell.work.test.start() == Start::Fresh;
    let prepared = prepare(cell.work, cell.ranks, target, context).await;
    agreed(cell.ranks, prepared)?;
    if let Some(lent) = lent_by_ranks(cell, numbers, target)? {
        return Ok(lent);
    }
    let mut files = Vec::new();
    for &number in numbers {
        let name = job_file_name(cell.work, number);
        let first = files.first().cloned();
        files.push(match first.filter(|_| cell.work.shared_file) {
            Some(shared) => shared,
            None if fresh => target.unmade(&name, size),
            None => {
                let lent = target.files.get(&name).cloned();
                lent.ok_or_else(|| StepError::EngineFailed(format!("{name} is not there")))?
            }
        });
    }
    Ok(files)
}

/// Records in the target's files what the jobs left in theirs.
fn take_back(
    cell: &CellContext<'_>,
    jobs: u32,
    numbers: &[u32],
    files: Vec<FileState>,
    target: &mut TargetFiles,
) -> Result<(), StepError> {
    if cell.work.test.start() == Start::Fresh {
        return Ok(());
    }
    if given_back_to_ranks(cell, jobs, numbers, &files, target)? {
        return Ok(());
    }
    for (number, file) in numbers.iter().copied().zip(files) {
        let part =
            if cell.work.shared_file { FilePart { index: number, count: jobs } } else { FilePart::WHOLE };
        let range = part.bytes(cell.work);
        if let Some(known) = target.files.get_mut(&job_file_name(cell.work, number)) {
            known.adopt(&file, range);
        }
    }
    Ok(())
}
