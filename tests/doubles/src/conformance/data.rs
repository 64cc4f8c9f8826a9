//! Data steps: what was written is read, at every size, offset and end of file.

use sharebench_model::{DataOp, MetaOp, OpenHow, Stability};

use super::ground::Ground;
use super::pattern::{compare, pattern};
use super::probe::Probe;

/// Sizes around every power of two that protocols and pages care about, up to the largest record.
fn sizes(ground: &Ground<'_>) -> Vec<u32> {
    let max = ground.max_record();
    let mut sizes = vec![max];
    for size in [1, 2, 7, 8, 512, 4096, 8192, 65_536, 131_072, 1 << 20] {
        sizes.extend([size - 1, size, size + 1]);
    }
    sizes.push(max - 1);
    sizes.retain(|size| (1..=max).contains(size) && size % ground.suite.alignment == 0);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

pub(super) async fn record_sizes(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let path = ground.path("records");
    let file = probe.create(&path).await?;
    let mut offset = 0;
    let mut records = Vec::new();
    for (index, size) in sizes(ground).into_iter().enumerate() {
        probe.write(file, offset, &pattern(index as u64, offset, size)).await?;
        records.push((index as u64, offset, size));
        offset = ground.align(offset + u64::from(size));
    }
    check_records(&mut probe, ground, &records, file).await?;
    probe.done(MetaOp::Close { file }).await?;
    let (file, size) = probe.open(&path, OpenHow::Read).await?;
    let wanted = records.last().map_or(0, |(_, offset, size)| offset + u64::from(*size));
    if size != wanted {
        ground.find(format!("reopened with {size} bytes instead of {wanted}"));
    }
    check_records(&mut probe, ground, &records, file).await?;
    probe.done(MetaOp::Close { file }).await?;
    ground.finish(probe).await
}

async fn check_records(
    probe: &mut Probe,
    ground: &Ground<'_>,
    records: &[(u64, u64, u32)],
    file: sharebench_model::FileRef,
) -> Result<(), String> {
    for &(stamp, offset, size) in records.iter().rev() {
        let got = probe.read(file, offset, size).await?;
        let right = compare(&pattern(stamp, offset, size), &got, &format!("{size} bytes at {offset}"));
        right.unwrap_or_else(|finding| ground.find(finding));
    }
    Ok(())
}

/// Reads at, across and beyond the end are short or empty, and each is still one request.
pub(super) async fn end_of_file(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let unit = ground.align(1000) as u32;
    let unit64 = u64::from(unit);
    if ground.max_record() < 2 * unit {
        ground.note("records are too small to read across the end");
        return ground.finish(probe).await;
    }
    let file = probe.create(&ground.path("short")).await?;
    let empty = probe.read(file, 0, unit).await?;
    compare(&[], &empty, "a read of an empty file")?;
    probe.write(file, 0, &pattern(1, 0, unit)).await?;
    probe.write(file, unit64, &pattern(1, unit64, unit)).await?;
    for (offset, len, bytes) in [
        (unit64, unit, unit),
        (unit64, 2 * unit, unit),
        (2 * unit64, unit, 0),
        (3 * unit64, unit, 0),
        (1 << 33, unit, 0),
    ] {
        let got = probe.read(file, offset, len).await?;
        let what = format!("{len} bytes at {offset} of {}", 2 * unit);
        compare(&pattern(1, offset, bytes), &got, &what).unwrap_or_else(|finding| ground.find(finding));
    }
    if ground.suite.alignment == 1 {
        let got = probe.read(file, 2 * unit64 - 1, unit).await?;
        compare(&pattern(1, 2 * unit64 - 1, 1), &got, "a read from the last byte")?;
    }
    probe.done(MetaOp::Close { file }).await?;
    ground.finish(probe).await
}

pub(super) async fn overwrite(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let unit = ground.align(3000).min(u64::from(ground.max_record() / 3)).max(1);
    let unit = (unit / u64::from(ground.suite.alignment)).max(1) * u64::from(ground.suite.alignment);
    let file = probe.create(&ground.path("generations")).await?;
    let mut wanted = pattern(1, 0, 3 * unit as u32);
    probe.write(file, 0, &wanted).await?;
    for (stamp, offset, len) in [(2, unit, unit), (3, 0, unit), (4, unit, 2 * unit), (5, unit, unit)] {
        let content = pattern(stamp, offset, len as u32);
        probe.write(file, offset, &content).await?;
        wanted[offset as usize..(offset + len) as usize].copy_from_slice(&content);
        let got = probe.read(file, 0, 3 * unit as u32).await?;
        compare(&wanted, &got, &format!("after overwrite {stamp}"))?;
    }
    probe.done(MetaOp::Close { file }).await?;
    ground.finish(probe).await
}

pub(super) async fn flush_and_durable(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    let unit = ground.align(4096).min(u64::from(ground.max_record()));
    let path = ground.path("durable");
    let file = probe.create(&path).await?;
    if probe.transfer(DataOp::Flush { file }).await? != 0 {
        ground.find("a flush of an empty file transferred bytes");
    }
    probe.write_as(file, 0, &pattern(1, 0, unit as u32), Stability::Durable).await?;
    probe.write(file, unit, &pattern(1, unit, unit as u32)).await?;
    probe.transfer(DataOp::Flush { file }).await?;
    probe.write_as(file, 2 * unit, &pattern(1, 2 * unit, unit as u32), Stability::Durable).await?;
    for offset in [0, unit, 2 * unit] {
        let got = probe.read(file, offset, unit as u32).await?;
        compare(&pattern(1, offset, unit as u32), &got, &format!("durable bytes at {offset}"))?;
    }
    probe.done(MetaOp::Close { file }).await?;
    ground.finish(probe).await
}
