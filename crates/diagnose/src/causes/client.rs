//! Causes on this machine.

use sharebench_model::units::{counted, percent, show_nanos, show_rate};

use super::gain::exactly;
use super::{Case, Cause, Finding, Gain, Saving, settings};
use crate::client_limits::ClientLimits;
use crate::evidence::{Evidence, Experiment};
use crate::operations::Operation;

/// Share of one CPU from which it limits a stream.
const FULL_CPU: f64 = 0.85;
/// Rate above which a full CPU is no cause of slowness.
const FAST: f64 = 300e6;
/// Share of the time of small reads in which the client had no CPU, from which it matters.
const STARVED: f64 = 0.25;
/// The same of all small operations, where the threads of other programs need all CPUs.
const STARVED_IN_A_CROWD: f64 = 0.05;
/// Share of the time in which a thread of the machine waits for a CPU, from which other programs need all of them.
const MUCH_PRESSURE: f64 = 0.5;
/// Mean wait of a small operation from which other programs are the reason, nanoseconds. The server's own end of a request keeps the
/// CPU from this client for some microseconds where both share a machine.
const STARVED_NS: f64 = 25_000.0;
/// Small operations, one at a time.
const SMALL: [Operation; 5] = [
    Operation::Empty,
    Operation::SmallRead,
    Operation::SmallReadAgain,
    Operation::UnstableWrite,
    Operation::Open,
];
/// Share of the time in which this machine was held back, from which it matters.
const HELD_BACK: f64 = 0.1;
/// A quota explains the client's waiting if it took at least this share of it.
const EXPLAINS: f64 = 0.5;

pub(super) fn judge(case: &mut Case<'_>) {
    throttled(case);
    busy(case);
    let compared = case.evidence.comparisons.get(&Experiment::Connections);
    let compared = compared.or_else(|| case.evidence.comparisons.get(&Experiment::Depth)).copied();
    if let Some(compared) = compared
        && compared.client_share >= FULL_CPU
        && compared.base_bytes_per_s < FAST
    {
        case.find(Finding {
            cause: Cause::ClientCpu,
            title: "This client's CPU limits a stream.".to_owned(),
            evidence: format!(
                "a stream reads {} and uses {} of one CPU of this machine.",
                show_rate(compared.base_bytes_per_s),
                percent(compared.client_share, 0)
            ),
            gain: Gain::computed_stream("streams over two connections on two CPUs", compared.base_bytes_per_s, 2.0),
            settings: settings(case.evidence, &[
                ("*", "Check frequency and throttling (cpupower frequency-info), and the CPU of virtual machines (steal)."),
                ("smb", "Signing with AES-GMAC and encryption with AES-GCM use the CPU's instructions: dialect 3.1.1."),
            ]),
            weight: compared.client_share * 0.8,
        });
    }
}

/// How much this client waited for a CPU.
struct Waits {
    /// Share of the time of small operations.
    share: f64,
    /// Mean of one, nanoseconds.
    each_ns: f64,
}

impl Waits {
    fn new(evidence: &Evidence, operations: &[Operation]) -> Self {
        let samples = || operations.iter().flat_map(|operation| evidence.series.samples(*operation));
        let starved: f64 = samples().map(|sample| sample.starved_ns).sum();
        let elapsed: f64 = samples().map(|sample| sample.elapsed_ns).sum();
        let count = samples().count().max(1);
        Self { share: if elapsed > 0.0 { starved / elapsed } else { 0.0 }, each_ns: starved / count as f64 }
    }

    fn reach(&self, share: f64) -> bool {
        self.share >= share && self.each_ns >= STARVED_NS
    }
}

/// True if the threads of other programs need as many CPUs as there are: then this client has to wait for one. A single busy
/// program leaves the other CPUs to this client. Threads that run between two rounds and at no other time cause no pressure.
fn is_crowded(limits: ClientLimits) -> bool {
    let needs_all = limits.other_threads.is_some_and(|others| others >= limits.cpus as f64);
    limits.cpus > 0 && needs_all && limits.pressure.is_none_or(|pressure| pressure >= MUCH_PRESSURE)
}

/// Other programs take the CPUs of this machine.
fn busy(case: &mut Case<'_>) {
    let limits = case.evidence.client_limits;
    let reads = Waits::new(case.evidence, &[Operation::SmallReadAgain]);
    let small = Waits::new(case.evidence, &SMALL);
    let is_crowded = is_crowded(limits);
    let (waits, what) = if reads.reach(STARVED) {
        (reads, "small reads")
    } else if is_crowded && small.reach(STARVED_IN_A_CROWD) {
        (small, "small operations")
    } else {
        return;
    };
    // A used up quota is waiting as well, and the exact cause of it.
    if case.found(Cause::ClientThrottled).is_some() && limits.throttled >= waits.share * EXPLAINS {
        return;
    }
    let crowd = limits.other_threads.filter(|_| is_crowded).map_or(String::new(), |others| {
        format!("; {others:.1} threads of other programs wanted its {}", counted(limits.cpus as u64, "CPU"))
    });
    let pressure = limits.pressure.filter(|_| is_crowded).map_or(String::new(), |pressure| {
        format!(", and for {} of the time one of its threads had to wait", percent(pressure, 0))
    });
    let total = case.evidence.series.typical_ns(Operation::SmallReadAgain).unwrap_or(0.0);
    let mean = waits.each_ns / waits.share.max(f64::MIN_POSITIVE);
    case.find(Finding {
        cause: Cause::ClientBusy,
        title: "Other programs of this machine take its CPUs.".to_owned(),
        evidence: format!(
            "this client was ready and had no CPU for {} of the time of {what}, {} each{crowd}{pressure}.",
            percent(waits.share, 0),
            show_nanos(waits.each_ns)
        ),
        // The mean is what the waits are a share of; the median may have none.
        gain: Gain::computed("small operations", Saving::new(Operation::SmallReadAgain, mean.max(total), exactly(waits.each_ns))),
        settings: settings(case.evidence, &[("*", "Stop other work on this machine and repeat (top, systemd-cgtop); check CPU quotas of the container.")]),
        weight: waits.share,
    });
}

/// A quota of the control group, a hypervisor that gives its CPUs to others, or heat.
fn throttled(case: &mut Case<'_>) {
    let limits = case.evidence.client_limits;
    let held = limits.throttled.max(limits.stolen);
    // A quota that is used up once holds the client back for most of a period, whatever its share of the whole time.
    if held < HELD_BACK && limits.thermal_events == 0 && limits.throttled_periods == 0 {
        return;
    }
    let mut seen = Vec::new();
    if limits.throttled >= HELD_BACK || limits.throttled_periods > 0 {
        seen.push(format!(
            "the CPU quota of its control group was used up in {}, which cost {} ({} of the time)",
            counted(limits.throttled_periods, "period"),
            show_nanos(limits.throttled_ns as f64),
            percent(limits.throttled, 1)
        ));
    }
    if limits.stolen >= HELD_BACK {
        seen.push(format!("the hypervisor gave {} of its CPU time to others", percent(limits.stolen, 0)));
    }
    if limits.thermal_events > 0 {
        seen.push(format!("its processors were slowed down {} times because of heat", limits.thermal_events));
    }
    let title = if held < HELD_BACK && limits.thermal_events == 0 {
        "A CPU quota holds this client back at times."
    } else {
        "This machine is held back, not the share."
    };
    case.find(Finding {
        cause: Cause::ClientThrottled,
        title: title.to_owned(),
        evidence: format!("{}.", seen.join("; ")),
        gain: Gain::computed("everything on this machine", Saving::share("operation", held)),
        settings: settings(case.evidence, &[
            ("*", "Quota: systemctl set-property UNIT CPUQuota=, or the limits of the container; virtual machines: reserve CPUs on the host; heat: cooling, cpupower frequency-info."),
        ]),
        weight: held.max(0.2),
    });
}
