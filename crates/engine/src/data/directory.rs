//! The directories that sharebench makes on a target: their names, and how they are removed.

use sharebench_model::{ErrorClass, MetaOp, MetaYield, OpError};
use sharebench_target::Session;

use crate::data::context::PassContext;

/// Start of the name of every directory that sharebench makes on a target.
pub const DIRECTORY_PREFIX: &str = ".sharebench-";

/// The directory of a run on the target of that index. Each target has a name of its own, since two
/// targets may be one share under two protocols.
pub fn directory_on(run: &str, target: usize) -> String {
    format!("{run}-{target}")
}

pub(crate) async fn make(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    context.deadline.call(session, MetaOp::MakeDir { path: directory.to_owned() }).await.map(drop)
}

/// Removes a directory of ours with all that is in it; one that does not exist is removed already.
pub(crate) async fn remove_tree(
    session: &mut dyn Session,
    directory: &str,
    context: &mut PassContext<'_>,
) -> Result<(), OpError> {
    let mut open = vec![directory.to_owned()];
    let mut made = Vec::new();
    while let Some(path) = open.pop() {
        let entries = match context.deadline.call(session, MetaOp::List { path: path.clone() }).await {
            Ok(MetaYield::Entries(entries)) => entries,
            Ok(_) => Vec::new(),
            Err(error) if error.class == ErrorClass::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let child = format!("{path}/{}", entry.name);
            if entry.directory {
                open.push(child);
            } else {
                context.deadline.call(session, MetaOp::Remove { path: child }).await?;
            }
        }
        made.push(path);
    }
    for path in made.into_iter().rev() {
        context.deadline.call(session, MetaOp::RemoveDir { path }).await?;
    }
    Ok(())
}
