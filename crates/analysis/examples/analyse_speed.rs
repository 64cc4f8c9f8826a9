//! How long the analysis of a large sweep takes: 20,000 cells in 40 tests, 6 repetitions, 2 targets.
#![expect(clippy::print_stdout, reason = "the time is what this program is for")]

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::time::Instant;

use sharebench_analysis::{Options, analyse};
use synthetic::{Synthetic, cell, plausible};

/// Tests, file sizes and record sizes.
const GRID: [u64; 3] = [40, 25, 20];

fn main() {
    let mut run = Synthetic::new("large", &["smb", "nfs"], 5);
    let [tests, files, records] = GRID;
    let sizes = (0..files).flat_map(|file| (0..records).map(move |record| (file, record)));
    let sizes: Vec<_> = sizes.map(|(file, record)| ((file + 1) << 20, (record + 1) << 12)).collect();
    let of_test =
        |test: u64| sizes.iter().map(move |(file, record)| cell(&format!("test-{test}"), *file, *record));
    let cells: Vec<_> = (0..tests).flat_map(of_test).collect();
    run.sweep(&cells, 6, plausible);
    let runs = [run.run];
    // Time of the process is that of the drawn run too: a program that measures CPU time subtracts it.
    if std::env::args().any(|word| word == "--draw-only") {
        return;
    }
    let start = Instant::now();
    std::hint::black_box(analyse(&runs, &Options::default()));
    println!("{} cells, {} steps: {:?}", cells.len(), runs[0].steps.len(), start.elapsed());
}
