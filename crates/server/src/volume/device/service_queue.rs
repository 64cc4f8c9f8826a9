//! Completion times of a first-come-first-served queue, computed from instants.

/// A queue with `c` servers, followed by one link. Requests enter in order of arrival; each takes the server that is free
/// first, then the link. All instants are nanoseconds of the same clock.
pub(super) struct ServiceQueue {
    free_at: Vec<u64>,
    link_free_at: u64,
    bytes_per_s: Option<u64>,
}

impl ServiceQueue {
    /// An idle queue.
    pub(super) fn new(servers: usize, bytes_per_s: Option<u64>) -> Self {
        Self { free_at: vec![0; servers.max(1)], link_free_at: 0, bytes_per_s }
    }

    /// Keeps every server busy for another `pause` nanoseconds from `now`.
    pub(super) fn stall(&mut self, now: u64, pause: u64) {
        for free_at in &mut self.free_at {
            *free_at = now.max(*free_at).saturating_add(pause);
        }
    }

    /// Adds a request that arrives `now` and returns when it completes. A thread that wakes up late does not delay the
    /// queue, because its times are computed (Lindley's recursion).
    pub(super) fn admit(&mut self, now: u64, service: u64, bytes: u64) -> u64 {
        // Never empty: `new` creates at least one.
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

    use super::ServiceQueue;
    use crate::volume::device::options::ServiceTime;
    use crate::volume::device::service::Services;

    #[test]
    fn one_server_serves_in_order_of_arrival() {
        let mut queue = ServiceQueue::new(1, None);
        let done: Vec<u64> = [0, 1, 2, 100].map(|now| queue.admit(now, 10, 0)).to_vec();
        assert_eq!(done, [10, 20, 30, 110]);
    }

    #[test]
    fn two_servers_serve_concurrently() {
        let mut queue = ServiceQueue::new(2, None);
        let done: Vec<u64> = [0, 0, 0, 0].map(|now| queue.admit(now, 10, 0)).to_vec();
        assert_eq!(done, [10, 10, 20, 20]);
    }

    #[test]
    fn a_stall_delays_every_server_and_loses_no_request() {
        let mut queue = ServiceQueue::new(2, None);
        assert_eq!(queue.admit(0, 10, 0), 10);
        queue.stall(5, 100);
        let done: Vec<u64> = [6, 7, 8].map(|now| queue.admit(now, 10, 0)).to_vec();
        assert_eq!(done, [115, 120, 125]);
    }

    #[test]
    fn the_link_never_exceeds_its_bytes_per_second() {
        let mut queue = ServiceQueue::new(4, Some(50_000_000));
        let last = (0..500).map(|_| queue.admit(0, 1_000, 1_000_000)).last();
        // 500 MB at 50 MB/s, after the first service time.
        assert_eq!(last, Some(10_000_000_000 + 1_000));
    }

    /// Response times of an M/M/1 queue: R = S / (1 - rho), p99 = 4.605 R.
    #[test]
    fn an_mm1_queue_has_the_theoretical_response_time() {
        for (rho, expected, tolerance) in [(0.5, 2.0, 0.02), (0.7, 3.333, 0.05)] {
            let exponential = |mean_us: f64, seed| {
                let mean = Duration::from_nanos((mean_us * 1e3) as u64);
                Services::new(ServiceTime::Exponential { mean, seed })
            };
            let mut gaps = exponential(100.0 / rho, 1);
            let mut services = exponential(100.0, 2);
            let mut queue = ServiceQueue::new(1, None);
            let mut now = 0;
            let mut responses: Vec<f64> = Vec::new();
            for _ in 0..200_000 {
                now += gaps.draw();
                responses.push((queue.admit(now, services.draw(), 0) - now) as f64 / 100e3);
            }
            let mean = responses.iter().sum::<f64>() / responses.len() as f64;
            assert!((mean / expected - 1.0).abs() < tolerance, "rho {rho}: {mean}");
            responses.sort_unstable_by(f64::total_cmp);
            let p99 = responses[responses.len() / 100 * 99];
            assert!((p99 / (4.605 * expected) - 1.0).abs() < 0.08, "rho {rho}: {p99}");
        }
    }
}
