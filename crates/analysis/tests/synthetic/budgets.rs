//! Runs of one operation after another whose requests and CPU time are counted.

use sharebench_analysis::RunData;
use sharebench_model::{Coordinates, CpuTime, Random, RateBase, StepResult, TcpCounts, WireCount, axis};
use sharebench_stats::normal_quantile;

use super::{Synthetic, grid};

/// Small records at a time per operation that `time_s` gives for each target.
pub fn run(targets: &[&str], time_s: impl Fn(usize) -> f64) -> RunData {
    run_of(&["random-read"], targets, time_s)
}

fn run_of(tests: &[&str], targets: &[&str], time_s: impl Fn(usize) -> f64) -> RunData {
    let mut run = Synthetic::new("budgets", targets, 5);
    (run.noise, run.drift) = (0.004, 0.004);
    let cells: Vec<Coordinates> = grid(tests, 4, 2);
    let record = |at: &Coordinates| at.number(axis::RECORD_SIZE).unwrap_or(1) as f64;
    run.sweep(&cells, 8, |target, at| record(at) / time_s(target));
    for step in &mut run.run.steps {
        let operations = step.measure.operations;
        step.measure.client_cpu = CpuTime { user_ns: operations * 10_000, kernel_ns: 0 };
        let wire = WireCount {
            requests: operations,
            payload_received: step.measure.bytes.read,
            payload_sent: step.measure.bytes.written,
            ..WireCount::default()
        };
        step.measure.wire = Some(wire).into();
    }
    run.run
}

/// Makes each operation of a step need this number of requests.
fn request(step: &mut StepResult, each: u64) {
    let requests = step.measure.operations * each;
    let wire = WireCount { requests, ..(*step.measure.wire).unwrap_or_default() };
    step.measure.wire = Some(wire).into();
}

/// Two systems, the first of which needs three requests per operation.
pub fn more_round_trips(tests: &[&str]) -> RunData {
    let mut run = run_of(tests, &["smb", "nfs"], |target| if target == 0 { 1.5e-3 } else { 0.5e-3 });
    for step in run.steps.iter_mut().filter(|step| step.target == 0) {
        request(step, 3);
    }
    run
}

/// Two systems, the first of which costs more of this client's CPU.
pub fn more_client_cpu() -> RunData {
    let mut run = run(&["smb", "nfs"], |target| if target == 0 { 200e-6 } else { 100e-6 });
    for step in run.steps.iter_mut().filter(|step| step.target == 0) {
        step.measure.client_cpu.user_ns = step.measure.operations * 110_000;
    }
    run
}

/// A server compared with itself: interleaved repetitions of cells whose noise is drawn, without times of operations.
pub fn equal_systems(seed: u64) -> RunData {
    let mut run = Synthetic::new("equal", &["one", "other"], seed);
    let mut random = Random::new(seed, 8);
    let mut chance = |scale: f64| scale * normal_quantile(random.unit().max(f64::MIN_POSITIVE));
    let noise = [0.02, 0.05, 0.10, 0.15][seed as usize % 4];
    let repetitions = [6, 8, 10, 12][seed as usize / 4 % 4];
    for repetition in 0..repetitions {
        let shared = chance(noise);
        for cell in grid(&["read", "create"], 2, 3) {
            for target in 0..2 {
                // A stall now and then.
                let stall = if chance(1.0) > 2.0 { 0.5 } else { 0.0 };
                run.bare_step(repetition, cell.clone(), 1e8 * (shared + chance(noise) - stall).exp());
                let Some(step) = run.run.steps.last_mut() else { continue };
                step.target = target;
                step.measure.client_cpu = CpuTime { user_ns: 10_000_000, kernel_ns: 0 };
                let wire =
                    WireCount { requests: 1_000, payload_received: 100_000_000, ..WireCount::default() };
                step.measure.wire = Some(wire).into();
                // As many operations in another time.
                step.measure.busy_ns = 100_000_000_000_000_000 / step.measure.bytes.read;
                step.measure.bytes.read = 100_000_000;
            }
        }
    }
    run.run
}

/// One system at three distances, with two requests per operation.
pub fn distant() -> RunData {
    let distances = [0.0, 5e-3, 20e-3];
    let mut run = run(&["nfs-0", "nfs-5ms", "nfs-20ms"], |target| 300e-6 + 2.0 * distances[target]);
    let far = ["0", "5ms", "20ms"];
    for (target, far) in run.header.targets.iter_mut().zip(far) {
        target.url = format!("nfs://nas/export?far={far}");
    }
    for step in &mut run.steps {
        request(step, 2);
    }
    run
}

/// A test of names: the window divides the operations, and no busy time is added up.
pub fn names(min_rtt_us: u32) -> RunData {
    let mut run = run_of(&["create"], &["nas"], |_| 30e-6);
    for step in &mut run.steps {
        let measure = &mut step.measure;
        (measure.rate_base, measure.window_ns, measure.busy_ns) = (RateBase::Window, measure.busy_ns, 0);
        let tcp = TcpCounts { retransmissions: 0, rwnd_limited_us: 0, ..lossy(min_rtt_us) };
        measure.tcp = Some(tcp).into();
    }
    run
}

/// What the kernel counts on a path with this round trip that loses segments, to a server whose receive window is small.
pub fn lossy(min_rtt_us: u32) -> TcpCounts {
    TcpCounts {
        min_rtt_us,
        rtt_us: min_rtt_us + 500,
        rttvar_us: 100,
        cwnd: 10,
        pmtu: 1500,
        segments_sent: 1_000,
        retransmissions: 10,
        segments_received: 1_000,
        out_of_order: 0,
        busy_us: 1_000_000,
        rwnd_limited_us: 600_000,
        sndbuf_limited_us: 0,
    }
}
