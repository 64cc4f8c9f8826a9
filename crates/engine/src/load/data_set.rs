//! The shared data set of a load: laid out before the first step, or found from an earlier run.

use std::ops::Range;

use sharebench_model::{DataOp, ErrorClass, FileRef, MetaOp, MetaYield, OpError, OpenHow, StepError, mix};
use sharebench_plan::{TransactionWork, Verify, Workload};
use sharebench_target::{DIRECTORY_PREFIX, Session, chosen_name};

use crate::cell::target_files::TargetFiles;
use crate::data::context::PassContext;
use crate::data::directory::make;
use crate::data::request_splitting;
use crate::data::set_content::set_content;
use crate::data::set_content::shared;
use crate::data::stamp;
use crate::data::stamp::Content;
use crate::data::tree_removal::remove_tree;
use crate::load::data_set_builder::{BuildSite, build};
use crate::load::kept_data_set;
use crate::load::kept_data_set::{DataSetState, Heartbeat};
use crate::record::request::{SLOT, exchange};

/// Version of the content of sets. It changes when the same plan would lay out other bytes, so that older kept sets
/// are not used.
const FORMAT: u64 = 1;

/// The shared data set of one target during a run: where it is, once it is laid out.
#[derive(Debug, Default)]
pub(crate) struct SharedSet {
    /// The path of the set below the target's directory; none before it is laid out.
    pub directory: Option<String>,
}

/// The directory of a kept set, next to that of a run. Its name is a hash of the set's files, so that only a plan with the
/// same files finds it.
fn kept_directory(workload: &Workload, run: &str) -> String {
    let mut hash = mix(FORMAT);
    let mut add = |number: u64| hash = mix(hash ^ number);
    for (index, file) in shared(workload) {
        file.path.bytes().for_each(|byte| add(u64::from(byte)));
        add(file.bytes);
        add(index as u64);
        file.data.name().bytes().for_each(|byte| add(u64::from(byte)));
    }
    format!("{}{DIRECTORY_PREFIX}set-{hash:016x}", chosen_name(run))
}

impl SharedSet {
    /// Creates the data set once per target; later steps use it again. With `keep` it is next to the run's own
    /// directory and is used again where it is found unchanged; one that another run is making is left alone. Says
    /// what became of it.
    pub async fn prepare(
        &mut self,
        work: &TransactionWork,
        files: &mut TargetFiles,
        keep: bool,
        site: &BuildSite<'_>,
        context: &mut PassContext<'_>,
    ) -> Result<Option<String>, StepError> {
        if self.directory.is_some() {
            return Ok(None);
        }
        let workload = &work.workload;
        let own = files.path("set");
        if shared(workload).next().is_none() {
            self.directory = Some(own);
            return Ok(None);
        }
        let session = files.session.as_mut();
        let (directory, said) = if keep {
            let kept = kept_directory(workload, &files.directory);
            if let Some(said) = keep_set(session, workload, &kept, site, context).await? {
                (kept, Some(said))
            } else {
                make(session, &own, context).await?;
                build(site, session, workload, &own, None, context).await?;
                let said = format!(
                    "another run is making {kept}: this one uses a data set of its own, which it removes"
                );
                (own, Some(said))
            }
        } else {
            make(session, &own, context).await?;
            build(site, session, workload, &own, None, context).await?;
            (own, None)
        };
        self.directory = Some(directory);
        Ok(said)
    }
}

/// Finds a kept set, or makes it; what became of it, or nothing where another run is making it.
async fn keep_set(
    session: &mut dyn Session,
    workload: &Workload,
    directory: &str,
    site: &BuildSite<'_>,
    context: &mut PassContext<'_>,
) -> Result<Option<String>, StepError> {
    let begun = kept_data_set::look(session, directory, context).await?;
    if context.stop.is_stopped() {
        return Err(StepError::Stopped);
    }
    match begun {
        DataSetState::InProgress => return Ok(None),
        DataSetState::Complete if is_unchanged(session, workload, directory, context).await? => {
            return Ok(Some(format!("the data set in {directory} is unchanged and used again")));
        }
        // A complete set that differs from the plan is made anew: reads of it could not be verified.
        DataSetState::Complete | DataSetState::Abandoned => remove_tree(session, directory, context).await?,
        DataSetState::Nothing => {}
    }
    match make(session, directory, context).await {
        // Another run has begun the set since it was examined.
        Err(error) if error.class == ErrorClass::Exists => return Ok(None),
        made => made?,
    }
    let built = match Heartbeat::begin(session, directory, context).await {
        Ok(mut growing) => match build(site, session, workload, directory, Some(&mut growing), context).await
        {
            Ok(()) => growing.end(session, directory, context).await.map_err(StepError::from),
            failed => failed,
        },
        Err(error) => Err(error.into()),
    };
    if let Err(error) = built {
        // No run will continue it. If it cannot be removed, the next run finds it abandoned.
        let _ = remove_tree(session, directory, context).await;
        return Err(error);
    }
    Ok(Some(format!(
        "the data set stays in {directory}: it is used again while it is unchanged, and removed by `sharebench clean`"
    )))
}

/// True when every file of a kept set is there with its size, and its first and last bytes are the right ones.
async fn is_unchanged(
    session: &mut dyn Session,
    workload: &Workload,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<bool, OpError> {
    let missing = |error: OpError| if error.class == ErrorClass::NotFound { Ok(false) } else { Err(error) };
    for (index, file) in shared(workload) {
        let path = format!("{directory}/{}", file.path);
        let (handle, size) = match context.deadline.call(session, MetaOp::open(path, OpenHow::Read)).await {
            Ok(MetaYield::Opened { file, size }) => (file, size),
            Ok(_) => return Ok(false),
            Err(error) => return missing(error),
        };
        let most = session.buffer(SLOT).len() as u64;
        let len = file.bytes.min(most);
        let mut right = size == file.bytes;
        // The first and the last block of each file: a set that is incomplete or was changed differs there as
        // a rule, and reading all of it would cost a pass over the set.
        for offset in [0, file.bytes - len] {
            right = right
                && holds(session, handle, offset..offset + len, set_content(index, file), context).await?;
        }
        context.deadline.call(session, MetaOp::Close { file: handle }).await?;
        if !right {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True if a range of a file has the content that the set should have.
async fn holds(
    session: &mut dyn Session,
    file: FileRef,
    bytes: Range<u64>,
    content: Content,
    context: &mut PassContext<'_>,
) -> Result<bool, OpError> {
    let mut offset = bytes.start;
    while offset < bytes.end {
        let slot_bytes = session.buffer(SLOT).len() as u32;
        let len = (bytes.end - offset).min(u64::from(slot_bytes)) as u32;
        let len = request_splitting::max_transfer(session, DataOp::Read { file, offset, len }, slot_bytes);
        let read = exchange(session, &mut context.deadline, DataOp::Read { file, offset, len }).await?;
        let found = &session.buffer(SLOT)[..read as usize];
        if read != len || stamp::verify(found, content, offset, Verify::Full).is_err() {
            return Ok(false);
        }
        offset += u64::from(len);
    }
    Ok(true)
}
