//! Known answer K1 (docs/measure/measurement-rules.md K1) for the other tests of a sweep: streams, mixes, strides, and
//! several jobs at once, all without spread.

use sharebench_doubles::MemoryTarget;
use sharebench_engine::Clock;
use sharebench_model::{StepResult, Verdict};
use sharebench_simulated::{Device, Service, SimulatedTarget};

use crate::known_answers::lab::{close, millis, steps, verdict};

const SERVICE_NS: u64 = 10_000_000;

/// Steps on a server with N service centers, each with a service time of 10 ms.
fn measured(servers: u32, sweep: &str) -> Vec<StepResult> {
    let clock = Clock::virtual_at(0);
    let device = Device::new(1).service_center(servers, Service::Fixed(millis(10)));
    let target = SimulatedTarget::new(MemoryTarget::new(), &clock, device);
    let plan = format!(
        "seed = 1\nrepetitions = 1\nmin_sample_time = '5s'\nverify = 'full'\n[[target]]\nurl = '/simulated'\n\
         [sweep]\nfile_sizes = ['96KiB']\nrecord_sizes = ['4KiB']\n{sweep}\n"
    );
    steps(&plan, target, &clock)
}

#[test]
fn k1_every_test_is_charged_its_requests_and_nothing_else() {
    let steps = measured(1, "tests = ['requests', 'streams']\nstream_buffer = '10KiB'");
    assert_eq!(steps.len(), 14);
    for step in steps {
        let measure = &step.measure;
        // 96 KiB are 24 records, or ten buffers of 10 KiB, of which the last is short.
        let requests = measure.wire.unwrap().requests;
        let stream = step.coordinates.text("test").unwrap().starts_with('f');
        assert_eq!(requests, measure.passes * if stream { 10 } else { 24 }, "{}", step.coordinates);
        assert_eq!(measure.operations, measure.passes * 24);
        assert_eq!(measure.busy_ns, requests * SERVICE_NS, "{}", step.coordinates);
        assert!(measure.busy_ns >= 5_000_000_000, "the sample is full");
    }
}

#[test]
fn k1_concurrent_jobs_share_the_servers() {
    for (jobs, servers, rate) in [(1, 2, 100.0), (2, 2, 200.0), (3, 3, 300.0), (4, 2, 200.0)] {
        for sharing in ["", "shared_file = true\nstride = [3]"] {
            let sweep = format!("tests = ['requests']\njobs = [{jobs}]\n{sharing}");
            for step in measured(servers, &sweep) {
                let what =
                    format!("K1 {jobs} jobs, {servers} servers, {}", step.coordinates.text("test").unwrap());
                close(&what, step.measure.operation_rate().unwrap(), rate, 0.0);
                assert_eq!(step.measure.shares.len(), jobs);
                let share = step.measure.shares[0];
                assert!(step.measure.shares.iter().all(|other| other.operations == share.operations));
                assert_eq!(verdict(&step, "jobs"), Verdict::Valid);
                assert_eq!(step.verdict(), Verdict::Valid, "{:?}", step.checks);
            }
        }
    }
}

#[test]
fn k1_the_same_seed_gives_the_same_nanoseconds() {
    let sweep = "tests = ['requests', 'streams']\njobs = [3]";
    let first = measured(2, sweep);
    let again = measured(2, sweep);
    assert!(first.iter().zip(&again).all(|(a, b)| a.measure == b.measure && a.checks == b.checks));
}
