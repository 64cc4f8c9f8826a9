//! Little's law as a check that users, rate and times belong together.

/// |N - X (R + Z)| / N: how far `users` differ from what rate (per second) times mean response and mean
/// measured think time (seconds) account for. None without users.
///
/// Source: Little, Operations Research 9 (1961) 383; the interactive response time law of Denning and Buzen.
pub fn little_residual(users: f64, rate: f64, mean_response: f64, mean_think: f64) -> Option<f64> {
    (users > 0.0).then(|| (users - rate * (mean_response + mean_think)).abs() / users)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_queue_of_twenty_users_adds_up() {
        // Exact mean value analysis, D = 2 ms, Z = 20 ms, N = 20: X = 499.07/s, R = 20.075 ms.
        assert!(little_residual(20.0, 499.07, 0.020_075, 0.020).unwrap() < 1e-4);
        // A third of the users hung: 33 of 50 account for the completions.
        assert!((little_residual(50.0, 3.3, 10.0, 0.0).unwrap() - 0.34).abs() < 1e-12);
        assert_eq!(little_residual(0.0, 1.0, 1.0, 1.0), None);
    }
}
