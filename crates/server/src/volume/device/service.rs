//! Random service times from a seed.

use std::time::Duration;

use crate::volume::device::options::ServiceTime;

/// Draws service times; the same options give the same sequence on every machine.
pub(super) struct Services {
    service: ServiceTime,
    state: u64,
}

impl Services {
    /// Starts the sequence.
    pub(super) fn new(service: ServiceTime) -> Self {
        let state = match service {
            ServiceTime::Fixed(_) => 0,
            ServiceTime::Exponential { seed, .. } | ServiceTime::LogNormal { seed, .. } => seed,
        };
        Self { service, state }
    }

    /// The next service time in nanoseconds.
    pub(super) fn draw(&mut self) -> u64 {
        match self.service {
            ServiceTime::Fixed(time) => nanoseconds(time) as u64,
            ServiceTime::Exponential { mean, .. } => (-self.uniform().ln() * nanoseconds(mean)) as u64,
            ServiceTime::LogNormal { median, sigma, .. } => {
                // Box-Muller; the second value of the pair is dropped.
                let radius = (-2.0 * self.uniform().ln()).sqrt();
                let normal = radius * (std::f64::consts::TAU * self.uniform()).cos();
                ((sigma * normal).exp() * nanoseconds(median)) as u64
            }
        }
    }

    /// Uniform in (0, 1], never 0, because its logarithm is computed. `SplitMix64` by Steele, Lea and Flood.
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((mixed >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Services;
    use crate::volume::device::options::ServiceTime;

    fn draws(service: ServiceTime, count: usize) -> Vec<u64> {
        let mut services = Services::new(service);
        (0..count).map(|_| services.draw()).collect()
    }

    #[test]
    fn exponential_times_have_their_mean_and_spread() {
        let times = draws(ServiceTime::Exponential { mean: Duration::from_millis(1), seed: 7 }, 200_000);
        let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
        let variance =
            times.iter().map(|time| (*time as f64 - mean).powi(2)).sum::<f64>() / times.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
    }

    #[test]
    fn log_normal_times_have_their_median() {
        let service = ServiceTime::LogNormal { median: Duration::from_micros(120), sigma: 0.35, seed: 1 };
        let mut times = draws(service, 100_001);
        times.sort_unstable();
        let median = times[50_000] as f64;
        let upper = times[84_134] as f64;
        assert!((median / 120e3 - 1.0).abs() < 0.01, "{median}");
        assert!(((upper / median).ln() / 0.35 - 1.0).abs() < 0.03, "{upper}");
    }

    #[test]
    fn a_seed_fixes_the_sequence() {
        let service = |seed| ServiceTime::Exponential { mean: Duration::from_millis(1), seed };
        assert_eq!(draws(service(3), 50), draws(service(3), 50));
        assert_ne!(draws(service(3), 50), draws(service(4), 50));
    }
}
