//! Cost of the engine itself: passes over the null target, which replies at once.

use std::process::Command;
use std::sync::{Arc, mpsc};

use sharebench_model::{Measure, RunEvent};
use sharebench_target::NullTarget;

use crate::Failure;
use crate::client;
use crate::engine::{execute, resolve};
use crate::sample::{Sample, cpu, peak_kib};
use crate::table::{Bar, Spread, Table};

/// Maximum cost of the engine per operation in nanoseconds.
const COST_BAR_NS: f64 = 150.0;
/// Maximum growth of peak memory for 30 times the operations: noise of the allocator.
const GROWTH_BAR: f64 = 1.05;

/// Prints cost and memory of recording.
pub fn measure(table: &mut Table) -> Result<(), Failure> {
    println!("\n### Recording on the null target (whole passes in the engine, nothing verified)\n");
    println!("| {:<44} | {:<32} | {:<12} |\n|---|---|---|", "what", "figure (range)", "bar");
    for (test, depth) in [("random-read", 1), ("read", 1), ("random-read", 32), ("read", 32)] {
        let samples = rounds(table.rounds(), test, depth, 20_000_000)?;
        let per = |total: fn(&Sample) -> u64| {
            Spread::new(
                samples.iter().map(|sample| total(sample) as f64 / sample.operations as f64).collect(),
            )
        };
        // The loop never waits, so its CPU time equals the wall time on an idle machine.
        let cost = per(|sample| sample.cpu_ns);
        let wall = per(|sample| sample.wall_ns);
        let what = format!("CPU ns per operation, {test}, depth {depth}");
        let verdict = table.verdict(&what, cost.median, Some(Bar::AtMost(COST_BAR_NS)));
        let figure = format!("{}; wall {:.0}", cost.shown(), wall.median);
        println!("| {what:<44} | {figure:<32} | {verdict:<12} |");
    }
    let mut peaks = Vec::new();
    for wanted in [1_000_000, 30_000_000] {
        let samples = rounds(table.rounds(), "random-read", 32, wanted)?;
        let peak = Spread::new(samples.iter().map(|sample| sample.peak_kib as f64).collect());
        let operations = samples.first().map_or(0, |sample| sample.operations);
        let what = format!("peak resident KiB at {operations} operations");
        println!("| {what:<44} | {:<32} | {:<12} |", peak.shown(), "");
        peaks.push(peak.median);
    }
    if let [few, many] = peaks.as_slice() {
        let what = "peak at 3e7 over peak at 1e6 operations";
        let verdict = table.verdict(what, many / few, Some(Bar::AtMost(GROWTH_BAR)));
        println!("| {what:<44} | {:<32.3} | {verdict:<12} |", many / few);
    }
    Ok(())
}

fn rounds(rounds: usize, test: &str, depth: u32, operations: u64) -> Result<Vec<Sample>, Failure> {
    let depth = depth.to_string();
    let operations = operations.to_string();
    let once = |_| {
        let program = std::env::current_exe()?;
        client::run(Command::new(program).args(["client", "recording", test, &depth, &operations]))
    };
    (0..rounds).map(once).collect()
}

/// Client program: one step of about `operations` operations, in whole passes of 131072.
pub fn client(words: &[String]) -> Result<Sample, Failure> {
    let [test, depth, operations] = words else {
        return Err("recording wants: test depth operations".into());
    };
    let operations: f64 = operations.parse()?;
    // A step ends by busy time; a short first step measures the busy time per operation.
    let first = step(test, depth, 20)?;
    let busy_ns = first.busy_ns as f64 / first.operations as f64;
    let before = cpu();
    let measure = step(test, depth, (operations * busy_ns / 1e6).max(1.0) as u64)?;
    // The time includes the creation of the file, a few hundredths of a second.
    let cpu_ns = cpu().saturating_sub(before).as_nanos() as u64;
    let peak_kib = peak_kib();
    Ok(Sample { operations: measure.operations, wall_ns: measure.window_ns, cpu_ns, peak_kib })
}

fn step(test: &str, depth: &str, sample_ms: u64) -> Result<Measure, Failure> {
    let plan = resolve(&format!(
        "repetitions = 1\nseed = 1\nverify = 'off'\nmin_sample_time = '{sample_ms}ms'\n[[target]]\nurl = '/null'\n\
         [depth]\nfile_size = '64MiB'\nrecord_sizes = [512]\ndepths = [{depth}]\ntests = ['{test}']\n"
    ))?;
    let (events, received) = mpsc::channel();
    execute(&plan, Arc::new(NullTarget), &events)?;
    let finished = received.try_iter().find_map(|event| match event {
        RunEvent::StepFinished(step) => Some(step.measure),
        _ => None,
    });
    finished.filter(|measure| measure.operations > 0).ok_or_else(|| "the engine finished no step".into())
}
