//! Known answer K9 (docs/measurement-rules.md K9): breaks, zones and crossovers planted into surfaces are found
//! exactly where they are.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of it is tests, which clippy sees by #[test] only"
)]

use sharebench_model::Random;
use sharebench_stats::{Break, Region, Surface, break_points, differing_regions, differing_regions_among};

/// Files of 1 MiB to 32 MiB against records of 4 KiB to 512 KiB.
const ROWS: usize = 6;
const COLUMNS: usize = 8;
/// First column above 64 KiB, first row above 8 MiB, first row from 4 MiB on.
const ABOVE_64K: usize = 5;
const ABOVE_8M: usize = 4;
const FROM_4M: usize = 2;

/// Surfaces per experiment; more with `SHAREBENCH_LONG`.
fn seeds() -> u64 {
    if std::env::var_os("SHAREBENCH_LONG").is_some() { 400 } else { 25 }
}

type Truth = fn(usize, usize) -> f64;

/// Eight sweeps: a shock of 1 % that a sweep's cells share, 3 % noise on either side, 8 % outliers up to a third.
fn surface(seed: u64, truth: Truth) -> Surface {
    let mut random = Random::new(seed, 21);
    let sweeps = (0..8).map(|_| {
        let shock = 0.01 * random.normal();
        let mut cell = |cell: usize| {
            let stall = if random.unit() < 0.08 { 0.3 * (random.unit() * 2.0 - 1.0) } else { 0.0 };
            let noise = 0.03 * (random.normal() - random.normal());
            truth(cell / COLUMNS, cell % COLUMNS) + shock + noise + stall
        };
        (0..ROWS * COLUMNS).map(&mut cell).collect()
    });
    Surface { rows: ROWS, columns: COLUMNS, sweeps: sweeps.collect() }
}

/// The profile of every sweep along one axis: means over the other.
fn profiles(surface: &Surface, along_rows: bool) -> Vec<Vec<f64>> {
    let (len, across) = if along_rows { (ROWS, COLUMNS) } else { (COLUMNS, ROWS) };
    let at = |sweep: &Vec<f64>, i: usize, j: usize| {
        if along_rows { sweep[i * COLUMNS + j] } else { sweep[j * COLUMNS + i] }
    };
    let profile = |sweep: &Vec<f64>| {
        (0..len).map(|i| (0..across).map(|j| at(sweep, i, j)).sum::<f64>() / across as f64).collect()
    };
    surface.sweeps.iter().map(profile).collect()
}

/// Shares of the seeds in which the only break is at `at`, and in which the intervals of place and size hold.
fn breaks(what: &str, truth: Truth, along_rows: bool, at: usize, change: f64) {
    let found: Vec<Vec<Break>> = (0..seeds())
        .map(|seed| break_points(&profiles(&surface(seed, truth), along_rows), 0.95, 1))
        .collect();
    let only: Vec<&Break> =
        found.iter().filter(|breaks| breaks.len() == 1).map(|breaks| &breaks[0]).collect();
    let held = |holds: &dyn Fn(&Break) -> bool| only.iter().filter(|found| holds(found)).count() as f64;
    let exact = held(&|found| found.at == at) / found.len() as f64;
    let placed = held(&|found| found.between.0 <= at && at <= found.between.1) / only.len() as f64;
    let sized = held(&|found| found.change.interval.is_some_and(|i| i.contains(change))) / only.len() as f64;
    println!("K9 {what}: exactly placed in {exact:.3}, place in its interval {placed:.3}, size {sized:.3}");
    // Of 25 intervals at 95 % fewer than 21 hold once in 3000 times.
    let least = if seeds() > 100 { 0.93 } else { 0.84 };
    assert!(exact >= 0.92 && placed >= 0.95 && sized >= least, "{what}: {exact} {placed} {sized}");
}

/// True when a region is more than significant: its interval lies beyond 2 %.
fn is_claimed(region: &Region) -> bool {
    let interval = region.log_ratio.interval.unwrap();
    interval.low.max(-interval.high) > 1.02f64.ln()
}

/// The same for the most important region.
fn first_region(what: &str, truth: Truth, rows: (usize, usize), columns: (usize, usize), effect: f64) {
    let found: Vec<Option<Region>> =
        (0..seeds()).map(|seed| differing_regions(&surface(seed, truth), 1).first().copied()).collect();
    let share = |holds: &dyn Fn(&Region) -> bool| {
        found.iter().flatten().filter(|region| holds(region)).count() as f64 / found.len() as f64
    };
    let exact = share(&|region| region.place.rows == rows && region.place.columns == columns);
    let covered = share(&|region| region.log_ratio.interval.is_some_and(|i| i.contains(effect)));
    println!("K9 {what}: exactly the region in {exact:.3}, interval covers in {covered:.3}");
    assert!(exact >= 0.95 && covered >= 0.95, "{what}: {exact} {covered}");
}

#[test]
fn seven_percent_above_64_kib_begins_at_128_kib() {
    let truth: Truth = |_, column| if column >= ABOVE_64K { 0.07 } else { 0.0 };
    first_region("+7 % above 64 KiB", truth, (0, ROWS), (ABOVE_64K, COLUMNS), 0.07);
    breaks("break at 128 KiB", truth, false, ABOVE_64K, 0.07);
}

#[test]
fn fourteen_percent_for_files_above_8_mib() {
    let truth: Truth = |row, _| if row >= ABOVE_8M { 0.14 } else { 0.0 };
    first_region("+14 % above 8 MiB", truth, (ABOVE_8M, ROWS), (0, COLUMNS), 0.14);
}

#[test]
fn a_crossover_between_2_and_4_mib_is_two_regions_and_one_break() {
    let truth: Truth = |row, _| if row >= FROM_4M { -0.05 } else { 0.05 };
    breaks("crossover at 4 MiB", truth, true, FROM_4M, -0.10);
    let both = (0..seeds()).filter(|seed| {
        let found = differing_regions(&surface(*seed, truth), 1);
        let of =
            |sign: f64, rows| found.iter().any(|r| r.log_ratio.value * sign > 0.0 && r.place.rows == rows);
        of(1.0, (0, FROM_4M)) && of(-1.0, (FROM_4M, ROWS))
    });
    let share = both.count() as f64 / seeds() as f64;
    println!("K9 crossover: both sides found exactly in {share:.3}");
    assert!(share >= 0.9, "{share}");
}

#[test]
fn zones_of_one_and_seven_percent_are_separated() {
    let truth: Truth = |_, column| if column >= ABOVE_64K { 0.07 } else { 0.01 };
    first_region("+1 % and +7 %", truth, (0, ROWS), (ABOVE_64K, COLUMNS), 0.07);
    breaks("between +1 % and +7 %", truth, false, ABOVE_64K, 0.06);
    let named = (0..seeds()).flat_map(|seed| differing_regions(&surface(seed, truth), 1));
    let wrong = named.filter(|r| is_claimed(r) && r.place.columns.1 <= ABOVE_64K).count();
    assert!(wrong <= seeds() as usize / 50 + 1, "one percent was called a difference in {wrong} regions");
}

#[test]
fn a_milder_part_of_a_region_keeps_its_sign() {
    // Three times slower above 64 KiB, except for the two smallest files there: only twice.
    let truth: Truth = |row, column| match (row, column >= ABOVE_64K) {
        (0 | 1, true) => -0.7,
        (_, true) => -1.1,
        _ => 0.0,
    };
    for seed in 0..seeds() {
        let found = differing_regions(&surface(seed, truth), 1);
        assert!(found.iter().all(|r| !is_claimed(r) || r.log_ratio.value < 0.0), "{found:?}");
        let part = found.iter().find(|r| r.refines && r.place.rows == (0, 2));
        if let Some(part) = part.filter(|part| part.place.columns == (ABOVE_64K, COLUMNS)) {
            assert!(part.log_ratio.interval.unwrap().contains(-0.7), "{part:?}");
        }
    }
}

#[test]
fn a_difference_without_any_noise_is_one() {
    let sweep: Vec<f64> =
        (0..ROWS * COLUMNS).map(|c| if c % COLUMNS >= ABOVE_64K { -0.2 } else { 0.0 }).collect();
    let found = differing_regions(&Surface { rows: ROWS, columns: COLUMNS, sweeps: vec![sweep; 8] }, 1);
    assert_eq!(found[0].place.columns, (ABOVE_64K, COLUMNS), "{found:?}");
    assert!((found[0].log_ratio.value + 0.2).abs() < 1e-9);
}

#[test]
fn equal_systems_break_nowhere() {
    let n = 8 * seeds();
    let broken = |seed: &u64| {
        let surface = surface(*seed, |_, _| 0.0);
        !break_points(&profiles(&surface, true), 0.95, 1).is_empty()
            || !break_points(&profiles(&surface, false), 0.95, 1).is_empty()
    };
    let share = (0..n).filter(broken).count() as f64 / n as f64;
    println!("K9 A/A: a break along either axis in {share:.3}");
    assert!(share <= 0.07, "{share}");
}

#[test]
fn tests_of_one_run_share_their_error() {
    // Six tests, equal systems; each alone would be allowed 5 %.
    let n = 2 * seeds();
    let wrong = |seed: &u64| {
        let surfaces: Vec<Surface> = (0..6).map(|test| surface(1000 + seed * 6 + test, |_, _| 0.0)).collect();
        differing_regions_among(&surfaces, 1).iter().any(|found| !found.is_empty())
    };
    let share = (0..n).filter(wrong).count() as f64 / n as f64;
    println!("K7 A/A, {n} runs of six tests: family-wise error over all tests {share:.3}");
    assert!(share <= if n > 100 { 0.07 } else { 0.12 }, "{share}");
    // A difference in one of them is found there, and only there.
    let mut surfaces: Vec<Surface> = (0..4).map(|test| surface(50 + test, |_, _| 0.0)).collect();
    surfaces[2] = surface(60, |_, column| if column >= ABOVE_64K { 0.07 } else { 0.0 });
    let found = differing_regions_among(&surfaces, 1);
    assert_eq!(found[2][0].place.columns, (ABOVE_64K, COLUMNS));
    assert!(is_claimed(&found[2][0]));
    assert!([0, 1, 3].iter().all(|test| !found[*test].iter().any(is_claimed)), "{found:?}");
}
