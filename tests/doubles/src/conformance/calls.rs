//! The step of operations on names in flight: each is answered once, also between data operations on the same session.

use std::future::poll_fn;
use std::task::Poll;

use sharebench_model::{
    DataOp, ErrorClass, FileRef, MetaOp, MetaReply, MetaYield, OpenHow, Reply, Slot, Stability,
};

use super::ground::{Ground, at_depths};
use super::pattern::pattern;
use super::probe::Probe;
use sharebench_target::CallReply;

/// Files that each slot makes and removes again.
const FILES_PER_SLOT: u32 = 5;
const BYTES: u32 = 3000;

/// What a slot does next with its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Create,
    Write(FileRef),
    Close(FileRef),
    Stat,
    Rename,
    Miss,
    Remove,
}

/// A slot, and the file that it works on.
struct Work {
    slot: Slot,
    file: u32,
    next: Next,
}

pub(super) async fn calls_in_flight(ground: &Ground<'_>) -> Result<(), String> {
    let max = ground.target.call_depth().max.min(ground.max_depth());
    if max < 2 {
        return Ok(());
    }
    let probe = ground.enter().await?;
    ground.finish(probe).await?;
    at_depths(vec![2, 5, 16, max], max, async |depth| at_depth(ground, depth).await).await
}

async fn at_depth(ground: &Ground<'_>, depth: u32) -> Result<(), String> {
    let mut probe = ground.connect(depth).await?;
    let mut works: Vec<Work> =
        (0..depth).map(|slot| Work { slot: Slot(slot), file: slot, next: Next::Create }).collect();
    for work in &works {
        begin(ground, &mut probe, work)?;
    }
    let mut left = depth;
    while left > 0 {
        let (calls, replies) = arrived(&mut probe).await;
        for CallReply { slot, reply } in calls {
            let work = works.get_mut(slot.0 as usize).ok_or_else(|| format!("a reply for {slot:?}"))?;
            probe.count_requests(reply.requests);
            work.next = after_call(work, reply).map_err(|finding| format!("{slot:?}: {finding}"))?;
            if work.next == Next::Create {
                work.file += depth;
                if work.file >= depth * FILES_PER_SLOT {
                    left -= 1;
                    continue;
                }
            }
            begin(ground, &mut probe, work)?;
        }
        for reply in replies {
            let slot = reply.slot;
            let work = works.get_mut(slot.0 as usize).ok_or_else(|| format!("a reply for {slot:?}"))?;
            let Next::Write(file) = work.next else { return Err(format!("{slot:?}: {reply:?} to no write")) };
            probe.settle(write(ground, file, work), &reply)?;
            work.next = Next::Close(file);
            begin(ground, &mut probe, work)?;
        }
    }
    probe.quiet()?;
    let names = probe.list(&ground.path("")).await?;
    if !names.is_empty() {
        return Err(format!("{names:?} were not removed"));
    }
    ground.finish(probe).await
}

fn path(ground: &Ground<'_>, work: &Work) -> String {
    ground.path(&format!("f{}", work.file))
}

fn moved(ground: &Ground<'_>, work: &Work) -> String {
    ground.path(&format!("g{}", work.file))
}

fn length(ground: &Ground<'_>) -> u32 {
    ground.align(BYTES.into()) as u32
}

fn write(ground: &Ground<'_>, file: FileRef, work: &Work) -> DataOp {
    let offset = u64::from(work.slot.0 % 2) * u64::from(length(ground));
    DataOp::Write { file, offset, len: length(ground), stability: Stability::Unstable }
}

/// Begins what the slot does next.
fn begin(ground: &Ground<'_>, probe: &mut Probe, work: &Work) -> Result<(), String> {
    let op = match work.next {
        Next::Create => MetaOp::open(path(ground, work), OpenHow::CreateNew),
        Next::Write(file) => {
            let len = length(ground);
            probe.buffer(work.slot, len as usize)?.copy_from_slice(&pattern(9, 0, len));
            probe.session.submit(work.slot, write(ground, file, work));
            return Ok(());
        }
        Next::Close(file) => MetaOp::Close { file },
        Next::Rename => MetaOp::Rename { from: path(ground, work), to: moved(ground, work) },
        Next::Stat | Next::Miss => MetaOp::Stat { path: path(ground, work) },
        Next::Remove => MetaOp::Remove { path: moved(ground, work) },
    };
    let what = format!("{op:?}");
    probe.session.submit_call(work.slot, op).map_err(|error| format!("{what}: {error}"))?;
    if probe.session.submit_call(work.slot, MetaOp::Stat { path: String::new() }).is_ok() {
        return Err(format!("{:?} has {what} in flight, and accepts another operation", work.slot));
    }
    Ok(())
}

/// What follows the reply to an operation on names.
fn after_call(work: &Work, MetaReply { result, requests }: MetaReply) -> Result<Next, String> {
    // Closing is no request where the protocol has no open files.
    if requests == 0 && !matches!(work.next, Next::Close(_)) {
        return Err(format!("{:?} took no request", work.next));
    }
    match (work.next, result) {
        (Next::Create, Ok(MetaYield::Opened { file, size: 0 })) => Ok(Next::Write(file)),
        (Next::Close(_), Ok(MetaYield::Done)) => Ok(Next::Stat),
        (Next::Stat, Ok(MetaYield::Stat(stat))) if stat.size >= BYTES.into() && !stat.directory => {
            Ok(Next::Rename)
        }
        (Next::Rename, Ok(MetaYield::Done)) => Ok(Next::Miss),
        (Next::Miss, Err(error)) if error.class == ErrorClass::NotFound => Ok(Next::Remove),
        (Next::Remove, Ok(MetaYield::Done)) => Ok(Next::Create),
        (next, other) => Err(format!("{next:?}: {other:?}")),
    }
}

/// Replies of either kind, at least one.
async fn arrived(probe: &mut Probe) -> (Vec<CallReply>, Vec<Reply>) {
    let mut calls = Vec::new();
    let mut replies = Vec::new();
    poll_fn(|cx| {
        let called = probe.session.poll_calls(cx, &mut calls).is_ready();
        if probe.session.poll_replies(cx, &mut replies).is_ready() || called {
            return Poll::Ready(());
        }
        // Replies of one kind may have arrived while the other was polled.
        probe.session.poll_calls(cx, &mut calls)
    })
    .await;
    for reply in &replies {
        probe.count_requests(reply.requests);
    }
    (calls, replies)
}
