//! Nights with a known level, and a gate that keeps its runs as the command does.

use sharebench_analysis::{GateOptions, GateOutcome, GateVerdict, Options, RunData, analyse, gate};
use sharebench_model::Random;
use sharebench_stats::normal_quantile;

use crate::synthetic::{Synthetic, cell};

/// Repetitions of each cell in a night.
const REPETITIONS: u32 = 6;

/// A series of nights: how much they scatter, and the level of each night.
#[derive(Clone)]
pub struct Nights {
    /// Standard deviation between nights, as logarithm.
    pub scatter: f64,
    /// Standard deviation between repetitions, which all cells of a repetition share.
    pub drift: f64,
    /// Noise of each step, as logarithm.
    pub noise: f64,
    pub tests: &'static [&'static str],
    /// The only test that falls; none where all do.
    pub falls: Option<&'static str>,
    pub random: Random,
    pub measured: usize,
}

impl Nights {
    pub fn new(seed: u64, scatter: f64) -> Self {
        Self {
            scatter,
            drift: 0.0,
            noise: 0.02,
            tests: &["write", "read"],
            falls: None,
            random: Random::new(seed, 0x6A7E),
            measured: 0,
        }
    }

    /// The next night at this level. Its steps have no histograms, which the verdict does not use.
    pub fn next(&mut self, level: f64) -> RunData {
        self.night(level, REPETITIONS)
    }

    pub fn night(&mut self, level: f64, repetitions: u32) -> RunData {
        let mut normal = || normal_quantile(self.random.unit().max(1e-12));
        let mut night = Synthetic::new("nightly", &["smb"], self.measured as u64);
        let shock = self.scatter * normal();
        for repetition in 0..repetitions {
            let drift = self.drift * normal();
            for test in self.tests {
                let falls = self.falls.is_none_or(|only| only == *test);
                for record in [4u64 << 10, 64 << 10] {
                    let level = if falls { level } else { 1.0 };
                    let rate = 1e8 * level * (shock + drift + self.noise * normal()).exp();
                    night.bare_step(repetition, cell(test, 1 << 20, record), rate);
                }
            }
        }
        self.measured += 1;
        night.run.label = format!("nightly #{}", self.measured);
        night.run
    }
}

/// The gate as the command keeps it: a run that is neither slower nor invalid counts from then on.
#[derive(Clone)]
pub struct Gate {
    pub counts: Vec<RunData>,
    pub options: GateOptions,
}

impl Gate {
    pub fn new() -> Self {
        Self { counts: Vec::new(), options: GateOptions::default() }
    }

    pub fn judge(&mut self, night: RunData) -> GateVerdict {
        self.counts.push(night);
        let last_two = self.counts.len().saturating_sub(2);
        let options = Options { resamples: 20, ..Options::default() };
        let verdict = gate(&self.counts, &analyse(&self.counts[last_two..], &options), &self.options);
        if !verdict.outcome.counts() {
            self.counts.pop();
        }
        verdict
    }

    /// The number of the first of some nights that does not pass, from 1.
    pub fn first_alarm(
        &mut self,
        nights: &mut Nights,
        levels: impl IntoIterator<Item = f64>,
    ) -> Option<usize> {
        let mut levels = levels.into_iter();
        let found = levels.position(|level| self.judge(nights.next(level)).outcome != GateOutcome::Passed);
        found.map(|index| index + 1)
    }
}
