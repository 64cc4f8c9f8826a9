//! Self-checks of the machine that measured (docs/measure/measurement-rules.md R9): clock, timer, processors, link, and the
//! generator's ceiling.

use sharebench_model::units::{percent, show_nanos, show_rate, three_digits};
use sharebench_model::{Check, Measure, Verdict};
use sharebench_plan::Work;

use crate::check::verdict::{check, unless};
use crate::machine::clock_facts::ClockFacts;
use crate::machine::health::Health;
use crate::machine::link::Link;
use crate::machine::machinery::MachineReadings;

/// The null target must be faster than the measured target by this factor.
const HEADROOM: f64 = 3.0;
/// Largest share of a thread's time that the generator may use.
const BUSY_THREAD: f64 = 0.7;
/// Largest share of the time in which tasks may wait for a processor.
const PRESSURE: f64 = 0.1;
/// Largest share of the processors' time that the hypervisor may give to others.
const STEAL: f64 = 0.02;
/// Largest share of a link's rate at which the server, and not the link, is measured.
const LINK_USED: f64 = 0.8;
/// A single stall of this length leads to a warning.
const STALL_NS: u64 = 20_000_000;
/// Stalls that take this share of the window together lead to a warning.
const STALLED: f64 = 0.01;
/// The median must exceed the cost of reading the clock by this factor.
const CLOCK_COSTS: u64 = 100;
/// The measured time must exceed the clock's resolution by this factor.
const CLOCK_STEPS: u64 = 200;

/// Every check of the machine.
pub(crate) fn checks(measure: &Measure, work: &Work, machinery: &MachineReadings<'_>) -> Vec<Check> {
    let mut checks = Vec::with_capacity(8);
    checks.extend(link(measure, machinery.link));
    checks.push(ceiling(measure, machinery.ceiling));
    checks.push(threads(machinery.busiest, machinery.blocking));
    let health = machinery.health.as_ref();
    let limited = |name, what: &str, share: Option<f64>, limit, remedy| match share {
        Some(share) => unless(
            name,
            share > limit,
            format!("{what} {} (limit {})", percent(share, 1), percent(limit, 1)),
            remedy,
        ),
        None => check(
            name,
            Verdict::NotKnown,
            format!("{what} not known: too short, or the kernel does not report it"),
        ),
    };
    let pressure = health.and_then(|health| health.pressure);
    let remedy = "tasks waited for processors; stop other work on this machine";
    checks.push(limited("pressure", "CPU pressure", pressure, PRESSURE, remedy));
    let steal = health.and_then(|health| health.steal);
    let remedy = "the hypervisor gave our time to others; use a quieter host";
    checks.push(limited("steal", "CPU steal", steal, STEAL, remedy));
    checks.push(hiccups(health));
    checks.push(clock(measure, machinery.clock));
    if matches!(work, Work::Transactions(_)) {
        checks.push(timer(health));
    }
    checks
}

/// Compares the throughput with the link: bytes that are faster than the link never crossed it, and bytes that are
/// nearly as fast measure the link.
fn link(measure: &Measure, link: &Link) -> Option<Check> {
    let (rate, source) = match link {
        Link::None => return None,
        Link::NotKnown(why) => return Some(check("link", Verdict::NotKnown, why.clone())),
        Link::Rate { rate, source } => (rate, source),
    };
    // Both directions of a link carry its rate.
    let one_way = measure.bytes.read.max(measure.bytes.written) as f64;
    let speed = one_way * 1e9 / measure.base_ns().max(1) as f64;
    let used = speed / rate.bytes_per_s();
    let detail =
        format!("{} one way is {} of the link's {rate} ({source})", show_rate(speed), percent(used, 1));
    let remedy = if used > 1.0 {
        "impossible speed; a cache on this side answered, not the server"
    } else {
        "the link, not the server, sets this number"
    };
    Some(unless("link", used > LINK_USED, detail, remedy))
}

fn ceiling(measure: &Measure, ceiling: Option<f64>) -> Check {
    let Some((ceiling, rate)) = ceiling.zip(measure.operation_rate().filter(|rate| *rate > 0.0)) else {
        return check("ceiling", Verdict::NotKnown, "the null target was not measured".into());
    };
    let detail = format!(
        "{} operations/s; against the null target {} ({} times)",
        three_digits(rate),
        three_digits(ceiling),
        three_digits(ceiling / rate)
    );
    let remedy = "generator-bound; a faster target would look the same; try --verify off or larger records";
    unless("ceiling", ceiling < HEADROOM * rate, detail, remedy)
}

fn threads(busiest: Option<f64>, blocking: bool) -> Check {
    let Some(share) = busiest else {
        return check("threads", Verdict::NotKnown, "too short to attribute the CPU time".into());
    };
    let what = if blocking { "in user mode" } else { "on a processor" };
    let detail = format!(
        "busiest thread {} of its time {what} (limit {})",
        percent(share, 1),
        percent(BUSY_THREAD, 1)
    );
    let remedy = "the client, not the target, may set this number; try fewer users or less depth";
    unless("threads", share > BUSY_THREAD, detail, remedy)
}

fn hiccups(health: Option<&Health>) -> Check {
    let Some(health) = health else {
        return check("hiccups", Verdict::NotKnown, "the hiccup meter did not run".into());
    };
    let stalled = health.stalled_ns as f64 / health.span_ns.max(1) as f64;
    let detail = format!(
        "longest stall {}, {} stalled",
        show_nanos(health.worst_stall_ns as f64),
        percent(stalled, 1)
    );
    let remedy = "warning: medians are usable, means and tails are not; repeat on a quieter machine";
    unless("hiccups", health.worst_stall_ns > STALL_NS || stalled > STALLED, detail, remedy)
}

fn clock(measure: &Measure, clock: ClockFacts) -> Check {
    let median = measure.service.quantile(0.5);
    let time = measure.base_ns();
    let [cost, step, median_shown] =
        [clock.cost_ns, clock.resolution_ns, median].map(|ns| show_nanos(ns as f64));
    let detail = format!("median {median_shown}, clock costs {cost} and steps by {step}");
    // The limits are those of docs/measure/measurement-rules.md 1.9: T >= 200 q, and a median of 100 times the
    // cost of a reading.
    let coarse = time < CLOCK_STEPS * clock.resolution_ns;
    let wrong = coarse || (!measure.service.is_empty() && median < CLOCK_COSTS * clock.cost_ns);
    let remedy = if coarse {
        "too short for this clock; intervals are widened by its step; use a longer `min_sample_time` in a plan file"
    } else {
        "reading the clock is part of these times; only larger operations are timed well"
    };
    unless("clock", wrong, detail, remedy)
}

fn timer(health: Option<&Health>) -> Check {
    match health.and_then(|health| health.overshoot_ns) {
        Some(late) => check(
            "timer",
            Verdict::Valid,
            format!("a timer of 1 ms ends {} late (median)", show_nanos(late as f64)),
        ),
        None => check("timer", Verdict::NotKnown, "no timer was measured".into()),
    }
}

/// True if the machine stalled for so long that times within the span are not reliable.
pub fn health_has_warning(health: &Health) -> bool {
    hiccups(Some(health)).verdict != Verdict::Valid
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
