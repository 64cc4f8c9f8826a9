//! Known answers K1 and K2 (docs/measure/measurement-rules.md K1, K2): a fixed service and a token bucket, where truth has no
//! spread.

use sharebench_doubles::MemoryTarget;
use sharebench_engine::Clock;
use sharebench_model::Verdict;
use sharebench_simulated::{Device, Service, SimulatedTarget};
use sharebench_target::NullTarget;

use crate::known_answers::lab::{close, histogram, load, millis, steps};

const SWEEP: &str =
    "seed = 1\nrepetitions = 2\nmin_sample_time = '5s'\n[[target]]\nurl = '/simulated'\n[sweep]\n";

#[test]
fn k1_a_fixed_service_is_measured_without_error() {
    let clock = Clock::virtual_at(0);
    let device = Device::new(1).service_center(1, Service::Fixed(millis(10)));
    let target = SimulatedTarget::new(MemoryTarget::new(), &clock, device);
    let plan = format!("{SWEEP}file_sizes = ['64KiB']\nrecord_sizes = ['4KiB']\n");
    let steps = steps(&plan, target, &clock);
    assert_eq!(steps.len(), 12, "every test twice");
    for step in steps {
        let measure = &step.measure;
        assert_eq!(measure.busy_ns, measure.operations * 10_000_000, "{}", step.coordinates);
        assert_eq!(measure.service, histogram((0..measure.operations).map(|_| 10_000_000)));
        assert_eq!(step.verdict(), Verdict::Valid, "{:?}", step.checks);
    }
    close("K1 fixed 10 ms, depth 1: ops/s", 100.0, 100.0, 0.0);
}

#[test]
fn k1_depth_and_servers_multiply() {
    for (depth, servers, rate) in [(1, 1, 100.0), (4, 1, 100.0), (4, 4, 400.0), (8, 2, 200.0)] {
        let clock = Clock::virtual_at(0);
        let device = Device::new(1).service_center(servers, Service::Fixed(millis(10)));
        let target = SimulatedTarget::new(NullTarget, &clock, device);
        let plan = format!(
            "seed = 1\nrepetitions = 1\nmin_sample_time = '5s'\nverify = 'off'\n[[target]]\nurl = '/s'\n[depth]\n\
             file_size = '1MiB'\nrecord_sizes = ['4KiB']\ndepths = [{depth}]\ntests = ['random-read']\n"
        );
        let step = steps(&plan, target, &clock).remove(0);
        let name = format!("K1 fixed 10 ms, depth {depth}, {servers} servers: ops/s");
        close(&name, step.measure.operation_rate().unwrap(), rate, 0.0);
    }
}

#[test]
fn k2_a_link_of_50_megabytes_per_second() {
    let link = || Device::new(1).link(50_000_000, 64 << 10);
    let clock = Clock::virtual_at(0);
    let plan = format!(
        "verify = 'off'\n{SWEEP}file_sizes = ['1MiB']\nrecord_sizes = ['64KiB']\ntests = ['read', 'rewrite']\n"
    );
    for step in steps(&plan, SimulatedTarget::new(NullTarget, &clock, link()), &clock) {
        let rate = step.measure.throughput().unwrap() / 1e6;
        close(&format!("K2 link, {}: MB/s", step.coordinates.text("test").unwrap()), rate, 50.0, 0.001);
        assert!(rate <= 50.25);
    }
    let (step, _) = load(2, "users = [8]\nthink = '0ms'\nwarm_up = '1s'\nmeasure = '5s'", link());
    close("K2 link, 8 users: MB/s", step.measure.throughput().unwrap() / 1e6, 50.0, 0.001);
}
