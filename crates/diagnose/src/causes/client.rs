//! Causes on this machine.

use sharebench_model::units::{percent, show_rate};

use super::{Case, Cause, Finding, Gain, settings};
use crate::evidence::Experiment;
use crate::operations::Operation;

/// Share of one CPU from which it limits a stream.
const FULL_CPU: f64 = 0.85;
/// Rate above which a full CPU is no cause of slowness.
const FAST: f64 = 300e6;
/// Share of the time of small reads in which the client had no CPU, from which it matters.
const STARVED: f64 = 0.25;
/// Mean wait of a small read from which other programs are the reason, nanoseconds. The server's own end of a request keeps the CPU
/// from this client for some microseconds where both share a machine.
const STARVED_NS: f64 = 25_000.0;

/// Share of the time in which this machine was held back, from which it matters.
const HELD_BACK: f64 = 0.1;

pub(super) fn judge(case: &mut Case<'_>) {
    throttled(case);
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
            gain: Gain::Computed { what: "streams over two connections on two CPUs", factor: 2.0 },
            settings: settings(case.evidence, &[
                ("*", "Check frequency and throttling (cpupower frequency-info), and the CPU of virtual machines (steal)."),
                ("smb", "Signing with AES-GMAC and encryption with AES-GCM use the CPU's instructions: dialect 3.1.1."),
            ]),
            weight: compared.client_share * 0.8,
        });
    }
    let series = &case.evidence.series;
    let (_, starved) = series.client_shares(Operation::SmallReadAgain);
    let waits = starved >= STARVED && series.starved_ns(Operation::SmallReadAgain) >= STARVED_NS;
    // A used up quota is waiting as well, and the exact cause of it.
    if waits && case.found(Cause::ClientThrottled).is_none() {
        case.find(Finding {
            cause: Cause::ClientBusy,
            title: "Other programs of this machine take its CPUs.".to_owned(),
            evidence: format!("this client was ready and had no CPU for {} of the time of small reads.", percent(starved, 0)),
            gain: Gain::Computed { what: "small operations", factor: 1.0 / (1.0 - starved).max(0.1) },
            settings: settings(case.evidence, &[("*", "Stop other work on this machine and repeat (top, systemd-cgtop); check CPU quotas of the container.")]),
            weight: starved,
        });
    }
}

/// A quota of the control group, a hypervisor that gives its CPUs to others, or heat.
fn throttled(case: &mut Case<'_>) {
    let limits = case.evidence.client_limits;
    let held = limits.throttled.max(limits.stolen);
    if held < HELD_BACK && limits.thermal_events == 0 {
        return;
    }
    let mut seen = Vec::new();
    if limits.throttled >= HELD_BACK {
        seen.push(format!(
            "the CPU quota of its control group was used up for {} of the time",
            percent(limits.throttled, 0)
        ));
    }
    if limits.stolen >= HELD_BACK {
        seen.push(format!("the hypervisor gave {} of its CPU time to others", percent(limits.stolen, 0)));
    }
    if limits.thermal_events > 0 {
        seen.push(format!("its processors were slowed down {} times because of heat", limits.thermal_events));
    }
    case.find(Finding {
        cause: Cause::ClientThrottled,
        title: "This machine is held back, not the share.".to_owned(),
        evidence: format!("{}.", seen.join("; ")),
        gain: Gain::Computed { what: "everything on this machine", factor: 1.0 / (1.0 - held).max(0.1) },
        settings: settings(case.evidence, &[
            ("*", "Quota: systemctl set-property UNIT CPUQuota=, or the limits of the container; virtual machines: reserve CPUs on the host; heat: cooling, cpupower frequency-info."),
        ]),
        weight: held.max(0.2),
    });
}
