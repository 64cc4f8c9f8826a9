//! Known answer K9 (docs/measure/measurement-rules.md K9): parts, zones and crossovers planted into maps are found where they
//! are. Positions are exact once each cell is known well enough; with fewer repetitions a part may be too small, but
//! never reaches beyond what was planted.

#![expect(clippy::print_stdout, reason = "figures are printed")]

use std::collections::BTreeSet;

use sharebench_model::Random;
use sharebench_stats::{
    CellSeries, Direction, Evidence, Map, MapAnswer, MapOptions, Part, PartitionedMap, Rectangle, TestGrid,
    partition_map,
};

/// Files of 1 MiB to 32 MiB against records of 4 KiB to 512 KiB.
const ROWS: usize = 6;
const COLUMNS: usize = 8;
/// First column above 64 KiB, first row above 8 MiB, first row from 4 MiB on.
const ABOVE_64K: usize = 5;
const ABOVE_8M: usize = 4;
const FROM_4M: usize = 2;
/// ln 1.02
const TOLERANCE: f64 = 0.019_802_627;

/// Maps per experiment; more with `SHAREBENCH_LONG`.
fn seeds() -> u64 {
    if std::env::var_os("SHAREBENCH_LONG").is_some() { 400 } else { 25 }
}

type Truth = fn(usize, usize) -> f64;

/// A shock of 1 % that a repetition's cells share, 3 % noise on either side, 8 % outliers up to a third.
fn grid(seed: u64, repetitions: u32, truth: Truth) -> TestGrid {
    let mut random = Random::new(seed, 21);
    let mut cells = vec![CellSeries::default(); ROWS * COLUMNS];
    for number in 0..repetitions {
        let shock = 0.01 * random.normal();
        for (cell, series) in cells.iter_mut().enumerate() {
            let stall = if random.unit() < 0.08 { 0.3 * (random.unit() * 2.0 - 1.0) } else { 0.0 };
            let noise = 0.03 * (random.normal() - random.normal());
            series.0.push((number, truth(cell / COLUMNS, cell % COLUMNS) + shock + noise + stall));
        }
    }
    TestGrid { rows: ROWS, columns: COLUMNS, cells, axes: 0 }
}

fn partition(tests: Vec<TestGrid>, tolerance: f64) -> PartitionedMap {
    let options = MapOptions { tolerance, level: 0.95, wider_level: 0.99, seed: 1 };
    partition_map(&Map { tests }, &options).unwrap()
}

/// One map per seed.
fn maps(repetitions: u32, truth: Truth) -> Vec<PartitionedMap> {
    (0..seeds()).map(|seed| partition(vec![grid(seed, repetitions, truth)], TOLERANCE)).collect()
}

fn share(maps: &[PartitionedMap], holds: impl Fn(&PartitionedMap) -> bool) -> f64 {
    maps.iter().filter(|map| holds(map)).count() as f64 / maps.len() as f64
}

fn mean_over(part: &Part, truth: Truth) -> f64 {
    let values = part.cells.iter().map(|(_, cell)| truth(cell / COLUMNS, cell % COLUMNS));
    values.sum::<f64>() / part.cells.len() as f64
}

fn contains(part: &Part, value: f64) -> bool {
    part.mean.interval.unwrap().contains(value)
}

/// The heaviest part is exactly this one with the effect in its interval, and its edges are the only ones.
fn exactly(what: &str, repetitions: u32, truth: Truth, place: Rectangle, effect: f64) {
    let maps = maps(repetitions, truth);
    let exact = share(&maps, |map| map.parts.first().is_some_and(|part| part.place == place));
    let covers = share(&maps, |map| map.parts.first().is_some_and(|part| contains(part, effect)));
    let alone = share(&maps, |map| map.parts.len() == 1);
    println!(
        "K9 {what}, {repetitions} repetitions: exactly the part in {exact:.3}, the only one in {alone:.3}, interval covers in {covers:.3}"
    );
    assert!(exact >= 0.95 && covers >= 0.95 && alone >= 0.92, "{what}: {exact} {covers} {alone}");
}

/// With eight repetitions something is found, all of it lies within the place, and the intervals hold.
fn within(what: &str, truth: Truth, place: Rectangle) {
    let maps = maps(8, truth);
    let found = share(&maps, |map| !map.parts.is_empty());
    let inside = |part: &Part| {
        place.rows.0 <= part.place.rows.0
            && part.place.rows.1 <= place.rows.1
            && place.columns.0 <= part.place.columns.0
            && part.place.columns.1 <= place.columns.1
    };
    let placed = share(&maps, |map| map.parts.iter().all(inside));
    let covers = share(&maps, |map| map.parts.iter().all(|part| contains(part, mean_over(part, truth))));
    println!(
        "K9 {what}, 8 repetitions: found in {found:.3}, all within the place in {placed:.3}, intervals cover in {covers:.3}"
    );
    assert!(found >= 0.95 && placed >= 0.95 && covers >= 0.95, "{what}: {found} {placed} {covers}");
}

const ALL_FILES_ABOVE_64K: Rectangle = Rectangle { rows: (0, ROWS), columns: (ABOVE_64K, COLUMNS) };

#[test]
fn seven_percent_above_64_kib_begins_at_128_kib() {
    let truth: Truth = |_, column| if column >= ABOVE_64K { 0.07 } else { 0.0 };
    exactly("+7 % above 64 KiB", 24, truth, ALL_FILES_ABOVE_64K, 0.07);
    within("+7 % above 64 KiB", truth, ALL_FILES_ABOVE_64K);
}

#[test]
fn fourteen_percent_for_files_above_8_mib() {
    let truth: Truth = |row, _| if row >= ABOVE_8M { 0.14 } else { 0.0 };
    let place = Rectangle { rows: (ABOVE_8M, ROWS), columns: (0, COLUMNS) };
    exactly("+14 % above 8 MiB", 12, truth, place, 0.14);
    within("+14 % above 8 MiB", truth, place);
}

#[test]
fn a_crossover_between_2_and_4_mib_is_two_parts_and_one_break() {
    let truth: Truth = |row, _| if row >= FROM_4M { -0.05 } else { 0.05 };
    let known = maps(40, truth);
    let part = |map: &PartitionedMap, direction, rows| -> Option<Part> {
        map.parts.iter().find(|part| part.direction == direction && part.place.rows == rows).cloned()
    };
    let sides = |map: &PartitionedMap| {
        Some((part(map, Direction::Faster, (0, FROM_4M))?, part(map, Direction::Slower, (FROM_4M, ROWS))?))
    };
    let both = share(&known, |map| map.headline.answer == MapAnswer::Depends && sides(map).is_some());
    let inner = |part: &Part| [part.place.rows.0, part.place.rows.1].into_iter().filter(|row| row % ROWS > 0);
    let one_break = share(&known, |map| {
        let edges: BTreeSet<usize> = map.parts.iter().flat_map(inner).collect();
        edges.into_iter().eq([FROM_4M])
    });
    let sized = share(&known, |map| {
        sides(map).is_some_and(|(before, after)| {
            let before = before.mean.interval.unwrap();
            let after = after.mean.interval.unwrap();
            (after.low - before.high..=after.high - before.low).contains(&-0.10)
        })
    });
    println!(
        "K9 crossover, 40 repetitions: both sides exactly in {both:.3}, one break in {one_break:.3}, its size in {sized:.3}"
    );
    assert!(both >= 0.95 && one_break >= 0.95 && sized >= 0.95, "{both} {one_break} {sized}");

    let few = maps(8, truth);
    let covers = share(&few, |map| map.parts.iter().all(|part| contains(part, mean_over(part, truth))));
    let right = |part: &Part| {
        let towards = if part.direction == Direction::Faster { 1.0 } else { -1.0 };
        let of_cells = |(_, cell): &(usize, usize)| truth(cell / COLUMNS, cell % COLUMNS) * towards > 0.0;
        match part.evidence {
            Evidence::EachCell => part.cells.iter().all(of_cells),
            Evidence::OnAverage => mean_over(part, truth) * towards > 0.0,
        }
    };
    let right = share(&few, |map| map.parts.iter().all(right));
    let found = share(&few, |map| !map.parts.is_empty());
    println!(
        "K9 crossover, 8 repetitions: found in {found:.3}, directions right in {right:.3}, intervals cover in {covers:.3}"
    );
    assert!(found >= 0.95 && right >= 0.95 && covers >= 0.95, "{found} {right} {covers}");
}

#[test]
fn zones_of_one_and_seven_percent_are_separated() {
    let truth: Truth = |_, column| if column >= ABOVE_64K { 0.07 } else { 0.01 };
    exactly("+1 % and +7 %", 24, truth, ALL_FILES_ABOVE_64K, 0.07);
    for repetitions in [8, 24] {
        let named = maps(repetitions, truth).into_iter().flat_map(|map| map.parts);
        let wrong = named.filter(|part| part.place.columns.1 <= ABOVE_64K).count();
        assert!(wrong <= seeds() as usize / 50 + 1, "one percent was called a difference in {wrong} parts");
    }
}

#[test]
fn a_milder_area_within_a_part_keeps_its_sign() {
    // Three times slower above 64 KiB, except for the two smallest files there: only twice.
    let truth: Truth = |row, column| match (row, column >= ABOVE_64K) {
        (0 | 1, true) => -0.7,
        (_, true) => -1.1,
        _ => 0.0,
    };
    for map in maps(8, truth) {
        assert!(map.parts.iter().all(|part| part.direction == Direction::Slower), "{:?}", map.parts);
        let part = &map.parts[0];
        assert_eq!((part.place, part.evidence), (ALL_FILES_ABOVE_64K, Evidence::EachCell));
        assert!(part.range.contains(-0.7) && part.range.contains(-1.1), "{part:?}");
        assert!(contains(part, mean_over(part, truth)), "{part:?}");
    }
}

#[test]
fn a_difference_without_any_noise_is_one() {
    let cell = |cell: usize| if cell % COLUMNS >= ABOVE_64K { -0.2 } else { 0.0 };
    let series = |value: f64| CellSeries((0..8).map(|number| (number, value)).collect());
    let cells = (0..ROWS * COLUMNS).map(|index| series(cell(index))).collect();
    let found = partition(vec![TestGrid { rows: ROWS, columns: COLUMNS, cells, axes: 0 }], TOLERANCE);
    assert_eq!(found.parts.len(), 1, "{found:?}");
    assert_eq!(found.parts[0].place, ALL_FILES_ABOVE_64K);
    assert!((found.parts[0].mean.value + 0.2).abs() < 1e-9);
    assert!(found.largest_hidden < 1e-3, "{}", found.largest_hidden);
}

#[test]
fn equal_systems_have_no_parts_of_any_size() {
    // Without a tolerance, any interval that excludes zero makes a part.
    let n = 8 * seeds();
    let broken = |seed: &u64| !partition(vec![grid(*seed, 8, |_, _| 0.0)], 0.0).parts.is_empty();
    let share = (0..n).filter(broken).count() as f64 / n as f64;
    println!("K9 A/A: a part in {share:.3}");
    assert!(share <= 0.07, "{share}");
}

#[test]
fn tests_of_one_run_share_their_error() {
    // Six tests, equal systems; each alone would be allowed 5 %.
    let n = 2 * seeds();
    let wrong = |seed: &u64| {
        let tests = (0..6).map(|test| grid(1000 + seed * 6 + test, 8, |_, _| 0.0)).collect();
        !partition(tests, 0.0).parts.is_empty()
    };
    let share = (0..n).filter(wrong).count() as f64 / n as f64;
    println!("K7 A/A, {n} runs of six tests: family-wise error over all tests {share:.3}");
    assert!(share <= if n > 100 { 0.07 } else { 0.12 }, "{share}");
    // A difference in one of them is found there, and only there.
    for repetitions in [8, 24] {
        let mut tests: Vec<TestGrid> = (0..4).map(|test| grid(50 + test, repetitions, |_, _| 0.0)).collect();
        tests[2] = grid(60, repetitions, |_, column| if column >= ABOVE_64K { 0.07 } else { 0.0 });
        let found = partition(tests, TOLERANCE);
        assert!(!found.parts.is_empty());
        for part in &found.parts {
            assert!(part.tests == [2] && part.place.columns.0 >= ABOVE_64K, "{part:?}");
        }
        assert!(repetitions == 8 || found.parts[0].place == ALL_FILES_ABOVE_64K, "{:?}", found.parts);
    }
}
