//! Known answers K7, K8 (docs/measure/measurement-rules.md K7, K8) and planted parts: whole maps of cells, measured in
//! repetitions that share their shocks.

use std::collections::BTreeMap;

use sharebench_model::Random;
use sharebench_stats::{
    CellInterval, CellSeries, Decision, Map, MapAnswer, MapOptions, Part, PartitionedMap, Repetition,
    StoppingRule, TestGrid, hodges_lehmann, normal_quantile, partition_map, widest_half_width,
};

const ROWS: usize = 5;
const COLUMNS: usize = 6;
const MAPS: u64 = 1000;
/// ln 1.02
const TOLERANCE: f64 = 0.019_802_627;

fn normal(random: &mut Random) -> f64 {
    normal_quantile(random.unit().max(f64::MIN_POSITIVE))
}

/// Log ratios around the truth: a shock of 1 % that all cells of a repetition share, 2 % noise per cell, and 8 % of the
/// cells disturbed by up to a third.
fn grid(seed: u64, repetitions: u32, truth: fn(usize, usize) -> f64) -> TestGrid {
    let mut random = Random::new(seed, 7);
    let mut cells = vec![CellSeries::default(); ROWS * COLUMNS];
    for number in 0..repetitions {
        let shock = 0.01 * normal(&mut random);
        for (cell, series) in cells.iter_mut().enumerate() {
            let stall = if random.unit() < 0.08 { 0.3 * (random.unit() * 2.0 - 1.0) } else { 0.0 };
            let noise = 0.02 * normal(&mut random);
            series.0.push((number, truth(cell / COLUMNS, cell % COLUMNS) + shock + noise + stall));
        }
    }
    TestGrid { rows: ROWS, columns: COLUMNS, cells, axes: 0 }
}

fn partition(test: TestGrid, tolerance: f64) -> Option<PartitionedMap> {
    let options = MapOptions { tolerance, level: 0.95, wider_level: 0.99, seed: 1 };
    partition_map(&Map { tests: vec![test] }, &options)
}

#[test]
fn cells_of_equal_systems_are_covered_as_often_as_promised() {
    let mut covered = 0;
    let mut alone = 0;
    let mut together = 0;
    for seed in 0..MAPS {
        let grid = grid(seed, 10, |_, _| 0.0);
        let holds = |cell: &&CellSeries| {
            let logs: Vec<f64> = cell.0.iter().map(|(_, log)| *log).collect();
            hodges_lehmann(&logs, 0.95).unwrap().interval.unwrap().contains(0.0)
        };
        let held = grid.cells.iter().filter(holds).count();
        covered += held;
        alone += u32::from(held < ROWS * COLUMNS);
        let map = partition(grid, TOLERANCE).unwrap();
        together += u32::from(map.cells[0].iter().all(|cell| cell.unwrap().interval.contains(0.0)));
    }
    let percent = |n: u32| f64::from(n) / MAPS as f64 * 100.0;
    let share = covered as f64 / (MAPS as usize * ROWS * COLUMNS) as f64 * 100.0;
    println!(
        "K7 A/A, {MAPS} maps: cell intervals cover {share:.2} % (tolerance 95 ± 1.5 %); judged one by one, {:.1} % of the maps show a false difference; the simultaneous intervals of all cells hold in {:.1} %",
        percent(alone),
        percent(together)
    );
    assert!((93.5..=96.5).contains(&share), "{share}");
    assert!(percent(together) >= 93.0, "{together}");
}

#[test]
fn parts_of_equal_systems_are_rarely_called_different() {
    for repetitions in [6, 8] {
        // Without a tolerance, any interval that excludes zero makes a part.
        let found = (0..MAPS).filter(|seed| {
            let map = partition(grid(*seed, repetitions, |_, _| 0.0), 0.0).unwrap();
            let excludes = |cell: &CellInterval| !cell.interval.contains(0.0);
            !map.parts.is_empty() || map.cells[0].iter().flatten().any(excludes)
        });
        let error = found.count() as f64 / MAPS as f64 * 100.0;
        println!(
            "K7 A/A, {MAPS} maps of {repetitions} repetitions: family-wise error {error:.1} % (tolerance 7 %)"
        );
        assert!(error <= 7.0, "{error}");
    }
}

/// Cells in both over cells in either, where the right half of the columns differs.
fn overlap(part: &Part) -> f64 {
    let planted = ROWS * COLUMNS / 2;
    let both = part.cells.iter().filter(|(_, cell)| cell % COLUMNS >= 3).count();
    both as f64 / (planted + part.cells.len() - both) as f64
}

#[test]
fn a_planted_part_is_found_where_it_is() {
    let mut found = 0u32;
    let mut agreement = 0.0;
    let mut covered = 0u32;
    for seed in 0..100 {
        let grid = grid(seed, 8, |_, column| if column >= 3 { 0.07 } else { 0.0 });
        let map = partition(grid, TOLERANCE).unwrap();
        if let Some(first) = map.parts.first() {
            let interval = first.mean.interval.unwrap();
            found += 1;
            agreement += overlap(first);
            covered += u32::from(interval.contains(0.07));
            assert!(interval.low > TOLERANCE, "{first:?}");
        }
    }
    agreement /= f64::from(found);
    println!(
        "7 % in half of the columns: found {found} of 100, overlap {agreement:.2}, interval covers {covered}"
    );
    assert!(found >= 95 && agreement > 0.85 && covered >= 90, "{found} {agreement} {covered}");
    let one_percent = partition(grid(1, 20, |_, _| 0.012), TOLERANCE).unwrap();
    assert_eq!((one_percent.headline.answer, one_percent.parts), (MapAnswer::Mean, vec![]));
    assert!(partition(grid(1, 5, |_, _| 0.5), TOLERANCE).is_none(), "five repetitions prove nothing");
}

#[test]
fn cells_that_do_not_exist_belong_to_no_part() {
    let mut grid = grid(2, 8, |_, _| 0.1);
    for row in 0..ROWS {
        // Records larger than their file.
        grid.cells[row * COLUMNS + COLUMNS - row..(row + 1) * COLUMNS].fill(CellSeries::default());
    }
    let map = partition(grid, TOLERANCE).unwrap();
    assert_eq!(map.parts[0].cells.len(), ROWS * COLUMNS - (1 + 2 + 3 + 4));
    assert!((map.parts[0].mean.value - 0.1).abs() < 0.02);
    assert!(map.excluded.is_empty());
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
        for seed in 0..MAPS {
            let logs = stopped(seed, truth.ln_1p());
            let estimate = hodges_lehmann(&logs, 0.95).unwrap();
            let interval = estimate.interval.unwrap();
            sum += estimate.value;
            covered += u32::from(interval.contains(truth.ln_1p()));
            found += u32::from(!interval.contains(0.0));
            pairs += logs.len();
        }
        let mean = (sum / MAPS as f64).exp_m1() * 100.0;
        let percent = |n: u32| f64::from(n) / MAPS as f64 * 100.0;
        println!(
            "K8 true {:.0} %: mean estimate {mean:.2} % (tolerance ± 0.2 points), interval covers {:.1} % (95 ± 1.5), excludes 0 in {:.1} %, {:.1} pairs on average",
            truth * 100.0,
            percent(covered),
            percent(found),
            pairs as f64 / MAPS as f64
        );
        assert!((mean - truth * 100.0).abs() <= 0.2, "{mean}");
        assert!((93.5..=96.5).contains(&percent(covered)), "{covered}");
        assert!(truth == 0.0 || truth < 0.05 || percent(found) >= 99.0, "{found}");
    }
}
