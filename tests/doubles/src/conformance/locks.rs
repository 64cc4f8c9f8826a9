//! The step of locks of byte ranges, and of opens that deny a file to others.

use sharebench_model::{ErrorClass, FileRef, MetaOp, MetaYield, OpenHow, SessionOp};

use super::ground::Ground;
use super::probe::Probe;

/// A range of a file.
#[derive(Debug, Clone, Copy)]
struct Span {
    offset: u64,
    bytes: u64,
}

/// Locks a range at once; true if it was granted, false if it is in use. Whether a target has locks depends on its server, so
/// that none of both is a rejection, which is no finding.
async fn locked(probe: &mut Probe, file: FileRef, range: Span) -> Result<Option<bool>, String> {
    let Span { offset, bytes } = range;
    let lock = SessionOp::Lock { file, offset, bytes, wait: false };
    match probe.call(lock).await {
        Ok(MetaYield::Done) => Ok(Some(true)),
        Ok(other) => Err(format!("a lock: {other:?}")),
        Err(error) if error.class == ErrorClass::Busy => Ok(Some(false)),
        Err(error) if error.class.ends_connection() => Err(format!("a lock: {error}")),
        Err(_) => Ok(None),
    }
}

async fn expect_locked(
    probe: &mut Probe,
    file: FileRef,
    range: Span,
    wanted: bool,
    what: &str,
) -> Result<(), String> {
    match locked(probe, file, range).await? {
        Some(found) if found == wanted => Ok(()),
        found => Err(format!("{what}: {found:?} instead of {wanted}")),
    }
}

async fn unlock(probe: &mut Probe, file: FileRef, Span { offset, bytes }: Span) -> Result<(), String> {
    probe.done(SessionOp::Unlock { file, offset, bytes }).await
}

/// A lock excludes the same range and no other, until it is released or its file is closed; a lock that waits for nothing
/// is granted.
pub(super) async fn locks(ground: &Ground<'_>) -> Result<(), String> {
    let mut one = ground.enter().await?;
    let path = ground.path("locked");
    let created = one.create(&path).await?;
    one.done(MetaOp::Close { file: created }).await?;
    let (file, _) = one.open(&path, OpenHow::ReadWrite).await?;
    let range = Span { offset: 100, bytes: 10 };
    if locked(&mut one, file, range).await?.is_none() {
        one.done(MetaOp::Close { file }).await?;
        return ground.finish(one).await;
    }
    let mut other = ground.connect(1).await?;
    let (others, _) = other.open(&path, OpenHow::ReadWrite).await?;
    expect_locked(&mut other, others, range, false, "a range that another session has locked").await?;
    expect_locked(&mut other, others, Span { offset: 109, bytes: 1 }, false, "its last byte").await?;
    for offset in [90, 110] {
        let neighbour = Span { offset, bytes: 10 };
        expect_locked(&mut other, others, neighbour, true, "its neighbour").await?;
        unlock(&mut other, others, neighbour).await?;
    }
    unlock(&mut one, file, range).await?;
    let Span { offset, bytes } = range;
    other.done(SessionOp::Lock { file: others, offset, bytes, wait: true }).await?;
    expect_locked(&mut one, file, range, false, "a range after its hand-over").await?;
    unlock(&mut other, others, range).await?;
    expect_locked(&mut one, file, range, true, "a released range").await?;
    one.done(MetaOp::Close { file }).await?;
    expect_locked(&mut other, others, range, true, "a range whose file was closed").await?;
    other.done(MetaOp::Close { file: others }).await?;
    ground.finish(other).await?;
    ground.finish(one).await
}

/// Where a target has opens that deny a file, one of them is rejected while the file is open, and excludes other opens.
pub(super) async fn share_modes(ground: &Ground<'_>) -> Result<(), String> {
    let mut one = ground.enter().await?;
    let path = ground.path("denied");
    let created = one.create(&path).await?;
    let deny = SessionOp::OpenDenying { path: path.clone() };
    match one.call(deny.clone()).await {
        Err(error) if error.class == ErrorClass::Busy => {}
        Err(error) if error.class.ends_connection() => return Err(format!("{deny:?}: {error}")),
        Err(_) => {
            one.done(MetaOp::Close { file: created }).await?;
            return ground.finish(one).await;
        }
        Ok(found) => return Err(format!("an open file was denied: {found:?}")),
    }
    one.done(MetaOp::Close { file: created }).await?;
    let opened = one.call(deny).await.and_then(MetaYield::into_opened);
    let (file, _) = opened.map_err(|error| format!("a closed file: {error}"))?;
    let mut other = ground.connect(1).await?;
    match other.call(MetaOp::open(path.clone(), OpenHow::Read)).await {
        Err(error) if error.class == ErrorClass::Busy => {}
        found => return Err(format!("the open of a denied file: {found:?}")),
    }
    one.done(MetaOp::Close { file }).await?;
    let (file, _) = other.open(&path, OpenHow::Read).await?;
    other.done(MetaOp::Close { file }).await?;
    ground.finish(other).await?;
    ground.finish(one).await
}

/// Where a target has semaphores, the only unit of a new one has one owner at a time, and a closed one has none.
pub(super) async fn semaphores(ground: &Ground<'_>) -> Result<(), String> {
    let mut first = ground.enter().await?;
    let open = SessionOp::OpenSemaphore { name: ground.path("semaphore") };
    match first.call(open.clone()).await {
        Ok(_) => {}
        Err(error) if error.class.ends_connection() => return Err(format!("{open:?}: {error}")),
        Err(_) => return ground.finish(first).await,
    }
    let mut second = ground.connect(1).await?;
    second.done(open).await?;
    first.done(SessionOp::WaitSemaphore).await?;
    second.fails(SessionOp::WaitSemaphore, &[ErrorClass::Busy]).await?;
    first.done(SessionOp::SignalSemaphore).await?;
    second.done(SessionOp::WaitSemaphore).await?;
    second.done(SessionOp::SignalSemaphore).await?;
    for session in [&mut first, &mut second] {
        session.done(SessionOp::CloseSemaphore).await?;
        session.fails(SessionOp::SignalSemaphore, &[ErrorClass::Stale]).await?;
    }
    ground.finish(second).await?;
    ground.finish(first).await
}
