//! A directory that is searched linearly, planted in an embedded server: the same verdicts as in virtual time
//! (`metadata_breaks`), through a protocol and in real time.
//!
//! The verdicts need a quiet machine, so that they are judged only with `SHAREBENCH_LONG` (about five minutes):
//!
//!     SHAREBENCH_LONG=1 cargo test -p sharebench-tests --test end_to_end metadata::breaks_served -- --nocapture
//!
//! Without it, the log of the device shows that what was planted is what the steps have met.

use std::sync::Arc;
use std::time::Duration;

use sharebench_server::{
    DeviceLog, DeviceOptions, DeviceRequest, DeviceVolume, MemoryVolume, NfsServer, NfsServerOptions, ROOT,
    Volume,
};
use sharebench_tests::Sharebench;

use crate::stored::{Stored, test_of};

/// A sweep of a directory of several sizes on a server whose directories have this cost per entry.
struct Planted {
    seed: u64,
    entry_time: Duration,
    sweep: &'static str,
    repetitions: u32,
    sample: &'static str,
}

/// What a sweep left: the steps, the output of the program, and the log of the server's device.
struct Swept {
    stored: Stored,
    output: String,
    log: DeviceLog,
}

impl Planted {
    fn sweep(&self) -> Swept {
        let options = DeviceOptions { entry_time: self.entry_time, ..DeviceOptions::default() };
        let device = Arc::new(DeviceVolume::new(MemoryVolume::new(64 << 20), options));
        let volume: Arc<dyn Volume> = device.clone();
        let any = "127.0.0.1:0".parse().unwrap();
        let server = NfsServer::start(any, volume, NfsServerOptions::default()).unwrap();
        let port = server.addr().port();
        let Self { seed, sweep, repetitions, sample, .. } = self;
        let plan = format!(
            "seed = {seed}\nrepetitions = {repetitions}\nmin_sample_time = '{sample}'\n[[target]]\nname = 'nas'\n\
             url = 'nfs://127.0.0.1:{port}/export/?mountport={port}'\n[sweep]\n{sweep}\n"
        );
        let sharebench = Sharebench::new().unwrap();
        sharebench.write("plan.toml", &plan).unwrap();
        let ended = sharebench.run(&["run", "plan.toml"]).unwrap().expect_success();
        let stored = Stored::read(&sharebench, 1);
        assert_eq!(stored.steps.len(), stored.planned);
        for step in &stored.steps {
            assert_eq!(step["errors"], serde_json::json!({}), "{step}");
            assert_ne!(step["verdict"], "invalid", "{step}");
        }
        assert!(device.list(ROOT, 0, 1).unwrap().is_empty(), "left on the server: {}", ended.text());
        Swept { stored, output: ended.text(), log: device.log() }
    }
}

impl Swept {
    /// Findings about a fall with the number of entries.
    fn falls(&self) -> Vec<&str> {
        self.output.lines().filter(|line| line.contains("entries per directory")).collect()
    }

    /// Nanoseconds per operation at a number of entries, over all steps of a test.
    fn operation_ns(&self, test: &str, entries: u64) -> f64 {
        let steps = self.stored.steps.iter();
        let steps = steps.filter(|step| test_of(step) == test && entries_of(step) == entries);
        let sums = steps.fold((0.0, 0.0), |(time, operations), step| {
            (time + number(step, "window_ns"), operations + number(step, "operations"))
        });
        sums.0 / sums.1
    }
}

fn number(step: &serde_json::Value, name: &str) -> f64 {
    step[name].as_f64().unwrap_or_else(|| panic!("no {name} in {step}"))
}

fn entries_of(step: &serde_json::Value) -> u64 {
    step["coordinates"]["entries"]["count"].as_u64().unwrap()
}

#[test]
fn steps_on_a_served_linear_directory_take_the_time_of_its_entries() {
    for seed in 1..=2 {
        let entry_time = Duration::from_micros(5 * seed);
        let entry_ns = entry_time.as_nanos() as u64;
        let sweep = "tests = ['stat', 'create']\nentries = ['16..256 x4']\nbatch = 10";
        let swept = Planted { seed, entry_time, sweep, repetitions: 2, sample: "2ms" }.sweep();
        let searches = || swept.log.records.iter().filter(|record| record.request == DeviceRequest::Search);
        assert!(searches().all(|record| record.service_ns == record.len * entry_ns));
        for step in &swept.stored.steps {
            let entries = entries_of(step);
            let fewest = if test_of(step) == "create" { entries - 10 } else { entries };
            // The server never answers before the search has ended, and a job has one operation in flight.
            let per_operation = number(step, "window_ns") / number(step, "operations");
            assert!(per_operation >= (fewest * entry_ns) as f64, "{per_operation} ns in {step}");
        }
        for entries in [16, 64, 256] {
            let searched = searches().filter(|record| record.len == entries).count() as f64;
            let steps = swept.stored.steps.iter().filter(|step| entries_of(step) == entries);
            let stats = steps.filter(|step| test_of(step) == "stat").map(|step| number(step, "operations"));
            assert!(searched >= stats.sum(), "{searched} searches of {entries} entries");
        }
        let clean = Planted { seed, entry_time: Duration::ZERO, sweep, repetitions: 2, sample: "2ms" };
        assert!(clean.sweep().log.records.iter().all(|record| record.request != DeviceRequest::Search));
    }
}

#[test]
fn a_served_linear_directory_is_found_within_one_doubling_in_ten_of_ten_runs() {
    if std::env::var_os("SHAREBENCH_LONG").is_none() {
        return;
    }
    for seed in 0..10 {
        let entry_time = Duration::from_micros([1, 2, 4][seed as usize % 3]);
        let sweep = "tests = ['stat']\nentries = ['16..1024 x4']\nbatch = 100";
        let swept = Planted { seed, entry_time, sweep, repetitions: 8, sample: "50ms" }.sweep();
        let falls = swept.falls();
        let [text] = falls.as_slice() else { panic!("seed {seed}: {}", swept.output) };
        assert!(text.contains("the directory is searched linearly"), "{text}");
        // What an operation takes apart from the search, from the smallest directory.
        let entry_ns = entry_time.as_nanos() as f64;
        let planted = (swept.operation_ns("stat", 16) - 16.0 * entry_ns) / entry_ns;
        let found = text.split("at about ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        let ratio = found.parse::<f64>().unwrap() / planted;
        println!("seed {seed}: planted at {planted:.0} entries, found at {found}: {ratio:.2}");
        assert!((0.5..=2.0).contains(&ratio), "seed {seed}: planted at {planted:.0}: {text}");
    }
}

#[test]
fn no_break_is_claimed_on_a_served_directory_that_is_not_searched_linearly() {
    if std::env::var_os("SHAREBENCH_LONG").is_none() {
        return;
    }
    let claimed = (100..120).filter(|seed| {
        let sweep = "tests = ['stat', 'create', 'unlink']\nentries = ['16..1024 x4']\nbatch = 100";
        let clean =
            Planted { seed: *seed, entry_time: Duration::ZERO, sweep, repetitions: 8, sample: "20ms" };
        let swept = clean.sweep();
        println!("seed {seed}: {:?}", swept.falls());
        !swept.falls().is_empty()
    });
    let claimed = claimed.count();
    assert!(claimed <= 1, "claimed in {claimed} of 20 runs");
}
