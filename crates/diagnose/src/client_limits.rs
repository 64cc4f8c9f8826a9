//! What limits this machine during a diagnosis: a quota of its control group, the hypervisor, and heat.

use std::fs;
use std::path::Path;

use serde::Serialize;

/// Shares of the time in which this machine was held back.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct ClientLimits {
    /// Share of the time in which the CPU quota of the control group was used up, 0 to 1.
    pub throttled: f64,
    /// Share of the CPU time that the hypervisor gave to others, 0 to 1.
    pub stolen: f64,
    /// Events in which a processor was slowed down because it was hot.
    pub thermal_events: u64,
}

/// Readings of the kernel's counters.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LimitReading {
    throttled_ns: u64,
    stolen: u64,
    ticks: u64,
    thermal_events: u64,
}

impl LimitReading {
    /// Reads them; a counter that the system does not have is 0.
    pub(crate) fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let (stolen, ticks) = ticks(&read("/proc/stat")).unwrap_or_default();
        let throttled_ns = groups(&read("/proc/self/cgroup"))
            .iter()
            .map(|path| throttled_ns(&read(path)))
            .max()
            .unwrap_or_default();
        Self { throttled_ns, stolen, ticks, thermal_events: thermal_events() }
    }

    /// What happened since the reading `earlier`, `span_ns` ago.
    pub(crate) fn since(self, earlier: Self, span_ns: u64) -> ClientLimits {
        let share = |part: u64, all: u64| if all > 0 { (part as f64 / all as f64).min(1.0) } else { 0.0 };
        ClientLimits {
            throttled: share(self.throttled_ns.saturating_sub(earlier.throttled_ns), span_ns),
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

/// Where the CPU statistics of this process's control group are: the unified hierarchy, or the one of the controller cpu
/// (cgroups(7)); also as a container sees its own group, as the root.
fn groups(own: &str) -> Vec<String> {
    let paths = own.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let path = fields.next()?.trim_end_matches('/');
        let is_cpu = controllers.is_empty() || controllers.split(',').any(|controller| controller == "cpu");
        let root = if controllers.is_empty() { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/cpu" };
        is_cpu.then(|| [format!("{root}{path}/cpu.stat"), format!("{root}/cpu.stat")])
    });
    paths.flatten().collect()
}

/// Time in which the quota was used up: `throttled_usec` of the second version, `throttled_time` (ns) of the first one.
fn throttled_ns(stat: &str) -> u64 {
    let value =
        |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    value("throttled_usec ")
        .map(|us| us.saturating_mul(1_000))
        .or_else(|| value("throttled_time "))
        .unwrap_or(0)
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
        let earlier = LimitReading { throttled_ns: 5, stolen: 10, ticks: 100, thermal_events: 1 };
        let later = LimitReading { throttled_ns: 505, stolen: 30, ticks: 200, thermal_events: 3 };
        let limits = later.since(earlier, 1_000);
        assert_eq!(limits, ClientLimits { throttled: 0.5, stolen: 0.2, thermal_events: 2 });
        assert_eq!(earlier.since(later, 0), ClientLimits::default(), "counters that were reset");
    }

    #[test]
    fn both_versions_of_control_groups_are_read() {
        assert_eq!(throttled_ns("nr_periods 5\nthrottled_usec 7\n"), 7_000);
        assert_eq!(throttled_ns("nr_throttled 5\nthrottled_time 9\n"), 9);
        assert_eq!(throttled_ns(""), 0);
        assert_eq!(
            groups("0::/a/b\n"),
            ["/sys/fs/cgroup/a/b/cpu.stat", "/sys/fs/cgroup/cpu.stat"].map(str::to_owned)
        );
        let first = groups("4:cpu,cpuacct:/x\n3:memory:/y\n");
        assert_eq!(first[0], "/sys/fs/cgroup/cpu/x/cpu.stat");
        assert_eq!(first.len(), 2);
    }

    #[test]
    fn stolen_ticks_are_the_eighth_field() {
        assert_eq!(ticks("cpu  1 2 3 4 5 6 7 8 9 9\ncpu0 1\n"), Some((8, 36)));
        assert_eq!(ticks("intr 5\n"), None);
    }
}
