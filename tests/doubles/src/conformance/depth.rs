//! The queue depth step: many operations in flight, each answered once, in whatever order.

use std::collections::BTreeMap;

use sharebench_model::{DataOp, FileRef, MetaOp, Slot, Stability};

use super::ground::{Ground, at_depths};
use super::pattern::{compare, pattern};
use super::probe::Probe;

pub(super) async fn queue_depth(ground: &Ground<'_>) -> Result<(), String> {
    let mut probe = ground.enter().await?;
    probe.put(&ground.path("marker"), b"").await?;
    ground.finish(probe).await?;
    let max = ground.max_depth();
    at_depths(vec![1, 2, 3, 8, 16, 32, max], max, async |depth| at_depth(ground, depth).await).await
}

async fn at_depth(ground: &Ground<'_>, depth: u32) -> Result<(), String> {
    let mut probe = ground.connect(depth).await?;
    let file = probe.create(&ground.path(&format!("depth-{depth}"))).await?;
    let len = ground.align(5000).min(u64::from(ground.max_record())) as u32;
    let records = depth * 4;
    let write = |record: u32| DataOp::Write {
        file,
        offset: u64::from(record) * u64::from(len),
        len,
        stability: Stability::Unstable,
    };
    keep_in_flight(ground, &mut probe, depth, records, &write).await?;
    // A stride coprime to the number of records reads them in another order.
    let stride = (records / 2 + 1) | 1;
    let read = |turn: u32| read_op(file, turn * stride % records, len);
    keep_in_flight(ground, &mut probe, depth, records, &read).await?;
    probe.done(MetaOp::Close { file }).await?;
    ground.finish(probe).await
}

fn read_op(file: FileRef, record: u32, len: u32) -> DataOp {
    DataOp::Read { file, offset: u64::from(record) * u64::from(len), len }
}

/// Performs `total` operations with `depth` in flight and checks content, slots and the count of replies.
async fn keep_in_flight(
    ground: &Ground<'_>,
    probe: &mut Probe,
    depth: u32,
    total: u32,
    op: &dyn Fn(u32) -> DataOp,
) -> Result<(), String> {
    let mut flying = BTreeMap::new();
    for turn in 0..depth {
        start(probe, Slot(turn), op(turn))?;
        flying.insert(Slot(turn), op(turn));
    }
    let mut started = depth;
    while !flying.is_empty() {
        for reply in probe.replies().await {
            let slot = reply.slot;
            let asked = flying.remove(&slot).ok_or_else(|| format!("a second reply for {slot:?}"))?;
            let bytes = probe.settle(asked, &reply)?;
            check(probe, slot, asked, bytes).unwrap_or_else(|finding| ground.find(finding));
            if started < total {
                start(probe, slot, op(started))?;
                flying.insert(slot, op(started));
                started += 1;
            }
        }
    }
    probe.quiet()
}

fn start(probe: &mut Probe, slot: Slot, op: DataOp) -> Result<(), String> {
    match op {
        DataOp::Write { offset, len, .. } => {
            probe.buffer(slot, len as usize)?.copy_from_slice(&pattern(9, offset, len));
        }
        DataOp::Read { len, .. } => probe.buffer(slot, len as usize)?.fill(0x5A),
        DataOp::Flush { .. } => {}
    }
    probe.session.submit(slot, op);
    Ok(())
}

fn check(probe: &mut Probe, slot: Slot, op: DataOp, bytes: u32) -> Result<(), String> {
    match op {
        DataOp::Read { offset, len, .. } => {
            let got = probe.buffer(slot, bytes.min(len) as usize)?;
            compare(&pattern(9, offset, len), got, &format!("{slot:?}: {len} bytes at {offset}"))
        }
        DataOp::Write { len, .. } if bytes != len => Err(format!("{op:?} wrote {bytes} bytes")),
        _ => Ok(()),
    }
}
