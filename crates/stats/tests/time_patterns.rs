//! Patterns over time that are planted in virtual sweeps and loads: each is found with its start, period and cost, and
//! clean servers have none.
//!
//! `SHAREBENCH_LONG=1` draws the numbers of runs that the assertions name; without it a tenth of them.

use sharebench_model::Random;
use sharebench_stats::{TimeOptions, TimePattern, TimePatternKind, TimePatterns, TimedSample, time_patterns};

const OPTIONS: TimeOptions = TimeOptions { error: 0.005, level: 0.95, least_cost: 0.02 };
/// Speed at a second of the clock, after some bytes: 1 is the usual one, 0 a stop.
type Speed = Box<dyn Fn(f64, f64) -> f64>;

fn runs(long: usize) -> usize {
    if std::env::var_os("SHAREBENCH_LONG").is_some() { long } else { long / 10 }
}

/// A sweep of `cells` cells on several systems in alternating slices of 10 ms, with samples of 60 ms.
#[derive(Clone, Copy)]
struct Sweep {
    cells: usize,
    rounds: usize,
    /// Standard deviation of the logarithm of the rate: of each sample, and what the samples of a round share.
    sigma: f64,
    shock: f64,
}

const USUAL: Sweep = Sweep { cells: 12, rounds: 60, sigma: 0.05, shock: 0.0 };

/// Stops and shapes of one run, as a user would write them.
fn kinds(found: &TimePatterns) -> Vec<TimePatternKind> {
    let mut kinds: Vec<TimePatternKind> = found.patterns.iter().map(|pattern| pattern.kind).collect();
    kinds.sort_unstable();
    kinds
}

fn steady() -> Speed {
    Box::new(|_, _| 1.0)
}

/// The samples of each system, and the share of its busy time that its speed cost.
fn sweep(plan: &Sweep, speeds: &[Speed], seed: u64) -> Vec<(Vec<TimedSample>, f64)> {
    const SLICE: f64 = 0.01;
    const SLICES: usize = 6;
    let mut random = Random::new(seed, 0x71);
    let mut now = 0.3;
    let mut bytes = vec![0.0; speeds.len()];
    let mut ideal = vec![0.0; speeds.len()];
    let mut all: Vec<Vec<TimedSample>> = vec![Vec::new(); speeds.len()];
    let mut order: Vec<usize> = (0..plan.cells).collect();
    for _ in 0..plan.rounds {
        random.shuffle(&mut order);
        let shock = plan.shock * random.normal();
        for cell in &order {
            // Cells from 5 to 100 MB/s.
            let rate = 5e6 * 20_f64.powf(*cell as f64 / plan.cells as f64);
            let noise: Vec<f64> =
                speeds.iter().map(|_| (shock + plan.sigma * random.normal()).exp()).collect();
            let begin = now;
            let mut busy = vec![0.0; speeds.len()];
            let mut ends = vec![now; speeds.len()];
            for _ in 0..SLICES {
                for (system, speed) in speeds.iter().enumerate() {
                    let slice = SLICE * noise[system];
                    let from = now;
                    let mut left = slice;
                    while left > 1e-9 {
                        let step = 0.001_f64.min(left);
                        let current = speed(now, bytes[system]);
                        if current > 0.0 {
                            left -= step;
                            now += step / current;
                            bytes[system] += step / noise[system] * rate;
                        } else {
                            now += 0.001;
                        }
                    }
                    busy[system] += now - from;
                    ideal[system] += slice;
                    ends[system] = now;
                }
            }
            for system in 0..speeds.len() {
                all[system].push(TimedSample {
                    start_s: begin,
                    wall_s: ends[system] - begin,
                    busy_s: busy[system],
                    work: rate * SLICE * SLICES as f64,
                    bytes: rate * SLICE * SLICES as f64,
                    longest_s: 0.0,
                    cell: *cell,
                });
            }
            now += 0.005;
        }
    }
    all.into_iter()
        .zip(ideal)
        .map(|(samples, ideal)| {
            let busy: f64 = samples.iter().map(|sample| sample.busy_s).sum();
            (samples, 1.0 - ideal / busy)
        })
        .collect()
}

/// A load of some seconds in intervals of a tenth of a second, and the share of its time that its speed cost.
fn load(seconds: f64, sigma: f64, speed: &Speed, seed: u64) -> (Vec<TimedSample>, f64) {
    let mut random = Random::new(seed, 0x72);
    let count = (seconds * 10.0) as usize;
    let mut done = 0.0;
    let samples: Vec<TimedSample> = (0..count)
        .map(|interval| {
            let start_s = interval as f64 / 10.0;
            let fine = 20;
            let share: f64 = (0..fine)
                .map(|part| speed(start_s + (f64::from(part) + 0.5) / 10.0 / f64::from(fine), done))
                .sum::<f64>()
                / f64::from(fine);
            let work = 4e6 * share * (sigma * random.normal()).exp();
            done += work;
            TimedSample { start_s, wall_s: 0.1, busy_s: 0.1, work, bytes: work, longest_s: 0.0, cell: 0 }
        })
        .collect();
    let mean = (0..count * 20).map(|part| speed((part as f64 + 0.5) / 200.0, 0.0)).sum::<f64>()
        / (count * 20) as f64;
    (samples, 1.0 - mean)
}

struct Planted {
    name: String,
    kind: TimePatternKind,
    start_s: Option<f64>,
    period_s: Option<f64>,
    speed: fn(f64, f64, f64) -> f64,
    size: f64,
}

fn near(value: f64, wanted: f64, share: f64, at_least: f64) -> bool {
    (value - wanted).abs() <= (share * wanted).max(at_least)
}

fn is_right(found: &TimePatterns, planted: &Planted, cost: f64) -> bool {
    let is_it = |pattern: &&TimePattern| pattern.kind == planted.kind;
    let Some(pattern) = found.patterns.iter().find(is_it) else { return false };
    let start = planted.start_s.is_none_or(|start| near(pattern.start_s, start, 0.05, 0.2));
    let period = match (planted.period_s, pattern.period_s) {
        (Some(planted), Some(found)) => near(found, planted, 0.05, 0.0),
        (None, None) => true,
        _ => false,
    };
    found.patterns.len() == 1 && start && period && near(pattern.cost.value, cost, 0.25, 0.0)
}

fn all_planted() -> Vec<Planted> {
    use TimePatternKind::{AlternatingSpeed, Drift, LevelChange, Outage, PeriodicStall};
    let mut all = Vec::new();
    let mut add = |name: String, kind, start_s, period_s, size, speed| {
        all.push(Planted { name, kind, start_s, period_s, speed, size });
    };
    for length in [2.0, 3.0, 8.0] {
        add(format!("outage of {length} s"), Outage, Some(12.0), None, length, |t, _, size| {
            if t >= 12.0 && t < 12.0 + size { 0.0 } else { 1.0 }
        });
    }
    for left in [0.3, 0.47, 0.8] {
        add(format!("{left} of the rate after 20 s"), LevelChange, Some(20.0), None, left, |t, _, size| {
            if t >= 20.0 { size } else { 1.0 }
        });
    }
    for period in [2.0, 5.0] {
        add(
            format!("stall of 20 % of every {period} s"),
            PeriodicStall,
            None,
            Some(period),
            period,
            |t, _, size| {
                if t % size < 0.2 * size { 0.0 } else { 1.0 }
            },
        );
        add(
            format!("a fifth of the speed in 20 % of every {period} s"),
            PeriodicStall,
            None,
            Some(period),
            period,
            |t, _, size| {
                if t % size < 0.2 * size { 0.2 } else { 1.0 }
            },
        );
    }
    for period in [2.0, 3.0, 6.0] {
        add(
            format!("half speed in half of every {period} s"),
            AlternatingSpeed,
            None,
            Some(period),
            period,
            |t, _, size| {
                if t % size < 0.5 * size { 0.5 } else { 1.0 }
            },
        );
    }
    for total in [0.1, 0.2, 0.5] {
        add(format!("drift of {total} in a minute"), Drift, None, None, total, |t, _, size| {
            (1.0 - size).powf(t / 60.0)
        });
    }
    all
}

/// Asserts that a pattern is found in 95 % of the runs. `attempt` returns whether it found the pattern of a seed, and what it found.
#[expect(clippy::print_stdout, reason = "the report of a test")]
fn assert_planted_are_found(kind: &str, attempt: impl Fn(&Planted, u64) -> (bool, String)) {
    let number = runs(100);
    let mut missed = Vec::new();
    for planted in all_planted() {
        let mut right = 0;
        for seed in 0..number {
            let (good, found) = attempt(&planted, seed as u64);
            if !good && right + 3 > seed {
                println!("  {}: {found}", planted.name);
            }
            right += usize::from(good);
        }
        println!("{kind}, {}: right in {right} of {number}", planted.name);
        if right * 100 < number * 95 {
            missed.push(planted.name);
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn planted_patterns_are_found_in_sweeps() {
    assert_planted_are_found("sweep", |planted, seed| {
        let Planted { speed, size, .. } = *planted;
        let speeds: Vec<Speed> = vec![Box::new(move |t, b| speed(t, b, size)), steady()];
        let systems = sweep(&USUAL, &speeds, seed);
        let found = time_patterns(&systems[0].0, OPTIONS);
        let other = time_patterns(&systems[1].0, OPTIONS);
        let good = is_right(&found, planted, systems[0].1) && other.patterns.is_empty();
        (good, format!("cost {:.3}, {found:?}, other {other:?}", systems[0].1))
    });
}

#[test]
fn planted_patterns_are_found_in_loads() {
    assert_planted_are_found("load", |planted, seed| {
        let Planted { speed, size, .. } = *planted;
        let speed: Speed = Box::new(move |t, b| speed(t, b, size));
        let (samples, cost) = load(60.0, 0.05, &speed, seed);
        let found = time_patterns(&samples, OPTIONS);
        (is_right(&found, planted, cost), format!("cost {cost:.3}, {found:?}"))
    });
}

#[test]
fn clean_servers_have_no_pattern() {
    for sigma in [0.01, 0.05, 0.15] {
        let number = runs(500);
        let mut alarms = (0, 0);
        for seed in 0..number {
            let plan = Sweep { cells: 12, rounds: [10, 30, 60][seed % 3], sigma, shock: 0.0 };
            let systems = sweep(&plan, &[steady(), steady()], 7000 + seed as u64);
            let found =
                systems.iter().any(|(samples, _)| !time_patterns(samples, OPTIONS).patterns.is_empty());
            alarms.0 += usize::from(found);
            let (samples, _) = load([30.0, 60.0][seed % 2], sigma, &steady(), 9000 + seed as u64);
            alarms.1 += usize::from(!time_patterns(&samples, OPTIONS).patterns.is_empty());
        }
        println!(
            "noise {sigma}: a pattern in {} of {number} sweeps of two systems, {} of {number} loads",
            alarms.0, alarms.1
        );
        assert!(alarms.0 * 100 <= number && alarms.1 * 100 <= number, "{sigma}: {alarms:?}");
    }
}

/// Conditions that all cells of a repetition share are noise, not a pattern.
#[test]
fn repetitions_that_share_disturbances_have_no_pattern() {
    let number = runs(500);
    let mut alarms = 0;
    for seed in 0..number {
        let plan = Sweep { rounds: [12, 30, 60][seed % 3], shock: 0.03, ..USUAL };
        let systems = sweep(&plan, &[steady(), steady()], 3000 + seed as u64);
        let found: Vec<TimePattern> =
            systems.iter().flat_map(|(samples, _)| time_patterns(samples, OPTIONS).patterns).collect();
        if !found.is_empty() {
            println!("  {} rounds: {found:?}", plan.rounds);
        }
        alarms += usize::from(!found.is_empty());
    }
    println!(
        "disturbances of 3 % shared by repetitions: a pattern in {alarms} of {number} sweeps of two systems"
    );
    assert!(alarms * 100 <= number, "{alarms}");
}

/// Samples of a series with gaps, as of a target that waits for others: their length and the gaps in seconds, the noise, and the
/// rate after the change.
const SPACED: [(f64, f64, f64, f64); 6] = [
    (0.6, 0.0, 0.02, 0.8),
    (0.6, 0.6, 0.02, 0.8),
    (0.6, 1.8, 0.03, 0.47),
    (0.06, 0.3, 0.05, 0.8),
    (0.6, 0.6, 0.15, 0.7),
    (2.0, 0.1, 0.05, 0.85),
];

#[test]
fn the_start_of_a_level_change_is_as_uncertain_as_stated() {
    let number = runs(1000);
    for (each_s, gap_s, sigma, left) in SPACED {
        let mut covered = 0;
        let mut found = 0;
        let mut width = 0.0;
        for seed in 0..number {
            let mut random = Random::new(seed as u64, 0x73);
            let change = (60.0 + 120.0 * random.unit()) * (each_s + gap_s);
            let samples: Vec<TimedSample> = (0..240)
                .map(|at| {
                    // What others need differs from turn to turn.
                    let start_s = (f64::from(at) + 0.3 * random.unit()) * (each_s + gap_s);
                    let slow = ((start_s + each_s - change) / each_s).clamp(0.0, 1.0);
                    let work = each_s * (1.0 - slow * (1.0 - left)) * (sigma * random.normal()).exp();
                    let cell = at as usize * 7 % 12;
                    TimedSample {
                        start_s,
                        wall_s: each_s,
                        busy_s: each_s,
                        work,
                        bytes: work,
                        longest_s: 0.0,
                        cell,
                    }
                })
                .collect();
            let patterns = time_patterns(&samples, OPTIONS).patterns;
            let Some(level) = patterns.iter().find(|level| level.kind == TimePatternKind::LevelChange) else {
                continue;
            };
            found += 1;
            covered += usize::from((level.start_s - change).abs() <= level.start_error_s);
            width += level.start_error_s / (each_s + gap_s);
        }
        width /= f64::from(found as u32);
        println!(
            "samples of {each_s} s, gaps of {gap_s} s, noise {sigma}, {left}: {covered} of {found}, +-{width:.2} samples"
        );
        assert!(found * 100 >= number * 95, "found {found} of {number}");
        assert!(covered * 100 >= found * 93, "{covered} of {found}");
    }
}

/// A throttle that begins after an amount of data, in a sweep whose cells move 5 to 100 MB/s.
#[test]
fn a_burst_limit_is_found_with_its_bytes() {
    const MIB: f64 = 1_048_576.0;
    let number = runs(100);
    for (burst, left) in [(64.0, 0.47), (256.0, 0.8), (1024.0, 0.6)] {
        let mut right = 0;
        for seed in 0..number {
            let speeds: Vec<Speed> =
                vec![Box::new(move |_, bytes| if bytes > burst * MIB { left } else { 1.0 }), steady()];
            let systems = sweep(&USUAL, &speeds, 500 + seed as u64);
            let found = time_patterns(&systems[0].0, OPTIONS);
            let is_it = found.patterns.first().is_some_and(|pattern| {
                pattern.kind == TimePatternKind::LevelChange
                    && pattern.is_open
                    && near(pattern.start_bytes, burst * MIB, 0.05, 12.0 * MIB)
                    && near(pattern.speed, left, 0.05, 0.0)
                    && near(pattern.cost.value, systems[0].1, 0.25, 0.0)
            });
            let good = is_it && found.patterns.len() == 1;
            if !good {
                println!("  burst of {burst} MiB: cost {:.3}, {found:?}", systems[0].1);
            }
            right += usize::from(good);
        }
        println!("burst of {burst} MiB, then {left} of the rate: right in {right} of {number}");
        assert!(right * 100 >= number * 95, "{burst}: {right}");
    }
}

#[test]
fn an_outage_and_a_drift_are_both_found() {
    let number = runs(100);
    let mut right = 0;
    for seed in 0..number {
        let speeds: Vec<Speed> = vec![
            Box::new(|t, _| if (30.0..35.0).contains(&t) { 0.0 } else { 0.8_f64.powf(t / 60.0) }),
            steady(),
        ];
        let systems = sweep(&USUAL, &speeds, 900 + seed as u64);
        let found = time_patterns(&systems[0].0, OPTIONS);
        let good = kinds(&found) == [TimePatternKind::Outage, TimePatternKind::Drift]
            && kinds(&time_patterns(&systems[1].0, OPTIONS)).is_empty();
        if !good {
            println!("  {found:?}");
        }
        right += usize::from(good);
    }
    println!("outage of 5 s and drift of 20 % per minute: both alone found in {right} of {number}");
    assert!(right * 100 >= number * 95, "{right}");
}

#[test]
fn an_outage_of_both_systems_has_the_same_start_in_both() {
    let out = || -> Speed { Box::new(|t, _| if (20.0..24.0).contains(&t) { 0.05 } else { 1.0 }) };
    for seed in 0..runs(100) {
        let systems = sweep(&USUAL, &[out(), out()], seed as u64);
        let starts: Vec<f64> = systems
            .iter()
            .map(|(samples, _)| {
                let found = time_patterns(samples, OPTIONS);
                assert_eq!(kinds(&found), [TimePatternKind::Outage], "{found:?}");
                found.patterns[0].start_s
            })
            .collect();
        assert!((starts[0] - starts[1]).abs() < 1.0, "{starts:?}");
    }
}

/// Of short slow parts that do not stop all work, 20 noisy repetitions show too little: their cost is underestimated.
#[test]
fn patterns_are_found_in_noise_and_in_few_repetitions() {
    let number = runs(100);
    let noisy = Sweep { sigma: 0.15, ..USUAL };
    let mut missed = Vec::new();
    for (plan, what) in [
        (noisy, "noise of 15 %"),
        (Sweep { rounds: 20, ..noisy }, "noise of 15 %, 20 repetitions"),
        (Sweep { cells: 4, ..USUAL }, "4 cells"),
    ] {
        for planted in all_planted() {
            let is_small = planted.kind == TimePatternKind::Drift || planted.size > 0.5 && planted.size < 1.0;
            let is_partial = planted.name.starts_with("a fifth") && plan.rounds == 20;
            if is_small || is_partial || planted.period_s > Some(3.0) {
                continue;
            }
            let speed = planted.speed;
            let size = planted.size;
            let is_found = |seed: &usize| {
                let speeds: Vec<Speed> = vec![Box::new(move |t, b| speed(t, b, size)), steady()];
                let systems = sweep(&plan, &speeds, 60_000 + *seed as u64);
                is_right(&time_patterns(&systems[0].0, OPTIONS), &planted, systems[0].1)
            };
            let right = (0..number).filter(is_found).count();
            println!("{what}, {}: right in {right} of {number}", planted.name);
            if right * 100 < number * 95 {
                missed.push(format!("{what}, {}", planted.name));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn short_runs_are_called_too_short() {
    let plan = Sweep { cells: 4, rounds: 8, ..USUAL };
    let drifting = || -> Speed { Box::new(|t, _| 1.0 - 0.05 * t) };
    let systems = sweep(&plan, &[drifting(), steady()], 1);
    for (samples, _) in &systems {
        let found = time_patterns(samples, OPTIONS);
        assert!(found.is_too_short && found.patterns.is_empty(), "{found:?}");
    }
    assert!(time_patterns(&[], OPTIONS).is_too_short);
    // An outage needs no long run.
    let out: Speed = Box::new(|t, _| if (1.0..3.0).contains(&t) { 0.0 } else { 1.0 });
    let found = time_patterns(&sweep(&plan, &[out, steady()], 2)[0].0, OPTIONS);
    assert_eq!((found.is_too_short, kinds(&found)), (true, vec![TimePatternKind::Outage]), "{found:?}");
}

/// Samples of 0.4 s in turns with another system, between preparations of the same length: a stall of 0.6 s leaves 40 % of the rate
/// and more, and most of those that begin in the other's turn are not seen. The longest operation shows them.
#[test]
fn stalls_shorter_than_a_sample_are_found_by_its_longest_operation() {
    const USUAL_S: f64 = 0.4;
    const STALL_S: f64 = 0.6;
    const PERIOD_S: f64 = 5.0;
    let number = runs(100);
    let mut right = 0;
    for seed in 0..number {
        let mut random = Random::new(seed as u64, 0x73);
        let mut now = 0.0;
        let mut samples = Vec::new();
        for index in 0..240 {
            let start_s = now;
            // The other system's turn, and the preparation of both.
            now += USUAL_S * (1.0 + 2.0 * f64::from(u32::from(random.normal() > 0.0)));
            let usual_s = USUAL_S * (0.01 * random.normal()).exp();
            let to_stall = PERIOD_S - STALL_S - now % PERIOD_S;
            // What is left of a stall that has begun, or all of one that begins.
            let stall_s = if to_stall < 0.0 {
                STALL_S + to_stall
            } else if to_stall < usual_s {
                STALL_S
            } else {
                0.0
            };
            now += usual_s + stall_s;
            let wall_s = now - start_s;
            let busy_s = usual_s + stall_s;
            samples.push(TimedSample {
                start_s,
                wall_s,
                busy_s,
                work: 1e6,
                bytes: 1e6,
                longest_s: stall_s.max(0.001),
                cell: index % 6,
            });
        }
        let busy_s: f64 = samples.iter().map(|sample| sample.busy_s).sum();
        let cost = samples.iter().map(|sample| sample.longest_s - 0.001).sum::<f64>() / busy_s;
        let found = time_patterns(&samples, OPTIONS);
        let good = matches!(found.patterns.as_slice(), [stalls]
            if stalls.kind == TimePatternKind::PeriodicStall
                && near(stalls.period_s.unwrap_or(0.0), PERIOD_S, 0.05, 0.0)
                && near(stalls.cost.value, cost, 0.1, 0.0));
        if !good {
            println!("  cost {cost:.3}, {found:?}");
        }
        right += usize::from(good);
    }
    println!("stalls of 0.6 s every 5 s in samples of 0.4 s: right in {right} of {number}");
    assert!(right * 100 >= number * 95, "{right}");
}
