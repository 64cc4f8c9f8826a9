//! Axes of targets in metadata sweeps: calls of several operations over NFS 4.1, and leases over SMB, each with its requests per
//! operation.

use serde_json::Value;
use sharebench_tests::Sharebench;

use crate::plans::left_in;
use crate::stored::{Stored, test_of};

/// Measures a target with an axis: three jobs in a directory of their own each.
fn swept(sharebench: &Sharebench, url: &str, tests: &str, axis: [&str; 2]) -> (String, Stored) {
    let sweep = ["sweep", url, "--tests", tests, "--entries", "30", "--jobs", "3"];
    let flags = ["--repetitions", "1", "--verify", "full", "--seed", "7"];
    let line = [&sweep[..], &axis[..], &flags[..]].concat();
    let ended = sharebench.run(&line).unwrap().expect_success();
    (ended.text(), Stored::read(sharebench, 1))
}

/// The steps of a test on a target. Each is without errors, and what it read is verified.
fn steps<'s>(stored: &'s Stored, target: u64, test: &str) -> Vec<&'s Value> {
    let found: Vec<_> =
        stored.steps.iter().filter(|step| step["target"] == target && test_of(step) == test).collect();
    for step in &found {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
        assert_ne!(step["verdict"], "invalid", "{step}");
        assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{step}");
    }
    assert!(!found.is_empty(), "{target} {test}");
    found
}

/// Requests and operations of a step.
fn counts(step: &Value) -> (u64, u64) {
    (step["wire"]["requests"].as_u64().unwrap(), step["operations"].as_u64().unwrap())
}

#[test]
fn open_read_close_takes_one_call_with_compounds_at_every_depth() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let url = served.nfs4_url("", "vers=4.1");
    let tests = "create-write,stat,open-read-close";
    let axis = ["--vary=compound=off,on", "--depths=1,8"];
    let (text, stored) = swept(&sharebench, &url, tests, axis);
    for (target, name, reads) in [(0, "nfs (compound=off)", 3), (1, "nfs (compound=on)", 1)] {
        assert!(text.contains(name), "{text}");
        for (test, calls) in [("open-read-close", reads), ("create-write", 3), ("stat", 1)] {
            let steps = steps(&stored, target, test);
            assert_eq!(steps.len(), 2, "{name} {test}");
            for step in steps {
                let (requests, operations) = counts(step);
                assert_eq!(requests, calls * operations, "{name} {test}: {step}");
            }
        }
    }
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}

#[test]
fn leases_are_requested_by_the_same_requests_and_their_grants_are_facts() {
    let sharebench = Sharebench::new().unwrap();
    let port = sharebench_tests::program::free_port().unwrap();
    // Alone, so that the server grants leases on writes.
    let _server = sharebench.serve_smb(&[], &format!("127.0.0.1:{port}")).unwrap();
    let url = format!("smb://{}@127.0.0.1:{port}/share", sharebench_tests::Served::USER);
    let tests = "create,open-close,open-read-close,stat,readdir,rename,unlink";
    let (text, stored) = swept(&sharebench, &url, tests, ["--vary=lease=none,rh,rwh,dir", "--depths=1"]);
    for (target, lease) in (0..).zip(["none", "rh", "rwh", "dir"]) {
        let name = format!("smb (lease={lease})");
        assert!(text.contains(&name), "{text}");
        for (test, expected) in
            [("create", 2), ("open-close", 2), ("open-read-close", 3), ("stat", 2), ("rename", 3)]
        {
            for step in steps(&stored, target, test) {
                let (requests, operations) = counts(step);
                assert_eq!(requests, expected * operations, "{name} {test}: {step}");
            }
        }
        let listed = |target| {
            let steps = steps(&stored, target, "readdir");
            let (requests, operations) = counts(steps[0]);
            // Per listing of the directory.
            requests as f64 * 30.0 / operations as f64
        };
        assert!((listed(target) - listed(0)).abs() < 1e-9, "{name}: {} {}", listed(target), listed(0));
    }
    let run = sharebench.run(&["export", "1", "--format", "json"]).unwrap().expect_success().stdout;
    let run: Value = serde_json::from_str(&run).unwrap();
    let fact = |target: usize, name: &str| run["targets"][target]["facts"][name].clone();
    println!("{}", run["targets"]);
    for (target, requested, granted) in [(1, "rh", "RH "), (2, "rwh", "RWH "), (3, "dir", "R")] {
        assert_eq!(fact(target, "lease_requested"), requested);
        let leases = fact(target, "leases_granted");
        assert!(leases.as_str().is_some_and(|leases| leases.starts_with(granted)), "{requested}: {leases}");
    }
    assert_eq!(fact(0, "leases_granted"), Value::Null);
    assert_eq!(left_in(&sharebench.home().join("served")), Vec::<String>::new());
}
