//! Session steps: facts, space, closing, and what two sessions see of each other.

use sharebench_model::{DataOp, ErrorClass, MetaOp, MetaYield, OpenHow, SessionOp, Slot};

use super::ground::Ground;
use super::pattern::{compare, pattern};

pub(super) async fn facts(ground: &Ground<'_>) -> Result<(), String> {
    let probe = ground.enter().await?;
    let facts = probe.session.facts();
    let url = ground.target.url();
    if facts.is_empty() || url.is_empty() {
        ground.find(format!("url {url:?}, facts {facts:?}"));
    }
    if let Some(secret) = ground.suite.secret.as_deref().filter(|secret| !secret.is_empty()) {
        let shown = format!("{url} {facts:?} {:?}", ground.target.capabilities());
        if shown.contains(secret) {
            ground.find("the secret is shown in the URL or the facts");
        }
    }
    ground.finish(probe).await
}

pub(super) async fn space(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    match probe.call(MetaOp::Space).await {
        Ok(MetaYield::Space(space)) if space.total > 0 && space.available <= space.total => {}
        other => ground.find(format!("{other:?}")),
    }
    ground.finish(probe).await
}

/// A closed file reference is invalid for data, size and a second close.
pub(super) async fn close(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let unit = ground.align(512).min(u64::from(ground.max_record())) as u32;
    let file = probe.create(&ground.path("closed")).await?;
    probe.write(file, 0, &pattern(1, 0, unit)).await?;
    probe.done(MetaOp::Close { file }).await?;
    for op in [DataOp::Read { file, offset: 0, len: unit }, DataOp::Flush { file }] {
        probe.session.submit(Slot(0), op);
        let replies = probe.replies().await;
        if replies.len() != 1 || replies.iter().any(|reply| reply.result.is_ok()) {
            ground.find(format!("{op:?} on a closed file: {replies:?}"));
        }
    }
    for op in [MetaOp::SetSize { file, size: 0 }, MetaOp::Close { file }] {
        let what = format!("{op:?}");
        if let Ok(yielded) = probe.call(op).await {
            ground.find(format!("{what} on a closed file: {yielded:?}"));
        }
    }
    compare(&pattern(1, 0, unit), &probe.get(&ground.path("closed"), unit).await?, "after the close")?;
    ground.finish(probe).await
}

pub(super) async fn drop_cache(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let unit = ground.align(8192).min(u64::from(ground.max_record())) as u32;
    let file = probe.create(&ground.path("cached")).await?;
    probe.write(file, 0, &pattern(1, 0, unit)).await?;
    probe.read(file, 0, unit).await?;
    match (ground.target.capabilities().drop_cache, probe.call(SessionOp::DropCache { file }).await) {
        (true, Ok(MetaYield::Done)) => {}
        (false, Err(error)) if error.class == ErrorClass::Unsupported => {}
        (able, other) => ground.find(format!("drop_cache is {able}, the operation says {other:?}")),
    }
    compare(&pattern(1, 0, unit), &probe.read(file, 0, unit).await?, "after the cache was dropped")?;
    probe.done(MetaOp::Close { file }).await?;
    ground.finish(probe).await
}

pub(super) async fn two_sessions(ground: &Ground<'_>) -> Result<(), String> {
    let mut left = ground.enter().await?;
    let mut right = ground.connect(1).await?;
    let unit = ground.align(2000).min(u64::from(ground.max_record())) as u32;
    let path = ground.path("shared");
    let mine = left.create(&path).await?;
    left.write(mine, 0, &pattern(1, 0, unit)).await?;
    let (theirs, size) = right.open(&path, OpenHow::ReadWrite).await?;
    if size != u64::from(unit) {
        ground.find(format!("the other session opened {size} bytes instead of {unit}"));
    }
    compare(&pattern(1, 0, unit), &right.read(theirs, 0, unit).await?, "left's write at right")?;
    right.write(theirs, 0, &pattern(2, 0, unit)).await?;
    compare(&pattern(2, 0, unit), &left.read(mine, 0, unit).await?, "right's write at left")?;
    left.write(mine, u64::from(unit), &pattern(3, u64::from(unit), unit)).await?;
    let grown = right.read(theirs, u64::from(unit), unit).await?;
    compare(&pattern(3, u64::from(unit), unit), &grown, "left's growth at right")?;
    left.done(MetaOp::Close { file: mine }).await?;
    right.done(MetaOp::Close { file: theirs }).await?;
    left.done(MetaOp::Remove { path: path.clone() }).await?;
    right.fails(MetaOp::Stat { path }, &[ErrorClass::NotFound]).await?;
    ground.finish(left).await?;
    ground.finish(right).await
}
