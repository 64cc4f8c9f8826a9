//! The shared data set of a load: laid out before the first step, or found from an earlier run.

use sharebench_model::{DataOp, ErrorClass, MetaOp, MetaYield, OpError, OpenHow, Slot, Stability, mix};
use sharebench_plan::{DataFile, Owner, TransactionWork, Verify, Workload};
use sharebench_target::Session;

use crate::files::{DIRECTORY_PREFIX, TargetFiles, remove_tree};
use crate::pass::{PassContext, mismatch_error};
use crate::stamp::{self, Content};

/// Set of a kept directory whose laying out came to its end.
const COMPLETE: &str = "complete";
/// Changes when the same plan would lay out other bytes.
const FORMAT: u64 = 1;

/// File id of the shared data set's file `index`.
pub(crate) const fn set_file_id(index: usize) -> u32 {
    0x8000_0000 | index as u32
}

/// What file `index` of the shared set holds.
pub(crate) fn set_content(index: usize, file: &DataFile) -> Content {
    Content { file: set_file_id(index), generation: 1, kind: kind_of(file) }
}

/// What its bytes look like.
pub(crate) fn kind_of(file: &DataFile) -> Option<sharebench_plan::DataKind> {
    (!file.data.compressed).then_some(file.data.kind)
}

/// (offset, length) of the blocks of a copy; the last may be short.
pub(crate) fn blocks(bytes: u64, block: u32) -> impl Iterator<Item = (u64, u32)> {
    let step = u64::from(block);
    (0..bytes.div_ceil(step)).map(move |n| (n * step, (bytes - n * step).min(step) as u32))
}

/// The shared set of one target.
#[derive(Debug, Default)]
pub(crate) struct SharedSet {
    /// Where it is, below the target's directory; none before it was laid out.
    pub directory: Option<String>,
}

/// The directory of a set that stays: the same plan finds it again, another one does not.
pub(crate) fn kept_directory(workload: &Workload) -> String {
    let mut hash = mix(FORMAT);
    let mut add = |number: u64| hash = mix(hash ^ number);
    for (index, file) in shared(workload) {
        file.path.bytes().for_each(|byte| add(u64::from(byte)));
        add(file.bytes);
        add(index as u64);
        file.data.name().bytes().for_each(|byte| add(u64::from(byte)));
    }
    format!("{DIRECTORY_PREFIX}set-{hash:016x}")
}

/// Files that are read by all, and must be there.
pub(crate) fn shared(workload: &Workload) -> impl Iterator<Item = (usize, &DataFile)> {
    let files = workload.set.files.iter().enumerate();
    files.filter(|(index, file)| file.owner == Owner::Shared && workload.needs(*index))
}

impl SharedSet {
    /// Lays the set out once per target; later steps find it there. With `keep` it stands beside the run's own
    /// directory and is used again where it is found unchanged; says what became of it.
    pub async fn prepare(
        &mut self,
        work: &TransactionWork,
        files: &mut TargetFiles,
        keep: bool,
        context: &mut PassContext<'_>,
    ) -> Result<Option<String>, OpError> {
        if self.directory.is_some() {
            return Ok(None);
        }
        let workload = &work.workload;
        if shared(workload).next().is_none() {
            self.directory = Some(files.path("set"));
            return Ok(None);
        }
        let session = files.session.as_mut();
        let directory = if keep { kept_directory(workload) } else { format!("{}/set", files.directory) };
        if keep && is_unchanged(session, workload, &directory, context).await? {
            let said = format!("the data set in {directory} is unchanged and used again");
            self.directory = Some(directory);
            return Ok(Some(said));
        }
        if keep {
            remove_tree(session, &directory, context).await?;
        }
        lay_out(session, workload, &directory, context).await?;
        let said = keep.then(|| {
            format!("the data set stays in {directory}: it is used again while it is unchanged, and removed by `sharebench clean`")
        });
        self.directory = Some(directory);
        Ok(said)
    }
}

async fn lay_out(
    session: &mut dyn Session,
    workload: &Workload,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    make_directories(session, workload, directory, context).await?;
    write_files(session, workload, directory, (0, 1), context).await?;
    complete(session, directory, context).await
}

/// Makes the set's directories.
pub(crate) async fn make_directories(
    session: &mut dyn Session,
    workload: &Workload,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    context.deadline.call(session, MetaOp::MakeDir { path: directory.to_owned() }).await?;
    let wanted: std::collections::BTreeSet<usize> = shared(workload).map(|(index, _)| index).collect();
    for below in workload.set.directories(|index| wanted.contains(&index)) {
        context.deadline.call(session, MetaOp::MakeDir { path: format!("{directory}/{below}") }).await?;
    }
    Ok(())
}

/// Writes the set's files: each `of`-th one, from `part` on.
pub(crate) async fn write_files(
    session: &mut dyn Session,
    workload: &Workload,
    directory: &str,
    (part, of): (usize, usize),
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    for (index, file) in shared(workload).skip(part).step_by(of.max(1)) {
        if context.stop.is_stopped() {
            return Err(OpError::new(ErrorClass::Disconnected, "layout", "stopped"));
        }
        write_file(
            session,
            &format!("{directory}/{}", file.path),
            file.bytes,
            set_content(index, file),
            context,
        )
        .await?;
    }
    Ok(())
}

/// Notes that every file of the set was written.
pub(crate) async fn complete(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let complete = format!("{directory}/{COMPLETE}");
    let open = MetaOp::open(complete, OpenHow::CreateNew);
    if let MetaYield::Opened { file, .. } = context.deadline.call(session, open).await? {
        context.deadline.call(session, MetaOp::Close { file }).await?;
    }
    Ok(())
}

/// Makes a new file and writes it to stable storage, as much at once as fits into a slot.
async fn write_file(
    session: &mut dyn Session,
    path: &str,
    bytes: u64,
    content: Content,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let open = MetaOp::open(path, OpenHow::CreateNew);
    let MetaYield::Opened { file: handle, .. } = context.deadline.call(session, open).await? else {
        return Err(OpError::new(ErrorClass::Protocol, "open", "no file in the reply"));
    };
    let block = session.buffer(Slot(0)).len() as u32;
    let mut replies = Vec::new();
    for (offset, len) in blocks(bytes, block) {
        stamp::fill(&mut session.buffer(Slot(0))[..len as usize], content, offset);
        let stability = Stability::Unstable;
        session.submit(Slot(0), DataOp::Write { file: handle, offset, len, stability });
        context.deadline.replies(session, &mut replies).await?;
        replies.swap_remove(0).result?;
    }
    session.submit(Slot(0), DataOp::Flush { file: handle });
    context.deadline.replies(session, &mut replies).await?;
    replies.swap_remove(0).result?;
    context.deadline.call(session, MetaOp::Close { file: handle }).await.map(drop)
}

/// True when every file of a kept set is there with its size, and its first and last bytes are the right ones.
pub(crate) async fn is_unchanged(
    session: &mut dyn Session,
    workload: &Workload,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<bool, OpError> {
    let missing = |error: OpError| if error.class == ErrorClass::NotFound { Ok(false) } else { Err(error) };
    let complete = MetaOp::Stat { path: format!("{directory}/{COMPLETE}") };
    if let Err(error) = context.deadline.call(session, complete).await {
        return missing(error);
    }
    for (index, file) in shared(workload) {
        let path = format!("{directory}/{}", file.path);
        let (handle, size) = match context.deadline.call(session, MetaOp::open(path, OpenHow::Read)).await {
            Ok(MetaYield::Opened { file, size }) => (file, size),
            Ok(_) => return Ok(false),
            Err(error) => return missing(error),
        };
        let most = session.buffer(Slot(0)).len() as u64;
        let len = file.bytes.min(most);
        let mut right = size == file.bytes;
        for offset in [0, file.bytes - len] {
            if !right {
                break;
            }
            session.submit(Slot(0), DataOp::Read { file: handle, offset, len: len as u32 });
            let mut replies = Vec::new();
            context.deadline.replies(session, &mut replies).await?;
            let read = replies.swap_remove(0).result?;
            let found = &session.buffer(Slot(0))[..read as usize];
            let verified = stamp::verify(found, set_content(index, file), offset, Verify::Full)
                .map_err(|mismatch| mismatch_error(&file.path, &mismatch));
            right = u64::from(read) == len && verified.is_ok();
        }
        context.deadline.call(session, MetaOp::Close { file: handle }).await?;
        if !right {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn blocks_cover_a_file_exactly() {
        let list: Vec<_> = blocks(250, 100).collect();
        assert_eq!(list, [(0, 100), (100, 100), (200, 50)]);
    }
}
