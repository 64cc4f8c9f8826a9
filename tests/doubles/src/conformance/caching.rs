//! The step of rights to cache: a session that opens a file with one gives it back when another one opens the file.

use sharebench_model::{CacheRight, MetaOp, MetaYield, OpenHow, SessionOp};

use super::ground::Ground;

/// Where a target grants leases or delegations, an open by another session takes the right back, and waits until it is given
/// back. A closed file has no right.
pub(super) async fn caching(ground: &Ground<'_>) -> Result<(), String> {
    let mut holder = ground.enter().await?;
    let path = ground.path("cached");
    let content = vec![7; ground.align(7) as usize];
    holder.put(&path, &content).await?;
    for (op, least) in [
        (SessionOp::OpenLeased { path: path.clone() }, CacheRight::Writes),
        (SessionOp::OpenDelegated { path: path.clone() }, CacheRight::Reads),
    ] {
        let (file, right) = match holder.call(op.clone()).await {
            Ok(MetaYield::OpenedToCache { file, right }) => (file, right),
            Err(error) if error.class.ends_connection() => return Err(format!("{op:?}: {error}")),
            Err(_) => continue,
            Ok(found) => return Err(format!("{op:?} returned {found:?}")),
        };
        if right < least {
            ground.note(format!("{op:?} was granted {right:?}"));
        } else {
            let mut other = ground.connect(1).await?;
            let opening = MetaOp::open(path.clone(), OpenHow::ReadWrite);
            let given_back = async {
                holder.call(SessionOp::AwaitRecall { file }).await?;
                holder.call(SessionOp::GiveBack { file }).await
            };
            let (opened, returned) = tokio::join!(other.call(opening), given_back);
            let (opened, _) = opened
                .and_then(MetaYield::into_opened)
                .map_err(|error| format!("the open against {op:?}: {error}"))?;
            returned.map_err(|error| format!("the return of {op:?}: {error}"))?;
            if other.read(opened, 0, content.len() as u32).await? != content {
                return Err(format!("another content after {op:?}"));
            }
            other.done(MetaOp::Close { file: opened }).await?;
            ground.finish(other).await?;
        }
        holder.done(MetaOp::Close { file }).await?;
        if holder.call(SessionOp::AwaitRecall { file }).await.is_ok() {
            return Err(format!("{op:?}: a closed file has a right"));
        }
    }
    ground.finish(holder).await
}
