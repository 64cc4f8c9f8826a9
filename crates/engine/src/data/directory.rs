//! The directories that sharebench makes on a target: their names, markers and removal.

use sharebench_model::{ErrorClass, MetaOp, MetaYield, OpError, OpStep, OpenHow};
use sharebench_target::{DIRECTORY_PREFIX, MARKER, Session, marker_of};

use crate::data::context::PassContext;
use crate::data::listed_pages::ListedPages;
use crate::data::tree_removal::remove_tree;

/// The directory of a run on the target of that index. Each target has a name of its own, since two
/// targets may be one share under two protocols.
pub fn directory_on(run: &str, target: usize) -> String {
    format!("{run}-{target}")
}

/// Put before a rejected name, to find out whether the dot in front of it is the cause.
const PROBE_NAME: &str = "probe";

/// A directory of ours that could not be made.
pub(crate) struct MakeError {
    /// The error of the target; it states the remedy where there is one.
    pub error: OpError,
    /// The target rejects the dot in front of the name: it made the same directory with letters in front.
    pub rejects_dot: bool,
}

/// Makes a directory of ours. One at the top of the target gets the marker by which `sharebench clean` recognises it.
pub(crate) async fn make(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    make_or_explain(session, directory, context).await.map_err(|failed| failed.error)
}

/// As [`make`]. If the target rejects the name, the same directory with letters in front shows whether the dot is the cause.
pub(crate) async fn make_or_explain(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), MakeError> {
    let Err(mut error) = make_marked(session, directory, context).await else { return Ok(()) };
    // A server that rejects a name states that it may not be used, or that it does not exist.
    let may_be_the_dot = matches!(error.class, ErrorClass::NotFound | ErrorClass::Refused);
    let mut rejects_dot = false;
    if may_be_the_dot && directory.starts_with(DIRECTORY_PREFIX) {
        let other = format!("{PROBE_NAME}{directory}");
        rejects_dot = make_marked(session, &other, context).await.is_ok();
        if rejects_dot {
            error.detail += "; the target rejects names that begin with a dot: use --work-dir NAME";
            remove_tree(session, &other, context).await.map_err(|error| MakeError { error, rejects_dot })?;
        }
    }
    Err(MakeError { error, rejects_dot })
}

async fn make_marked(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    context.deadline.call(session, MetaOp::MakeDir { path: directory.to_owned() }).await?;
    if directory.contains('/') {
        return Ok(());
    }
    let marker = MetaOp::open(marker(directory), OpenHow::CreateNew);
    let marked = match context.deadline.call(session, marker).await.and_then(MetaYield::into_opened) {
        Ok((file, _)) => context.deadline.call(session, MetaOp::Close { file }).await.map(drop),
        Err(error) => Err(error),
    };
    if marked.is_err() {
        // The error of the marker is the one to report.
        let _ = remove_tree(session, directory, context).await;
    }
    marked
}

fn marker(directory: &str) -> String {
    format!("{directory}/{}", marker_of(directory))
}

async fn is_empty(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<bool, OpError> {
    let mut pages = ListedPages::from_path(directory);
    while let Some(page) = pages.next(session, context).await? {
        if !page.entries.is_empty() || page.unnamed > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes a directory that an earlier run left, if it has the marker, or if its name is long and it is empty: a run that
/// ends between making the directory and its marker leaves an empty one. With an 8.3 name it needs the marker, because
/// such names are common (a date has eight hexadecimal digits).
pub(crate) async fn remove_leftover(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    match context.deadline.call(session, MetaOp::Stat { path: marker(directory) }).await {
        Ok(_) => return remove_tree(session, directory, context).await,
        Err(error) if error.class != ErrorClass::NotFound => return Err(error),
        Err(_) => {}
    }
    if marker_of(directory) == MARKER && is_empty(session, directory, context).await? {
        let path = directory.to_owned();
        return context.deadline.call(session, MetaOp::RemoveDir { path }).await.map(drop);
    }
    let why = format!(
        "it has no file {}, so sharebench did not make it; remove it by hand if it is yours",
        marker_of(directory)
    );
    Err(OpError::new(ErrorClass::Refused, OpStep::Path, why))
}
