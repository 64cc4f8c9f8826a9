//! The step of work that a server does by itself on open files: copies, clones and holes.

use sharebench_model::{FileRef, MetaOp, MetaYield, OpError, OpenHow, SessionOp};

use super::ground::Ground;
use super::pattern::{compare, pattern};
use super::probe::Probe;

/// A hole begins and ends at multiples of this, which is a block of every file system of the tests.
const BLOCK: u64 = 4096;

/// Makes a file, changes it by an operation, and closes it. Whether a target has the operation depends on its server, so
/// that a rejection is no finding; it is returned.
async fn changed(
    probe: &mut Probe,
    file: FileRef,
    op: SessionOp,
) -> Result<Result<MetaYield, OpError>, String> {
    let changed = probe.call(op.clone()).await;
    probe.done(MetaOp::Close { file }).await?;
    match changed {
        Err(error) if error.class.ends_connection() => Err(format!("{op:?}: {error}")),
        changed => Ok(changed),
    }
}

/// What a server reports as copied, cloned or a hole has that content, and the source stays as it was.
pub(super) async fn ranges(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let unit = ground.align(BLOCK);
    let size = unit * 3;
    let from = ground.path("from");
    let source = probe.create(&from).await?;
    // A slot may be smaller than a block.
    let piece = u64::from(ground.max_record()).min(unit);
    let pieces = |from: u64, to: u64| {
        (from..to).step_by(piece as usize).map(move |at| (at, piece.min(to - at) as u32))
    };
    for (at, len) in pieces(0, size) {
        probe.write(source, at, &pattern(1, at, len)).await?;
    }
    for (name, is_clone) in [("copied", false), ("cloned", true)] {
        let path = ground.path(name);
        let to = probe.create(&path).await?;
        let op = if is_clone {
            SessionOp::CloneRange { from: source, to, bytes: size }
        } else {
            SessionOp::CopyRange { from: source, to, offset: 0, bytes: size }
        };
        match changed(&mut probe, to, op).await? {
            Err(_) => continue,
            Ok(MetaYield::Bytes(bytes)) if !is_clone && bytes == size => {}
            Ok(MetaYield::Done) if is_clone => {}
            Ok(other) => return Err(format!("{name}: {other:?}")),
        }
        let (to, found) = probe.open(&path, OpenHow::Read).await?;
        if found != size {
            return Err(format!("{name}: {found} of {size} bytes"));
        }
        for (at, len) in pieces(0, size) {
            compare(&pattern(1, at, len), &probe.read(to, at, len).await?, name)?;
        }
        probe.done(MetaOp::Close { file: to }).await?;
    }
    probe.done(MetaOp::Close { file: source }).await?;
    let (file, _) = probe.open(&from, OpenHow::ReadWrite).await?;
    let punch = SessionOp::PunchHole { file, offset: unit, bytes: unit };
    if changed(&mut probe, file, punch).await?.is_ok() {
        let (file, found) = probe.open(&from, OpenHow::Read).await?;
        if found != size {
            return Err(format!("a file with a hole has {found} of {size} bytes"));
        }
        for (at, len) in pieces(unit, unit * 2) {
            compare(&vec![0; len as usize], &probe.read(file, at, len).await?, "the hole")?;
        }
        for (at, len) in pieces(0, unit).chain(pieces(unit * 2, size)) {
            compare(&pattern(1, at, len), &probe.read(file, at, len).await?, "around it")?;
        }
        probe.done(MetaOp::Close { file }).await?;
    }
    ground.finish(probe).await
}
