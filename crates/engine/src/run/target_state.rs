//! A target while a run uses it.

use crate::cell::target_files::TargetFiles;
use crate::data::context::PassContext;
use crate::load::data_set::SharedSet;
use crate::load::user::user_files::UserFileStore;
use crate::metadata::step::DirectorySets;
use sharebench_cluster::Ranks;
use sharebench_model::StepError;

/// The state of one target during a run: the open session with the files of cells, the shared data set of loads,
/// what is known of users' own files between steps, and the directories of metadata cells.
pub(crate) struct TargetState {
    pub(crate) files: TargetFiles,
    pub(crate) set: SharedSet,
    pub(crate) file_store: UserFileStore,
    pub(crate) directories: DirectorySets,
}

impl TargetState {
    /// A target on which no step has run yet.
    pub(crate) fn new(files: TargetFiles) -> Self {
        Self {
            files,
            set: SharedSet::default(),
            file_store: UserFileStore::default(),
            directories: DirectorySets::default(),
        }
    }
}

/// The first id of the files of a rank. File ids are part of the stamps: each rank has a range of its own, so that no two ranks stamp
/// different files alike.
pub(crate) fn first_file_of(ranks: &Ranks) -> u32 {
    ((ranks.rank() & 0x7FF) << 20) + 1
}

/// Closes all files and sessions on all targets, so that the pre-step command finds none open.
pub(crate) async fn release_all(
    states: &mut [TargetState],
    context: &mut PassContext<'_>,
) -> Result<(), StepError> {
    for state in states {
        // All targets and not only the next one: the command may purge a cache that they share.
        state.files.release(context).await?;
    }
    Ok(())
}
