//! Random maps with an oracle (docs/results/planted-truth.md, Random maps): how often a statement about a map is wrong, how often
//! its intervals hold, and how often a planted difference is found.
//!
//! Every commit measures 200 maps per row with fixed seeds. The long form measures 2,000 with new seeds (or those of
//! `SHAREBENCH_SEED`), and writes its table on request:
//!
//! ```text
//! SHAREBENCH_LONG=1 SHAREBENCH_WRITE_DOCS=1 cargo test --release -p sharebench-stats --test integration random_maps -- --nocapture
//! ```
mod judge;
mod measured;
mod rows;
mod table;
mod truth;

use std::time::{SystemTime, UNIX_EPOCH};

use rows::Count;

/// Seed of the short form.
const SEED: u64 = 49;

/// Seed and number of maps per row.
fn extent() -> (u64, u64) {
    if std::env::var_os("SHAREBENCH_LONG").is_none() {
        return (SEED, 200);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = std::env::var("SHAREBENCH_SEED").map_or(now, |seed| seed.parse().unwrap());
    (seed, 2_000)
}

#[test]
fn statements_about_random_maps_are_true_and_find_what_was_planted() {
    let (seed, maps) = extent();
    println!("SHAREBENCH_SEED={seed}");
    let mut measured = Vec::new();
    for (number, row) in rows::all().into_iter().enumerate() {
        let mut count = Count::default();
        let first = seed.wrapping_add(number as u64 * 1_000_000);
        for map in 0..maps {
            row.measure(first.wrapping_add(map), &mut count);
        }
        measured.push((row, count));
    }
    let text = table::text(&measured);
    println!("{text}");
    let shortfalls: Vec<String> =
        measured.iter().flat_map(|(row, count)| table::shortfalls(row, count)).collect();
    if maps == 2_000 && std::env::var_os("SHAREBENCH_WRITE_DOCS").is_some() {
        table::write(&text);
    }
    assert!(shortfalls.is_empty(), "{shortfalls:#?}");
}
