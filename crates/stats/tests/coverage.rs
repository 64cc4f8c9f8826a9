//! Seeded simulations: how often the intervals cover the true value (docs/results/planted-truth.md, Coverage).
//!
//! ```text
//! SHAREBENCH_LONG=1 SHAREBENCH_WRITE_DOCS=1 cargo test --release -p sharebench-stats --test integration coverage -- --nocapture
//! ```
use std::fmt::Write as _;

use sharebench_model::Random;
use sharebench_stats::{
    Capacity, CellSeries, LoadPoint, Map, MapOptions, TestGrid, Usl, Work, forecast, hodges_lehmann,
    normal_quantile, partition_map, quantile_ranks, sample_median, total_work_log_ratio,
};

const TRIALS: usize = 2000;

/// Share of `TRIALS` in which `covers` says yes.
fn share(seed: u64, mut covers: impl FnMut(&mut Random) -> bool) -> f64 {
    let mut random = Random::new(seed, 0);
    (0..TRIALS).filter(|_| covers(&mut random)).count() as f64 / TRIALS as f64
}

/// A standard normal variable (by inversion).
fn normal(random: &mut Random) -> f64 {
    normal_quantile(random.unit().max(f64::MIN_POSITIVE))
}

#[test]
fn normal_variables_have_mean_zero_and_variance_one() {
    let mut random = Random::new(5, 0);
    let sample: Vec<f64> = (0..20_000).map(|_| normal(&mut random)).collect();
    let mean = sample.iter().sum::<f64>() / 20_000.0;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
    assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
}

/// A log ratio around `centre`: 2 % noise, and 8 % of the pairs disturbed by up to a third.
fn disturbed(random: &mut Random, centre: f64) -> f64 {
    let stall = if random.unit() < 0.08 { 0.3 * (random.unit() * 2.0 - 1.0) } else { 0.0 };
    centre + 0.02 * normal(random) + stall
}

#[test]
fn hodges_lehmann_covers_at_its_level() {
    for n in [6, 8, 10, 20] {
        let covered = share(11, |random| {
            let sample: Vec<f64> = (0..n).map(|_| disturbed(random, 0.05)).collect();
            hodges_lehmann(&sample, 0.95).unwrap().interval.unwrap().contains(0.05)
        });
        assert!((0.94..=0.985).contains(&covered), "n {n}: {covered}");
    }
}

#[test]
fn ten_pairs_find_five_percent_and_do_not_invent_it() {
    let above_zero = |n: usize, draw: fn(&mut Random) -> f64| {
        share(12, |random| {
            let sample: Vec<f64> = (0..n).map(|_| draw(random)).collect();
            hodges_lehmann(&sample, 0.95).unwrap().interval.unwrap().low > 0.0
        })
    };
    let clean = above_zero(10, |r| 0.05 + 0.028 * normal(r));
    let stalled = above_zero(20, |r| disturbed(r, 0.05));
    assert!(clean > 0.99, "2 % noise on both sides, 10 pairs: {clean}");
    assert!(stalled > 0.97, "8 % of pairs disturbed, 20 pairs: {stalled}");
    let invented = above_zero(10, |r| disturbed(r, 0.0));
    assert!(invented < 0.035, "no difference: {invented}");
}

#[test]
fn order_statistics_cover_the_median_of_skewed_times() {
    let covered = share(13, |random| {
        let sample: Vec<f64> = (0..15).map(|_| -(1.0 - random.unit()).ln()).collect();
        sample_median(&sample, 0.95).unwrap().interval.unwrap().contains(2f64.ln())
    });
    assert!((0.945..=0.98).contains(&covered), "{covered}");
}

/// Intervals that a report prints, each with how often it covered.
struct Row {
    name: String,
    covered: u32,
    trials: u32,
    /// A bound instead of a target: discrete or simultaneous intervals cover more.
    at_least: bool,
}

impl Row {
    fn measure(name: impl Into<String>, trials: u32, mut covers: impl FnMut(u64) -> bool) -> Self {
        let covered = (0..trials).filter(|trial| covers(u64::from(*trial))).count() as u32;
        Self { name: name.into(), covered, trials, at_least: false }
    }

    fn share(&self) -> f64 {
        f64::from(self.covered) / f64::from(self.trials)
    }

    /// 93 to 97 %, with three standard errors of the simulation.
    fn holds(&self) -> bool {
        let chance = 3.0 * (0.95 * 0.05 / f64::from(self.trials)).sqrt();
        let allowance = if self.trials < 2_000 { chance } else { 0.0 };
        (0.93 - allowance..=0.97 + allowance).contains(&self.share())
            || self.at_least && self.share() >= 0.93 - allowance
    }
}

/// Two tests of four by three cells with different noise, equally often or 6 to 60 times.
fn map(random: &mut Random, repetitions: Option<usize>, shared: f64, serial: f64) -> Map {
    let mut last = random.normal();
    let mut next = || {
        let now = last;
        last = serial * last + (1.0 - serial * serial).sqrt() * random.normal();
        shared * now
    };
    let disturbances: Vec<f64> = (0..60).map(|_| next()).collect();
    let mut cell = || {
        let n = repetitions.unwrap_or_else(|| 6 + random.below(55) as usize);
        let deviation = 0.01 * 10f64.powf(random.unit());
        let mut ratio = |number: usize| 0.05 + disturbances[number] + deviation * random.normal();
        CellSeries((0..n).map(|number| (number as u32, ratio(number))).collect())
    };
    let mut test = || TestGrid { rows: 4, columns: 3, cells: (0..12).map(|_| cell()).collect(), axes: 0 };
    Map { tests: vec![test(), test()] }
}

const OPTIONS: MapOptions = MapOptions { tolerance: 0.0198, level: 0.95, wider_level: 0.99, seed: 1 };

fn maps(trials: u32, rows: &mut Vec<Row>) {
    for repetitions in [Some(6), Some(8), Some(12), Some(30), None] {
        let often = repetitions.map_or("6 to 60".into(), |n: usize| n.to_string());
        for shared in [0.0, 0.03] {
            let name = |what: &str| {
                format!("{what}, {often} repetitions, shared disturbances of {:.0} %", shared * 100.0)
            };
            let partitioned = |trial: u64| {
                let mut random = Random::new(trial, 21);
                partition_map(&map(&mut random, repetitions, shared, 0.0), &OPTIONS).unwrap()
            };
            rows.push(Row::measure(name("mean over cells"), trials, |trial| {
                partitioned(trial).mean.interval.unwrap().contains(0.05)
            }));
            let all = Row::measure(name("all cells and parts at once"), trials, |trial| {
                let map = partitioned(trial);
                let mut cells = map.cells.iter().flatten().flatten();
                cells.all(|cell| cell.interval.contains(0.05))
                    && map.parts.iter().all(|part| part.mean.interval.unwrap().contains(0.05))
            });
            rows.push(Row { at_least: true, ..all });
        }
    }
}

fn totals(trials: u32, rows: &mut Vec<Row>) {
    for n in [6, 8, 10, 20, 60] {
        for deviation in [0.1, 0.4] {
            let name = format!("total work, {n} pairs, windows vary by {:.0} %", deviation * 100.0);
            rows.push(Row::measure(name, trials, |trial| {
                let mut random = Random::new(trial, 22);
                let pair = |_| {
                    let shared = 0.05 * random.normal();
                    let mut window = |mean: f64| {
                        let log = deviation * random.normal() + shared;
                        Work { amount: 1.0, time: mean * log.exp() }
                    };
                    (window(1.0), window(1.1))
                };
                let pairs: Vec<(Work, Work)> = (0..n).map(pair).collect();
                total_work_log_ratio(&pairs, 0.95, 600, trial)
                    .unwrap()
                    .interval
                    .unwrap()
                    .contains(1.1f64.ln())
            }));
        }
    }
}

fn quantiles(trials: u32, rows: &mut Vec<Row>) {
    for n in [6, 10, 30] {
        let row = Row::measure(format!("typical ratio, {n} pairs"), trials, |trial| {
            let mut random = Random::new(trial, 23);
            let sample: Vec<f64> = (0..n).map(|_| 0.05 + 0.02 * random.normal()).collect();
            hodges_lehmann(&sample, 0.95).unwrap().interval.unwrap().contains(0.05)
        });
        rows.push(Row { at_least: true, ..row });
    }
    for (n, p) in [(20, 0.5), (200, 0.95), (1_000, 0.5), (1_000, 0.95), (1_000, 0.99)] {
        let ranks = quantile_ranks(n, p, 0.95).unwrap();
        let row = Row::measure(format!("p{:.0} of {n} independent times", p * 100.0), trials, |trial| {
            let mut random = Random::new(trial, 24);
            let below = (0..n).filter(|_| random.unit() < p).count() as u64;
            (ranks.low..ranks.high).contains(&below)
        });
        rows.push(Row { at_least: true, ..row });
    }
}

fn capacity(trials: u32, rows: &mut Vec<Row>) {
    let usl = Usl { gamma: 10.0, alpha: 0.05, beta: 0.0005, errors: [None; 3], residual: 0.0 };
    let models = [
        ("knee", Capacity::Hinge { cycle: 0.1, ceiling: 120.0 }, 0.02),
        ("universal scalability law", Capacity::Usl(usl), 0.0),
    ];
    for (name, model, think) in models {
        for (repetitions, noise) in [(1, 0.01), (3, 0.01), (1, 0.05), (3, 0.05)] {
            let name = format!(
                "capacity at 24 users, {name}, 8 loads measured {repetitions} times at {:.0} % noise",
                noise * 100.0
            );
            rows.push(Row::measure(name, trials, |trial| {
                let mut random = Random::new(trial, 25);
                let loads = [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0].repeat(repetitions);
                let mut point = |load: f64| {
                    LoadPoint::new(load, model.throughput(load) * (noise * random.normal()).exp())
                };
                let points: Vec<LoadPoint> = loads.into_iter().map(&mut point).collect();
                let found = forecast(&points, think, 24.0, trial).unwrap();
                found.throughput.interval.unwrap().contains(model.throughput(24.0))
            }));
        }
    }
}

/// Share of means that are covered where disturbances last, with the share in which the drift is reported.
fn lasting(trials: u32) -> Vec<(String, f64, f64)> {
    let measure = |n: usize| {
        let mut covered = 0;
        let mut reported = 0;
        for trial in 0..trials {
            let mut random = Random::new(u64::from(trial), 26);
            let map = partition_map(&map(&mut random, Some(n), 0.03, 0.5), &OPTIONS).unwrap();
            covered += u32::from(map.mean.interval.unwrap().contains(0.05));
            reported += u32::from(map.drift.is_some());
        }
        let share = |count: u32| f64::from(count) / f64::from(trials);
        (
            format!("mean over cells, {n} repetitions, neighbours correlate by 0.5"),
            share(covered),
            share(reported),
        )
    };
    [8, 12, 30].map(measure).to_vec()
}

#[test]
fn every_interval_of_a_report_covers_as_often_as_it_promises() {
    let long = std::env::var_os("SHAREBENCH_LONG").is_some();
    let trials = if long { 2_000 } else { 300 };
    let mut rows = Vec::new();
    maps(trials, &mut rows);
    totals(trials, &mut rows);
    quantiles(trials, &mut rows);
    // Each of these fits hundreds of models.
    capacity(trials / 4, &mut rows);
    let mut table = String::from("| interval | covers | drift reported |\n|---|---:|---:|\n");
    // Writing to a String cannot fail.
    for row in &rows {
        let _ = writeln!(table, "| {} | {:.1} % | |", row.name, row.share() * 100.0);
    }
    let lasting = lasting(trials);
    for (name, covered, reported) in &lasting {
        let _ = writeln!(table, "| {name} | {:.1} % | {:.1} % |", covered * 100.0, reported * 100.0);
    }
    println!("{table}");
    if long && std::env::var_os("SHAREBENCH_WRITE_DOCS").is_some() {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/planted-truth.md");
        let text = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once("<!-- table of coverage -->\n").unwrap();
        let (_, after) = rest.split_once("<!-- end of coverage -->").unwrap();
        let text = format!("{before}<!-- table of coverage -->\n{table}<!-- end of coverage -->{after}");
        std::fs::write(&path, text).unwrap();
    }
    let short: Vec<&str> = rows.iter().filter(|row| !row.holds()).map(|row| row.name.as_str()).collect();
    assert!(short.is_empty(), "{short:#?}");
    assert!(lasting.iter().all(|(_, covered, _)| *covered >= if long { 0.85 } else { 0.81 }), "{lasting:?}");
}
