//! The requests of metadata tests are those that tshark counts on the wire.
//!
//! A run also prepares and removes names, which is not measured. So each test runs twice, and the second run has longer samples: what
//! both do once is the same, and the requests that the second one has more belong to its additional passes. These are the
//! requests that the program states, and those that restore the names before each pass, which are those of another test.

use std::collections::BTreeMap;
use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use sharebench_tests::{
    Capture, Ganesha, GaneshaOptions, RequestProtocol, Sharebench, Smbd, SmbdOptions, needs,
};

use crate::stored::Stored;

/// The tests of names, each with those that restore what its pass has changed. The latter precede it.
const TESTS: [(&str, &[&str]); 16] = [
    ("stat", &[]),
    ("stat-miss", &[]),
    ("open-close", &[]),
    ("open-read-close", &[]),
    ("set-attributes", &[]),
    ("readdir", &[]),
    ("readdir-attributes", &[]),
    ("tree-walk", &[]),
    ("rename", &[]),
    ("rename-across", &[]),
    ("create", &["unlink"]),
    ("unlink", &["create"]),
    ("create-write", &["unlink"]),
    ("truncate", &["unlink", "create-write"]),
    ("mkdir", &["rmdir"]),
    ("rmdir", &["mkdir"]),
];
/// The tests of the server's work on content, which make a file in each operation.
const COPIES: [(&str, &[&str]); 2] = [("server-copy", &["unlink"]), ("sparse-read", &[])];
/// Tests that are enough for a short run.
const SHORT: [&str; 4] = ["open-read-close", "rename", "create", "unlink"];
/// Longest sample in milliseconds, for a machine that is busy.
const MAX_SAMPLE_MS: u64 = 20_000;

fn is_long() -> bool {
    env::var_os("SHAREBENCH_LONG").is_some()
}

/// What a run states, and when it was on the wire.
struct Measured {
    operations: u64,
    requests: u64,
    /// Seconds since 1970.
    between: (f64, f64),
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

/// Measures one test with samples of at least this length; none where the target has no such test.
fn measured(
    sharebench: &Sharebench,
    url: &str,
    test: &str,
    sample_ms: u64,
    run: &mut u32,
) -> Option<Measured> {
    let sample = format!("{sample_ms}ms");
    let axes: &[&str] = if COPIES.iter().any(|(copy, _)| *copy == test) {
        &["--copy-sizes", "64KiB"]
    } else {
        &["--entries", "25", "--batch", "10"]
    };
    let line = ["sweep", url, "--tests", test, "--repetitions", "1", "--min-sample-time", &sample];
    let began = now();
    let ended = sharebench.run(&[&line[..], &["--verify", "off", "--seed", "7"], axes].concat()).unwrap();
    let between = (began, now());
    *run += 1;
    if ended.text().contains("not supported here") {
        return None;
    }
    let _ = ended.expect_success();
    let stored = Stored::read(sharebench, *run);
    let number = |step: &Value, value: &Value| value.as_u64().unwrap_or_else(|| panic!("{step}"));
    let sum = |of: fn(&Value) -> &Value| stored.steps.iter().map(|step| number(step, of(step))).sum();
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{test}: {step}");
    }
    let operations = sum(|step| &step["operations"]);
    let requests = sum(|step| &step["wire"]["requests"]);
    Some(Measured { operations, requests, between })
}

/// Measures a test until the second of two runs has more passes than the first one.
fn twice(sharebench: &Sharebench, url: &str, test: &str, run: &mut u32) -> Option<[Measured; 2]> {
    let first = measured(sharebench, url, test, 1, run)?;
    let mut sample_ms = 40;
    loop {
        let second = measured(sharebench, url, test, sample_ms, run)?;
        if second.operations > first.operations {
            return Some([first, second]);
        }
        assert!(sample_ms < MAX_SAMPLE_MS, "{test}: {} operations in {sample_ms} ms", second.operations);
        sample_ms *= 4;
    }
}

fn port_of(url: &str) -> u16 {
    let server = url.split_once("://").and_then(|(_, rest)| rest.split('/').next()).unwrap();
    server.rsplit(':').next().unwrap().parse().unwrap()
}

/// Compares the requests of every test on a target with those on the wire.
fn compare(sharebench: &Sharebench, protocol: RequestProtocol, url: &str, run: &mut u32) {
    let capture = Capture::start(port_of(url)).unwrap();
    let tests = TESTS.into_iter().chain(COPIES).filter(|(test, _)| is_long() || SHORT.contains(test));
    let runs: Vec<_> =
        tests.filter_map(|(test, before)| Some((test, before, twice(sharebench, url, test, run)?))).collect();
    let times = capture.stop().unwrap().request_times(protocol).unwrap();
    let on_the_wire = |(from, to): (f64, f64)| -> u64 {
        times.iter().filter(|(time, _)| (from..to).contains(time)).map(|(_, count)| count).sum()
    };
    // Exact, because each operation of these tests takes the same requests.
    let per_operation: BTreeMap<&str, u64> =
        runs.iter().map(|(test, _, [_, run])| (*test, run.requests / run.operations)).collect();
    for (test, before, [first, second]) in &runs {
        let operations = second.operations - first.operations;
        let restoring: u64 = before.iter().map(|test| per_operation[test]).sum();
        let stated = second.requests - first.requests;
        let counted = on_the_wire(second.between) - on_the_wire(first.between);
        println!("{url} {test}: {operations} operations, {stated} requests, {counted} on the wire");
        assert_eq!(counted, stated + restoring * operations, "{url} {test}: {operations} operations");
    }
    assert!(runs.len() >= SHORT.len());
}

#[test]
fn requests_of_metadata_tests_are_those_that_tshark_counts() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS, Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let served = sharebench.serve("served").unwrap();
    let mut targets = vec![
        (RequestProtocol::Smb, smbd.url("", "")),
        (RequestProtocol::Nfs, ganesha.url("", "vers=3")),
        (RequestProtocol::Ncp, served.ncp_url("")),
    ];
    if is_long() {
        targets.extend([
            (RequestProtocol::Nfs, format!("{}&uid=0&gid=0", ganesha.url4("", "4.1"))),
            (RequestProtocol::Smb, served.smb_url("")),
            (RequestProtocol::Nfs, served.nfs_url("")),
            (RequestProtocol::Nfs, served.nfs4_url("", "vers=4.0")),
            (RequestProtocol::Nfs, served.nfs4_url("", "vers=4.2")),
        ]);
    }
    let mut run = 0;
    for (protocol, url) in &targets {
        compare(&sharebench, *protocol, url, &mut run);
    }
}

#[test]
fn locks_on_the_wire_are_those_of_the_operations() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS, Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let served = sharebench.serve("served").unwrap();
    let targets = [
        (smbd.port(), smbd.url("", "")),
        (ganesha.port(), format!("{}&uid=0&gid=0", ganesha.url4("", "4.1"))),
        (port_of(&served.ncp_url("")), served.ncp_url("")),
    ];
    for (run, (port, url)) in (1..).zip(&targets) {
        let capture = Capture::start(*port).unwrap();
        let line = ["sweep", url, "--tests", "lock,lock-neighbours", "--repetitions", "1", "--jobs", "2"];
        let _ =
            sharebench.run(&[&line[..], &["--min-sample-time", "1ms"]].concat()).unwrap().expect_success();
        let captured = capture.stop().unwrap();
        let locks = match url.split_once(':').unwrap().0 {
            // MS-SMB2 2.2.26: LOCK is command 10.
            "smb" => captured.smb_requests().unwrap()[&10],
            // RFC 8881, 18.10 and 18.12: LOCK and LOCKU.
            "nfs" => {
                let (_, operations) = captured.nfs4_calls().unwrap();
                operations[&12] + operations[&14]
            }
            _ => {
                // Lock and unlock with offsets of 64 bits.
                let requests = captured.ncp_requests().unwrap();
                requests[&(0x57, 67)] + requests[&(0x57, 69)]
            }
        };
        let operations = Stored::read(&sharebench, run).operations(0, "lock");
        println!("{url}: {operations} operations, {locks} requests");
        // One lock and its unlock are the trial whether the server has locks.
        assert_eq!(locks, 2 * operations + 2, "{url}");
    }
}
