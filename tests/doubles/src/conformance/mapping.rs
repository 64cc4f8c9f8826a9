//! The mapping step: copies from and to a mapped file, side by side with a session that does not map it.

use sharebench_model::{DataOp, ErrorClass, MetaOp, MetaYield, OpenHow, SessionOp, Slot};

use super::ground::Ground;
use super::pattern::{compare, pattern};

/// What is written on one side is read on the other, and without the mapping the file is as it was written. Refused where the capabilities say so.
pub(super) async fn mapping(ground: &Ground<'_>) -> Result<(), String> {
    let mut mapped = ground.enter().await?;
    let unit = ground.align(3000).min(u64::from(ground.max_record())) as u32;
    let path = ground.path("mapped");
    let size = u64::from(unit) * 3;
    let file = mapped.create(&path).await?;
    mapped.write(file, 0, &pattern(1, 0, unit)).await?;
    mapped.done(MetaOp::SetSize { file, size }).await?;
    match (ground.target.capabilities().mapping, mapped.call(SessionOp::Map { file, bytes: size }).await) {
        (true, Ok(MetaYield::Done)) => {}
        (false, Err(error)) if error.class == ErrorClass::Unsupported => return ground.finish(mapped).await,
        (able, other) => return Err(format!("mapping is {able}, the operation says {other:?}")),
    }
    mapped.mapped = true;
    compare(&pattern(1, 0, unit), &mapped.read(file, 0, unit).await?, "through the mapping")?;
    let last = u64::from(unit) * 2;
    mapped.write(file, last, &pattern(2, last, unit)).await?;
    let mut plain = ground.connect(1).await?;
    let (theirs, _) = plain.open(&path, OpenHow::ReadWrite).await?;
    compare(&pattern(2, last, unit), &plain.read(theirs, last, unit).await?, "written by the mapping")?;
    plain.write(theirs, 0, &pattern(3, 0, unit)).await?;
    compare(&pattern(3, 0, unit), &mapped.read(file, 0, unit).await?, "read by the mapping")?;
    // A second mapping replaces the first, a length of 0 ends it, and a flush works throughout.
    mapped.done(SessionOp::Map { file, bytes: size }).await?;
    mapped.write(file, 0, &pattern(4, 0, unit)).await?;
    mapped.session.submit(Slot(0), DataOp::Flush { file });
    if let [reply] = &mapped.replies().await[..]
        && let Err(error) = &reply.result
    {
        ground.find(format!("flush of a mapped file: {error}"));
    }
    mapped.done(SessionOp::Map { file, bytes: 0 }).await?;
    mapped.mapped = false;
    compare(&pattern(4, 0, unit), &mapped.read(file, 0, unit).await?, "after the mapping")?;
    mapped.done(MetaOp::Close { file }).await?;
    plain.done(MetaOp::Close { file: theirs }).await?;
    ground.finish(mapped).await?;
    ground.finish(plain).await
}
