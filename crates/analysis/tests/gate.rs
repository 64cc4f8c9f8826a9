//! The verdict of a gate over nights with a known truth: false alarms and planted falls, counted.

mod synthetic;

use sharebench_analysis::{GateOptions, GateOutcome, GateVerdict, Options, RunData, analyse, gate};
use sharebench_model::{ErrorClass, Random};
use sharebench_stats::normal_quantile;
use synthetic::{Synthetic, cell, night_with_large_records};

/// Repetitions of each cell in a night.
const REPETITIONS: u32 = 6;

/// A series of nights: how much they scatter, and the level of each night.
struct Nights {
    /// Standard deviation between nights, as logarithm.
    scatter: f64,
    /// Noise of each step, as logarithm.
    noise: f64,
    tests: &'static [&'static str],
    random: Random,
    measured: usize,
}

impl Nights {
    fn new(seed: u64, scatter: f64) -> Self {
        Self {
            scatter,
            noise: 0.02,
            tests: &["write", "read"],
            random: Random::new(seed, 0x6A7E),
            measured: 0,
        }
    }

    /// The next night at this level. Its steps have no histograms, which the verdict does not use.
    fn next(&mut self, level: f64) -> RunData {
        let mut normal = || normal_quantile(self.random.unit().max(1e-12));
        let mut night = Synthetic::new("nightly", &["smb"], self.measured as u64);
        let shock = self.scatter * normal();
        for repetition in 0..REPETITIONS {
            for test in self.tests {
                for record in [4u64 << 10, 64 << 10] {
                    let rate = 1e8 * level * (shock + self.noise * normal()).exp();
                    night.bare_step(repetition, cell(test, 1 << 20, record), rate);
                }
            }
        }
        self.measured += 1;
        night.run.label = format!("nightly #{}", self.measured);
        night.run
    }
}

/// The gate as the command keeps it: a run that passes joins the good runs.
struct Gate {
    good: Vec<RunData>,
    options: GateOptions,
}

impl Gate {
    fn new() -> Self {
        Self { good: Vec::new(), options: GateOptions::default() }
    }

    fn judge(&mut self, night: RunData) -> GateVerdict {
        self.good.push(night);
        let last_two = self.good.len().saturating_sub(2);
        let options = Options { resamples: 20, ..Options::default() };
        let verdict = gate(&self.good, &analyse(&self.good[last_two..], &options), &self.options);
        if verdict.outcome != GateOutcome::Passed {
            self.good.pop();
        }
        verdict
    }

    /// The number of the first of some nights that does not pass, from 1.
    fn first_alarm(&mut self, nights: &mut Nights, levels: impl IntoIterator<Item = f64>) -> Option<usize> {
        let mut levels = levels.into_iter();
        let found = levels.position(|level| self.judge(nights.next(level)).outcome != GateOutcome::Passed);
        found.map(|index| index + 1)
    }
}

/// What the gates of many series found: series with an alarm in ten equal nights, and for a fall after them the number of
/// series that find it in each night.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    alarms: usize,
    found_in: [usize; 5],
    missed: usize,
}

/// Ten equal nights and then five that are 5 % slower, `series` times.
fn counts(series: u64, scatter: f64) -> Counts {
    let mut counts = Counts::default();
    for seed in 0..series {
        let mut nights = Nights::new(seed, scatter);
        let mut gate = Gate::new();
        if gate.first_alarm(&mut nights, [1.0; 10]).is_some() {
            counts.alarms += 1;
            continue;
        }
        match gate.first_alarm(&mut nights, [0.95; 5]) {
            Some(night) => counts.found_in[night - 1] += 1,
            None => counts.missed += 1,
        }
    }
    counts
}

#[test]
fn ten_nights_at_2_percent_noise_raise_no_alarm_and_a_planted_5_percent_is_found_within_5() {
    // Each step has 2 % of noise, and the nights scatter by a quarter of that.
    let noise_of_steps = counts(100, 0.005);
    assert_eq!((noise_of_steps.alarms, noise_of_steps.missed), (0, 0), "{noise_of_steps:?}");
    // The nights themselves scatter by 2 %: at most one series of twenty has an alarm, or misses the fall.
    let noise_of_nights = counts(200, 0.02);
    assert!(noise_of_nights.alarms <= 10 && noise_of_nights.missed <= 10, "{noise_of_nights:?}");
}

#[test]
fn nights_that_scatter_as_much_as_the_limit_raise_alarms_in_less_than_half_of_the_series() {
    let wild = counts(60, 0.04);
    assert!(wild.alarms < 30, "{wild:?}");
}

#[test]
fn ten_steps_of_1_percent_each_are_found_although_the_baseline_moves() {
    let mut found = Vec::new();
    for seed in 0..10 {
        let mut nights = Nights::new(100 + seed, 0.005);
        let mut gate = Gate::new();
        assert_eq!(gate.first_alarm(&mut nights, [1.0; 5]), None, "seed {seed}");
        let levels = (1..=10).map(|step| 0.99f64.powi(step));
        found.push(gate.first_alarm(&mut nights, levels));
    }
    assert!(found.iter().all(Option::is_some), "{found:?}");
}

#[test]
fn a_fall_below_the_limit_passes_on_quiet_nights() {
    let mut nights = Nights { noise: 0.002, ..Nights::new(7, 0.001) };
    let mut gate = Gate::new();
    assert_eq!(gate.first_alarm(&mut nights, [1.0; 12]), None);
    assert_eq!(gate.first_alarm(&mut nights, [0.985; 3]), None, "1.5 % are within 5 %");
}

#[test]
fn first_run_is_the_baseline_and_the_second_is_compared_with_it() {
    let mut nights = Nights::new(3, 0.002);
    let mut gate = Gate::new();
    let first = gate.judge(nights.next(1.0));
    assert_eq!((first.outcome, first.text.as_str()), (GateOutcome::Passed, "first run: baseline recorded"));
    let second = gate.judge(nights.next(1.0));
    assert_eq!(second.text, "passed: no test is slower than in the good run before (limit 5 %)");
    let names: Vec<&str> = second.lines.iter().map(|line| line.test.as_str()).collect();
    assert_eq!((second.good_runs, names.len()), (1, 3), "{names:?}");
    let slow = gate.judge(nights.next(0.7));
    assert_eq!(slow.outcome, GateOutcome::Slower);
    assert!(
        slow.text.starts_with("slower: ") && slow.text.contains("than in the 2 good runs before"),
        "{slow:?}"
    );
    assert_eq!(gate.good.len(), 2, "a slower run is no baseline");
}

#[test]
fn a_slower_region_is_found_although_the_test_is_not_slower() {
    let mut gate = Gate::new();
    for seed in 0..3 {
        assert_eq!(gate.judge(night_with_large_records(seed, 1.0)).outcome, GateOutcome::Passed);
    }
    let found = gate.judge(night_with_large_records(9, 0.75));
    assert_eq!(found.outcome, GateOutcome::Slower, "{found:?}");
    assert!(found.text.contains("read, records of 512KiB: 2"), "{}", found.text);
}

#[test]
fn runs_that_cannot_be_compared_are_invalid_and_noisy_ones_inconclusive() {
    let mut nights = Nights::new(11, 0.002);
    let mut gate = Gate::new();
    for _ in 0..3 {
        assert_eq!(gate.judge(nights.next(1.0)).outcome, GateOutcome::Passed);
    }
    let mut empty = nights.next(1.0);
    empty.steps.clear();
    assert_eq!(gate.judge(empty).text, "invalid: no cell has a rate in this run and in every good run");
    let mut wrong = nights.next(1.0);
    wrong.steps[0].measure.errors.insert(ErrorClass::DataMismatch, 1);
    assert_eq!(gate.judge(wrong).text, "invalid: a read returned other data than was written");
    nights.noise = 0.6;
    let noisy = gate.judge(nights.next(1.0));
    assert_eq!(noisy.outcome, GateOutcome::Inconclusive, "{noisy:?}");
    assert!(noisy.text.contains("is wider than the limit of 5 %"), "{}", noisy.text);
    assert_eq!(gate.good.len(), 3);
}

#[test]
fn reasons_of_the_command_make_a_pass_inconclusive_and_leave_a_fall_as_it_is() {
    let mut nights = Nights::new(12, 0.002);
    let mut gate = Gate::new();
    gate.judge(nights.next(1.0));
    let passed = gate.judge(nights.next(1.0)).open_for(vec!["too few".to_owned()]);
    assert_eq!((passed.outcome, passed.text.as_str()), (GateOutcome::Inconclusive, "inconclusive: too few"));
    let slower = gate.judge(nights.next(0.5)).open_for(vec!["too few".to_owned()]);
    assert_eq!(slower.outcome, GateOutcome::Slower);
    assert_eq!(gate.judge(nights.next(1.0)).open_for(Vec::new()).outcome, GateOutcome::Passed);
}
