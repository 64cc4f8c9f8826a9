//! Nightly runs with a known truth: a planted change is found at its run, and equal nights show none.

use sharebench_model::Random;
use sharebench_stats::{level_shifts, shift};

/// `series` series over `runs` nights: 1.5 % of noise, a tenth of it twice as wide, and a shock per night of 1 %.
fn nights(series: usize, runs: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut random = Random::new(seed, 77);
    let shocks: Vec<f64> = (0..runs).map(|_| 0.01 * random.normal()).collect();
    let mut night = |shock: &f64| {
        let wide = if random.unit() < 0.1 { 2.0 } else { 1.0 };
        shock + 0.015 * wide * random.normal()
    };
    (0..series).map(|_| shocks.iter().map(&mut night).collect()).collect()
}

#[test]
fn equal_nights_show_a_change_in_one_of_twenty_histories() {
    let long = std::env::var_os("SHAREBENCH_LONG").is_some();
    let histories = if long { 1000 } else { 200 };
    let wrong =
        (0..histories).filter(|seed| !level_shifts(&nights(4, 20, *seed), 0.05, 1).is_empty()).count();
    let share = wrong as f64 / histories as f64;
    println!("A/A {histories} histories of 20 nights, 4 tests: a false change in {:.1} %", share * 100.0);
    assert!(share <= if long { 0.07 } else { 0.09 }, "{share}");
}

#[test]
fn a_planted_change_is_found_at_its_night() {
    let mut found = 0;
    let mut exact = 0;
    let mut covered = 0;
    let mut alone = 0;
    let histories = 100;
    for seed in 0..histories {
        let mut series = nights(4, 24, 1000 + seed);
        // Two of the four tests lose 8 % from the fifteenth night on.
        for values in &mut series[1..3] {
            values[14..].iter_mut().for_each(|value| *value -= 0.08);
        }
        let shifts = level_shifts(&series, 0.05, seed);
        let Some(first) = shifts.iter().find(|shift| (13..=15).contains(&shift.at)) else { continue };
        found += 1;
        exact += usize::from(first.at == 14);
        alone += usize::from(first.series == [1, 2]);
        let found = shift(&series[1][..first.at], &series[1][first.at..], 0.95).unwrap();
        covered += usize::from(found.interval.is_some_and(|i| i.low <= -0.08 && -0.08 <= i.high));
    }
    println!(
        "-8 % from night 15 of 24 in 2 of 4 tests: found {found} of {histories}, at the very night {exact}, in those \
         tests alone {alone}, interval holds {covered}"
    );
    assert!(found >= 98 && exact >= 80 && alone >= 85 && covered >= 90);
}

#[test]
fn two_changes_and_one_of_the_last_nights_are_found() {
    let mut hits = [0; 3];
    for seed in 0..50 {
        let mut series = nights(1, 30, 5000 + seed);
        series[0][10..].iter_mut().for_each(|value| *value += 0.10);
        series[0][20..].iter_mut().for_each(|value| *value -= 0.15);
        let shifts = level_shifts(&series, 0.05, seed);
        for (hit, at) in hits.iter_mut().zip([10, 20]) {
            *hit += usize::from(shifts.iter().any(|shift| shift.at.abs_diff(at) <= 1));
        }
        let mut late = nights(3, 20, 9000 + seed);
        late[0][17..].iter_mut().for_each(|value| *value -= 0.12);
        hits[2] +=
            usize::from(level_shifts(&late, 0.05, seed).iter().any(|shift| shift.at.abs_diff(17) <= 1));
    }
    println!(
        "+10 % and -15 % in 30 nights: found {} and {} of 50; -12 % in the last 3 of 20: {}",
        hits[0], hits[1], hits[2]
    );
    assert!(hits.iter().all(|hit| *hit >= 45), "{hits:?}");
}

#[test]
fn what_cannot_be_judged_shows_nothing() {
    assert!(level_shifts(&[], 0.05, 1).is_empty());
    assert!(level_shifts(&[vec![0.0, 0.0, 1.0, 1.0, 1.0]], 0.05, 1).is_empty(), "five runs are too few");
    assert!(level_shifts(&[vec![3.0; 20]], 0.05, 1).is_empty());
    assert!(level_shifts(&[vec![f64::NAN; 20]], 0.05, 1).is_empty());
}
