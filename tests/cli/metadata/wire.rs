//! The requests of metadata tests are those that tshark counts on the wire.
//!
//! A run also prepares and removes names, which is not measured. So each test runs twice, and the second run has longer samples: what
//! both do once is the same, and the requests that the second one has more belong to its additional passes. These are the
//! requests that the program states, and those that restore the names before each pass, which are those of another test.

use std::collections::BTreeMap;
use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use sharebench_tests::program::free_port;
use sharebench_tests::{
    Capture, Captured, Ganesha, GaneshaOptions, RequestProtocol, Served, Sharebench, SmbRequest, Smbd,
    SmbdOptions, needs,
};

use crate::stored::Stored;

/// The tests of names, each with those that restore what its pass has changed. The latter precede it.
const TESTS: [(&str, &[&str]); 17] = [
    ("stat", &[]),
    ("stat-miss", &[]),
    ("open-close", &[]),
    ("open-read-close", &[]),
    ("stat-then-open", &[]),
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
/// The tests of rights to cache and of semaphores. Their passes leave what they found.
const RIGHTS: [&str; 5] =
    ["lease-grant", "lease-break", "delegation-grant", "delegation-recall", "semaphore"];
/// The test of notifications, of which a part belongs to no operation.
const NOTIFY: &str = "notify";
// MS-SMB2 2.2.1.
const CLOSE: u16 = 6;
const CREATE: u16 = 5;
const CHANGE_NOTIFY: u16 = 15;
const OPLOCK_BREAK: u16 = 18;
/// Longest sample in milliseconds, for a machine that is busy.
const MAX_SAMPLE_MS: u64 = 20_000;

fn is_long() -> bool {
    env::var_os("SHAREBENCH_LONG").is_some()
}

/// What a run states, and when it was on the wire.
struct Measured {
    operations: u64,
    requests: u64,
    /// Breaks of leases and oplocks that the client has acknowledged, in the facts of the run.
    acknowledged: u64,
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
    let sample = format!("plan:min_sample_time={sample_ms}ms");
    let axes: &[&str] = match test {
        "semaphore" => &["--jobs", "2"],
        NOTIFY => &[],
        _ if RIGHTS.contains(&test) => &[],
        _ if COPIES.iter().any(|(copy, _)| *copy == test) => &["--copy-sizes", "64KiB"],
        _ => &["--entries", "25", "plan:batch=10"],
    };
    let line = ["sweep", url, "--tests", test, "--repetitions", "1", &sample];
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
    let facts = ["lease_breaks_acknowledged", "oplock_breaks_acknowledged"];
    let acknowledged =
        facts.iter().filter_map(|fact| stored.fact(0, fact)).map(|count| count.parse::<u64>().unwrap()).sum();
    Some(Measured { operations, requests, acknowledged, between })
}

impl Measured {
    /// The sum of the counts at instants of this run.
    fn sum(&self, times: &[(f64, u64)]) -> u64 {
        let (from, to) = self.between;
        times.iter().filter(|(time, _)| (from..to).contains(time)).map(|(_, count)| count).sum()
    }
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
    // Exact, because each operation of these tests takes the same requests.
    let per_operation: BTreeMap<&str, u64> =
        runs.iter().map(|(test, _, [_, run])| (*test, run.requests / run.operations)).collect();
    for (test, before, [first, second]) in &runs {
        let operations = second.operations - first.operations;
        let restoring: u64 = before.iter().map(|test| per_operation[test]).sum();
        let stated = second.requests - first.requests;
        let counted = second.sum(&times) - first.sum(&times);
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

/// Requests of a capture that belong to no operation.
struct Unmeasured {
    /// Acknowledgments of breaks, or the open and the close of semaphores.
    times: Vec<(f64, u64)>,
    /// Calls of the server that recall a delegation. They are no requests of the client.
    recalls: Vec<(f64, u64)>,
}

impl Unmeasured {
    fn new(captured: &Captured, protocol: RequestProtocol) -> Self {
        let times = |filter: &str, field: &str| captured.times(protocol, filter, field).unwrap();
        match protocol {
            RequestProtocol::Smb => {
                let filter = format!("smb2.flags.response == 0 && smb2.cmd == {OPLOCK_BREAK}");
                Self { times: times(&filter, "smb2.cmd"), recalls: Vec::new() }
            }
            // RFC 8881, 20.2: CB_RECALL is operation 4.
            RequestProtocol::Nfs => {
                let recalls = times("rpc.msgtyp == 0 && nfs.cb.operation == 4", "rpc.xid");
                Self { times: Vec::new(), recalls }
            }
            // 0x20/0 opens a semaphore, and 0x20/4 closes it.
            RequestProtocol::Ncp => {
                let filter =
                    "ncp.type == 0x2222 && ncp.func == 0x20 && (ncp.subfunc == 0 || ncp.subfunc == 4)";
                Self { times: times(filter, "ncp.func"), recalls: Vec::new() }
            }
        }
    }
}

/// Compares the requests of tests of rights to cache and of semaphores on a target with those on the
/// wire.
fn compare_rights(
    sharebench: &Sharebench,
    protocol: RequestProtocol,
    (url, tests): (&str, &[&str]),
    run: &mut u32,
) {
    let capture = Capture::start(port_of(url)).unwrap();
    let measure = |test| twice(sharebench, url, test, run).unwrap_or_else(|| panic!("{url} has no {test}"));
    let runs: Vec<_> = tests.iter().copied().map(measure).collect();
    let captured = capture.stop().unwrap();
    let times = captured.request_times(protocol).unwrap();
    let unmeasured = Unmeasured::new(&captured, protocol);
    for (test, [first, second]) in tests.iter().zip(&runs) {
        let of = |times: &[(f64, u64)]| second.sum(times) - first.sum(times);
        let operations = second.operations - first.operations;
        let stated = second.requests - first.requests;
        let counted = of(&times);
        let outside = of(&unmeasured.times);
        let recalls = of(&unmeasured.recalls);
        println!(
            "{url} {test}: {operations} operations, {stated} requests, {counted} on the wire, {outside} of no operation, \
             {recalls} recalls"
        );
        assert_eq!(counted, stated + outside, "{url} {test}: {operations} operations");
        let breaks = if *test == "lease-break" { operations } else { 0 };
        for run in [first, second] {
            let breaks = if *test == "lease-break" { run.operations } else { 0 };
            assert_eq!(run.acknowledged, breaks, "{url} {test}: facts");
        }
        if protocol == RequestProtocol::Smb {
            assert_eq!(outside, breaks, "{url} {test}: acknowledgments");
        }
        let recalled = if *test == "delegation-recall" { operations } else { 0 };
        assert_eq!(recalls, recalled, "{url} {test}: recalls");
    }
}

/// Requests of a run with notifications.
#[derive(Debug, Default, PartialEq, Eq)]
struct Notified {
    /// Rounds of the run.
    rounds: u64,
    /// Requests that belong to operations.
    measured: u64,
    /// Changes before the first operation of a round.
    primed: u64,
    /// Requests of the two sessions before and after the operations of the rounds.
    unmeasured: u64,
    /// Requests for notifications among these.
    watches: u64,
}

/// Finds the requests of the operations of a run of `notify` with one job.
///
/// The watcher opens the directory of the job at the beginning of a round and closes it at its end. Names of priming begin with
/// `w`, and those of operations with `p`. The first operation begins with the last request for a notification before
/// its name is created.
fn notified(requests: &[SmbRequest]) -> Notified {
    let is_named = |request: &SmbRequest, letter: char| {
        let name = request.path.rsplit('\\').next().unwrap_or_default();
        request.command == CREATE
            && name.strip_prefix(letter).is_some_and(|digits| digits.parse::<u32>().is_ok())
    };
    let mut found = Notified::default();
    let mut rest = requests;
    while let Some(priming) = rest.iter().position(|request| is_named(request, 'w')) {
        let first = rest.iter().position(|request| is_named(request, 'p')).unwrap();
        let changer = rest[priming].stream;
        let watch = rest[..first].iter().rposition(|request| request.command == CHANGE_NOTIFY).unwrap();
        let watcher = rest[watch].stream;
        let of_sessions = |request: &&SmbRequest| [changer, watcher].contains(&request.stream);
        let closes = |request: &SmbRequest| request.stream == watcher && request.command == CLOSE;
        let end = first + rest[first..].iter().position(closes).unwrap();
        let directory = rest[priming].path.rsplit_once('\\').unwrap().0;
        let opens = |request: &SmbRequest| request.stream == watcher && request.command == CREATE;
        let begin = rest[..priming].iter().rposition(opens).unwrap();
        assert_eq!(rest[begin].path, directory, "the directory of the job");
        let before: Vec<_> = rest[begin..watch].iter().filter(of_sessions).collect();
        found.rounds += 1;
        found.measured += rest[watch..end].iter().filter(of_sessions).count() as u64;
        // A change creates the name and opens it to remove it.
        found.primed += before.iter().filter(|request| is_named(request, 'w')).count() as u64 / 2;
        found.watches += before.iter().filter(|request| request.command == CHANGE_NOTIFY).count() as u64;
        found.unmeasured += before.len() as u64 + 1;
        rest = &rest[end + 1..];
    }
    found
}

/// Compares the requests of notifications on a target with those on the wire.
fn compare_notifications(sharebench: &Sharebench, url: &str, run: &mut u32) {
    let capture = Capture::start(port_of(url)).unwrap();
    let runs = twice(sharebench, url, NOTIFY, run).unwrap();
    let requests = capture.stop().unwrap().smb_requests_in_order().unwrap();
    for Measured { operations, requests: stated, between: (from, to), .. } in runs {
        let is_of_run = |request: &&SmbRequest| (from..to).contains(&request.time);
        let requests: Vec<_> = requests.iter().filter(is_of_run).cloned().collect();
        let found = notified(&requests);
        println!("{url}: {operations} operations, {stated} requests, {found:?}");
        assert_eq!(found.measured, stated, "{url}");
        // The directory is opened and closed; a change is CREATE, CLOSE, CREATE, SET_INFO and CLOSE.
        assert_eq!(found.unmeasured, 2 * found.rounds + 5 * found.primed + found.watches, "{url}");
        // One is requested at the beginning, and two for the change that is reported; some are repeated.
        assert!(found.watches >= 3 * found.rounds && found.primed >= 2 * found.rounds, "{url}: {found:?}");
    }
}

#[test]
fn requests_of_rights_to_cache_notifications_and_semaphores_are_those_that_tshark_counts() {
    needs!(Smbd::NEEDS, Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let port = free_port().unwrap();
    // Writes are cached only where no other protocol serves the directory.
    let _alone = sharebench.serve_smb(&[], &format!("127.0.0.1:{port}")).unwrap();
    let embedded = |options: &str| format!("smb://{}@127.0.0.1:{port}/share{options}", Served::USER);
    let served = sharebench.serve("all").unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let leases = &RIGHTS[..2];
    let delegations = &RIGHTS[2..4];
    let semaphore = &RIGHTS[4..];
    let mut targets = vec![
        (RequestProtocol::Smb, embedded(""), &leases[1..]),
        (RequestProtocol::Nfs, served.nfs4_url("", "vers=4.1"), &delegations[1..]),
        (RequestProtocol::Ncp, served.ncp_url(""), semaphore),
    ];
    let mut notifying = vec![smbd.url("", "")];
    if is_long() {
        targets.extend([
            (RequestProtocol::Smb, embedded(""), &leases[..1]),
            (RequestProtocol::Smb, embedded("?dialect=2.0.2"), leases),
            (RequestProtocol::Smb, smbd.url("", ""), leases),
            (RequestProtocol::Smb, smbd.url("", "dialect=2.0.2"), leases),
            (RequestProtocol::Nfs, served.nfs4_url("", "vers=4.1"), &delegations[..1]),
            (RequestProtocol::Nfs, served.nfs4_url("", "vers=4.2"), delegations),
        ]);
        notifying.extend([embedded(""), embedded("?dialect=2.0.2")]);
    }
    let mut run = 0;
    for (protocol, url, tests) in &targets {
        compare_rights(&sharebench, *protocol, (url, tests), &mut run);
    }
    for url in &notifying {
        compare_notifications(&sharebench, url, &mut run);
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
            sharebench.run(&[&line[..], &["plan:min_sample_time=1ms"]].concat()).unwrap().expect_success();
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
