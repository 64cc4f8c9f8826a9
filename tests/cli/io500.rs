//! The tests of io500: every phase on every kind of target, its score, and bad input.

use std::fs;

use serde_json::Value;
use sharebench_model::Io500Phase;
use sharebench_stats::io500_score;
use sharebench_tests::Sharebench;

use crate::plans::left_in;
use crate::robustness::bad_input::expect;
use crate::stored::Stored;

/// A mistake of the user, as `sharebench --help` documents it.
const USAGE: i32 = 2;

const SMALL: [&str; 11] = [
    "--tests",
    "io500",
    "--jobs",
    "2",
    "--file-sizes",
    "1MiB",
    "--entries",
    "20",
    "--repetitions",
    "1",
    "plan:min_sample_time=5ms",
];

fn phase(step: &Value) -> Io500Phase {
    let name = step["coordinates"]["phase"]["text"].as_str().unwrap();
    Io500Phase::ALL.into_iter().find(|phase| phase.name() == name).unwrap()
}

/// The rate of a step in the unit of its phase, GiB/s or kIOPS.
fn rate(step: &Value) -> f64 {
    let number = |value: &Value| value.as_f64().unwrap();
    let seconds = number(&step["window_ns"]) / 1e9;
    if phase(step).is_bandwidth() {
        let bytes = number(&step["bytes"]["read"]) + number(&step["bytes"]["written"]);
        return bytes / f64::from(1 << 30) / seconds;
    }
    number(&step["operations"]) / 1000.0 / seconds
}

/// The score of the steps of a run, from their own figures.
fn score(steps: &[Value]) -> f64 {
    let (bandwidths, metadata): (Vec<&Value>, Vec<&Value>) =
        steps.iter().partition(|step| phase(step).is_bandwidth());
    let rates = |steps: &[&Value]| steps.iter().map(|step| rate(step)).collect::<Vec<_>>();
    io500_score(&rates(&bandwidths), &rates(&metadata)).unwrap().total
}

#[test]
fn every_phase_is_measured_and_the_score_is_not_an_official_submission() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let urls = [
        "./local".to_owned(),
        served.smb_url(""),
        served.nfs_url(""),
        served.nfs4_url("", "vers=4.1"),
        served.ncp_url(""),
    ];
    for (run, url) in (1..).zip(&urls) {
        let line = [&["sweep", url.as_str(), "--verify", "full"], &SMALL[..]].concat();
        let _ = sharebench.run(&line).unwrap().expect_success();
        let steps = Stored::read(&sharebench, run).steps;
        let mut phases: Vec<Io500Phase> = steps.iter().map(phase).collect();
        phases.sort_unstable();
        assert_eq!(phases, Io500Phase::ALL, "{url}");
        for step in &steps {
            assert_eq!(step["errors"], serde_json::json!({}), "{url}: {step}");
            assert_ne!(step["verdict"], "invalid", "{url}: {step}");
            assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{url}: {step}");
        }
        let text = sharebench.shown().unwrap();
        let line = text.lines().find(|line| line.contains("IO500 score ")).expect("a score");
        assert!(text.contains("not an official submission"), "{text}");
        let shown = line.split("IO500 score ").nth(1).and_then(|rest| rest.split([' ', '[']).next()).unwrap();
        let ratio = shown.parse::<f64>().unwrap() / score(&steps);
        // Three digits are shown.
        assert!((ratio - 1.0).abs() < 0.006, "{url}: {line} instead of {}", score(&steps));
    }
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
    assert_eq!(left_in(&sharebench.home().join("local")), Vec::<String>::new());
}

#[test]
fn values_that_the_phases_fix_and_lists_are_mistakes() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let table: [(&[&str], &[&str]); 9] = [
        (&["--record-sizes", "4KiB"], &["--record-sizes", "io500"]),
        (&["--layouts", "tree"], &["--layouts", "io500"]),
        (&["--cache", "unbuffered"], &["--cache", "io500"]),
        (&["--jobs", "1,2"], &["--jobs", "one value"]),
        (&["--entries", "10,20"], &["--entries", "one value"]),
        (&["--entries", "0"], &["--entries", "0"]),
        (&["--file-sizes", "100KiB"], &["--file-sizes", "100KiB"]),
        (&["--file-sizes", "1500KiB"], &["--file-sizes", "1MiB"]),
        (&["--tests", "read"], &["--tests", "alone"]),
    ];
    for (flags, words) in table {
        let ended = sharebench.run(&[&["sweep", "./local", "--tests", "io500"], flags].concat()).unwrap();
        expect(&ended, USAGE, words);
    }
    let ended = sharebench.run(&["sweep", "./local", "--tests", "io50"]).unwrap();
    expect(&ended, USAGE, &["--tests", "io50", "did you mean 'io500'?"]);
    assert_eq!(left_in(&sharebench.home().join("local")), Vec::<String>::new());
}
