//! How long the analysis of a large sweep takes: 2,024 cells, 6 repetitions, 2 targets.
#![expect(clippy::print_stdout, reason = "the time is what this program is for")]

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::time::Instant;

use sharebench_analysis::{Options, analyse};
use synthetic::{Synthetic, grid, plausible};

/// Number of passes; the fastest is the one that other programs disturbed least.
const PASSES: usize = 5;

fn main() {
    let mut run = Synthetic::new("large", &["smb", "nfs"], 5);
    let cells: Vec<_> = (0..22).flat_map(|test| grid(&[&format!("test-{test}")], 12, 10)).collect();
    run.sweep(&cells, 6, plausible);
    let runs = [run.run];
    let mut times = Vec::new();
    for _ in 0..PASSES {
        let start = Instant::now();
        std::hint::black_box(analyse(&runs, &Options::default()));
        times.push(start.elapsed());
    }
    let fastest = times.iter().min();
    println!("{} cells, {} steps: {fastest:?} at best of {times:?}", cells.len(), runs[0].steps.len());
}
