//! Planted truth: servers with known properties are measured at default settings, and every verdict is compared with what
//! was planted.
//!
//! The servers are simulated and time is virtual, so that a run depends on its seeds alone. A run takes the path of a
//! user's run: plan with its defaults, engine, results database, analysis. The table is part of docs/results/planted-truth.md:
//!
//! ```text
//! SHAREBENCH_LONG=1 SHAREBENCH_WRITE_DOCS=1 cargo test --release -p sharebench-tests --test planted_truth -- --nocapture
//! ```
//!
//! `SHAREBENCH_LONG=1` measures every property ten times instead of once, `SHAREBENCH_SEED=N` begins with another seed, and
//! `SHAREBENCH_PROPERTY=TEXT` measures only the properties whose names contain TEXT.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the whole file is test code, which clippy recognises only by #[test]"
)]

mod count;
mod judge;
mod maps;
mod measured;
mod over_time;
mod properties;
mod table;
mod time_courses;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use count::Count;
use properties::{Property, properties};

/// Runs of each property in the table.
const RUNS: u64 = 10;
/// Largest share of wrong findings.
const MAX_WRONG_FINDINGS: f64 = 0.02;

fn is_long() -> bool {
    std::env::var_os("SHAREBENCH_LONG").is_some()
}

/// Measures the runs of one property.
fn count(property: &Property, seeds: std::ops::Range<u64>) -> Count {
    let mut count = Count::default();
    for seed in seeds {
        let judged = judge::judge(property, &measured::measure(property, seed));
        for what in &judged.wrong {
            println!("{}, seed {seed}: {what}", property.name);
        }
        count.add(&judged);
    }
    count
}

#[test]
fn no_verdict_contradicts_the_planted_property() {
    let chosen = std::env::var("SHAREBENCH_PROPERTY").unwrap_or_default();
    let properties: Vec<Property> =
        properties().into_iter().filter(|property| property.name.contains(&chosen)).collect();
    let first = std::env::var("SHAREBENCH_SEED").map_or(1, |seed| seed.parse().unwrap());
    let runs = if is_long() { RUNS } else { 1 };
    let next = AtomicUsize::new(0);
    let counts: Vec<Mutex<Count>> = properties.iter().map(|_| Mutex::default()).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                // Each thread takes the next property until none is left.
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(property) = properties.get(place) else { break };
                    let begin = std::time::Instant::now();
                    *counts[place].lock().unwrap() = count(property, first..first + runs);
                    println!("{:>6.1} s  {}", begin.elapsed().as_secs_f64(), property.name);
                }
            });
        }
    });
    let counts: Vec<Count> = counts.into_iter().map(|count| count.into_inner().unwrap()).collect();
    let rows: Vec<(&Property, &Count)> = properties.iter().zip(&counts).collect();
    let table = table::text(&rows);
    println!("{table}");
    if is_long() && chosen.is_empty() && first == 1 {
        table::in_documentation(&table);
    }
    let mut total = Count::default();
    for count in &counts {
        total.merge(count);
    }
    assert_eq!(total.answers.wrong, 0, "wrong answers");
    let claimed = total.findings.right + total.findings.wrong;
    let share = f64::from(total.findings.wrong) / f64::from(claimed.max(1));
    assert!(share <= MAX_WRONG_FINDINGS, "{} of {claimed} findings are wrong", total.findings.wrong);
}
