//! `learn` on captures of loads: counts next to those of tshark, and the learned workload on the same server.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::Value;
use sharebench_tests::{Capture, Captured, Sharebench, needs, widen_window};

use crate::stored::Stored;

/// The load that is captured.
const LOAD: &str = "load --preset fsct-homefolders --users 4 --think 20ms --scale 1MB --warm-up 100ms --measure 3s --seed 7 --quiet";

/// What `learn` says of a capture, with the preset `mine.toml`.
fn learned(sharebench: &Sharebench, captured: &Captured) -> Value {
    let path = captured.path();
    let ended = sharebench.run(&["learn", &path, "-o", "mine.toml", "--json"]).unwrap().expect_success();
    serde_json::from_str(&ended.stdout).unwrap()
}

/// Operations by kind; reads and writes have rows for each class of sizes too.
fn kinds(learned: &Value) -> BTreeMap<&str, u64> {
    let mut kinds = BTreeMap::new();
    let rows = learned["server"]["kinds"].as_array().unwrap();
    for kind in rows.iter().filter(|kind| kind["size_class"].is_null()) {
        *kinds.entry(kind["operation"].as_str().unwrap()).or_default() += kind["count"].as_u64().unwrap();
    }
    kinds
}

/// Runs the learned workload on the server that it was captured from.
fn run_again(sharebench: &Sharebench, url: &str) {
    let measure = |window: &str| {
        let line = format!("load {url} --preset mine.toml --warm-up 100ms --measure {window} --quiet");
        let words: Vec<&str> = line.split_whitespace().collect();
        let _ = sharebench.run(&words).unwrap().expect_success();
        Stored::last(sharebench)
    };
    let works = |step: &Value| step["operations"].as_u64() > Some(0);
    let stored = widen_window(Duration::from_secs(1), measure, |stored| stored.steps.iter().all(works));
    for step in &stored.steps {
        assert!(works(step), "{step}");
    }
}

fn capture(sharebench: &Sharebench, url: &str) -> Captured {
    let port = url.split(':').nth(2).and_then(|rest| rest.split('/').next()?.parse().ok());
    let capture = Capture::start(port.unwrap()).unwrap();
    let words: Vec<&str> = LOAD.split_whitespace().chain([url]).collect();
    let _ = sharebench.run(&words).unwrap().expect_success();
    capture.stop().unwrap()
}

/// Each of these kinds is counted as `tshark` counts its number, and files were read.
fn assert_counted<N: Ord>(kinds: &BTreeMap<&str, u64>, counts: &BTreeMap<N, u64>, numbers: &[(&str, N)]) {
    for (kind, number) in numbers {
        let count = counts.get(number).copied().unwrap_or(0);
        assert_eq!(kinds.get(kind).copied().unwrap_or(0), count, "{kind}: {kinds:?}");
    }
    assert!(kinds["read"] > 0, "{kinds:?}");
}

fn assert_all_seen(learned: &Value) {
    let unseen = &learned["server"]["unseen"];
    for what in ["lost_bytes", "cut", "not_understood", "without_reply"] {
        assert_eq!(unseen[what], 0, "{unseen}");
    }
}

#[test]
fn a_captured_load_over_nfs_is_counted_as_tshark_does() {
    needs!(Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let url = served.nfs_url("");
    let captured = capture(&sharebench, &url);
    let learned = learned(&sharebench, &captured);
    let kinds = kinds(&learned);
    let calls = captured.nfs3_calls().unwrap();
    let procedures = [("look-up", 3), ("read", 6), ("make directory", 9), ("rename", 14)];
    assert_counted(&kinds, &calls, &procedures);
    assert_all_seen(&learned);
}

#[test]
fn a_captured_load_over_nfs_4_is_counted_as_tshark_does_and_runs_again() {
    needs!(Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    for version in ["vers=4.1", "vers=4.0"] {
        let url = served.nfs4_url("", version);
        let captured = capture(&sharebench, &url);
        let learned = learned(&sharebench, &captured);
        let mut kinds = kinds(&learned);
        // OPEN makes files too.
        *kinds.entry("open").or_default() += kinds.remove("create").unwrap_or(0);
        let (_, operations) = captured.nfs4_calls().unwrap();
        // RFC 7531: CLOSE, OPEN, READ, READDIR, RENAME.
        let numbers = [("close", 4), ("open", 18), ("read", 25), ("list", 26), ("rename", 29)];
        assert_counted(&kinds, &operations, &numbers);
        assert_all_seen(&learned);
        run_again(&sharebench, &url);
    }
}

#[test]
fn a_captured_load_over_smb_is_counted_as_tshark_does_and_runs_again() {
    needs!(Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let url = served.smb_url("");
    let captured = capture(&sharebench, &url);
    let learned = learned(&sharebench, &captured);
    let kinds = kinds(&learned);
    let requests = captured.smb_requests().unwrap();
    assert_counted(&kinds, &requests, &[("close", 6), ("read", 8), ("list", 14)]);
    assert_eq!(learned["server"]["unseen"]["lost_bytes"], 0);
    run_again(&sharebench, &url);
}

#[test]
fn inputs_that_are_no_captures_are_named() {
    let sharebench = Sharebench::new().unwrap();
    sharebench.write("text", "0.1 open(...)\n").unwrap();
    let refused = sharebench.run(&["learn", "text"]).unwrap();
    assert!(refused.text().contains("text: no capture"), "{}", refused.text());
    // The head of a capture without packets.
    let head = [0xA1B2_C3D4u32, 0x0002_0004, 0, 0, 65_535, 1].map(u32::to_be_bytes).concat();
    fs::write(sharebench.home().join("empty.pcap"), head).unwrap();
    let refused = sharebench.run(&["learn", "empty.pcap"]).unwrap();
    assert!(refused.text().contains("no SMB, NFS or NCP in 0 connections"), "{}", refused.text());
    let refused = sharebench.run(&["learn", "empty.pcap", "--server", "nas"]).unwrap();
    assert!(refused.text().contains("--server nas"), "{}", refused.text());
    let refused = sharebench.run(&["learn", "empty.pcap", "--below", "/srv"]).unwrap();
    assert!(refused.text().contains("--below /srv: none of the inputs is a trace"), "{}", refused.text());
}
