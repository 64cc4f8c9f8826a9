//! Closed queueing networks, solved exactly: throughput of users with think time.
//!
//! Source: Reiser and Lavenberg, J. ACM 27 (1980) 313 (mean value analysis); the machine repairman model in
//! Allen: Probability, Statistics and Queueing Theory, 5.2.5.

/// Throughput and response time of `users` at single-server queues with these service demands (seconds
/// per transaction), with a think time of `think` seconds between; demands need not be exponential where the order of
/// service does not depend on them.
pub fn mean_value_analysis(demands: &[f64], think: f64, users: u32) -> (f64, f64) {
    let mut queues = vec![0.0; demands.len()];
    let mut throughput = 0.0;
    let mut response = 0.0;
    for n in 1..=users {
        let residence: Vec<f64> =
            // The arrival theorem: an arriving user finds the queues that n - 1 users would have.
            demands.iter().zip(&queues).map(|(demand, queue)| demand * (1.0 + queue)).collect();
        response = residence.iter().sum();
        throughput = f64::from(n) / (think + response);
        queues = residence.iter().map(|time| throughput * time).collect();
    }
    (throughput, response)
}

/// Throughput of `users` at one queue of `servers` servers that each take `demand` seconds, with a
/// think time of `think` seconds, all exponential.
pub fn repairman_throughput(demand: f64, servers: u32, think: f64, users: u32) -> f64 {
    let rate = |busy: u32| f64::from(busy.min(servers)) / demand;
    if think <= 0.0 {
        return rate(users);
    }
    // Weights of 0.. users at the queue, scaled down before they overflow.
    let mut weight = 1.0;
    let mut sum = 1.0;
    let mut work = 0.0;
    for at_queue in 1..=users {
        weight *= f64::from(users - at_queue + 1) / think / rate(at_queue);
        sum += weight;
        work += weight * rate(at_queue);
        if weight > 1e200 {
            (weight, sum, work) = (weight / 1e200, sum / 1e200, work / 1e200);
        }
    }
    work / sum
}

/// The load beyond which additional users only wait: N* = (Z + sum of demands) / the largest demand.
pub fn knee(demands: &[f64], think: f64) -> Option<f64> {
    let largest = demands.iter().copied().fold(0.0, f64::max);
    (largest > 0.0).then(|| (think + demands.iter().sum::<f64>()) / largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64, tolerance: f64) {
        assert!((found / wanted - 1.0).abs() < tolerance, "{found} is not {wanted}");
    }

    #[test]
    fn one_queue_with_think_time() {
        // K5: D = 2 ms, Z = 20 ms, knee at 11.
        let table = [
            (1, 45.45, 2.000),
            (2, 90.16, 2.182),
            (5, 218.02, 2.933),
            (8, 330.84, 4.181),
            (11, 418.38, 6.292),
            (15, 481.75, 11.136),
            (20, 499.07, 20.075),
            (30, 500.00, 40.000),
        ];
        for (users, rate, response_ms) in table {
            let (x, r) = mean_value_analysis(&[0.002], 0.020, users);
            close(x, rate, 2e-4);
            close(r * 1e3, response_ms, 2e-4);
            close(repairman_throughput(0.002, 1, 0.020, users), x, 1e-12);
        }
        close(knee(&[0.002], 0.020).unwrap(), 11.0, 1e-12);
    }

    #[test]
    fn two_queues_with_think_time() {
        // K5b: D = 1 and 4 ms, Z = 50 ms, knee at 13.75.
        let table = [
            (5, 88.49, 6.502),
            (10, 166.65, 10.007),
            (14, 213.77, 15.492),
            (20, 245.84, 31.355),
            (40, 250.00, 110.0),
        ];
        for (users, rate, response_ms) in table {
            let (x, r) = mean_value_analysis(&[0.001, 0.004], 0.050, users);
            close(x, rate, 1e-4);
            close(r * 1e3, response_ms, 2e-4);
        }
        close(knee(&[0.001, 0.004], 0.050).unwrap(), 13.75, 1e-12);
        assert_eq!(knee(&[], 1.0), None);
    }

    #[test]
    fn several_servers_saturate_at_their_number() {
        close(repairman_throughput(0.004, 4, 0.020, 5_000), 1_000.0, 1e-9);
        close(repairman_throughput(0.004, 4, 0.0, 3), 750.0, 1e-12);
        // With more servers than users no user waits.
        close(repairman_throughput(0.004, 10, 0.020, 6), 250.0, 1e-12);
    }
}
