//! The examination of this machine: short measurements, each with its limit and the results that it would invalidate.

use std::fs;
use std::time::Duration;

use sharebench_engine::{
    CeilingKind, Clock, ClockFacts, Health, HealthMeter, Link, generator_ceiling, health_has_warning,
    precise_timers,
};
use sharebench_model::units::{percent, show_nanos, three_digits};
use sharebench_plan::Verify;
use sharebench_stats::upper_median;

use crate::equal_servers::compare_equal_servers;
use crate::finding::{Finding, Status};
use crate::memory::memory;
use crate::system_files;

/// Duration of the measurement of steal, pressure and stalls.
const OBSERVED: Duration = Duration::from_secs(2);
/// Sleeps of 1 ms that measure the lateness of timers.
const SLEEPS: usize = 100;
/// Clock sources that a process reads without a system call.
const QUICK_SOURCES: [&str; 4] = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"];

const CLOCK: &str =
    "times of single operations shorter than a hundred times the cost; longer operations are timed well";
const SOURCE: &str = "every time: each reading is a system call or a slow device access";
const TIMER: &str = "the pace of user loads: operations start late by this much";
const STEAL: &str = "throughput and tails: the hypervisor gave CPU time of this machine to others";
const PRESSURE: &str = "throughput, tails and the pace of the load: tasks wait for a CPU; stop other work";
const HICCUPS: &str =
    "mean, p99 and above of every affected step (medians stay valid); repeat on a quieter machine";
const GOVERNOR: &str =
    "comparisons between steps: the first operations after a pause are slower; set 'performance'";
const LINK: &str = "the checks for impossible rates and for a saturated link; specify the rate with --link";
const FILES: &str =
    "loads of many users: each needs a connection and some files; raise the limit with ulimit -n";
const CEILING: &str =
    "small records at high rates: above a third of this, the load generator limits the result";

/// What an examination found.
#[derive(Debug, Clone, PartialEq)]
pub struct Examination {
    /// The properties of this machine, in groups.
    pub sections: Vec<Section>,
    /// The smallest difference between two servers on this machine that a short comparison detects, as a share; none if
    /// it could not be measured.
    pub smallest_difference: Option<f64>,
}

impl Examination {
    /// The findings of all sections.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.sections.iter().flat_map(|section| &section.findings)
    }
}

/// Findings under one heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// What they are about.
    pub heading: &'static str,
    /// The properties.
    pub findings: Vec<Finding>,
}

/// Measures every property. Takes about six seconds.
pub fn examine() -> Examination {
    let clock = Clock::start();
    let section = |heading, findings| Section { heading, findings };
    let mut times = vec![clock_reading(ClockFacts::measure(&clock)), clock_source()];
    times.extend(timers(&clock));
    times.push(governor());
    let limits = vec![links(), open_files(system_files::text("/proc/self/limits").ok().as_deref())];
    let generator = [1, 32].map(|depth| ceiling(&clock, depth)).into();
    let mut noise = observe(&clock);
    noise.push(memory());
    let (finding, smallest_difference) = compare_equal_servers();
    let sections = vec![
        section("Clock and timers", times),
        section("Network and files", limits),
        section("Load generator", generator),
        section("Noise", noise),
        section("Comparison", vec![finding]),
    ];
    Examination { sections, smallest_difference }
}

fn clock_reading(facts: ClockFacts) -> Finding {
    let [step, cost] = [facts.resolution_ns, facts.cost_ns].map(|ns| show_nanos(ns as f64));
    let shortest = show_nanos(facts.cost_ns as f64 * 100.0);
    let measured = format!("resolution {step}, {cost} per reading: times from {shortest} on are exact");
    Finding::read("clock", facts.resolution_ns <= 1_000 && facts.cost_ns <= 250, measured, CLOCK)
}

fn clock_source() -> Finding {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    match system_files::text(path) {
        Ok(source) => {
            let source = source.trim();
            Finding::read("clock source", QUICK_SOURCES.contains(&source), source.to_owned(), SOURCE)
        }
        Err(error) => Finding::unknown("clock source", format!("{path}: {error}"), SOURCE),
    }
}

/// Measures the lateness of a 1 ms sleep, with the timer slack of this process and with the minimum slack.
fn timers(clock: &Clock) -> Vec<Finding> {
    // Timer slack belongs to a thread, and that of the calling thread must not change.
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
            let measured =
                format!("1 ms sleeps end {} late, {} with minimum slack", shown(before), shown(after));
            Finding::read("timer", after <= 200_000, measured, TIMER)
        }
        Some(Err(before)) => {
            let measured =
                format!("1 ms sleeps end {} late; the kernel rejects a smaller slack", shown(before));
            Finding { name: "timer", status: Status::Unknown, measured, invalidates: TIMER }
        }
        None => Finding::unknown("timer", "the sleeping thread failed", TIMER),
    }]
}

fn overshoot(clock: &Clock) -> u64 {
    let pause = Duration::from_millis(1);
    let mut late: Vec<u64> = (0..SLEEPS)
        .map(|_| {
            let begin = clock.now();
            std::thread::sleep(pause);
            (clock.now() - begin).saturating_sub(pause.as_nanos() as u64)
        })
        .collect();
    upper_median(&mut late).unwrap_or(0)
}

fn governor() -> Finding {
    let Ok(cpus) = system_files::entries("/sys/devices/system/cpu") else {
        return Finding::unknown("frequency", "/sys/devices/system/cpu cannot be read", GOVERNOR);
    };
    let of = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("cpufreq/scaling_governor")).ok();
    let mut found: Vec<String> = cpus.filter_map(of).map(|text| text.trim().to_owned()).collect();
    found.sort();
    found.dedup();
    if found.is_empty() {
        let why = "no governor: hypervisor or firmware set it";
        return Finding::unknown("frequency", why, GOVERNOR);
    }
    Finding::read("frequency", found == ["performance"], format!("governor {}", found.join(", ")), GOVERNOR)
}

/// Returns the rates of the network devices, without loopback.
fn links() -> Finding {
    let Ok(devices) = system_files::entries("/sys/class/net") else {
        return Finding::unknown("link", "/sys/class/net cannot be read", LINK);
    };
    let mut names: Vec<String> =
        devices.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "lo");
    names.sort();
    let links: Vec<(String, Link)> =
        names.into_iter().map(|name| (name.clone(), Link::of_device(&name))).collect();
    of_links(&links)
}

fn of_links(links: &[(String, Link)]) -> Finding {
    let rate = |(name, link): &(String, Link)| match link {
        Link::Rate { rate, .. } => Some(format!("{name}: {rate}")),
        Link::NotKnown(_) | Link::None => None,
    };
    let known: Vec<String> = links.iter().filter_map(rate).collect();
    if !known.is_empty() {
        return Finding::read("link", true, known.join(", "), LINK);
    }
    let names: Vec<&str> = links.iter().map(|(name, _)| name.as_str()).collect();
    match names.as_slice() {
        [] => Finding::unknown("link", "no network device except loopback", LINK),
        [name] => Finding::unknown("link", format!("{name} does not report its rate"), LINK),
        names => Finding::unknown("link", format!("{} do not report their rates", names.join(", ")), LINK),
    }
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
        None => Finding::unknown("open files", "/proc/self/limits does not contain it", FILES),
    }
}

fn ceiling(clock: &Clock, depth: u32) -> Finding {
    let name = if depth == 1 { "ceiling, depth 1" } else { "ceiling, depth 32" };
    let kind = CeilingKind { record_size: 4096, depth, writes: false };
    match clock.block_on(generator_ceiling(clock, kind, Verify::Stamps)) {
        Ok(Some(rate)) => {
            // Only deeper queues include verification, as `generator_ceiling` documents.
            let measured = format!(
                "{} reads/s of 4KiB: results are valid up to {}",
                three_digits(rate),
                three_digits(rate / 3.0)
            );
            Finding::read(name, rate >= 100_000.0, measured, CEILING)
        }
        Ok(None) => Finding::unknown(name, "the null target gave no result", CEILING),
        Err(error) => Finding::unknown(name, error.to_string(), CEILING),
    }
}

/// Measures steal, pressure and hiccups on the idle machine.
fn observe(clock: &Clock) -> Vec<Finding> {
    let meter = match HealthMeter::start(clock) {
        Ok(meter) => meter,
        Err(error) => {
            let unknown = |(name, what)| Finding::unknown(name, format!("no hiccup meter: {error}"), what);
            return [("steal", STEAL), ("pressure", PRESSURE), ("hiccups", HICCUPS)].map(unknown).into();
        }
    };
    let from = clock.now();
    std::thread::sleep(OBSERVED);
    of_health(&meter.read(from, clock.now()))
}

fn of_health(health: &Health) -> Vec<Finding> {
    let share = |name, share: Option<f64>, limit: f64, invalidates| match share {
        Some(share) => {
            let measured = format!("{} over {OBSERVED:?} (limit {})", percent(share, 1), percent(limit, 0));
            Finding::read(name, share <= limit, measured, invalidates)
        }
        None => Finding::unknown(name, "this kernel does not report it", invalidates),
    };
    let stalled = health.stalled_ns as f64 / health.span_ns.max(1) as f64;
    let measured = format!(
        "longest {} (limit 20 ms), {} of {OBSERVED:?} (limit 1 %)",
        show_nanos(health.worst_stall_ns as f64),
        percent(stalled, 1)
    );
    vec![
        share("steal", health.steal, 0.02, STEAL),
        share("pressure", health.pressure, 0.1, PRESSURE),
        Finding::read("hiccups", !health_has_warning(health), measured, HICCUPS),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_of_open_files_is_read_from_its_line() {
        let limits = |soft: &str| {
            format!(
                "Limit Soft Hard Units\nMax open files            {soft}     524288     files \nMax locked 5\n"
            )
        };
        let status = |text: &str| open_files(Some(text)).status;
        assert_eq!(status(&limits("1024")), Status::Warn);
        assert_eq!(status(&limits("20000")), Status::Pass);
        assert_eq!(status(&limits("unlimited")), Status::Pass);
        assert_eq!(status("nothing"), Status::Unknown);
        assert_eq!(open_files(None).status, Status::Unknown);
    }

    #[test]
    fn devices_without_rate_share_a_finding() {
        let unknown = |name: &str| (name.to_owned(), Link::NotKnown("no rate".into()));
        let several = of_links(&[unknown("eth0"), unknown("eth1")]);
        assert_eq!(
            (several.status, several.measured.as_str()),
            (Status::Unknown, "eth0, eth1 do not report their rates")
        );
        assert_eq!(of_links(&[unknown("eth0")]).measured, "eth0 does not report its rate");
        assert_eq!(of_links(&[]).status, Status::Unknown);
    }

    #[test]
    fn readings_are_compared_with_their_limits() {
        let quiet = Health {
            span_ns: 2_000_000_000,
            worst_stall_ns: 1_500_000,
            stalled_ns: 1_500_000,
            overshoot_ns: Some(60_000),
            steal: Some(0.0),
            pressure: Some(0.04),
        };
        let statuses = |health: &Health| of_health(health).into_iter().map(|f| f.status).collect::<Vec<_>>();
        assert_eq!(statuses(&quiet), [Status::Pass; 3]);
        let loud = Health { steal: Some(0.03), pressure: Some(0.5), worst_stall_ns: 30_000_000, ..quiet };
        assert_eq!(statuses(&loud), [Status::Warn; 3]);
        let unreadable = Health { steal: None, pressure: None, ..quiet };
        assert_eq!(statuses(&unreadable), [Status::Unknown, Status::Unknown, Status::Pass]);
        assert_eq!(clock_reading(ClockFacts { resolution_ns: 25, cost_ns: 50 }).status, Status::Pass);
        assert_eq!(clock_reading(ClockFacts { resolution_ns: 15_625_000, cost_ns: 50 }).status, Status::Warn);
    }
}
