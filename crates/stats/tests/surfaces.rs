//! Known answers K7, K8 (docs/measurement-rules.md K7, K8) and planted regions: whole surfaces of cells, measured in
//! sweeps that share their shocks.

use std::collections::BTreeMap;

use sharebench_model::Random;
use sharebench_stats::{
    Decision, Rectangle, Repetition, StoppingRule, Surface, differing_regions, hodges_lehmann,
    normal_quantile, widest_half_width,
};

const ROWS: usize = 5;
const COLUMNS: usize = 6;
const SURFACES: u64 = 1000;

fn normal(random: &mut Random) -> f64 {
    normal_quantile(random.unit().max(f64::MIN_POSITIVE))
}

/// One sweep of log ratios around the truth: a shock of 1 % that all its cells share, 2 % noise per cell, and
/// 8 % of the cells disturbed by up to a third.
fn sweep(random: &mut Random, truth: fn(usize, usize) -> f64) -> Vec<f64> {
    let shock = 0.01 * normal(random);
    let cell = |cell: usize| {
        let stall = if random.unit() < 0.08 { 0.3 * (random.unit() * 2.0 - 1.0) } else { 0.0 };
        truth(cell / COLUMNS, cell % COLUMNS) + shock + 0.02 * normal(random) + stall
    };
    (0..ROWS * COLUMNS).map(cell).collect()
}

fn surface(seed: u64, sweeps: usize, truth: fn(usize, usize) -> f64) -> Surface {
    let mut random = Random::new(seed, 7);
    Surface { rows: ROWS, columns: COLUMNS, sweeps: (0..sweeps).map(|_| sweep(&mut random, truth)).collect() }
}

#[test]
fn cells_of_equal_systems_are_covered_as_often_as_promised() {
    let mut covered = 0;
    let mut alone = 0;
    for seed in 0..SURFACES {
        let surface = surface(seed, 10, |_, _| 0.0);
        let holds = |cell: usize| {
            let logs: Vec<f64> = surface.sweeps.iter().map(|sweep| sweep[cell]).collect();
            hodges_lehmann(&logs, 0.95).unwrap().interval.unwrap().contains(0.0)
        };
        let held = (0..ROWS * COLUMNS).filter(|cell| holds(*cell)).count();
        covered += held;
        alone += u32::from(held < ROWS * COLUMNS);
    }
    let share = covered as f64 / (SURFACES as usize * ROWS * COLUMNS) as f64 * 100.0;
    println!(
        "K7 A/A, {SURFACES} surfaces: cell intervals cover {share:.2} % (tolerance 95 ± 1.5 %); judged one by one, {:.1} % of the surfaces show a false difference",
        f64::from(alone) / SURFACES as f64 * 100.0
    );
    assert!((93.5..=96.5).contains(&share), "{share}");
}

#[test]
fn regions_of_equal_systems_are_rarely_called_different() {
    for sweeps in [6, 8] {
        let found = (0..SURFACES)
            .filter(|seed| !differing_regions(&surface(*seed, sweeps, |_, _| 0.0), 1).is_empty());
        let error = found.count() as f64 / SURFACES as f64 * 100.0;
        println!(
            "K7 A/A, {SURFACES} surfaces of {sweeps} sweeps: family-wise error {error:.1} % (tolerance 7 %)"
        );
        assert!(error <= 7.0, "{error}");
    }
}

/// Cells in both over cells in either.
fn overlap(a: Rectangle, b: Rectangle) -> f64 {
    let cells = |r: Rectangle| ((r.rows.1 - r.rows.0) * (r.columns.1 - r.columns.0)) as f64;
    let common = |a: (usize, usize), b: (usize, usize)| a.1.min(b.1).saturating_sub(a.0.max(b.0));
    let both = (common(a.rows, b.rows) * common(a.columns, b.columns)) as f64;
    both / (cells(a) + cells(b) - both)
}

#[test]
fn a_planted_region_is_found_where_it_is() {
    let mut found = 0u32;
    let mut agreement = 0.0;
    let mut covered = 0u32;
    let truth = Rectangle { rows: (0, ROWS), columns: (3, COLUMNS) };
    for seed in 0..100 {
        let regions =
            differing_regions(&surface(seed, 8, |_, column| if column >= 3 { 0.07 } else { 0.0 }), 1);
        if let Some(first) = regions.first() {
            found += 1;
            agreement += overlap(first.place, truth);
            covered += u32::from(first.log_ratio.interval.unwrap().contains(0.07));
            assert!(!first.negligible && first.p_value <= 0.05);
        }
    }
    agreement /= f64::from(found);
    println!(
        "7 % in half of the columns: found {found} of 100, overlap {agreement:.2}, interval covers {covered}"
    );
    assert!(found >= 95 && agreement > 0.85 && covered >= 90, "{found} {agreement} {covered}");
    let one_percent = differing_regions(&surface(1, 20, |_, _| 0.012), 1);
    assert!(one_percent.iter().all(|region| region.negligible), "{one_percent:?}");
    assert!(differing_regions(&surface(1, 5, |_, _| 0.5), 1).is_empty(), "five sweeps prove nothing");
}

#[test]
fn cells_that_do_not_exist_belong_to_no_region() {
    let mut surface = surface(2, 8, |_, _| 0.1);
    for sweep in &mut surface.sweeps {
        // Records larger than their file.
        for row in 0..ROWS {
            sweep[row * COLUMNS + COLUMNS - row..(row + 1) * COLUMNS].fill(f64::NAN);
        }
    }
    let regions = differing_regions(&surface, 1);
    assert_eq!(regions[0].cells, ROWS * COLUMNS - (1 + 2 + 3 + 4));
    assert!((regions[0].log_ratio.value - 0.1).abs() < 0.02);
}

/// Pairs until the rule stops, as the engine uses it; true log ratio `truth`, 2 % noise on each side, shared drift.
fn stopped(seed: u64, truth: f64) -> Vec<f64> {
    let mut random = Random::new(seed, 8);
    let rule = StoppingRule { half_width: 0.02f64.ln_1p(), least: 10, most: 60 };
    let mut systems = [BTreeMap::new(), BTreeMap::new()];
    let mut logs = Vec::new();
    for repetition in 0.. {
        let drift = 0.04 * (f64::from(repetition) / 9.0).sin();
        let mut rate =
            |log: f64| Repetition { rate: (log + drift + 0.02 * normal(&mut random)).exp(), time: 2e8 };
        let a = rate(truth);
        let b = rate(0.0);
        logs.push((a.rate / b.rate).ln());
        systems[0].insert(repetition, a);
        systems[1].insert(repetition, b);
        if rule.decide(logs.len(), widest_half_width(&systems, 1.0)) != Decision::Continue {
            break;
        }
    }
    logs
}

#[test]
fn true_differences_of_two_and_five_percent_are_found_at_their_size() {
    for truth in [0.0f64, 0.02, 0.05] {
        let mut sum = 0.0;
        let mut covered = 0;
        let mut found = 0;
        let mut pairs = 0;
        for seed in 0..SURFACES {
            let logs = stopped(seed, truth.ln_1p());
            let estimate = hodges_lehmann(&logs, 0.95).unwrap();
            let interval = estimate.interval.unwrap();
            sum += estimate.value;
            covered += u32::from(interval.contains(truth.ln_1p()));
            found += u32::from(!interval.contains(0.0));
            pairs += logs.len();
        }
        let mean = (sum / SURFACES as f64).exp_m1() * 100.0;
        let percent = |n: u32| f64::from(n) / SURFACES as f64 * 100.0;
        println!(
            "K8 true {:.0} %: mean estimate {mean:.2} % (tolerance ± 0.2 points), interval covers {:.1} % (95 ± 1.5), excludes 0 in {:.1} %, {:.1} pairs on average",
            truth * 100.0,
            percent(covered),
            percent(found),
            pairs as f64 / SURFACES as f64
        );
        assert!((mean - truth * 100.0).abs() <= 0.2, "{mean}");
        assert!((93.5..=96.5).contains(&percent(covered)), "{covered}");
        assert!(truth == 0.0 || truth < 0.05 || percent(found) >= 99.0, "{found}");
    }
}
