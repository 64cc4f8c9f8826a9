//! Files that one rank writes and another rank uses: their expected content is exchanged between the ranks.

use sharebench_cluster::Ranks;
use sharebench_plan::{Direction, RecordWork, Start};

use crate::cell::access_pattern::FilePart;
use crate::cell::cell_context::CellContext;
use crate::cell::file_names::job_file_name;
use crate::cell::target_files::TargetFiles;
use crate::data::file_state::{FileState, KnownFile};
use crate::ranks::agreement::rank_lost;
use sharebench_model::StepError;

/// The files of this rank's users where they come from another rank; none where each has its own.
pub(crate) fn lent_by_ranks(
    cell: &CellContext<'_>,
    numbers: &[u32],
    target: &TargetFiles,
) -> Result<Option<Vec<FileState>>, StepError> {
    let Some(ranks) = cell.ranks.filter(|_| cell.work.test.start() != Start::Fresh) else { return Ok(None) };
    if cell.work.shared_file {
        let file =
            FileState::from_known(ranks.broadcast(known(cell.work, 0, target).as_ref()).map_err(rank_lost)?);
        return Ok(Some(vec![file; numbers.len()]));
    }
    if !is_shifted(ranks, cell.work) {
        return Ok(None);
    }
    let own: Vec<KnownFile> = numbers.iter().filter_map(|number| known(cell.work, *number, target)).collect();
    let rank = ranks.rank();
    let size = ranks.size();
    let shift = ranks.division().shift();
    let files: Vec<KnownFile> =
        ranks.exchange((rank + size - shift) % size, (rank + shift) % size, &own).map_err(rank_lost)?;
    if files.len() != numbers.len() {
        let why = format!("{} files were given to {} users", files.len(), numbers.len());
        return Err(StepError::EngineFailed(why));
    }
    Ok(Some(files.into_iter().map(FileState::from_known).collect()))
}

/// True if the jobs of this test read files that another rank wrote.
fn is_shifted(ranks: &Ranks, work: &RecordWork) -> bool {
    ranks.division().shift() > 0 && work.test.direction() == Direction::Read
}

/// Brings together what the ranks' users left in files that are not their own; false where they are.
pub(crate) fn given_back_to_ranks(
    cell: &CellContext<'_>,
    users: u32,
    numbers: &[u32],
    files: &[FileState],
    target: &mut TargetFiles,
) -> Result<bool, StepError> {
    let Some(ranks) = cell.ranks else { return Ok(false) };
    if !cell.work.shared_file {
        return Ok(is_shifted(ranks, cell.work));
    }
    let range = |number: u32| FilePart { index: number, count: users }.bytes(cell.work);
    let mut own: Option<FileState> = None;
    for (number, file) in numbers.iter().copied().zip(files) {
        own.get_or_insert_with(|| file.clone()).adopt(file, range(number));
    }
    let reported =
        ranks.gather(&(numbers.to_vec(), own.as_ref().map(FileState::known))).map_err(rank_lost)?;
    let known = target.files.get_mut(&job_file_name(cell.work, 0));
    let Some(known) = known.filter(|_| ranks.is_leader()) else { return Ok(true) };
    for (numbers, file) in reported {
        let Some(file) = file.map(FileState::from_known) else { continue };
        for number in numbers {
            known.adopt(&file, range(number));
        }
    }
    Ok(true)
}

fn known(work: &RecordWork, number: u32, target: &TargetFiles) -> Option<KnownFile> {
    target.files.get(&job_file_name(work, number)).map(FileState::known)
}
