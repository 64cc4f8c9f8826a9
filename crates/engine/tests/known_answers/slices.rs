//! Targets that take turns in slices: what disturbs both cancels, passes in file order are whole, and a target that fails
//! ends the run (docs/design/cells.md).

use std::sync::Arc;

use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, CollectedRun};
use sharebench_model::{ErrorClass, RunOutcome, StepError, StepResult};
use sharebench_plan::Plan;
use sharebench_simulated::{Device, Served, Service, SimulatedTarget};
use sharebench_target::Target;

use crate::known_answers::lab::millis;

struct Pair {
    outcome: RunOutcome,
    steps: Vec<StepResult>,
    logs: [Vec<Served>; 2],
}

/// Measures one test on two servers.
fn measured(rules: &str, sweep: &str, devices: [Device; 2]) -> Pair {
    let clock = Clock::virtual_at(0);
    let targets = devices.map(|device| SimulatedTarget::new(MemoryTarget::new(), &clock, device));
    let text = format!(
        "seed = 5\ntimeout = '10s'\n{rules}\n[[target]]\nname = 'a'\nurl = '/a'\n[[target]]\nname = 'b'\nurl = '/b'\n\
         [sweep]\nrecord_sizes = ['4KiB']\n{sweep}\n"
    );
    let plan = Plan::parse(&text).unwrap().resolve().unwrap();
    let shared: Vec<Arc<dyn Target>> =
        targets.iter().map(|target| Arc::new(target.clone()) as Arc<dyn Target>).collect();
    let run = CollectedRun::new(&plan, &shared, &clock);
    let end = run.end.unwrap();
    assert_eq!(end.leftovers, Vec::new());
    Pair { outcome: end.outcome, steps: run.steps, logs: targets.map(|target| target.log()) }
}

fn server(service_us: u64) -> Device {
    Device::new(1).service_center(1, Service::Fixed(std::time::Duration::from_micros(service_us)))
}

/// ln of the rate of `a` over that of `b`, per repetition.
fn log_ratios(steps: &[StepResult]) -> Vec<f64> {
    let rate = |target, repetition| {
        let is = |step: &&StepResult| (step.target, step.repetition) == (target, repetition);
        steps.iter().find(is).and_then(|step| step.measure.throughput())
    };
    (0..).map_while(|repetition| Some((rate(0, repetition)? / rate(1, repetition)?).ln())).collect()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| value.abs().max(largest))
}

#[test]
fn drift_of_both_servers_cancels_in_slices() {
    let rules = "repetitions = 12\nmin_sample_time = '200ms'\n";
    let sweep = "file_sizes = ['1MiB']\ntests = ['random-read']";
    let drifting = || [server(100).wearing(0.5), server(103).wearing(0.5)];
    let whole = measured(&format!("{rules}slice_time = '0s'"), sweep, drifting());
    let slices = measured(rules, sweep, drifting());
    let truth = 1.03f64.ln();
    let off = |pair: &Pair| -> Vec<f64> { log_ratios(&pair.steps).iter().map(|log| log - truth).collect() };
    let whole = off(&whole);
    let slices = off(&slices);
    println!("off by at most {:.4} in whole samples, {:.4} in slices", largest(&whole), largest(&slices));
    assert_eq!((whole.len(), slices.len()), (12, 12));
    assert!(largest(&whole) > 0.02, "{whole:?}");
    assert!(largest(&slices) < largest(&whole) / 8.0, "{slices:?}");
    let mean = slices.iter().sum::<f64>() / slices.len() as f64;
    assert!(mean.abs() < 0.003, "{slices:?}");
}

/// Changes of the server in the order of service of single reads of the cell.
fn changes(logs: &[Vec<Served>; 2]) -> usize {
    let of =
        |server: usize| logs[server].iter().filter(|served| !served.write).map(move |s| (s.start, server));
    let mut order: Vec<(u64, usize)> = of(0).chain(of(1)).collect();
    order.sort_unstable();
    order.windows(2).filter(|pair| pair[0].1 != pair[1].1).count()
}

#[test]
fn only_random_order_pauses_within_a_pass() {
    let rules = "repetitions = 1\nverify = 'off'\nmin_sample_time = '60ms'\n";
    // A pass lasts 102 ms: ten slices, or one whole.
    let random =
        measured(rules, "file_sizes = ['4MiB']\ntests = ['random-read']", [server(100), server(100)]);
    let ordered = measured(rules, "file_sizes = ['4MiB']\ntests = ['read']", [server(100), server(100)]);
    assert!(changes(&random.logs) >= 10, "{}", changes(&random.logs));
    assert_eq!(changes(&ordered.logs), 1);
    for step in random.steps.iter().chain(&ordered.steps) {
        assert_eq!((step.measure.passes, step.measure.operations), (1, 1024));
        assert_eq!(step.measure.busy_ns, 1024 * 100_000, "the turns of the other are in no count");
    }
}

#[test]
fn a_slice_holds_fifty_operations_of_each_in_flight() {
    let rules = "repetitions = 1\nverify = 'off'\nmin_sample_time = '60ms'\n";
    let slow = || Device::new(1).service_center(8, Service::Fixed(millis(1)));
    let pair =
        measured(rules, "file_sizes = ['16MiB']\ntests = ['random-read']\ndepths = [8]", [slow(), slow()]);
    // 4,096 reads in slices of 400, on both.
    let between = changes(&pair.logs);
    assert!((11..=21).contains(&between), "{between}");
    for step in &pair.steps {
        assert_eq!(step.measure.operations, 4096);
        assert_eq!(step.measure.busy_ns, 512_000_000, "all eight service centers work until a slice ends");
    }
}

#[test]
fn a_target_that_fails_ends_the_run_without_half_a_pair() {
    let mute = || server(100).mute_every(1);
    let pair =
        measured("repetitions = 1", "file_sizes = ['64KiB']\ntests = ['random-read']", [server(100), mute()]);
    let RunOutcome::Incomplete(StepError::TargetLost { class, reason }) = pair.outcome else {
        panic!("{:?}", pair.outcome)
    };
    assert_eq!(class, ErrorClass::Timeout);
    assert!(reason.starts_with("b: "), "{reason}");
    assert!(pair.steps.is_empty());
}
