//! Causes in the server's cache and storage.

use sharebench_model::units::{percent, show_nanos};
use sharebench_stats::Estimate;

use super::{Case, Cause, Finding, Gain, Saving, settings};
use crate::mount::MountFacts;
use crate::operations::Operation;

/// Time in the storage from which it is felt, nanoseconds. Flash needs 0.1 ms, and a disk 5 ms.
const SLOW_NS: f64 = 500_000.0;
/// Share of the time of a random first read from which a sequential one is as slow.
const AS_SLOW: f64 = 0.5;
/// Share of the time of a read below which a write does not wait for the storage.
const FAST_WRITE: f64 = 0.5;

pub(super) fn judge(case: &mut Case<'_>) {
    reads(case);
    read_ahead(case);
    writes(case);
    sync_export(case);
}

fn reads(case: &mut Case<'_>) {
    // Reads that wait for an acknowledgement say nothing of the storage.
    if case.found(Cause::DelayedAcknowledgement).is_some() {
        return;
    }
    let Some(total) = case.evidence.series.typical_ns(Operation::SmallRead) else { return };
    let again = case.difference(Operation::SmallReadAgain, 1.0, Operation::Empty);
    let first = case.difference(Operation::SmallRead, 1.0, Operation::SmallReadAgain);
    if let Some(time) = again
        && case.exceeds(time, SLOW_NS, "slow storage")
    {
        let saved = without_storage(case).unwrap_or(time);
        case.find(Finding {
            cause: Cause::SlowStorage,
            title: "Each read waits for the server's storage, even of data that was just read.".to_owned(),
            evidence: format!(
                "a 4 KiB read takes {} longer than an empty request, and as long when it is repeated: no cache helps.",
                show_nanos(time.value)
            ),
            gain: Gain::computed("small reads from a cache", Saving::new(Operation::SmallRead, total, saved)),
            settings: settings(case.evidence, &[
                ("*", "Give the server memory for its page cache or ARC, or faster storage; look at iostat -x 1 there."),
                ("smb", "smb.conf: vfs objects without modules that bypass the page cache; no FUSE file system without its own cache."),
                ("nfs", "Export a local file system; a FUSE file system only with its page cache (kernel_cache)."),
                ("ncp", "SET MAXIMUM DIRECTORY CACHE BUFFERS = 4000; add memory for file cache buffers."),
            ]),
            weight: time.value / total,
        });
        return;
    }
    if let Some(time) = first
        && case.exceeds(time, SLOW_NS, "a cold cache")
    {
        case.find(Finding {
            cause: Cause::ColdCache,
            title: "The first read of data waits for the server's storage; a repeated read comes from its cache.".to_owned(),
            evidence: format!("a 4 KiB read takes {} longer the first time than the second.", show_nanos(time.value)),
            gain: Gain::computed("small reads from the cache", Saving::new(Operation::SmallRead, total, time)),
            settings: settings(case.evidence, &[
                ("*", "Server: more memory, a flash cache (L2ARC, bcache, dm-cache), or larger read-ahead: blockdev --setra 4096 /dev/sdX."),
                ("ncp", "SET READ AHEAD ENABLED = ON; SET READ AHEAD LRU SITTING TIME THRESHOLD = 10."),
            ]),
            weight: time.value / total,
        });
    }
}

/// What a read takes longer than a write of as many bytes that stays in the server's cache: a read from a cache needs the
/// same work, which an empty request lacks. None where writes wait for the storage as well.
fn without_storage(case: &Case<'_>) -> Option<Estimate> {
    let read = case.evidence.series.typical_ns(Operation::SmallRead)?;
    let write = case.evidence.series.typical_ns(Operation::UnstableWrite)?;
    let saved = case.difference(Operation::SmallRead, 1.0, Operation::UnstableWrite)?;
    (write < read * FAST_WRITE).then_some(saved)
}

/// Sequential reads wait for the storage as random ones do: nobody has fetched the next block.
fn read_ahead(case: &mut Case<'_>) {
    let first = case.difference(Operation::SmallRead, 1.0, Operation::SmallReadAgain);
    let next = case.difference(Operation::NextRead, 1.0, Operation::SmallReadAgain);
    let Some((first, next)) = first.zip(next) else { return };
    let Some(total) = case.evidence.series.typical_ns(Operation::NextRead) else { return };
    // Without a cache there is nothing to read ahead into.
    if case.found(Cause::ColdCache).is_none()
        || next.value < first.value * AS_SLOW
        || !case.exceeds(next, SLOW_NS, "missing read-ahead of the server")
    {
        return;
    }
    case.find(Finding {
        cause: Cause::NoReadAhead,
        title: "The server does not read ahead: sequential reads wait for the storage as random ones do.".to_owned(),
        evidence: format!(
            "the next 4 KiB of a file take {} longer than a repeated read, random ones {}.",
            show_nanos(next.value),
            show_nanos(first.value)
        ),
        gain: Gain::computed("sequential reads", Saving::new(Operation::NextRead, total, next)),
        settings: settings(case.evidence, &[
            ("*", "Server: blockdev --setra 4096 /dev/sdX (2 MiB); ZFS: zfs_prefetch_disable=0; FUSE: max_readahead."),
            ("smb", "smb.conf: vfs objects = readahead where the storage does not read ahead by itself."),
            ("ncp", "SET READ AHEAD ENABLED = ON."),
        ]),
        weight: next.value / total + 0.01,
    });
}

/// NFS: creating a name is as durable as the export requires, while data wait for COMMIT.
fn sync_export(case: &mut Case<'_>) {
    let is_nfs =
        case.evidence.protocol == "nfs" || case.evidence.mount.as_ref().is_some_and(MountFacts::is_nfs);
    let Some(time) = case.difference(Operation::Create, 1.0, Operation::Open).filter(|_| is_nfs) else {
        return;
    };
    let Some(total) = case.evidence.series.typical_ns(Operation::Create) else { return };
    if case.found(Cause::SlowStorage).is_some() || !case.exceeds(time, SLOW_NS, "a sync export") {
        return;
    }
    case.find(Finding {
        cause: Cause::SyncExport,
        title: "Creating a file waits for stable storage: the export is synchronous.".to_owned(),
        evidence: format!(
            "creating an empty file takes {} longer than opening one; NFS requires that only of exports with the option sync.",
            show_nanos(time.value)
        ),
        gain: Gain::computed("creating and removing files", Saving::new(Operation::Create, total, time)),
        settings: settings(case.evidence, &[
            ("*", "Server: flash with power-loss protection, or a log device (ZFS: zpool add POOL log DEVICE; ext4: an external journal)."),
            ("nfs", "exports: async instead of sync acknowledges before the data is safe: only for data that can be made again."),
        ]),
        weight: time.value / total * 0.96,
    });
}

fn writes(case: &mut Case<'_>) {
    let unstable = case.difference(Operation::UnstableWrite, 1.0, Operation::SmallReadAgain);
    let stable = case.difference(Operation::StableWrite, 1.0, Operation::UnstableWrite);
    let slow_reads = case.found(Cause::SlowStorage).is_some();
    // Where reads need the storage as well, slow writes have the same cause.
    let factor = if slow_reads { 0.5 } else { 1.0 };
    if let Some(time) = unstable
        && !slow_reads
        && case.exceeds(time, SLOW_NS, "synchronous writes")
    {
        synchronous(case, time);
    }
    let Some(time) = stable else { return };
    let Some(total) = case.evidence.series.typical_ns(Operation::StableWrite) else { return };
    if case.exceeds(time, SLOW_NS, "slow stable writes") {
        let weight = time.value / total * factor * 0.95;
        case.find(Finding {
            cause: Cause::StableWrites,
            title: "Writes to stable storage are slow: databases, mail and virtual machines wait for each.".to_owned(),
            evidence: format!(
                "a stable 4 KiB write takes {} longer than one that may stay in the cache ({} of its time).",
                show_nanos(time.value),
                percent(time.value / total, 0)
            ),
            gain: Gain::computed("stable writes", Saving::new(Operation::StableWrite, total, time)),
            settings: settings(case.evidence, &[
                ("*", "Server: flash with power-loss protection, or a log device (ZFS: zpool add POOL log DEVICE)."),
                ("smb", "smb.conf: strict sync = no acknowledges before the data is safe: only for data that can be made again."),
                ("nfs", "exports: async acknowledges before the data is safe: only for data that can be made again."),
                ("ncp", "SET NCP FILE COMMIT = OFF acknowledges before the data is safe."),
            ]),
            weight,
        });
    }
}

fn synchronous(case: &mut Case<'_>, time: Estimate) {
    let Some(total) = case.evidence.series.typical_ns(Operation::UnstableWrite) else { return };
    let committed = if case.evidence.is_always_stable {
        " The server reports each of them as stable (FILE_SYNC), although none was requested."
    } else {
        ""
    };
    let by_mount = case.evidence.mount.as_ref().is_some_and(|mount| mount.has("sync"));
    let mounted = if by_mount { " The mount has the option sync." } else { "" };
    case.find(Finding {
        cause: Cause::SynchronousWrites,
        title: "Each write waits for the storage, although it need not be stable.".to_owned(),
        evidence: format!(
            "a 4 KiB write takes {} longer than a read from the cache.{committed}{mounted}",
            show_nanos(time.value)
        ),
        gain: Gain::computed("writes", Saving::new(Operation::UnstableWrite, total, time)),
        settings: settings(case.evidence, &[
            ("smb", "smb.conf: sync always = no; strict sync = yes still keeps what clients flush."),
            ("nfs", "Mount option: remove sync. ganesha.conf: EXPORT { NFS_Commit = FALSE; }. exports: wdelay; not no_wdelay."),
            ("ncp", "SET DIRTY DISK CACHE DELAY TIME = 3.3; SET NCP FILE COMMIT = OFF for data that can be made again."),
            ("local", "Mount option: remove sync."),
        ]),
        weight: time.value / total,
    });
}
