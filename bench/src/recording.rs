//! What the engine itself costs: passes over the null target, which answers at once.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::{Arc, mpsc};

use sharebench_engine::{Run, StopSignal};
use sharebench_model::{Measure, RunEvent};
use sharebench_plan::Plan;
use sharebench_target::{NullTarget, Target};

use crate::Failure;
use crate::client;
use crate::sample::{Sample, usage};
use crate::table::{Bar, Spread, Table};

/// Most nanoseconds that the engine may take per operation.
const COST_BAR_NS: f64 = 150.0;
/// Most that the peak of resident memory may grow by 30 times the operations: noise of the allocator.
const GROWTH_BAR: f64 = 1.05;

/// Prints cost and memory of recording.
pub fn measure(table: &mut Table) -> Result<(), Failure> {
    println!("\n### Recording on the null target (whole passes in the engine, nothing verified)\n");
    println!("| {:<44} | {:<26} | {:<14} |\n|---|---|---|", "what", "figure", "bar");
    for (test, depth) in [("random-read", 1), ("read", 1), ("random-read", 32), ("read", 32)] {
        let samples = rounds(table.rounds(), test, depth, 20_000_000)?;
        let wall = |sample: &Sample| sample.wall_ns as f64 / sample.operations as f64;
        let cost = Spread::new(samples.iter().map(wall).collect());
        let what = format!("ns per operation, {test}, depth {depth}");
        let verdict = table.verdict(&what, cost.median, Some(Bar::AtMost(COST_BAR_NS)));
        println!("| {what:<44} | {:<26} | {verdict:<14} |", cost.shown());
    }
    let mut peaks = Vec::new();
    for wanted in [1_000_000, 30_000_000] {
        let samples = rounds(table.rounds(), "random-read", 32, wanted)?;
        let peak = Spread::new(samples.iter().map(|sample| sample.peak_kib as f64).collect());
        let operations = samples.first().map_or(0, |sample| sample.operations);
        let what = format!("peak resident KiB at {operations} operations");
        println!("| {what:<44} | {:<26} | {:<14} |", peak.shown(), "");
        peaks.push(peak.median);
    }
    if let [few, many] = peaks.as_slice() {
        let what = "peak at 3e7 over peak at 1e6 operations";
        let verdict = table.verdict(what, many / few, Some(Bar::AtMost(GROWTH_BAR)));
        println!("| {what:<44} | {:<26} | {verdict:<14} |", format!("{:.3}", many / few));
    }
    Ok(())
}

fn rounds(rounds: usize, test: &str, depth: u32, operations: u64) -> Result<Vec<Sample>, Failure> {
    let (depth, operations) = (depth.to_string(), operations.to_string());
    let once = |_| {
        let program = std::env::current_exe()?;
        client::run(Command::new(program).args(["client", "recording", test, &depth, &operations]))
    };
    (0..rounds).map(once).collect()
}

/// The client program: one step of about `operations` operations, in whole passes of 131072.
pub fn client(words: &[String]) -> Result<Sample, Failure> {
    let [test, depth, operations] = words else {
        return Err("recording wants: test depth operations".into());
    };
    let operations: f64 = operations.parse()?;
    // A step ends by busy time, which a short first step tells per operation.
    let first = step(test, depth, 20)?;
    let busy_ns = first.busy_ns as f64 / first.operations as f64;
    let measure = step(test, depth, (operations * busy_ns / 1e6).max(1.0) as u64)?;
    let cpu = measure.client_cpu;
    Ok(Sample {
        operations: measure.operations,
        wall_ns: measure.window_ns,
        cpu_ns: cpu.user_ns + cpu.kernel_ns,
        peak_kib: usage().1,
    })
}

fn step(test: &str, depth: &str, sample_ms: u64) -> Result<Measure, Failure> {
    let plan = format!(
        "repetitions = 1\nseed = 1\nverify = 'off'\nsample = '{sample_ms}ms'\n[[target]]\nurl = '/null'\n\
         [depth]\nfile_size = '64MiB'\nrecord_sizes = [512]\ndepths = [{depth}]\ntests = ['{test}']\n"
    );
    let plan = Plan::parse(&plan).map_err(|mistakes| mistakes.to_string())?;
    let plan = plan.resolve().map_err(|mistakes| mistakes.to_string())?;
    let targets: [Arc<dyn Target>; 1] = [Arc::new(NullTarget)];
    let (events, received) = mpsc::channel();
    let run = Run {
        plan: &plan,
        targets: &targets,
        done: &BTreeSet::new(),
        directory: ".sharebench-bench",
        resumed: false,
        stop: &StopSignal::default(),
        events: &events,
    };
    run.execute()?;
    let finished = received.try_iter().find_map(|event| match event {
        RunEvent::StepFinished(step) => Some(step.measure),
        _ => None,
    });
    finished.filter(|measure| measure.operations > 0).ok_or_else(|| "the engine finished no step".into())
}
