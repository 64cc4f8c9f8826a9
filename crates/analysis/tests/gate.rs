//! The verdict of a gate over nights with a known truth: false alarms and planted falls, counted.

#![expect(clippy::print_stdout, reason = "the counted runs are asked for")]

mod synthetic;

use sharebench_analysis::{
    Gate as CompareGate, GateOptions, GateOutcome, GateVerdict, Options, Requirements, RunData, analyse, gate,
};
use sharebench_model::{ErrorClass, Random};
use sharebench_stats::normal_quantile;
use synthetic::{Synthetic, cell, night_with_large_records};

/// Repetitions of each cell in a night.
const REPETITIONS: u32 = 6;

/// A series of nights: how much they scatter, and the level of each night.
struct Nights {
    /// Standard deviation between nights, as logarithm.
    scatter: f64,
    /// Standard deviation between repetitions, which all cells of a repetition share.
    drift: f64,
    /// Noise of each step, as logarithm.
    noise: f64,
    tests: &'static [&'static str],
    /// The only test that falls; none where all do.
    falls: Option<&'static str>,
    random: Random,
    measured: usize,
}

impl Nights {
    fn new(seed: u64, scatter: f64) -> Self {
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

    /// Nights that scatter by 2 % because their repetitions do, so that each alone shows no fall of 5 %. The median of six
    /// normal values has 0.463 times their deviation.
    fn wide(seed: u64) -> Self {
        Self { drift: 0.02 / 0.463, noise: 0.002, ..Self::new(seed, 0.0) }
    }

    /// The next night at this level. Its steps have no histograms, which the verdict does not use.
    fn next(&mut self, level: f64) -> RunData {
        self.night(level, REPETITIONS)
    }

    fn night(&mut self, level: f64, repetitions: u32) -> RunData {
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
struct Gate {
    counts: Vec<RunData>,
    options: GateOptions,
}

impl Gate {
    fn new() -> Self {
        Self { counts: Vec::new(), options: GateOptions::default() }
    }

    fn judge(&mut self, night: RunData) -> GateVerdict {
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
    fn first_alarm(&mut self, nights: &mut Nights, levels: impl IntoIterator<Item = f64>) -> Option<usize> {
        let mut levels = levels.into_iter();
        let found = levels.position(|level| {
            let verdict = self.judge(nights.next(level));
            // Shown if a test fails.
            println!("{}: {}", nights.measured, verdict.text);
            verdict.outcome != GateOutcome::Passed
        });
        found.map(|index| index + 1)
    }
}

/// In how many of 100 series of nights the first alarm comes in which night of a fall that follows `equal` equal nights:
/// in none of them, and in the first, second and so on. An alarm before the fall counts as none.
fn found(nights: impl Fn(u64) -> Nights, equal: usize, levels: &[f64]) -> Vec<usize> {
    let mut counts = vec![0; levels.len() + 1];
    for seed in 0..100 {
        let mut nights = nights(seed);
        let mut gate = Gate::new();
        let alarm = gate.first_alarm(&mut nights, vec![1.0; equal]);
        let found = if alarm.is_some() { None } else { gate.first_alarm(&mut nights, levels.to_vec()) };
        counts[found.unwrap_or(0)] += 1;
    }
    counts
}

/// The number of series of 20 equal nights, of 100, with an alarm.
fn alarms(nights: impl Fn(u64) -> Nights) -> usize {
    let has_alarm = |seed: &u64| Gate::new().first_alarm(&mut nights(1000 + seed), [1.0; 20]).is_some();
    (0..100).filter(has_alarm).count()
}

/// The bars of docs/gate.md, for nights that scatter by 2 %.
fn check_bars(name: &str, nights: impl Fn(u64) -> Nights + Copy) {
    let alarms = alarms(nights);
    let large = found(nights, 10, &[0.9; 2]);
    let small = found(nights, 10, &[0.95; 5]);
    println!(
        "{name}: {alarms} of 100 series of 20 equal nights with an alarm; -10 %: {large:?}; -5 %: {small:?}"
    );
    assert!(alarms <= 2, "{name}: {alarms} false alarms");
    assert!(large[0] <= 5, "{name}: {large:?}");
    assert!(small[0] <= 5, "{name}: {small:?}");
}

#[test]
fn bars_hold_for_one_test_and_for_two() {
    check_bars("two tests", |seed| Nights::new(seed, 0.02));
    check_bars("one test", |seed| Nights { tests: &["read"], noise: 0.005, ..Nights::new(seed, 0.02) });
}

#[test]
fn bars_hold_where_most_pairs_of_nights_are_inconclusive() {
    let limit = Requirements { not_slower: Some(0.05), sharpness: None };
    let open = |seed: &u64| {
        let mut nights = Nights::wide(*seed);
        let pair = [nights.next(1.0), nights.next(1.0)];
        analyse(&pair, &Options { resamples: 20, ..Options::default() }).gate(&limit)
            == CompareGate::Inconclusive
    };
    let open = (0..100).filter(open).count();
    // The others pass: the second night is the faster one by chance, so its interval excludes a fall of 5 %.
    assert!(open >= 60, "{open} of 100 pairs of nights are inconclusive");
    check_bars("wide nights", Nights::wide);
}

#[test]
fn one_test_of_six_falls() {
    let tests = &["write", "rewrite", "read", "reread", "random-read", "random-write"];
    let counts =
        found(|seed| Nights { tests, falls: Some("reread"), ..Nights::new(seed, 0.01) }, 10, &[0.9; 2]);
    println!("one test of six falls by 10 %: {counts:?}");
    assert!(counts[0] <= 5, "{counts:?}");
    let mut nights = Nights { tests, falls: Some("reread"), ..Nights::new(5, 0.01) };
    let mut gate = Gate::new();
    assert_eq!(gate.first_alarm(&mut nights, [1.0; 10]), None);
    let verdict = gate.judge(nights.next(0.8));
    assert!(verdict.decides.starts_with("smb reread -"), "{verdict:?}");
    assert!(verdict.decides.contains("; lowest cell: files of 1MiB, records of "), "{verdict:?}");
}

#[test]
fn a_noisy_first_night_is_a_candidate_that_a_sharper_one_replaces() {
    for (seed, level) in [(1, 0.6), (2, 1.0), (3, 1.3)] {
        let mut nights = Nights::new(seed, 0.005);
        let mut gate = Gate::new();
        nights.drift = 0.3;
        let first = gate.judge(nights.next(level));
        assert!(first.text.starts_with("first run: kept as a candidate, because it is noisy"), "{first:?}");
        nights.drift = 0.0;
        let second = gate.judge(nights.next(1.0));
        assert_eq!(
            (second.outcome, second.text.as_str()),
            (
                GateOutcome::Passed,
                "baseline recorded: this run is sharper than the noisy run before, and replaces it"
            )
        );
        assert_eq!(gate.first_alarm(&mut nights, [1.0; 6]), None, "level {level}");
        let found = gate.first_alarm(&mut nights, [0.9; 2]);
        assert!(found.is_some(), "level {level}: 10 % are found in the first two nights");
    }
}

#[test]
fn a_first_night_that_was_slow_all_along_does_not_hide_a_fall() {
    let mut nights = Nights::new(4, 0.01);
    let mut gate = Gate::new();
    assert_eq!(gate.first_alarm(&mut nights, [0.6]), None);
    assert_eq!(gate.first_alarm(&mut nights, [1.0; 10]), None);
    assert!(gate.first_alarm(&mut nights, [0.9; 2]).is_some());
}

#[test]
fn a_noisy_night_among_quiet_ones_counts_little_and_is_inconclusive() {
    let mut nights = Nights::new(6, 0.005);
    let mut gate = Gate::new();
    assert_eq!(gate.first_alarm(&mut nights, [1.0; 6]), None);
    nights.drift = 0.3;
    let noisy = gate.judge(nights.next(0.8));
    assert_eq!(noisy.outcome, GateOutcome::Inconclusive, "{noisy:?}");
    assert!(noisy.text.contains(" is wider than the limit of 5 % on either side"), "{}", noisy.text);
    assert_eq!(gate.counts.len(), 7);
    nights.drift = 0.0;
    assert_eq!(gate.first_alarm(&mut nights, [1.0; 6]), None);
    assert!(gate.first_alarm(&mut nights, [0.9; 2]).is_some());
}

#[test]
fn a_level_that_recovers_passes_and_its_next_fall_is_found() {
    let mut nights = Nights::new(8, 0.01);
    let mut gate = Gate::new();
    assert_eq!(gate.first_alarm(&mut nights, [1.0; 10]), None);
    let while_slow = (0..5).filter(|_| gate.judge(nights.next(0.85)).outcome == GateOutcome::Slower);
    assert_eq!(while_slow.count(), 5, "a slower level fails each night");
    assert_eq!(gate.first_alarm(&mut nights, [1.0; 5]), None);
    assert!(gate.first_alarm(&mut nights, [0.9; 2]).is_some());
}

#[test]
fn a_fall_on_a_night_with_two_repetitions_is_found() {
    let mut found = 0;
    for seed in 0..20 {
        let mut nights = Nights::new(200 + seed, 0.01);
        let mut gate = Gate::new();
        assert_eq!(gate.first_alarm(&mut nights, [1.0; 10]), None, "seed {seed}");
        let mut slower = || gate.judge(nights.night(0.9, 2)).outcome == GateOutcome::Slower;
        found += usize::from(slower() || slower());
    }
    assert!(found >= 19, "{found} of 20");
}

#[test]
fn a_loss_of_what_was_improved_is_found() {
    let mut nights = Nights::new(9, 0.01);
    let mut gate = Gate::new();
    assert_eq!(gate.first_alarm(&mut nights, [1.0; 8]), None);
    assert_eq!(gate.first_alarm(&mut nights, [1.25; 8]), None);
    assert!(gate.first_alarm(&mut nights, [1.1; 2]).is_some(), "12 % slower than the last eight nights");
}

#[test]
fn nights_that_scatter_as_much_as_the_limit_raise_alarms_in_less_than_half_of_the_series() {
    let wild = alarms(|seed| Nights::new(seed, 0.04));
    println!("nights that scatter by 4 %: {wild} of 100 series of 20 with an alarm");
    assert!(wild < 50, "{wild}");
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
    assert!(second.decides.contains(" % [") && second.decides.contains("; lowest cell: "), "{second:?}");
    let names: Vec<&str> = second.lines.iter().map(|line| line.test.as_str()).collect();
    assert_eq!((second.good_runs, names.len()), (1, 3), "{names:?}");
    let slow = gate.judge(nights.next(0.7));
    assert_eq!(slow.outcome, GateOutcome::Slower);
    assert!(
        slow.text.starts_with("slower: ") && slow.text.contains("than in the 2 good runs before"),
        "{slow:?}"
    );
    assert_eq!(gate.counts.len(), 2, "a slower run is no baseline");
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
    assert_eq!(gate.counts.len(), 4, "it counts, with its error");
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
