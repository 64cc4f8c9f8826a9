//! When a request is done: a queue in order of arrival, by arithmetic on instants.

/// `c` servers and, behind them, one link. Requests enter in order of arrival; each takes the server that
/// is free first, then the link. All instants in nanoseconds of the same clock.
pub(super) struct Station {
    free_at: Vec<u64>,
    link_free_at: u64,
    bytes_per_s: Option<u64>,
}

impl Station {
    /// An idle station.
    pub(super) fn new(servers: usize, bytes_per_s: Option<u64>) -> Self {
        Self { free_at: vec![0; servers.max(1)], link_free_at: 0, bytes_per_s }
    }

    /// Keeps every server busy for `pause` nanoseconds more from `now` on.
    pub(super) fn stall(&mut self, now: u64, pause: u64) {
        for free_at in &mut self.free_at {
            *free_at = now.max(*free_at).saturating_add(pause);
        }
    }

    /// Takes a request in that arrived `now` and tells when it is done. Later waits that end late do not
    /// move the queue: the station keeps its own time (Lindley's recursion).
    pub(super) fn admit(&mut self, now: u64, service: u64, bytes: u64) -> u64 {
        // Never empty: `new` makes at least one.
        let Some(free_at) = self.free_at.iter_mut().min() else { return now };
        let served = now.max(*free_at).saturating_add(service);
        *free_at = served;
        let Some(bytes_per_s) = self.bytes_per_s else { return served };
        let transfer = u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_s.max(1));
        let transfer = u64::try_from(transfer).unwrap_or(u64::MAX);
        self.link_free_at = served.max(self.link_free_at).saturating_add(transfer);
        self.link_free_at
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Station;
    use crate::device::options::ServiceTime;
    use crate::device::service::Services;

    #[test]
    fn one_server_works_in_order_of_arrival() {
        let mut station = Station::new(1, None);
        let done: Vec<u64> = [0, 1, 2, 100].map(|now| station.admit(now, 10, 0)).to_vec();
        assert_eq!(done, [10, 20, 30, 110]);
    }

    #[test]
    fn two_servers_work_side_by_side() {
        let mut station = Station::new(2, None);
        let done: Vec<u64> = [0, 0, 0, 0].map(|now| station.admit(now, 10, 0)).to_vec();
        assert_eq!(done, [10, 10, 20, 20]);
    }

    #[test]
    fn a_stall_holds_up_every_server_and_nothing_is_lost() {
        let mut station = Station::new(2, None);
        assert_eq!(station.admit(0, 10, 0), 10);
        station.stall(5, 100);
        let done: Vec<u64> = [6, 7, 8].map(|now| station.admit(now, 10, 0)).to_vec();
        assert_eq!(done, [115, 120, 125]);
    }

    #[test]
    fn the_link_carries_its_bytes_per_second_and_no_more() {
        let mut station = Station::new(4, Some(50_000_000));
        let last = (0..500).map(|_| station.admit(0, 1_000, 1_000_000)).last();
        // 500 MB at 50 MB/s, behind the first service time.
        assert_eq!(last, Some(10_000_000_000 + 1_000));
    }

    /// Response times of an M/M/1 queue: R = S / (1 - rho), p99 = 4.605 R.
    #[test]
    fn an_mm1_queue_has_the_response_time_of_theory() {
        for (rho, expected, tolerance) in [(0.5, 2.0, 0.02), (0.7, 3.333, 0.05)] {
            let exponential = |mean_us: f64, seed| {
                let mean = Duration::from_nanos((mean_us * 1e3) as u64);
                Services::new(ServiceTime::Exponential { mean, seed })
            };
            let mut gaps = exponential(100.0 / rho, 1);
            let mut services = exponential(100.0, 2);
            let mut station = Station::new(1, None);
            let mut now = 0;
            let mut responses: Vec<f64> = Vec::new();
            for _ in 0..200_000 {
                now += gaps.draw();
                responses.push((station.admit(now, services.draw(), 0) - now) as f64 / 100e3);
            }
            let mean = responses.iter().sum::<f64>() / responses.len() as f64;
            assert!((mean / expected - 1.0).abs() < tolerance, "rho {rho}: {mean}");
            responses.sort_unstable_by(f64::total_cmp);
            let p99 = responses[responses.len() / 100 * 99];
            assert!((p99 / (4.605 * expected) - 1.0).abs() < 0.08, "rho {rho}: {p99}");
        }
    }
}
