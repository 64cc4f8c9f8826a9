//! How long the analysis of a large sweep takes: 20,000 cells in 40 tests, 6 repetitions, 2 targets.
#![expect(clippy::print_stdout, reason = "the time is what this program is for")]

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::time::Instant;

use sharebench_analysis::{Options, analyse};
use sharebench_model::Histogram;
use synthetic::{Synthetic, cell, plausible};

/// Tests, file sizes and record sizes.
const GRID: [u64; 3] = [40, 25, 20];

fn main() {
    let mut run = Synthetic::new("large", &["smb", "nfs"], 5);
    let [tests, files, records] = GRID;
    let sizes = (0..files).flat_map(|file| (0..records).map(move |record| (file, record)));
    let sizes: Vec<_> = sizes.map(|(file, record)| ((file + 1) << 20, (record + 1) << 12)).collect();
    for test in 0..tests {
        let of_test = |(file, record): &(u64, u64)| cell(&format!("test-{test}"), *file, *record);
        let cells: Vec<_> = sizes.iter().map(of_test).collect();
        let drawn = run.run.steps.len();
        run.sweep(&cells, 6, plausible);
        // As loaded from a database: times in few buckets.
        for step in &mut run.run.steps[drawn..] {
            let measure = &mut step.measure;
            for times in [&mut measure.response, &mut measure.service, &mut measure.lag] {
                *times = Histogram::from_v2(&times.to_v2()).expect("what was just encoded");
            }
        }
    }
    let runs = [run.run];
    let before = cpu_seconds();
    let start = Instant::now();
    std::hint::black_box(analyse(&runs, &Options::default()));
    let cpu = cpu_seconds() - before;
    let steps = runs[0].steps.len();
    println!(
        "{} cells, {steps} steps: {:?}, {cpu:.2} s of CPU time",
        tests * files * records,
        start.elapsed()
    );
}

/// CPU time of this process until now, in steps of 10 ms; NaN where /proc does not state it.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may contain spaces; user and system time are fields 14 and 15 of proc(5).
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = after_name.split(' ').skip(11).take(2).map(str::parse::<f64>);
    ticks.sum::<Result<f64, _>>().map_or(f64::NAN, |ticks| ticks / 100.0)
}
