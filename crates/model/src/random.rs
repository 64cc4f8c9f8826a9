//! The one source of randomness: seeded, repeatable on every machine.

/// `SplitMix64` (Steele, Lea, Flood 2014): every choice of a run follows from its seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each (seed, stream) pair.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xA076_1D64_78BD_642F));
        random.next();
        random
    }

    /// The next 64 random bits.
    #[expect(clippy::should_implement_trait, reason = "an endless sequence, not an iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `bound` (0 when `bound` is 0), without modulo bias worth measuring (bias < bound / 2^64).
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        // libm's own logarithm: the system's may differ in the last bit, and with it a whole schedule.
        -libm::log(1.0 - self.unit())
    }

    /// A number of the standard normal distribution (Box and Muller 1958, one of each pair).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }

    /// Puts a slice into random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// The finaliser of `SplitMix64`: a bijection that scatters neighbouring numbers.
pub const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence() {
        // First outputs for seed 1234567, from Sebastiano Vigna's reference code (prng.di.unimi.it).
        let mut random = Random(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn a_seed_repeats_and_streams_differ() {
        let draw = |stream| {
            let mut r = Random::new(7, stream);
            [r.next(), r.next()]
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn exponential_and_normal_numbers_have_their_moments() {
        let mut random = Random::new(3, 3);
        let count = 200_000;
        let moments = |draw: &mut dyn FnMut() -> f64| {
            let mut sum = 0.0;
            let mut squares = 0.0;
            for _ in 0..count {
                let number = draw();
                sum += number;
                squares += number * number;
            }
            (sum / f64::from(count), squares / f64::from(count))
        };
        let (mean, square) = moments(&mut || random.exponential());
        assert!((mean - 1.0).abs() < 0.01 && (square - 2.0).abs() < 0.05, "{mean} {square}");
        let (mean, square) = moments(&mut || random.normal());
        assert!(mean.abs() < 0.01 && (square - 1.0).abs() < 0.02, "{mean} {square}");
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(1, 1).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
