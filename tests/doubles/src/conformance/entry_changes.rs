//! Steps of links and times.

use std::time::{Duration, SystemTime};

use sharebench_model::{ErrorClass, MetaOp};

use super::ground::Ground;
use super::pattern::{compare, pattern};

/// A time that every protocol can represent: DOS times have a resolution of two seconds.
const SECONDS: u32 = 1_000_000_000;

/// A link is the same file under another name, and stays when the first name is removed.
pub(super) async fn link(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let unit = ground.align(64) as u32;
    let content = pattern(1, 0, unit);
    let from = ground.path("linked");
    let to = ground.path("link");
    probe.put(&from, &content).await?;
    let link = MetaOp::Link { from: from.clone(), to: to.clone() };
    match probe.call(link.clone()).await {
        Err(error) if error.class == ErrorClass::Unsupported => {
            ground.note("no hard links");
            return ground.finish(probe).await;
        }
        made => made.map_err(|error| error.to_string())?,
    };
    probe.fails(link, &[ErrorClass::Exists]).await?;
    let missing = MetaOp::Link { from: ground.path("never"), to: ground.path("other") };
    probe.fails(missing, &[ErrorClass::NotFound]).await?;
    probe.done(MetaOp::Remove { path: from }).await?;
    compare(&content, &probe.get(&to, unit).await?, "by the other name")?;
    ground.finish(probe).await
}

/// The time of modification is the one that was set.
pub(super) async fn set_modified(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let path = ground.path("dated");
    probe.put(&path, &pattern(1, 0, ground.align(64) as u32)).await?;
    let set = MetaOp::SetModified { path: path.clone(), seconds: SECONDS };
    match probe.call(set).await {
        Err(error) if error.class == ErrorClass::Unsupported => {
            ground.note("times are not set");
            return ground.finish(probe).await;
        }
        set => set.map_err(|error| error.to_string())?,
    };
    let wanted = SystemTime::UNIX_EPOCH + Duration::from_secs(SECONDS.into());
    let found = probe.modified(&path).await;
    if found.is_some_and(|found| found != wanted) {
        ground.find(format!("a file of {wanted:?} has the time {found:?}"));
    }
    let missing = MetaOp::SetModified { path: ground.path("never"), seconds: SECONDS };
    probe.fails(missing, &[ErrorClass::NotFound]).await?;
    ground.finish(probe).await
}
