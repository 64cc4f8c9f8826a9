//! What limits this machine during a diagnosis: a quota of its control group, other programs, the hypervisor, and heat.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::system;

/// Groups of a hierarchy that are read, from the innermost one outwards.
const MAX_GROUPS: usize = 32;

/// What held this machine back.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct ClientLimits {
    /// Share of the time in which the CPU quota of the control group was used up, 0 to 1.
    pub throttled: f64,
    /// That time, nanoseconds.
    pub throttled_ns: u64,
    /// Periods of the quota in which it was used up.
    pub throttled_periods: u64,
    /// CPUs that this process may use; 0 if unknown.
    pub cpus: usize,
    /// Mean number of threads of other programs that were running or ready, between two rounds; none where the system does
    /// not count them.
    pub other_threads: Option<f64>,
    /// Share of the time in which a thread of this machine waited for a CPU, 0 to 1 (pressure stall information); none where
    /// the system does not measure it.
    pub pressure: Option<f64>,
    /// Share of the CPU time that the hypervisor gave to others, 0 to 1.
    pub stolen: f64,
    /// Events in which a processor was slowed down because it was hot.
    pub thermal_events: u64,
}

/// Readings of the kernel's counters.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LimitReading {
    throttled_ns: u64,
    throttled_periods: u64,
    pressure_us: Option<u64>,
    stolen: u64,
    ticks: u64,
    thermal_events: u64,
}

impl LimitReading {
    /// Reads them; a counter that the system does not have is 0.
    pub(crate) fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (stolen, ticks) = ticks(&read("/proc/stat")).unwrap_or_default();
        let groups = groups(&read("/proc/self/cgroup"));
        let throttled = groups.iter().map(|path| throttled(&read(path))).max().unwrap_or_default();
        let (throttled_ns, throttled_periods) = throttled;
        let pressure_us = pressure_us(&read("/proc/pressure/cpu"));
        let thermal_events = thermal_events();
        Self { throttled_ns, throttled_periods, pressure_us, stolen, ticks, thermal_events }
    }

    /// What happened since the reading `earlier`, `span_ns` ago.
    pub(crate) fn since(self, earlier: Self, span_ns: u64) -> ClientLimits {
        let share = |part: u64, all: u64| if all > 0 { (part as f64 / all as f64).min(1.0) } else { 0.0 };
        let throttled_ns = self.throttled_ns.saturating_sub(earlier.throttled_ns);
        let pressure = self.pressure_us.zip(earlier.pressure_us);
        ClientLimits {
            throttled: share(throttled_ns, span_ns),
            throttled_ns,
            throttled_periods: self.throttled_periods.saturating_sub(earlier.throttled_periods),
            cpus: system::cpus(),
            other_threads: None,
            pressure: pressure.map(|(now, then)| share(now.saturating_sub(then), span_ns / 1_000)),
            stolen: share(
                self.stolen.saturating_sub(earlier.stolen),
                self.ticks.saturating_sub(earlier.ticks),
            ),
            thermal_events: self.thermal_events.saturating_sub(earlier.thermal_events),
        }
    }
}

/// Stolen ticks and all ticks of all processors (proc(5)): user nice system idle iowait irq softirq steal.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
    Some((*fields.get(7)?, fields.iter().take(8).sum()))
}

/// Where the CPU statistics of this process's control group and of the groups above it are, each of which may have a quota: the
/// unified hierarchy, or the one of the controller cpu (cgroups(7)); also as a container sees its own group, as the root.
fn groups(own: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let Some((controllers, path)) = fields.next().zip(fields.next()) else { continue };
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            _ if controllers.split(',').any(|controller| controller == "cpu") => "/sys/fs/cgroup/cpu",
            _ => continue,
        };
        let above = Path::new(path).ancestors().take(MAX_GROUPS);
        let names = above.map(|path| path.to_string_lossy().trim_end_matches('/').to_owned());
        paths.extend(names.map(|name| format!("{root}{name}/cpu.stat")));
    }
    paths
}

/// Time in which the quota was used up, nanoseconds (`throttled_usec` of the second version, `throttled_time` of the first
/// one), and the number of its periods.
fn throttled(stat: &str) -> (u64, u64) {
    let value =
        |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let us = value("throttled_usec ").map(|us| us.saturating_mul(1_000));
    (us.or_else(|| value("throttled_time ")).unwrap_or(0), value("nr_throttled ").unwrap_or(0))
}

/// Time in which a thread of this machine waited for a CPU, microseconds (`some` of `/proc/pressure/cpu`).
fn pressure_us(pressure: &str) -> Option<u64> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split(' ').find_map(|field| field.strip_prefix("total=")?.parse().ok())
}

/// Threads of this machine that run or are ready, without the calling one (proc(5), `/proc/loadavg`, the fourth field); none
/// where the system does not count them.
pub(crate) fn other_threads() -> Option<f64> {
    parse_other_threads(&fs::read_to_string("/proc/loadavg").ok()?)
}

fn parse_other_threads(loads: &str) -> Option<f64> {
    let (running, _) = loads.split(' ').nth(3)?.split_once('/')?;
    Some((running.parse::<f64>().ok()? - 1.0).max(0.0))
}

/// Sum of the counters of all processors.
fn thermal_events() -> u64 {
    let Ok(processors) = fs::read_dir(Path::new("/sys/devices/system/cpu")) else { return 0 };
    let count = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let counts = processors
        .flatten()
        .filter_map(|processor| count(&processor.path().join("thermal_throttle/core_throttle_count")));
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_differences_over_the_span() {
        let earlier = LimitReading {
            throttled_ns: 500,
            throttled_periods: 7,
            pressure_us: Some(40),
            stolen: 10,
            ticks: 100,
            thermal_events: 1,
        };
        let later = LimitReading {
            throttled_ns: 50_500,
            throttled_periods: 9,
            pressure_us: Some(65),
            stolen: 30,
            ticks: 200,
            thermal_events: 3,
        };
        let cpus = system::cpus();
        let expected = ClientLimits {
            throttled: 0.5,
            throttled_ns: 50_000,
            throttled_periods: 2,
            cpus,
            other_threads: None,
            pressure: Some(0.25),
            stolen: 0.2,
            thermal_events: 2,
        };
        assert_eq!(later.since(earlier, 100_000), expected);
        let reset = ClientLimits { cpus, pressure: Some(0.0), ..ClientLimits::default() };
        assert_eq!(earlier.since(later, 0), reset, "counters that were reset");
    }

    #[test]
    fn both_versions_of_control_groups_are_read() {
        assert_eq!(throttled("nr_periods 5\nnr_throttled 3\nthrottled_usec 7\n"), (7_000, 3));
        assert_eq!(throttled("nr_throttled 5\nthrottled_time 9\n"), (9, 5));
        assert_eq!(throttled(""), (0, 0));
        assert_eq!(
            groups("0::/a/b\n"),
            ["/sys/fs/cgroup/a/b/cpu.stat", "/sys/fs/cgroup/a/cpu.stat", "/sys/fs/cgroup/cpu.stat"]
        );
        let first = groups("4:cpu,cpuacct:/x\n3:memory:/y\n");
        assert_eq!(first[0], "/sys/fs/cgroup/cpu/x/cpu.stat");
        assert_eq!(first.len(), 2);
    }

    #[test]
    fn pressure_and_other_threads_are_read() {
        let pressure = "some avg10=1.50 avg60=0.00 avg300=0.00 total=763\nfull avg10=0.00 total=5\n";
        assert_eq!(pressure_us(pressure), Some(763));
        assert_eq!(pressure_us(""), None);
        assert_eq!(parse_other_threads("0.20 0.18 0.12 4/80 11206\n"), Some(3.0));
        assert_eq!(parse_other_threads("0.20 0.18 0.12 0/80 11206\n"), Some(0.0));
        assert_eq!(parse_other_threads("0.20\n"), None);
    }

    #[test]
    fn stolen_ticks_are_the_eighth_field() {
        assert_eq!(ticks("cpu  1 2 3 4 5 6 7 8 9 9\ncpu0 1\n"), Some((8, 36)));
        assert_eq!(ticks("intr 5\n"), None);
    }
}
