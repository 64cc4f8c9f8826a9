//! How the speed of a simulated server changes over time: once, for good, in equal intervals, or with the work done.

use std::time::Duration;

/// The course of a server's speed over the clock. All service centers of a device share it.
#[derive(Debug, Clone, Default)]
pub(super) struct TimeCourse {
    /// One stop: start and length.
    pub stall: Option<(u64, u64)>,
    /// Stops at the end of each period: period and length.
    pub stops: Option<(u64, u64)>,
    /// From an instant on, this factor of the service time.
    pub slower: Option<(u64, f64)>,
    /// A slow time at the end of each period: period, its length, and the factor of the service time.
    pub slow_turns: Option<(u64, u64, f64)>,
    /// After this many bytes, this factor of the service time.
    pub burst: Option<(u64, f64)>,
    /// Growth of the service time, as a share of the first one per second.
    pub wear_per_s: f64,
    /// Bytes of all requests so far.
    pub bytes: u64,
}

pub(super) fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// The phase of an instant within a period whose last `length` is special: time until that begins, or until it ends.
enum Phase {
    Before(u64),
    Within(u64),
}

fn phase(at: u64, period: u64, length: u64) -> Phase {
    let phase = at % period;
    let usual = period - length;
    if phase < usual { Phase::Before(usual - phase) } else { Phase::Within(period - phase) }
}

impl TimeCourse {
    /// Service time and end of work that takes `drawn` at the usual speed and may begin at `start`.
    pub fn finish(&mut self, start: u64, drawn: u64, bytes: u32) -> (u64, u64) {
        self.bytes += u64::from(bytes);
        let service = (drawn as f64 * self.factor(start)).round() as u64;
        (service, self.past_stops(start, service))
    }

    /// The factor of the service time at an instant.
    fn factor(&self, at: u64) -> f64 {
        let slower = self.slower.filter(|(from, _)| at >= *from).map_or(1.0, |(_, factor)| factor);
        let wear = 1.0 + self.wear_per_s * at as f64 / 1e9;
        let slow_turn = match self.slow_turns {
            Some((period, length, factor)) if matches!(phase(at, period, length), Phase::Within(_)) => factor,
            _ => 1.0,
        };
        let after_burst =
            self.burst.filter(|(limit, _)| self.bytes > *limit).map_or(1.0, |(_, factor)| factor);
        slower * wear * slow_turn * after_burst
    }

    /// The end of work of `service` that may begin at `start`. A stop interrupts it.
    fn past_stops(&self, start: u64, service: u64) -> u64 {
        let mut end = start + service;
        if let Some((period, length)) = self.stops {
            end = match phase(start, period, length) {
                Phase::Within(rest) => start + rest + service,
                Phase::Before(rest) if service > rest => end + length,
                Phase::Before(_) => end,
            };
        }
        let Some((from, length)) = self.stall else { return end };
        let until = from + length;
        if start >= until || end <= from { end } else { until + (end - start) - from.saturating_sub(start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(mut course: TimeCourse, starts: &[u64], drawn: u64) -> Vec<u64> {
        starts.iter().map(|start| course.finish(*start, drawn, 100).1).collect()
    }

    #[test]
    fn stops_at_the_end_of_each_period_interrupt_work_and_delay_what_follows() {
        let course = TimeCourse { stops: Some((1_000, 200)), ..TimeCourse::default() };
        assert_eq!(
            ends(course, &[0, 790, 800, 999, 1_000, 1_795], 10),
            [10, 800, 1_010, 1_010, 1_010, 2_005]
        );
    }

    #[test]
    fn slow_turns_end_each_period() {
        let course = TimeCourse { slow_turns: Some((3_000, 1_500, 2.0)), ..TimeCourse::default() };
        assert_eq!(ends(course, &[0, 1_499, 1_500, 2_999, 3_000], 10), [10, 1_509, 1_520, 3_019, 3_010]);
    }

    #[test]
    fn server_is_slower_after_its_burst() {
        let course = TimeCourse { burst: Some((200, 2.0)), ..TimeCourse::default() };
        assert_eq!(ends(course, &[0, 100, 200, 300], 10), [10, 110, 220, 320]);
    }
}
