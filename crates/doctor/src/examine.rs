//! The examination: readings of a few seconds, each with its limit and with what it would invalidate.

use std::fs;
use std::time::Duration;

use sharebench_engine::{
    CeilingKind, Clock, ClockFacts, Health, HealthMeter, Link, contaminated, generator_ceiling,
    precise_timers,
};
use sharebench_model::units::{show_nanos, three_digits};
use sharebench_plan::Verify;

use crate::finding::{Finding, Light};
use crate::memory::memory;

/// How long the hiccup meter listens.
const LISTEN: Duration = Duration::from_secs(2);
/// Sleeps of 1 ms that tell how late timers end.
const SLEEPS: usize = 100;
/// Clock sources that are read without leaving user mode.
const QUICK_SOURCES: [&str; 4] = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"];

const CLOCK: &str =
    "times of single operations below a hundred times the cost; only larger operations are timed well";
const SOURCE: &str = "every time: each reading is a system call or a slow device";
const TIMER: &str = "the pace of user loads: starts come late by this much";
const STEAL: &str = "throughput and tails: the hypervisor gave this machine's time to others";
const PRESSURE: &str =
    "throughput, tails and the generator's pace: tasks wait for processors; stop other work";
const HICCUPS: &str =
    "means, p99 and above of every step it meets (medians hold); repeat on a quieter machine";
const GOVERNOR: &str =
    "comparisons between steps: the first operations after a pause run slower; set 'performance'";
const LINK: &str = "the check for impossible speeds and for a saturated link; name the rate by --link";
const FILES: &str = "loads of many users: each needs a connection and some files; raise it by ulimit -n";
const CEILING: &str = "small records at high rates: results near a third of this are the generator's own";

/// Reads everything; takes about three seconds.
pub fn examine() -> Vec<Finding> {
    let clock = Clock::start();
    let mut findings = vec![clock_reading(ClockFacts::measure(&clock)), clock_source()];
    findings.extend(timers(&clock));
    findings.push(governor());
    findings.extend(links());
    findings.push(open_files(fs::read_to_string("/proc/self/limits").ok().as_deref()));
    findings.extend([1, 32].map(|depth| ceiling(&clock, depth)));
    findings.extend(listen(&clock));
    findings.push(memory());
    findings
}

fn clock_reading(facts: ClockFacts) -> Finding {
    let [step, cost] = [facts.resolution_ns, facts.cost_ns].map(|ns| show_nanos(ns as f64));
    let least = show_nanos(facts.cost_ns as f64 * 100.0);
    let seen = format!("steps by {step}, a reading costs {cost}: operations from {least} on are timed well");
    Finding::read("clock", facts.resolution_ns <= 1_000 && facts.cost_ns <= 250, seen, CLOCK)
}

fn clock_source() -> Finding {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    match fs::read_to_string(path) {
        Ok(source) => {
            let source = source.trim();
            Finding::read("clock source", QUICK_SOURCES.contains(&source), source.to_owned(), SOURCE)
        }
        Err(error) => Finding::unknown("clock source", format!("{path}: {error}"), SOURCE),
    }
}

/// Lateness of a sleep of 1 ms, with the slack this process was started with and with the least.
fn timers(clock: &Clock) -> Vec<Finding> {
    // On a thread of its own: slack is a thread's, and ours stays as it was.
    let measured = std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let before = overshoot(clock);
            precise_timers().then(|| (before, overshoot(clock))).ok_or(before)
        });
        sleeper.join().ok()
    });
    let shown = |ns: u64| show_nanos(ns as f64);
    vec![match measured {
        Some(Ok((before, after))) => {
            let seen = format!(
                "1 ms sleeps end {} late (median) as started, {} with least slack",
                shown(before),
                shown(after)
            );
            Finding::read("timer", after <= 200_000, seen, TIMER)
        }
        Some(Err(before)) => {
            let seen =
                format!("1 ms sleeps end {} late (median); the kernel refuses less slack", shown(before));
            Finding { name: "timer", light: Light::Unknown, seen, invalidates: TIMER }
        }
        None => Finding::unknown("timer", "the sleeping thread failed", TIMER),
    }]
}

fn overshoot(clock: &Clock) -> u64 {
    let nap = Duration::from_millis(1);
    let mut late: Vec<u64> = (0..SLEEPS)
        .map(|_| {
            let begin = clock.now();
            std::thread::sleep(nap);
            (clock.now() - begin).saturating_sub(nap.as_nanos() as u64)
        })
        .collect();
    late.sort_unstable();
    late[SLEEPS / 2]
}

fn governor() -> Finding {
    let Ok(cpus) = fs::read_dir("/sys/devices/system/cpu") else {
        return Finding::unknown("frequency", "/sys/devices/system/cpu cannot be read", GOVERNOR);
    };
    let of = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("cpufreq/scaling_governor")).ok();
    let mut found: Vec<String> = cpus.flatten().filter_map(of).map(|text| text.trim().to_owned()).collect();
    found.sort();
    found.dedup();
    if found.is_empty() {
        let why = "no governor is visible: the hypervisor or the firmware decides";
        return Finding::unknown("frequency", why, GOVERNOR);
    }
    Finding::read("frequency", found == ["performance"], format!("governor {}", found.join(", ")), GOVERNOR)
}

/// One finding per network device but loopback.
fn links() -> Vec<Finding> {
    let Ok(devices) = fs::read_dir("/sys/class/net") else {
        return vec![Finding::unknown("link", "/sys/class/net cannot be read", LINK)];
    };
    let mut names: Vec<String> =
        devices.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "lo");
    names.sort();
    if names.is_empty() {
        return vec![Finding::unknown("link", "no network device but loopback", LINK)];
    }
    let finding = |name: String| match Link::of_device(&name) {
        Link::Rate { rate, .. } => Finding::read("link", true, format!("{name}: {rate}"), LINK),
        Link::NotKnown(why) => Finding::unknown("link", why, LINK),
        Link::None => Finding::unknown("link", name, LINK),
    };
    names.into_iter().map(finding).collect()
}

/// `Max open files            1024                 4096                 files`, proc(5).
fn open_files(limits: Option<&str>) -> Finding {
    let line = limits.and_then(|text| text.lines().find_map(|line| line.strip_prefix("Max open files")));
    match line.and_then(|line| line.split_ascii_whitespace().next()) {
        Some("unlimited") => Finding::read("open files", true, "unlimited".into(), FILES),
        Some(soft) => {
            let enough = soft.parse::<u64>().is_ok_and(|limit| limit >= 4096);
            Finding::read("open files", enough, format!("at most {soft}"), FILES)
        }
        None => Finding::unknown("open files", "/proc/self/limits does not tell", FILES),
    }
}

fn ceiling(clock: &Clock, depth: u32) -> Finding {
    let name = if depth == 1 { "ceiling, depth 1" } else { "ceiling, depth 32" };
    let kind = CeilingKind { record_size: 4096, depth, writes: false };
    match clock.block_on(generator_ceiling(clock, kind, Verify::Stamps)) {
        Ok(Some(rate)) => {
            // What the time holds: see `generator_ceiling`.
            let verifying = if depth == 1 { "without" } else { "with" };
            let seen = format!(
                "{} reads/s of 4KiB against the null target, in busy time {verifying} verifying; trust up to {}",
                three_digits(rate),
                three_digits(rate / 3.0)
            );
            Finding::read(name, rate >= 100_000.0, seen, CEILING)
        }
        Ok(None) => Finding::unknown(name, "the null target was not measured", CEILING),
        Err(error) => Finding::unknown(name, error.to_string(), CEILING),
    }
}

/// Steal, pressure and hiccups while nothing is measured.
fn listen(clock: &Clock) -> Vec<Finding> {
    let meter = match HealthMeter::start(clock) {
        Ok(meter) => meter,
        Err(error) => {
            let unknown = |(name, what)| Finding::unknown(name, format!("no hiccup meter: {error}"), what);
            return [("steal", STEAL), ("pressure", PRESSURE), ("hiccups", HICCUPS)].map(unknown).into();
        }
    };
    let from = clock.now();
    std::thread::sleep(LISTEN);
    of_health(&meter.read(from, clock.now()))
}

fn of_health(health: &Health) -> Vec<Finding> {
    let share = |name, share: Option<f64>, limit: f64, invalidates| match share {
        Some(share) => {
            let seen = format!("{:.1} % over {LISTEN:?} (limit {:.0} %)", share * 100.0, limit * 100.0);
            Finding::read(name, share <= limit, seen, invalidates)
        }
        None => Finding::unknown(name, "this kernel does not tell", invalidates),
    };
    let stalled = health.stalled_ns as f64 / health.span_ns.max(1) as f64;
    let seen = format!(
        "longest stall {} (limit 20 ms), {:.1} % of {LISTEN:?} stalled (limit 1 %)",
        show_nanos(health.worst_stall_ns as f64),
        stalled * 100.0
    );
    vec![
        share("steal", health.steal, 0.02, STEAL),
        share("pressure", health.pressure, 0.1, PRESSURE),
        Finding::read("hiccups", !contaminated(health), seen, HICCUPS),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_is_read_from_its_line() {
        let limits = |soft: &str| {
            format!(
                "Limit Soft Hard Units\nMax open files            {soft}     524288     files \nMax locked 5\n"
            )
        };
        let light = |text: &str| open_files(Some(text)).light;
        assert_eq!(light(&limits("1024")), Light::Warn);
        assert_eq!(light(&limits("20000")), Light::Pass);
        assert_eq!(light(&limits("unlimited")), Light::Pass);
        assert_eq!(light("nothing"), Light::Unknown);
        assert_eq!(open_files(None).light, Light::Unknown);
    }

    #[test]
    fn readings_are_held_against_their_limits() {
        let quiet = Health {
            span_ns: 2_000_000_000,
            worst_stall_ns: 1_500_000,
            stalled_ns: 1_500_000,
            overshoot_ns: Some(60_000),
            steal: Some(0.0),
            pressure: Some(0.04),
        };
        let lights = |health: &Health| of_health(health).into_iter().map(|f| f.light).collect::<Vec<_>>();
        assert_eq!(lights(&quiet), [Light::Pass; 3]);
        let loud = Health { steal: Some(0.03), pressure: Some(0.5), worst_stall_ns: 30_000_000, ..quiet };
        assert_eq!(lights(&loud), [Light::Warn; 3]);
        let blind = Health { steal: None, pressure: None, ..quiet };
        assert_eq!(lights(&blind), [Light::Unknown, Light::Unknown, Light::Pass]);
        assert_eq!(clock_reading(ClockFacts { resolution_ns: 25, cost_ns: 50 }).light, Light::Pass);
        assert_eq!(clock_reading(ClockFacts { resolution_ns: 15_625_000, cost_ns: 50 }).light, Light::Warn);
    }
}
