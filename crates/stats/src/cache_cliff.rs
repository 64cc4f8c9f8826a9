//! Rates by the size of the file, pooled over the other axes: the size from which on a cache no longer holds the file, and
//! sizes at which its state depends on what was read before.
//!
//! A file that fits the cache is served from it (warm) if it was used last, and from storage (cold) if a larger file was
//! read in between. The repetitions of such a cell fall into two groups, and a median over both describes neither. Both
//! questions are answered by complete separation of two groups of repetitions, whose probability by chance is the number
//! of divisions into groups of these sizes: 1 / C(n, k), times the number of divisions that are tried.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::order_statistic::median;

/// Smallest factor between two states, and of a cliff.
const APART: f64 = 1.5;
/// Sizes beyond a cliff are of one level while none is faster by more than this factor.
const LEVEL: f64 = 1.25;
/// Probability by chance that is accepted over all divisions of a curve.
const ERROR: f64 = 0.05;
/// Fewest repetitions of a state, and of a size next to a cliff.
const FEWEST_OF_STATE: usize = 2;
const FEWEST_OF_SIZE: usize = 3;

/// The rate of one repetition of one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizedRate {
    /// Size of the file, bytes.
    pub size: u64,
    /// Which line of cells: those that differ in the size alone.
    pub line: usize,
    /// Size of the file that the step before used on the same system; none of a first step.
    pub previous: Option<u64>,
    /// Logarithm of the rate.
    pub log_rate: f64,
}

/// A size whose repetitions have two states that follow from the step before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TwoStates {
    /// The size.
    pub size: u64,
    /// Typical rate after files of at most [`Self::up_to`].
    pub warm: f64,
    /// Typical rate after larger files.
    pub cold: f64,
    /// Largest file after which it is warm.
    pub up_to: u64,
    /// Repetitions that were warm, and cold.
    pub repetitions: (usize, usize),
}

/// Two neighbouring sizes between which the rate falls to a lower level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cliff {
    /// Largest size of the upper level, and smallest size of the lower one.
    pub between: (u64, u64),
    /// Typical rate before the cliff; of a size with two states, that of the warm one.
    pub from: f64,
    /// Typical rate beyond it.
    pub to: f64,
}

/// Repetitions of one size without what distinguishes their lines: size of the step before, and log rate.
type Repetitions = Vec<(Option<u64>, f64)>;

/// The curve of one system over the sizes of files.
pub struct SizeCurve {
    sizes: BTreeMap<u64, Repetitions>,
    /// Mean log rate of the lines at the largest size: what was taken off.
    offset: f64,
}

impl SizeCurve {
    /// Pools lines: each is shifted by its median at the largest size, where no cache decides. Lines without that size
    /// take no part.
    pub fn new(rates: &[SizedRate]) -> Self {
        let largest = rates.iter().map(|rate| rate.size).max().unwrap_or(0);
        let lines: BTreeSet<usize> = rates.iter().map(|rate| rate.line).collect();
        let offset = |line: &usize| {
            let at_largest = rates.iter().filter(|rate| rate.line == *line && rate.size == largest);
            Some((*line, median(&mut at_largest.map(|rate| rate.log_rate).collect::<Vec<f64>>())?))
        };
        let offsets: BTreeMap<usize, f64> = lines.iter().filter_map(offset).collect();
        let mut sizes: BTreeMap<u64, Repetitions> = BTreeMap::new();
        for rate in rates {
            if let Some(offset) = offsets.get(&rate.line) {
                sizes.entry(rate.size).or_default().push((rate.previous, rate.log_rate - offset));
            }
        }
        Self { sizes, offset: offsets.values().sum::<f64>() / offsets.len().max(1) as f64 }
    }

    /// The sizes with two states, the smallest first.
    pub fn two_states(&self) -> Vec<TwoStates> {
        self.sizes.iter().filter_map(|(size, repetitions)| self.states_of(*size, repetitions)).collect()
    }

    fn states_of(&self, size: u64, repetitions: &Repetitions) -> Option<TwoStates> {
        let known: Vec<(u64, f64)> =
            repetitions.iter().filter_map(|(previous, log)| Some(((*previous)?, *log))).collect();
        let limits: BTreeSet<u64> = known.iter().map(|(previous, _)| *previous).collect();
        let tried = limits.len() * self.sizes.len();
        limits.into_iter().find_map(|up_to| {
            let of = |warm: bool| -> Vec<f64> {
                known.iter().filter(|(before, _)| (*before <= up_to) == warm).map(|(_, log)| *log).collect()
            };
            let mut warm = of(true);
            let mut cold = of(false);
            if warm.len().min(cold.len()) < FEWEST_OF_STATE || !is_apart(&warm, &cold, tried) {
                return None;
            }
            let repetitions = (warm.len(), cold.len());
            let warm = self.rate(median(&mut warm)?);
            let cold = self.rate(median(&mut cold)?);
            Some(TwoStates { size, warm, cold, up_to, repetitions })
        })
    }

    /// The cliff: every repetition before it is faster than every one beyond it, and no larger size is faster again. Of a
    /// size with two states the warm one counts.
    pub fn cliff(&self) -> Option<Cliff> {
        let warm: BTreeMap<u64, u64> =
            self.two_states().into_iter().map(|states| (states.size, states.up_to)).collect();
        let logs = |size: &u64, repetitions: &Repetitions| -> Vec<f64> {
            let counts = |previous: Option<u64>| {
                warm.get(size).is_none_or(|up_to| previous.is_some_and(|previous| previous <= *up_to))
            };
            repetitions.iter().filter(|(previous, _)| counts(*previous)).map(|(_, log)| *log).collect()
        };
        let levels: Vec<(u64, Vec<f64>)> =
            self.sizes.iter().map(|(size, repetitions)| (*size, logs(size, repetitions))).collect();
        let middle = |level: &(u64, Vec<f64>)| median(&mut level.1.clone()).unwrap_or(0.0);
        levels.windows(2).enumerate().find_map(|(index, pair)| {
            let upper = middle(&pair[0]);
            let lower = middle(&pair[1]);
            let enough = pair.iter().all(|(_, logs)| logs.len() >= FEWEST_OF_SIZE);
            let stays = levels[index + 1..].iter().all(|level| middle(level) <= lower + LEVEL.ln());
            let was_high = levels[..index].iter().all(|level| middle(level) > lower + LEVEL.ln());
            let fell = enough && stays && was_high && is_apart(&pair[0].1, &pair[1].1, levels.len() - 1);
            fell.then(|| Cliff {
                between: (pair[0].0, pair[1].0),
                from: self.rate(upper),
                to: self.rate(lower),
            })
        })
    }

    fn rate(&self, log: f64) -> f64 {
        (log + self.offset).exp()
    }
}

/// True if all of `upper` is above all of `lower`, by a factor in the middle, and chance would not separate them.
fn is_apart(upper: &[f64], lower: &[f64], tried: usize) -> bool {
    let lowest = upper.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let middle = |logs: &[f64]| median(&mut logs.to_vec()).unwrap_or(0.0);
    let n = (upper.len() + lower.len()) as u32;
    let divisions = (0..upper.len() as u32).map(|k| f64::from(n - k) / f64::from(k + 1)).product::<f64>();
    lowest > highest && middle(upper) - middle(lower) > APART.ln() && tried as f64 <= ERROR * divisions
}

#[cfg(test)]
mod tests {
    use sharebench_model::Random;

    use super::*;
    use crate::normal_quantile;

    const MIB: u64 = 1 << 20;

    /// Ten repetitions of reads of files of 4 to 64 MiB in random order, in two lines of record sizes; `warm` states from
    /// the size and the one before whether a cache serves the file.
    fn curve(seed: u64, warm: impl Fn(u64, u64) -> bool) -> SizeCurve {
        let mut random = Random::new(seed, 0);
        let mut rates = Vec::new();
        let mut previous = None;
        for _ in 0..10 {
            let mut cells: Vec<(u64, usize)> =
                [4, 8, 16, 32, 64].iter().flat_map(|size| [(size * MIB, 0), (size * MIB, 1)]).collect();
            random.shuffle(&mut cells);
            for (size, line) in cells {
                let noise = 0.05 * normal_quantile(random.unit().max(1e-12));
                let rate: f64 = if warm(size, previous.unwrap_or(0)) { 272e6 } else { 76e6 };
                let log_rate = rate.ln() + noise + if line == 1 { 0.3 } else { 0.0 };
                rates.push(SizedRate { size, line, previous, log_rate });
                previous = Some(size);
            }
        }
        SizeCurve::new(&rates)
    }

    #[test]
    fn a_cache_of_24_mib_has_its_cliff_and_a_size_with_two_states() {
        // Files up to 16 MiB stay in the cache until one of 32 MiB or more replaces them.
        let curve = curve(1, |size, previous| size <= 16 * MIB && previous <= 16 * MIB);
        let cliff = curve.cliff().unwrap();
        assert_eq!(cliff.between, (16 * MIB, 32 * MIB));
        assert!((cliff.from / cliff.to / (272.0 / 76.0)).ln().abs() < 0.05, "{cliff:?}");
        let states = curve.two_states();
        let found: Vec<_> = states.iter().map(|states| (states.size / MIB, states.up_to / MIB)).collect();
        assert_eq!(found, [(4, 16), (8, 16), (16, 16)]);
        assert!(states.iter().all(|states| states.warm > 3.0 * states.cold), "{states:?}");
    }

    #[test]
    fn equal_rates_and_gradual_ones_have_neither() {
        for seed in 0..200 {
            let flat = curve(seed, |_, _| false);
            assert_eq!((flat.cliff(), flat.two_states()), (None, vec![]), "{seed}");
        }
        let gradual: Vec<SizedRate> = (0..50)
            .map(|k| SizedRate {
                size: MIB << (k % 5),
                line: 0,
                previous: Some(MIB << (k % 3)),
                log_rate: 18.0 - 0.2 * f64::from(k % 5),
            })
            .collect();
        assert_eq!(SizeCurve::new(&gradual).cliff(), None);
    }

    #[test]
    fn two_repetitions_of_a_size_prove_no_cliff() {
        let rate = |size: u64, log_rate| SizedRate { size: size * MIB, line: 0, previous: None, log_rate };
        let few = [rate(16, 19.4), rate(16, 19.5), rate(32, 18.1), rate(32, 18.2)];
        assert_eq!(SizeCurve::new(&few).cliff(), None);
    }
}
