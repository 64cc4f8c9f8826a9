//! Sizes by distribution: of files, and of requests.

use std::fmt;
use std::str::FromStr;

use sharebench_model::Random;

use crate::values::lognormal;
use sharebench_model::units::ByteSize;

/// Longest draws of a lognormal distribution, in its 95th percentiles: what lies beyond is cut to it.
const LONGEST: u64 = 4;

/// A law of sizes in bytes.
///
/// `4KiB` is always the same; `1KiB..64KiB` any size between, each as likely; `lognormal(16KiB,256KiB)` has that median
/// and that 95th percentile (cut at four times it); `1KiB:80,10KiB:10,50KiB:10` are sizes with weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sizes {
    /// Always this.
    Fixed(u64),
    /// From the first to the second, both included, each as likely.
    Uniform(u64, u64),
    /// Median and 95th percentile.
    Lognormal(u64, u64),
    /// Sizes with their weights.
    Choice(Vec<(u64, u32)>),
}

impl Sizes {
    /// The next size; takes from `random` only where there is chance in it.
    pub fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Fixed(size) => *size,
            Self::Uniform(least, most) => least + random.below(most - least + 1),
            Self::Lognormal(median, p95) => {
                let drawn = lognormal(*median as f64, *p95 as f64, random).round() as u64;
                drawn.clamp(1, p95.saturating_mul(LONGEST))
            }
            Self::Choice(choices) => {
                let all: u64 = choices.iter().map(|(_, weight)| u64::from(*weight)).sum();
                let mut place = random.below(all);
                for (size, weight) in choices {
                    match place.checked_sub(u64::from(*weight)) {
                        Some(left) => place = left,
                        None => return *size,
                    }
                }
                choices.last().map_or(0, |(size, _)| *size)
            }
        }
    }

    /// The sizes of that many files, in random order. Of sizes with weights each is there as often as its weight requires, to
    /// within one file, so that a small data set has the mean that its law has.
    pub fn draw_all(&self, count: u32, random: &mut Random) -> Vec<u64> {
        let Self::Choice(choices) = self else {
            return (0..count).map(|_| self.draw(random)).collect();
        };
        // Systematic sampling (Cochran: Sampling Techniques, 3rd ed., 8): equal steps from a random start.
        let all: f64 = choices.iter().map(|(_, weight)| f64::from(*weight)).sum();
        let start = random.unit();
        let mut next = choices.iter();
        let mut size = 0;
        let mut end = 0.0;
        let mut sizes = Vec::with_capacity(count as usize);
        for index in 0..count {
            let place = (f64::from(index) + start) / f64::from(count) * all;
            while place >= end {
                let Some((following, weight)) = next.next() else { break };
                (size, end) = (*following, end + f64::from(*weight));
            }
            sizes.push(size);
        }
        random.shuffle(&mut sizes);
        sizes
    }

    /// Smallest size that can be drawn.
    pub fn least(&self) -> u64 {
        match self {
            Self::Fixed(size) | Self::Uniform(size, _) => *size,
            Self::Lognormal(..) => 1,
            Self::Choice(choices) => choices.iter().map(|(size, _)| *size).min().unwrap_or(0),
        }
    }

    /// Largest size that can be drawn.
    pub fn most(&self) -> u64 {
        match self {
            Self::Fixed(size) | Self::Uniform(_, size) => *size,
            Self::Lognormal(_, p95) => p95.saturating_mul(LONGEST),
            Self::Choice(choices) => choices.iter().map(|(size, _)| *size).max().unwrap_or(0),
        }
    }

    /// True for files that are all empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::Fixed(0)
    }

    /// What offsets of requests of these sizes are multiples of: the size itself, or a sector where sizes vary.
    pub fn grain(&self) -> u64 {
        match self {
            Self::Fixed(size) => (*size).max(1),
            _ => 512,
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => ByteSize(*size).fmt(f),
            Self::Uniform(least, most) => write!(f, "{}..{}", ByteSize(*least), ByteSize(*most)),
            Self::Lognormal(median, p95) => write!(f, "lognormal({},{})", ByteSize(*median), ByteSize(*p95)),
            Self::Choice(choices) => {
                for (index, (size, weight)) in choices.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{}:{weight}", ByteSize(*size))?;
                }
                Ok(())
            }
        }
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || {
            format!(
                "'{text}' is not a size; write 4KiB, 1KiB..64KiB, lognormal(16KiB,256KiB) (median and 95th percentile) \
                 or 1KiB:80,10KiB:20 (sizes with weights)"
            )
        };
        let size = |text: &str| text.trim().parse().map(|ByteSize(bytes)| bytes).map_err(|_| wrong());
        if let Some(inside) = text.strip_prefix("lognormal(").and_then(|rest| rest.strip_suffix(')')) {
            let (median, p95) = inside.split_once(',').ok_or_else(wrong)?;
            let median = size(median)?;
            let p95 = size(p95)?;
            return if median > 0 && median <= p95 {
                Ok(Self::Lognormal(median, p95))
            } else {
                Err(format!("'{text}': the median must be above 0 and no more than the 95th percentile"))
            };
        }
        if text.contains(':') {
            let mut choices = Vec::new();
            for part in text.split(',') {
                let (bytes, weight) = part.split_once(':').ok_or_else(wrong)?;
                choices.push((size(bytes)?, weight.trim().parse::<u32>().map_err(|_| wrong())?));
            }
            let all: u64 = choices.iter().map(|(_, weight)| u64::from(*weight)).sum();
            return if all > 0 {
                Ok(Self::Choice(choices))
            } else {
                Err(format!("'{text}': all weights are 0"))
            };
        }
        match text.split_once("..") {
            Some((least, most)) => {
                let least = size(least)?;
                let most = size(most)?;
                if least > most {
                    return Err(format!("'{text}': the first size is larger than the second"));
                }
                Ok(Self::Uniform(least, most))
            }
            None => Ok(Self::Fixed(size(text)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_survive_a_round_trip_and_stay_in_their_bounds() {
        for text in ["4KiB", "1KiB..64KiB", "lognormal(16KiB,256KiB)", "1KiB:80,10KiB:10,50KiB:10"] {
            let sizes: Sizes = text.parse().unwrap();
            assert_eq!(sizes.to_string(), text);
            let mut random = Random::new(5, 5);
            for _ in 0..10_000 {
                let drawn = sizes.draw(&mut random);
                assert!((sizes.least()..=sizes.most()).contains(&drawn), "{text}: {drawn}");
            }
        }
        for text in [
            "",
            "huge",
            "4KiB..",
            "64KiB..4KiB",
            "lognormal(4KiB)",
            "lognormal(4KiB,1KiB)",
            "1KiB:x",
            "1KiB:0",
        ] {
            assert!(text.parse::<Sizes>().is_err(), "{text}");
        }
    }

    #[test]
    fn draws_follow_their_law() {
        let mut random = Random::new(9, 9);
        let mut drawn = |text: &str| {
            let sizes: Sizes = text.parse().unwrap();
            let mut all: Vec<u64> = (0..40_000).map(|_| sizes.draw(&mut random)).collect();
            all.sort_unstable();
            all
        };
        let lognormal = drawn("lognormal(16KiB,256KiB)");
        let near = |found: u64, wanted: f64| (found as f64 / wanted - 1.0).abs() < 0.06;
        assert!(near(lognormal[20_000], 16384.0) && near(lognormal[38_000], 262_144.0));
        let choice = drawn("1KiB:80,10KiB:10,50KiB:10");
        let small = choice.iter().filter(|size| **size == 1024).count();
        assert!((31_500..32_500).contains(&small), "{small}");
        assert!(near(drawn("1000..3000")[20_000], 2000.0));
    }

    #[test]
    fn a_small_set_has_the_sizes_that_its_weights_require() {
        let sizes: Sizes = "1KiB:6,10KiB:3,0:0,50KiB:1".parse().unwrap();
        for seed in 0..50 {
            let mut drawn = sizes.draw_all(20, &mut Random::new(seed, 1));
            let mut again = sizes.draw_all(20, &mut Random::new(seed, 1));
            assert_eq!(drawn, again);
            drawn.sort_unstable();
            again.sort_unstable();
            let count = |size: u64| drawn.iter().filter(|drawn| **drawn == size).count();
            assert_eq!((count(1024), count(10_240), count(51_200)), (12, 6, 2));
        }
    }
}
