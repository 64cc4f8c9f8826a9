//! Known answer K18 (docs/measure/measurement-rules.md K18): wrong data is always caught; right data of single operations is
//! moved as asked.

use sharebench_doubles::{Fault, FaultyTarget, MemoryTarget};
use sharebench_engine::Clock;
use sharebench_model::{ErrorClass, Verdict};
use sharebench_simulated::{Device, Served, Service, SimulatedTarget};

use crate::known_answers::lab::{millis, report_figure, steps, verdict};

const PLAN: &str = "seed = 18\nverify = 'stamps'\n[[target]]\nurl = '/simulated'\n[load]\nusers = [6]\n\
    workload = 'single'\nblock = '4KiB'\nscale = '4MiB'\nthink = '1ms'\nwarm_up = '0s'\nmeasure = '3s'\n";

#[test]
fn single_operations_are_one_request_each_and_leave_no_files() {
    for (workload, more) in [
        ("single", "users = [4]\nthink = 'exp 2ms'"),
        ("single:operation=write", "users = [4]\nthink = '0ms'"),
        ("single:operation=write", "arrivals = 'constant'\nrates = [300]\nusers = [1000]"),
    ] {
        let clock = Clock::virtual_at(0);
        let memory = MemoryTarget::new();
        let device = Device::new(1).service_center(2, Service::Exponential(millis(1)));
        let plan = format!(
            "seed = 3\n[[target]]\nurl = '/s'\n[load]\nworkload = '{workload}'\nblock = '1000'\nscale = '100KB'\n\
             warm_up = '1s'\nmeasure = '2s'\n{more}"
        );
        let step = steps(&plan, SimulatedTarget::new(memory.clone(), &clock, device), &clock).remove(0);
        let measure = &step.measure;
        assert!(measure.operations > 400 && measure.operations.abs_diff(measure.transactions) <= 4);
        assert_eq!(measure.wire.unwrap().requests, measure.operations, "{workload}");
        assert_eq!(measure.bytes.total(), measure.operations * 1000);
        assert_eq!(measure.verified, measure.bytes.read);
        // Jobs of an open load that were not needed are not missing.
        assert_eq!(verdict(&step, "participation"), Verdict::Valid, "{:?}", step.checks);
        assert_eq!(memory.names(), Vec::<String>::new());
    }
}

/// How many of a session's reads delivered other bytes than those asked for.
fn spoilt<'a>(fault: Fault, faults: &[u64], reads: impl Iterator<Item = &'a Served>) -> u64 {
    let mut spoilt = 0;
    let mut earlier = None;
    for (nth, read) in reads.enumerate() {
        if !faults.contains(&(nth as u64)) {
            earlier = Some(read.offset);
        } else if fault != Fault::Stale || earlier != Some(read.offset) {
            // Stale bytes are right by chance where the read before was of the same block.
            spoilt += 1;
        }
    }
    spoilt
}

#[test]
fn k18_every_stale_zero_and_shifted_block_is_caught() {
    for fault in [Fault::Stale, Fault::Zero, Fault::Shift(512), Fault::Shift(1)] {
        let clock = Clock::virtual_at(0);
        let device = Device::new(1).service_center(2, Service::Exponential(millis(1)));
        let simulated = SimulatedTarget::new(MemoryTarget::new(), &clock, device);
        let faults: Vec<u64> = (3..100_000).step_by(7).collect();
        let faulty = FaultyTarget::new(simulated.clone());
        let faulty = faults.iter().fold(faulty, |target, &nth| target.data(nth, fault));
        let step = steps(PLAN, faulty, &clock).remove(0);
        let log = simulated.log();
        let end = step.measure.window_ns;
        let end = crate::known_answers::lab::window_start(&log) + end;
        // Session 0 is the engine's own, which wrote the file.
        let spoilt: u64 = (1..=6)
            .map(|session| {
                let reads = log.iter().filter(|served| served.session == session && served.end < end);
                spoilt(fault, &faults, reads)
            })
            .sum();
        let caught = step.measure.errors.get(&ErrorClass::DataMismatch).copied().unwrap_or(0);
        report_figure(&format!("K18 {fault:?}: caught of {spoilt}"), caught);
        assert!(spoilt > 500 && step.verdict() == Verdict::Invalid);
        // A read in flight at the end of the window is reported too.
        assert!((spoilt..=spoilt + 6).contains(&caught), "{fault:?}: {caught} of {spoilt}");
    }
}
