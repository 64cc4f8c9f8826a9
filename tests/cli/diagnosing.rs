//! `diagnose` at our servers with planted faults, and where nothing can be written.

use serde_json::Value;
use sharebench_tests::program::free_port;
use sharebench_tests::{Sharebench, Smbd};

use crate::cli::probing::validator;
use crate::plans::left_in;
use crate::robustness::bad_input::expect;

const SCHEMA: &str = include_str!("../../docs/schemas/diagnose-1.json");
/// Short, so that the suite stays quick; enough for the least number of rounds.
const SHORT: [&str; 3] = ["--json", "--for=8s", "--timeout=60s"];

fn diagnose(sharebench: &Sharebench, url: &str, flags: &[&str]) -> Value {
    let ended = sharebench.run(&[&["diagnose", url], &SHORT[..], flags].concat()).unwrap().expect_success();
    assert!(!ended.text().contains(Smbd::PASSWORD), "{}", ended.text());
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let schema = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(validator::mistakes(&schema, &found), Vec::<String>::new());
    found
}

/// True if a quota holds the machine of the tests back: `diagnose` names that first, and nothing is proved about the share.
fn is_held_back(found: &Value) -> bool {
    found["findings"][0]["cause"] == "client-throttled"
}

/// The share has this cause first. A busy machine of the tests may be a cause before it.
fn assert_first_cause(found: &Value, planted: &str) {
    let mut causes =
        found["findings"].as_array().unwrap().iter().filter_map(|finding| finding["cause"].as_str());
    let first = causes.find(|cause| *cause != "client-busy");
    assert!(is_held_back(found) || first == Some(planted), "{found}");
}

/// The budgets have parts that add up, and the operations that were measured.
fn assert_adds_up(found: &Value, operations: usize) {
    let budgets = found["budgets"].as_array().unwrap();
    assert_eq!(budgets.len(), operations, "{found}");
    for budget in budgets {
        let total = budget["total_ns"]["value"].as_f64().unwrap();
        let parts = budget["parts"].as_array().unwrap();
        let sum: f64 = parts.iter().map(|part| part["time_ns"]["value"].as_f64().unwrap()).sum();
        assert!((sum - total).abs() <= total * 1e-9, "{budget}");
    }
}

#[test]
fn our_servers_and_a_local_disk_have_a_budget_and_nothing_is_left() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    for url in [served.smb_url(""), served.nfs_url(""), served.ncp_url("")] {
        let found = diagnose(&sharebench, &url, &[]);
        assert_adds_up(&found, 5);
        assert!(found["bytes_written"].as_u64().unwrap() < 200_000_000, "{found}");
        assert!(found["login"]["phases"].as_array().unwrap().len() >= 4, "{found}");
    }
    let local = diagnose(&sharebench, served.directory().to_str().unwrap(), &[]);
    assert_adds_up(&local, 5);
    assert_eq!((&local["protocol"], &local["mount"]), (&Value::from("local"), &Value::Null));
    assert_eq!(std::fs::read_dir(served.directory()).unwrap().count(), 0, "leftovers");
}

#[test]
fn planted_distance_is_the_first_cause() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let far = |url: String| format!("{url}{}far=20ms", if url.contains('?') { '&' } else { '?' });
    for url in [served.smb_url(""), served.nfs_url(""), served.ncp_url("")] {
        let found = diagnose(&sharebench, &far(url), &[]);
        assert_first_cause(&found, "long-round-trip");
        assert_eq!(found["network_is_inferred"], true);
        assert_adds_up(&found, 5);
    }
    assert_eq!(std::fs::read_dir(served.directory()).unwrap().count(), 0, "leftovers");
}

#[test]
fn planted_device_is_the_first_cause() {
    let sharebench = Sharebench::new().unwrap();
    let slow = sharebench.serve_by(&[], "slow", &["--service-time", "20ms"]).unwrap();
    for url in [slow.smb_url(""), slow.nfs_url(""), slow.ncp_url("")] {
        let found = diagnose(&sharebench, &url, &[]);
        assert_first_cause(&found, "slow-storage");
    }
    // The device writes through its cache, so that writes wait for it as first reads do.
    let cached = sharebench.serve_by(&[], "cached", &["--service-time", "20ms", "--cache", "4MiB"]).unwrap();
    let found = diagnose(&sharebench, &cached.nfs_url(""), &[]);
    if is_held_back(&found) {
        return;
    }
    let causes: Vec<&str> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|finding| finding["cause"].as_str())
        .collect();
    // The device reads nothing ahead either.
    for cause in ["no-read-ahead", "cold-cache", "synchronous-writes"] {
        assert!(causes.contains(&cause), "no {cause}: {found}");
    }
    assert!(!causes.contains(&"slow-storage") && !causes.contains(&"long-round-trip"), "{found}");
}

#[test]
fn share_that_cannot_be_written_is_read_without_its_names() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve_by(&[], "kept", &["--read-only"]).unwrap();
    std::fs::write(served.directory().join("confidential"), vec![7; 3 << 20]).unwrap();
    std::fs::write(served.directory().join("tiny"), "x").unwrap();
    for (url, flags) in [
        (served.smb_url(""), &[][..]),
        (served.nfs_url(""), &["--read-only"][..]),
        (served.directory().to_str().unwrap().to_owned(), &["--read-only"]),
    ] {
        let found = diagnose(&sharebench, &url, flags);
        assert_adds_up(&found, 4);
        assert_eq!(found["bytes_written"], 0);
        assert_eq!(found["write"], Value::Null);
        assert!(!found.to_string().contains("confidential"), "{found}");
    }
}

#[test]
fn two_shares_are_compared_in_words() {
    let sharebench = Sharebench::new().unwrap();
    let near = sharebench.serve("served").unwrap();
    let far = format!("{}?far=20ms", near.smb_url(""));
    let found = diagnose(&sharebench, &near.nfs_url(""), &["--against", &far]);
    let differences: Vec<&str> =
        found["differences"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let open = differences.iter().find(|text| text.starts_with("open, read, close: ")).unwrap();
    assert!(
        open.contains("nfs takes 9") && open.contains("because it needs 2 round trips instead of 3"),
        "{open}"
    );
    assert_eq!(found["against"]["protocol"], "smb");
    assert_eq!(std::fs::read_dir(near.directory()).unwrap().count(), 0, "leftovers");
}

#[test]
fn text_fits_the_screen_and_names_cause_evidence_and_setting() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let url = format!("{}&far=20ms", served.nfs_url(""));
    let ended = sharebench.run(&["diagnose", &url, "--for=8s"]).unwrap().expect_success();
    let is_held_back =
        ["1. This machine is held back", "1. A CPU quota"].iter().any(|title| ended.stdout.contains(title));
    assert!(is_held_back || ended.stdout.contains(". The network round trip is long"), "{}", ended.stdout);
    for words in ["evidence: ", "gain: ", "setting: ", "LOG-IN", "4 KiB read"] {
        assert!(ended.stdout.contains(words), "no '{words}' in {}", ended.stdout);
    }
    let next = "next: sharebench diagnose 'nfs://127.0.0.1:";
    assert!(ended.stderr.contains(next), "{}", ended.stderr);
    let widest = ended.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{}", ended.stdout);
}

#[test]
fn mistakes_are_reported_and_leave_nothing() {
    const USAGE: i32 = 2;
    const TARGET: i32 = 3;
    let sharebench = Sharebench::new().unwrap();
    let here = sharebench.home().join("here");
    std::fs::create_dir(&here).unwrap();
    let closed = free_port().unwrap();
    let port = closed.to_string();
    let smb = format!("smb://lab@127.0.0.1:{closed}/share");
    let nfs = format!("nfs://127.0.0.1:{closed}/export?mountport={closed}");
    let metrics = format!("http://127.0.0.1:{closed}/metrics");
    let table: [(&[&str], i32, &[&str]); 13] = [
        (&[], USAGE, &["target"]),
        (&["gopher://host/x"], USAGE, &["gopher", "smb", "nfs"]),
        (&["smb://lab:hunter2@host/share"], USAGE, &["password", "SHAREBENCH_PASSWORD"]),
        (&["./nowhere"], TARGET, &["nowhere", "not found"]),
        (&[&smb], TARGET, &["port", &port]),
        (&[&nfs], TARGET, &["port", &port]),
        (&["./here", "--for", "1s"], USAGE, &["--for", "from 5s to 10m"]),
        (&["./here", "--timeout", "0s"], USAGE, &["--timeout", "needs time"]),
        (&["./here", "--against", "gopher://host/x"], USAGE, &["gopher"]),
        (&["./here", "--bypass", "nfs://h/x", "--against", "nfs://h/x"], USAGE, &["--bypass", "--against"]),
        (&["./here", "--server-metrics", "nas"], USAGE, &["nas", "exporter"]),
        (&["./here", "--server-metrics", &metrics], USAGE, &["--server-metrics", &port]),
        (&["./here", "--read-only", "--for", "5s"], TARGET, &["here", "at least 4 KiB"]),
    ];
    for (arguments, code, words) in table {
        println!("{arguments:?}");
        expect(&sharebench.run(&[&["diagnose"], arguments].concat()).unwrap(), code, words);
        assert_eq!(left_in(&here), Vec::<String>::new());
    }
}
