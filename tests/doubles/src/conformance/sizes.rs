//! Size steps: growing, shrinking and sparse files.

use sharebench_model::{ErrorClass, MetaOp};

use super::ground::Ground;
use super::pattern::{compare, pattern};

/// An offset that does not fit 32 bits is kept, and the hole before it reads as zeros.
pub(super) async fn beyond_4_gib(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let path = ground.path("sparse");
    let unit = ground.align(1000).min(u64::from(ground.max_record())) as u32;
    let far = ground.align((5 << 30) + 17);
    let file = probe.create(&path).await?;
    let wanted = pattern(7, far, unit);
    match probe.call(MetaOp::SetSize { file, size: far }).await {
        Ok(_) => {}
        Err(error) if matches!(error.class, ErrorClass::NoSpace | ErrorClass::Unsupported) => {
            ground.note(format!("not tried: {error}"));
            probe.done(MetaOp::Close { file }).await?;
            return ground.finish(probe).await;
        }
        Err(error) => return Err(format!("extend to {far}: {error}")),
    }
    probe.write(file, far, &wanted).await?;
    compare(&wanted, &probe.read(file, far, unit).await?, "the far record")?;
    // A 32-bit offset would have put the far record here.
    let near = far & 0xFFFF_FFFF;
    compare(&vec![0; unit as usize], &probe.read(file, near, unit).await?, "the hole")?;
    let size = probe.stat(&path).await?.size;
    if size != far + u64::from(unit) {
        ground.find(format!("stat says {size} bytes instead of {}", far + u64::from(unit)));
    }
    probe.done(MetaOp::SetSize { file, size: 0 }).await?;
    probe.done(MetaOp::Close { file }).await?;
    ground.finish(probe).await
}

pub(super) async fn set_size(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let path = ground.path("sized");
    let unit = ground.align(1500).min(u64::from(ground.max_record() / 2)).max(1);
    let unit = (unit / u64::from(ground.suite.alignment)).max(1) * u64::from(ground.suite.alignment);
    let file = probe.create(&path).await?;
    probe.write(file, 0, &pattern(1, 0, 2 * unit as u32)).await?;
    let mut wanted = pattern(1, 0, unit as u32);
    for (size, what) in [(unit, "shrunk"), (2 * unit, "grown"), (2 * unit, "unchanged"), (0, "emptied")] {
        probe.done(MetaOp::SetSize { file, size }).await?;
        wanted.resize(size as usize, 0);
        compare(&wanted, &probe.read(file, 0, 2 * unit as u32).await?, what)?;
        let stat = probe.stat(&path).await?;
        if stat.size != size || stat.directory {
            ground.find(format!("{what}: stat says {stat:?} instead of {size} bytes"));
        }
    }
    probe.done(MetaOp::Close { file }).await?;
    ground.finish(probe).await
}
