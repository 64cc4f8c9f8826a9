//! Causes in the server's processing of requests, and load of others.

use sharebench_model::units::{percent, show_nanos};
use sharebench_stats::median;

use super::gain::exactly;
use super::{Case, Cause, Finding, Gain, Saving, settings};
use crate::budget::Part;
use crate::operations::Operation;

/// Time of the server for an empty request from which its work matters, nanoseconds.
const MUCH_WORK_NS: f64 = 300_000.0;
/// Its share of a small read from which it matters.
const MUCH_WORK: f64 = 0.4;
/// Share of the server's CPUs from which they are busy.
const BUSY_SERVER: f64 = 0.85;
/// CPUs of the server that a diagnosis alone uses at most.
const OWN_CPUS: f64 = 2.5;
/// Samples of a block that is compared with the others.
const BLOCK: usize = 6;
/// The slowest block takes this many times the fastest, and this many nanoseconds longer, when others use the share.
const UNSTEADY: (f64, f64) = (2.5, 300_000.0);

pub(super) fn judge(case: &mut Case<'_>) {
    busy_server(case);
    protocol_work(case);
    foreign_load(case);
}

/// The server's CPU, as an exporter on it reports it.
fn busy_server(case: &mut Case<'_>) {
    let Some(load) = case.evidence.server_load.clone().filter(|load| load.cpu >= BUSY_SERVER) else { return };
    let shares = case.budgets.iter().map(|budget| {
        budget.share(Part::Protocol) + budget.share(Part::Storage) + budget.share(Part::Transfer)
    });
    let share = shares.fold(0.0, f64::max);
    let of = load.cores.map_or("of one CPU".to_owned(), |cores| format!("of its {cores} CPUs"));
    // One operation at a time and one stream keep about one CPU busy.
    let is_foreign = load.cores.is_some_and(|cores| load.cpu * f64::from(cores) > OWN_CPUS);
    let others = if is_foreign { ", by others than this diagnosis as well" } else { "" };
    case.find(Finding {
        cause: Cause::BusyServer,
        title: "The server's CPU is busy.".to_owned(),
        evidence: format!(
            "{} {of} were used during the diagnosis{others} ({}); up to {} of the time of an operation is spent in the server.",
            percent(load.cpu, 0),
            load.source,
            percent(share, 0)
        ),
        gain: Gain::computed("what the server does", Saving::share("operation", share * 0.5)),
        settings: settings(case.evidence, &[
            ("*", "top on the server: stop other services (indexing, scrubbing, backups, containers), or give it faster CPUs."),
            ("smb", "smb.conf: signing and encryption only where needed; log level = 0."),
            ("nfs", "nfsd: echo 64 > /proc/fs/nfsd/threads only helps while CPUs are idle."),
        ]),
        weight: share.max(0.3),
    });
}

fn protocol_work(case: &mut Case<'_>) {
    let Some(budget) = case.budget(Operation::SmallRead) else { return };
    // Without the network's part it may be distance as well, which pipelining could not exclude.
    let is_jitter =
        case.found(Cause::Jitter).is_some() || case.found(Cause::DelayedAcknowledgement).is_some();
    if case.evidence.network_ns.is_none() || is_jitter || budget.share(Part::Protocol) < MUCH_WORK {
        return;
    }
    let Some(part) = budget.parts.iter().find(|share| share.part == Part::Protocol) else { return };
    let time = part.time_ns;
    let total = budget.total_ns.value;
    let weight = budget.share(Part::Protocol);
    if !case.exceeds(time, MUCH_WORK_NS, "the server's work for requests") {
        return;
    }
    case.find(Finding {
        cause: Cause::ProtocolWork,
        title: "The server needs long for each request, even for an empty one.".to_owned(),
        evidence: format!(
            "an empty request takes {} in the server, {} of a 4 KiB read; network and client are not in it.",
            show_nanos(time.value),
            percent(weight, 0)
        ),
        gain: Gain::computed("small operations", Saving::new(Operation::SmallRead, total, time)),
        settings: settings(case.evidence, &[
            ("*", "Look at the server's CPU during the diagnosis (top, mpstat -P ALL): busy cores, throttling, other services."),
            ("smb", "smb.conf: log level = 0; vfs objects without full_audit or virus scanner; aio read size = 1."),
            ("nfs", "ganesha.conf: LOG { Default_Log_Level = EVENT; } NFS_CORE_PARAM { RPC_Ioq_ThrdMax = 400; }; nfsd: echo 64 > /proc/fs/nfsd/threads."),
            ("ncp", "SET MAXIMUM SERVICE PROCESSES = 100; SET NCP PACKET SIGNATURE OPTION = 1."),
        ]),
        weight,
    });
}

/// Compares blocks of consecutive rounds: the same operation on the same share changes its speed only with foreign load.
fn foreign_load(case: &mut Case<'_>) {
    let series = &case.evidence.series;
    let (_, starved) = series.client_shares(Operation::SmallReadAgain);
    if case.found(Cause::ClientBusy).is_some() {
        return;
    }
    for operation in [Operation::Empty, Operation::SmallReadAgain] {
        let times = series.elapsed(operation);
        let blocks = times.chunks_exact(BLOCK).filter_map(|block| median(&mut block.to_vec()));
        let (fast, slow) =
            blocks.fold((f64::INFINITY, 0.0f64), |(low, high), time| (low.min(time), high.max(time)));
        if !fast.is_finite() || slow < fast * UNSTEADY.0 || slow - fast < UNSTEADY.1 || starved > 0.1 {
            continue;
        }
        let name = operation.name();
        case.find(Finding {
            cause: Cause::ForeignLoad,
            title: "The share changed its speed during the diagnosis: others use it, or the path.".to_owned(),
            evidence: format!(
                "the median {name} of {BLOCK} consecutive rounds went from {} to {}, while this client had its CPU.",
                show_nanos(fast),
                show_nanos(slow)
            ),
            gain: Gain::computed("operations, if the others stop", Saving::new(operation, slow, exactly(slow - fast))),
            settings: settings(case.evidence, &[
                ("*", "Repeat the diagnosis at a quiet time and compare; find the others on the server."),
                ("smb", "smbstatus lists sessions and open files."),
                ("nfs", "nfsd: /proc/fs/nfsd/clients; ganesha_mgr show_client lists clients."),
                ("ncp", "MONITOR, Connection Information."),
            ]),
            weight: 0.15,
        });
        return;
    }
}
