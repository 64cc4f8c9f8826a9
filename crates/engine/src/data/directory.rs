//! The directories that sharebench makes on a target: their names, and how they are removed.

use sharebench_model::{Entry, ErrorClass, MetaOp, MetaYield, OpError, OpStep, OpenHow};
use sharebench_target::{MARKER, Session};

use crate::data::context::PassContext;

/// The directory of a run on the target of that index. Each target has a name of its own, since two
/// targets may be one share under two protocols.
pub fn directory_on(run: &str, target: usize) -> String {
    format!("{run}-{target}")
}

/// Makes a directory of ours. One at the top of the target gets the marker by which `sharebench clean` recognises it.
pub(crate) async fn make(
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
    format!("{directory}/{MARKER}")
}

async fn list(
    session: &mut dyn Session,
    path: &str,
    context: &mut PassContext<'_>,
) -> Result<Vec<Entry>, OpError> {
    match context.deadline.call(session, MetaOp::List { path: path.to_owned() }).await? {
        MetaYield::Entries(entries) => Ok(entries),
        _ => Ok(Vec::new()),
    }
}

/// Removes a directory that an earlier run left, if it has the marker or is empty. A run that ends between making the
/// directory and its marker leaves an empty one.
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
    if list(session, directory, context).await?.is_empty() {
        let path = directory.to_owned();
        return context.deadline.call(session, MetaOp::RemoveDir { path }).await.map(drop);
    }
    let why =
        format!("it has no file {MARKER}, so sharebench did not make it; remove it by hand if it is yours");
    Err(OpError::new(ErrorClass::Refused, OpStep::Path, why))
}

/// Removes a directory of ours with all that is in it; one that does not exist is removed already. The marker is the
/// last file to go, so that `sharebench clean` can continue a removal that was interrupted.
pub(crate) async fn remove_tree(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let last = marker(directory);
    let mut is_marked = false;
    let mut open = vec![directory.to_owned()];
    let mut made = Vec::new();
    while let Some(path) = open.pop() {
        let entries = match list(session, &path, context).await {
            Ok(entries) => entries,
            Err(error) if error.class == ErrorClass::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let child = format!("{path}/{}", entry.name);
            if entry.directory {
                open.push(child);
            } else if child == last {
                is_marked = true;
            } else {
                context.deadline.call(session, MetaOp::Remove { path: child }).await?;
            }
        }
        made.push(path);
    }
    for path in made.into_iter().rev() {
        if is_marked && path == directory {
            context.deadline.call(session, MetaOp::Remove { path: last.clone() }).await?;
        }
        context.deadline.call(session, MetaOp::RemoveDir { path }).await?;
    }
    Ok(())
}
