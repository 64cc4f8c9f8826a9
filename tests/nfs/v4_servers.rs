//! The client of NFSv4 at ganesha, the server of the Linux kernel and the embedded server: its counts are those that tshark
//! sees, and every test and preset is verified.

use std::env;
use std::fs;
use std::thread;

use serde_json::Value;
use sharebench_doubles::conformance::Suite;
use sharebench_nfs::NfsTarget;
use sharebench_plan::{PRESETS, Plan, Preset};
use sharebench_tests::{Capture, Ganesha, GaneshaOptions, KernelGuest, Sharebench, needs};

use crate::adapters::{FLUSHES, READS, RECORD, WRITES, conform, url, work_until_close};
use crate::plans::left_in;
use crate::stored::Stored;

// RFC 7531.
const OP_COMMIT: u32 = 5;
const OP_READ: u32 = 25;
const OP_WRITE: u32 = 38;

/// Port of the kernel's server in the guest.
const GUEST_PORT: u16 = 2049;
/// Names this test inside the guest.
const INSIDE: &str = "nfs::v4_servers::client_conforms_inside_the_guest";

/// 32 records of 4 KiB, 8 of 16 KiB: a stride of 5 has a meaning in both.
const SWEEP: &str = "[sweep]\nfile_sizes = ['128KiB']\nrecord_sizes = ['4KiB..16KiB x4']\ntests = ['requests', 'streams']\nstride = [5]\n";

fn target(text: &str) -> NfsTarget {
    NfsTarget::from_url(url(text)).unwrap()
}

fn is_long() -> bool {
    env::var_os("SHAREBENCH_LONG").is_some()
}

/// Compares what a session counts with a capture: calls, operations, bytes in both directions, and file data.
pub fn assert_counts_are_those_on_the_wire(url: &str, port: u16) {
    let capture = Capture::start(port).unwrap();
    let (wire, captured) = work_until_close(&target(url), || capture.stop().unwrap());
    let (calls, operations) = captured.nfs4_calls().unwrap();
    let payload = captured.payload().unwrap();
    println!("{url}: own count {wire:?}, captured {payload:?}, {calls} calls {operations:?}");
    let whole = u64::from(url.contains("compound=on"));
    let data = [OP_READ, OP_WRITE, OP_COMMIT].map(|operation| operations[&operation]);
    assert_eq!(data, [READS + whole, WRITES, FLUSHES], "{url}: {operations:?}");
    assert_eq!((wire.requests, wire.operations), (calls, operations.values().sum()), "{url}: {operations:?}");
    assert_eq!((wire.sent, wire.received), (payload.sent, payload.received), "{url}");
    let record = u64::from(RECORD);
    assert_eq!((wire.payload_sent, wire.payload_received), (WRITES * record, (READS + whole) * record));
}

/// A sweep with every test that needs no mapping, over targets that have a directory each.
fn plan(urls: &[String]) -> String {
    let target =
        |(number, url): (usize, &String)| format!("[[target]]\nname = 'nfs-{number}'\nurl = '{url}'\n");
    let targets: String = urls.iter().enumerate().map(target).collect();
    format!("seed = 7\nrepetitions = 1\nmin_sample_time = '5ms'\nverify = 'full'\n{targets}{SWEEP}")
}

/// The command line of a sweep with every metadata test, in a long test also with those of locks and of the server's own work.
fn names(urls: &[String]) -> String {
    let axes = "--entries 25 --batch 10 --jobs 2 --layouts own,shared --repetitions 1 --min-sample-time 2ms";
    let tests = if is_long() { "metadata,locks,server-side --copy-sizes 1MiB" } else { "metadata" };
    format!("sweep --tests {tests} {axes} --seed 7 --verify full {}", urls.join(" "))
}

/// The command lines of loads of the presets: all of them in a long test, otherwise one that opens many small files and one
/// that replays operations.
fn loads(urls: &[String]) -> Vec<String> {
    let short = ["build-tree", "dbench"];
    let presets = PRESETS.into_iter().filter(|preset| is_long() || short.contains(&preset.name));
    let line = |name: String| {
        let plan = Plan::from_preset(&name).unwrap();
        let replays = plan.workload.as_ref().is_some_and(|workload| workload.script.is_some());
        // A loadfile has sizes of its own.
        let files = plan.workload.iter().flat_map(|workload| &workload.files);
        let many = files.map(|class| class.count.unwrap_or(1)).sum::<u32>() > 5_000;
        let scale = match (replays, many) {
            (true, _) => "",
            (false, true) => "--scale 1% ",
            (false, false) => "--scale 600KB ",
        };
        let times = "--think exp:5ms --warm-up 100ms --measure 700ms";
        format!(
            "load --seed 7 --preset {name} --users 2 {times} {scale}--verify full --block 32KiB {}",
            urls.join(" ")
        )
    };
    presets.flat_map(Preset::names).map(line).collect()
}

/// No operation failed, and every byte that was read was checked.
fn assert_clean(stored: &Stored) {
    assert_eq!(stored.steps.len(), stored.planned);
    assert_no_failure(stored);
}

/// As [`assert_clean`]; tests that the server does not have may be skipped.
fn assert_no_failure(stored: &Stored) {
    assert!(!stored.steps.is_empty());
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
        assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{step}");
    }
}

/// Number of operations of a kind in a step.
fn operations(step: &Value, kind: &str) -> u64 {
    let parts = step["load"]["operations"].as_array().unwrap();
    parts.iter().filter(|part| part["name"] == kind).map(|part| part["count"].as_u64().unwrap()).sum()
}

#[test]
fn every_test_and_the_presets_are_verified_over_nfs4() {
    needs!(Ganesha::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let mut urls = Vec::new();
    for (directory, version) in
        [("v40", "4.0"), ("v41", "4.1"), ("v42", "4.2"), ("compound", "4.1&compound=on")]
    {
        fs::create_dir(served.directory().join(directory)).unwrap();
        fs::create_dir(ganesha.directory().join(directory)).unwrap();
        urls.push(served.nfs4_url(directory, &format!("vers={version}")));
        urls.push(ganesha.url4(directory, version));
    }
    sharebench.write("plan.toml", &plan(&urls)).unwrap();
    let _ = sharebench.run(&["run", "plan.toml"]).unwrap().expect_success();
    assert_clean(&Stored::read(&sharebench, 1));
    let line = names(&urls);
    let _ = sharebench.run(&line.split(' ').collect::<Vec<_>>()).unwrap().expect_success();
    assert_clean(&Stored::read(&sharebench, 2));
    for (run, line) in (3..).zip(loads(&urls)) {
        let line: Vec<&str> = line.split(' ').collect();
        let _ = sharebench.run(&line).unwrap().expect_success();
        let shown = sharebench.shown().unwrap();
        assert!(shown.contains("Calls on the wire per transaction"), "{shown}");
        assert_clean(&Stored::read(&sharebench, run));
    }
    for (number, directory) in ["v40", "v41", "v42", "compound"].iter().enumerate() {
        for server in [served.directory().to_path_buf(), ganesha.directory()] {
            assert_eq!(left_in(&server.join(directory)), Vec::<String>::new(), "{number}");
        }
    }
}

#[test]
fn small_files_take_one_call_with_compounds_and_three_without() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let plan = "[load]\nworkload = 'small'\nusers = [2]\n[workload]\nname = 'small'\n\
                [[workload.files]]\nname = 'small'\ncount = 20\nsize = '4KiB'\n\
                [[workload.transactions]]\nname = 'read'\nfiles = 'small'\noperations = ['open', 'read 64KiB all', 'close']\n";
    sharebench.write("small.toml", plan).unwrap();
    let url = served.nfs4_url("", "vers=4.1");
    for (run, sharing) in [(1, "1"), (2, "2")] {
        let line = ["load", &url, "--preset", "small.toml", "--compound", "off,on", "--users", "2"];
        let times = ["--think", "exp:5ms", "--warm-up", "100ms", "--measure", "700ms", "--verify", "full"];
        let line = [&line[..], &times, &["--users-per-session", sharing]].concat();
        let _ = sharebench.run(&line).unwrap().expect_success();
        let stored = Stored::read(&sharebench, run);
        assert_clean(&stored);
        let of = |target: u64| stored.steps.iter().find(|step| step["target"] == target).unwrap();
        let off = of(0);
        let on = of(1);
        for (step, kind, calls, per_transaction) in [(off, "read", 3, 11), (on, "open-read-close", 1, 5)] {
            let done = operations(step, kind);
            let requests = step["wire"]["requests"].as_u64().unwrap();
            assert!(done > 0, "{step}");
            // The transactions that the edges of the window cut have some of their calls in it.
            assert!(requests.abs_diff(calls * done) <= 2 * calls, "{requests} calls, {done} files: {step}");
            let counted = step["load"]["wire_operations"].as_u64().unwrap();
            assert!(counted.abs_diff(per_transaction * done) <= 2 * per_transaction, "{counted}: {step}");
        }
        assert_eq!((operations(on, "open"), operations(on, "close")), (0, 0), "{on}");
    }
}

/// Runs in the kernel guest, next to the kernel's server, started by
/// [`kernel_nfsd_serves_every_test_and_the_presets`].
#[test]
#[ignore = "runs inside the kernel guest"]
fn client_conforms_inside_the_guest() {
    let url = |options: &str| format!("nfs://127.0.0.1:{GUEST_PORT}/export/v41?{options}");
    for options in ["vers=4.1", "vers=4.2"] {
        conform(&target(&url(options)), &Suite::default());
    }
    for options in ["vers=4.1", "vers=4.2&compound=on", "vers=4.1&nconnect=4"] {
        assert_counts_are_those_on_the_wire(&url(options), GUEST_PORT);
    }
}

/// What a guest printed, shown after the reason of a failure: the output is long, and the beginning is what a reader sees.
struct ShownAfterPanic(String);

impl Drop for ShownAfterPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("{}", self.0);
        }
    }
}

#[test]
fn kernel_nfsd_serves_every_test_and_the_presets() {
    needs!(KernelGuest::NEEDS, Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let guest = KernelGuest::prepare(&[]).unwrap();
    let url =
        |directory: &str, options: &str| format!("nfs://127.0.0.1:{GUEST_PORT}/export/{directory}?{options}");
    let urls = [url("v41", "vers=4.1"), url("v42", "vers=4.2"), url("compound", "vers=4.2&compound=on")];
    let runs = [vec!["run plan.toml".to_owned(), names(&urls)], loads(&urls)].concat();
    let tests = env::current_exe().unwrap().display().to_string();
    let script = include_str!("../kernel-guest/measure-kernel-nfsd");
    let printed = guest.run(
        script,
        &[
            ("SERVE_NFS", concat!(env!("CARGO_MANIFEST_DIR"), "/kernel-guest/serve-nfs")),
            ("KERNEL_GUEST", &guest.folder()),
            ("DIRECTORIES", "v41 v42 compound"),
            ("TESTS", &tests),
            ("TEST", INSIDE),
            ("SHAREBENCH", sharebench.binary()),
            ("PLAN", &plan(&urls)),
            ("RUNS", &runs.join("\n")),
            ("OUT", sharebench.home().to_str().unwrap()),
        ],
        3 * KernelGuest::LONG,
    );
    let printed = ShownAfterPanic(printed.unwrap());
    assert!(printed.0.contains("1 passed"), "the conformance test in the guest");
    assert!(printed.0.contains("left: 0"), "directories of the runs are left");
    for run in 1..=runs.len() as u32 {
        let stored = Stored::read(&sharebench, run);
        // Not every server has all tests of locks and of its own work.
        if is_long() && run == 2 { assert_no_failure(&stored) } else { assert_clean(&stored) }
    }
}
