//! The verdict of a gate over nights with a known truth.

use crate::nights::{Gate, Nights};
use crate::synthetic::night_with_large_records;
use sharebench_analysis::GateOutcome;
use sharebench_model::ErrorClass;

#[test]
fn the_test_that_fell_decides_with_its_lowest_cell() {
    let tests = &["write", "rewrite", "read", "reread", "random-read", "random-write"];
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
fn one_good_run_proves_a_large_fall_at_any_limit() {
    for limit in [0.3_f64, 0.5, 0.7, 0.8] {
        let mut nights = Nights::new(7, 0.05);
        let mut gate = Gate::new();
        gate.options.max_slower = limit;
        assert_eq!(gate.judge(nights.next(1.0)).outcome, GateOutcome::Passed);
        let fallen = gate.judge(nights.next((1.0 - limit) / 5.0));
        assert_eq!(fallen.outcome, GateOutcome::Slower, "{fallen:?}");
        assert_eq!(gate.judge(nights.next(1.0)).outcome, GateOutcome::Passed);
    }
}

#[test]
fn nights_that_scatter_as_a_high_limit_allows_rarely_raise_an_alarm() {
    for limit in [0.3_f64, 0.5] {
        let scatter = -0.4 * (-limit).ln_1p();
        let has_alarm = |seed: &u64| {
            let mut gate = Gate::new();
            gate.options.max_slower = limit;
            gate.first_alarm(&mut Nights::new(1000 + seed, scatter), [1.0; 20]).is_some()
        };
        let alarms = (0..100).filter(has_alarm).count();
        assert!(alarms <= 5, "{alarms} of 100 series at a limit of {limit}");
    }
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
    assert_eq!(second.text, "passed: no test is slower than in the last good run (limit 5 %)");
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
