//! Known answers K3 and K4 (docs/measure/measurement-rules.md K3, K4): open queues. To the nanosecond against the recursion
//! over the very sequence that was drawn, and
//! within the spread of that many draws against theory.

use sharebench_model::Verdict;
use sharebench_simulated::{Device, Served, Service};

use crate::known_answers::lab::{
    close, histogram, load, mean_ms, millis, quantile_ms, verdict, window_start,
};

/// One queue: how it is named, the seed of its draws, its servers, its service, and theory's mean response in services at load
/// .5, .7 and .9.
struct Queue {
    name: &'static str,
    seed: u64,
    servers: u32,
    service: fn() -> Service,
    truth: [f64; 3],
}

/// Loads, operations and tolerances of the means and of the 99th percentile.
const LOADS: [(f64, u64, f64, f64); 3] =
    [(0.5, 200_000, 0.02, 0.05), (0.7, 200_000, 0.05, 0.08), (0.9, 1_000_000, 0.10, 0.15)];

/// Response times by the recursion of Kiefer and Wolfowitz (with one server: of Lindley), from arrivals and
/// services alone: the work left at each server, as the next arrival finds it.
fn recursion(served: &[&Served], servers: u32) -> Vec<u64> {
    let mut work = vec![0u64; servers as usize];
    let mut last = 0;
    let respond = |operation: &&Served| {
        let gap = operation.arrival - last;
        last = operation.arrival;
        for left in &mut work {
            *left = left.saturating_sub(gap);
        }
        work.sort_unstable();
        work[0] += operation.service;
        work[0]
    };
    served.iter().map(respond).collect()
}

fn measure(queue: &Queue, case: usize) {
    let (rho, operations, tolerance, p99_tolerance) = LOADS[case];
    let rate = (rho * f64::from(queue.servers) * 1000.0).round();
    let seconds = operations as f64 / rate;
    let seed = 10 * queue.seed + case as u64;
    let device = Device::new(seed).service_center(queue.servers, (queue.service)());
    let pace = format!(
        "users = [512]\narrivals = 'poisson'\nrates = [{rate}]\nwarm_up = '0s'\nmeasure = '{seconds:.0}s'"
    );
    let (step, log) = load(seed, &pace, device);
    let start = window_start(&log);
    let end = start + step.measure.window_ns;
    let reads: Vec<&Served> = log.iter().filter(|served| !served.write).collect();
    let responses = recursion(&reads, queue.servers);
    let differing =
        reads.iter().zip(&responses).filter(|(served, response)| served.end - served.arrival != **response);
    assert_eq!(differing.count(), 0, "0 ns against the recursion");
    let in_window = reads.iter().zip(&responses).filter(|(served, _)| served.end < end);
    assert_eq!(step.measure.response, histogram(in_window.map(|(_, response)| *response)));
    assert_eq!((step.measure.lag.max(), verdict(&step, "lag")), (1, Verdict::Valid), "0 counts as 1 ns");
    assert_eq!(verdict(&step, "offered"), Verdict::Valid);

    let name = format!("{} rho {rho}", queue.name);
    let mean = mean_ms(&step.measure.response);
    close(&format!("{name}: R/S, n = {}", step.measure.transactions), mean, queue.truth[case], tolerance);
    if queue.name == "K3 M/M/1" {
        let p99 = quantile_ms(&step.measure.response, 0.99);
        close(&format!("{name}: p99/S"), p99, 4.605_17 * queue.truth[case], p99_tolerance);
    }
}

const EXPONENTIAL: fn() -> Service = || Service::Exponential(millis(1));
const MM1: Queue =
    Queue { name: "K3 M/M/1", seed: 1, servers: 1, service: EXPONENTIAL, truth: [2.0, 1.0 / 0.3, 10.0] };
const MM2: Queue =
    Queue { name: "K4 M/M/2", seed: 2, servers: 2, service: EXPONENTIAL, truth: [1.3333, 1.9608, 5.2632] };
const MM4: Queue =
    Queue { name: "K4 M/M/4", seed: 3, servers: 4, service: EXPONENTIAL, truth: [1.0870, 1.3572, 2.9694] };
const MD1: Queue = Queue {
    name: "K4 M/D/1",
    seed: 4,
    servers: 1,
    service: || Service::Fixed(millis(1)),
    truth: [1.5, 2.1667, 5.5],
};

// A test per queue and load, so that the processors share them.
macro_rules! queue_tests {
    ($($test:ident: $queue:ident $case:literal;)*) => {
        $(#[test] fn $test() { measure(&$queue, $case); })*
    };
}

queue_tests! {
    k3_one_server_half_loaded: MM1 0;
    k3_one_server_loaded_to_seven_tenths: MM1 1;
    k3_one_server_loaded_to_nine_tenths: MM1 2;
    k4_two_servers_half_loaded: MM2 0;
    k4_two_servers_loaded_to_seven_tenths: MM2 1;
    k4_two_servers_loaded_to_nine_tenths: MM2 2;
    k4_four_servers_half_loaded: MM4 0;
    k4_four_servers_loaded_to_seven_tenths: MM4 1;
    k4_four_servers_loaded_to_nine_tenths: MM4 2;
    k4_constant_service_half_loaded: MD1 0;
    k4_constant_service_loaded_to_seven_tenths: MD1 1;
    k4_constant_service_loaded_to_nine_tenths: MD1 2;
}
