//! A target while a run uses it.

use crate::cell::target_files::TargetFiles;
use crate::data::context::PassContext;
use crate::load::data_set::SharedSet;
use crate::load::user::user_files::UserFileStore;
use crate::metadata::step::DirectorySets;
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
