//! The state of a server's cache before each repetition: a server with a cache of 24 MiB, and files that fit into it or
//! not.

use std::collections::BTreeMap;
use std::time::Duration;

use sharebench_engine::Clock;
use sharebench_model::{StepResult, axis};
use sharebench_simulated::{Device, Replacement, Served, ServerCache, Service, SimulatedTarget};
use sharebench_target::NullTarget;

use crate::known_answers::lab::steps;

const RECORD: u64 = 64 << 10;
const MIB: u64 = 1 << 20;
const STORAGE: Duration = Duration::from_millis(1);

fn device() -> Device {
    let cache = ServerCache {
        blocks: (24 * MIB / RECORD) as usize,
        block_bytes: RECORD as u32,
        read_ahead: 0,
        lies: false,
        replacement: Replacement::LeastRecentlyUsed,
    };
    Device::new(1).cache(cache, Service::Fixed(Duration::from_micros(200)), Service::Fixed(STORAGE))
}

/// Steps of files below and above the size of the cache, with the server's log of them.
fn measured(tests: &str, state: &str) -> (Vec<StepResult>, Vec<Served>) {
    let clock = Clock::virtual_at(0);
    let target = SimulatedTarget::new(NullTarget, &clock, device());
    let plan = format!(
        "seed = 5\nrepetitions = 6\nverify = 'off'\n[[target]]\nurl = '/simulated'\n[sweep]\n\
         file_sizes = ['16MiB', '64MiB']\nrecord_sizes = [{RECORD}]\ntests = {tests}\n{state}\n"
    );
    (steps(&plan, target.clone(), &clock), target.log())
}

/// Greatest rate of a cell over its smallest one, by test and file size.
fn spread(steps: &[StepResult]) -> BTreeMap<(String, u64), f64> {
    let mut rates: BTreeMap<(String, u64), Vec<f64>> = BTreeMap::new();
    for step in steps {
        let test = step.coordinates.text(axis::TEST).unwrap().to_owned();
        let size = step.coordinates.number(axis::FILE_SIZE).unwrap() / MIB;
        rates.entry((test, size)).or_default().push(step.measure.throughput().unwrap());
    }
    let extremes = |rates: Vec<f64>| {
        rates.iter().fold(0.0, |a: f64, b| a.max(*b)) / rates.iter().fold(f64::MAX, |a, b| a.min(*b))
    };
    rates.into_iter().map(|(cell, rates)| (cell, extremes(rates))).collect()
}

/// Rates of the cells of one test and size, in MB/s.
fn rates(steps: &[StepResult], size: u64) -> Vec<f64> {
    let of = |step: &&StepResult| step.coordinates.number(axis::FILE_SIZE) == Some(size * MIB);
    steps.iter().filter(of).map(|step| step.measure.throughput().unwrap() / 1e6).collect()
}

#[test]
fn as_is_the_state_depends_on_the_cell_before() {
    let (steps, _) = measured("['read']", "server_cache = 'as-is'");
    let spread = spread(&steps);
    assert!(spread[&("read".to_owned(), 16)] > 2.0, "{spread:?}");
}

#[test]
fn a_warm_cache_is_the_same_in_each_repetition() {
    for tests in
        ["['read']", "['backward-read', 'random-read', 'stride-read']", "['read', 'rewrite', 'random-mix']"]
    {
        let (steps, _) = measured(tests, "");
        for (cell, spread) in spread(&steps) {
            // A file in random order that is larger than the cache meets another part of it each time.
            let allowed = if cell.0.starts_with("random") && cell.1 == 64 { 1.15 } else { 1.0 + 1e-9 };
            assert!(spread <= allowed, "{cell:?}: {spread}");
        }
    }
}

#[test]
fn a_cold_cache_is_the_same_in_each_repetition_and_holds_nothing_of_the_file() {
    let (steps, log) = measured("['read', 'rewrite']", "server_cache = 'cold'\ndisplace = '32MiB'");
    assert!(spread(&steps).values().all(|spread| *spread <= 1.0 + 1e-9), "{:?}", spread(&steps));
    let read = |step: &&StepResult| step.coordinates.text(axis::TEST) == Some("read");
    for step in steps.iter().filter(read) {
        assert_eq!(step.coordinates.text(axis::SERVER_CACHE), Some("cold"));
        // Each record takes the time of a hit and that of storage.
        assert_eq!(step.measure.busy_ns, step.measure.operations * 1_200_000, "{}", step.coordinates);
    }
    assert!(log.iter().any(|served| served.write), "the data was laid out on the server");
}

#[test]
fn a_warm_file_that_fits_is_served_from_the_cache_and_a_larger_one_from_storage() {
    let (steps, _) = measured("['read']", "");
    for rate in rates(&steps, 16) {
        assert!((rate / (RECORD as f64 / 200e-6 / 1e6) - 1.0).abs() < 1e-6, "{rate}");
    }
    for rate in rates(&steps, 64) {
        assert!((rate / (RECORD as f64 / 1200e-6 / 1e6) - 1.0).abs() < 1e-6, "{rate}");
    }
}

#[test]
fn several_jobs_find_the_state_as_well() {
    for state in ["server_cache = 'warm'", "server_cache = 'cold'\ndisplace = '32MiB'"] {
        let (steps, _) = measured("['read', 'random-write']\njobs = [2]\nshared_file = true", state);
        for ((test, size), spread) in spread(&steps) {
            assert!(spread <= 1.0 + 1e-9, "{state} {test} {size}: {spread}");
        }
    }
}

#[test]
fn unmeasured_passes_are_in_no_count_of_a_cell() {
    for (state, unmeasured) in [("as-is", 0), ("warm", 1), ("cold", 0)] {
        let clock = Clock::virtual_at(0);
        let target = SimulatedTarget::new(NullTarget, &clock, device());
        let plan = format!(
            "seed = 5\nrepetitions = 1\nmin_sample_time = '1ms'\nverify = 'off'\n[[target]]\nurl = '/simulated'\n[sweep]\n\
             file_sizes = ['1MiB']\nrecord_sizes = [{RECORD}]\ntests = ['read']\nserver_cache = '{state}'\n"
        );
        let steps = steps(&plan, target.clone(), &clock);
        assert_eq!((steps[0].measure.passes, steps[0].measure.operations), (1, 16), "{state}");
        let served =
            target.log().iter().filter(|served| !served.write && u64::from(served.bytes) == RECORD).count();
        if state != "cold" {
            assert_eq!(served, 16 * (1 + unmeasured), "{state}");
        }
    }
}
