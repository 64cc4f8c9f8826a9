//! The doctor: it reports every finding, and its known-answer tests pass or report a noisy machine.

use serde_json::Value;
use sharebench_tests::need::too_noisy;
use sharebench_tests::{KernelGuest, Sharebench, Terminal, needs};

const CHECKS: [&str; 12] = [
    "clock",
    "clock source",
    "timer",
    "frequency",
    "link",
    "open files",
    "ceiling, depth 1",
    "ceiling, depth 32",
    "steal",
    "pressure",
    "hiccups",
    "equal servers",
];

#[test]
fn doctor_reports_every_finding_with_what_it_invalidates() {
    let sharebench = Sharebench::new().unwrap();
    let ended = sharebench.run(&["doctor", "--format", "json"]).unwrap().expect_success();
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["schema"], "sharebench.doctor/1");
    let findings = document["findings"].as_array().unwrap();
    for check in CHECKS {
        let found = findings.iter().find(|finding| finding["name"] == check);
        let found = found.unwrap_or_else(|| panic!("no {check} in {}", ended.stdout));
        assert!(["pass", "warn", "unknown"].contains(&found["status"].as_str().unwrap()), "{found}");
        assert!(!found["measured"].as_str().unwrap().is_empty(), "{found}");
        assert!(!found["invalidates"].as_str().unwrap().is_empty(), "{found}");
    }
    assert_eq!(document["proofs"], serde_json::json!([]));
}

#[test]
fn doctor_has_headings_in_80_columns_and_ends_with_its_verdict() {
    needs!(Terminal::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let terminal = Terminal::start(&sharebench, "doctor", (80, 24)).unwrap();
    terminal.wait_for("end", |screen| screen.contains("ended with 0")).unwrap();
    // tmux has broken no line into two, if every line has its indent.
    let all = terminal.screen(200).unwrap();
    let lines: Vec<&str> = all.lines().filter(|line| !line.is_empty()).collect();
    for heading in ["CLOCK AND TIMERS", "NETWORK AND FILES", "LOAD GENERATOR", "NOISE", "COMPARISON"] {
        assert!(lines.contains(&heading), "no {heading} in\n{all}");
    }
    let starts = ["pass ", "WARN ", "unknown ", "         ", "VERDICT  "];
    let is_known = |line: &&str| {
        let is_heading = line.chars().all(|c| c.is_ascii_uppercase() || c == ' ');
        is_heading || line.starts_with("ended with") || starts.iter().any(|start| line.starts_with(start))
    };
    assert!(lines.iter().all(is_known), "{all}");
    let verdict = lines.iter().position(|line| line.starts_with("VERDICT  ")).unwrap();
    assert!(lines[verdict + 1..lines.len() - 1].iter().all(|line| line.starts_with("         ")), "{all}");
}

/// The machine decides whether K1 holds, so this test only checks that the verdict agrees with the rows and the exit
/// code. A test in virtual time asserts K1 itself.
#[test]
fn verdict_agrees_with_rows_and_exit_code() {
    let sharebench = Sharebench::new().unwrap();
    let line = ["doctor", "--prove", "--only", "K1,K18", "--quick", "--format", "json"];
    let ended = sharebench.run(&line).unwrap();
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let proofs = document["proofs"].as_array().unwrap();
    assert_eq!(proofs.iter().map(|proof| &proof["id"]).collect::<Vec<_>>(), ["K1", "K18"]);
    assert_eq!(proofs[1]["verdict"], "pass", "no time decides this one: {}", ended.stdout);
    let service = &proofs[0];
    let rows = service["rows"].as_array().unwrap();
    let row = |quantity: &str| rows.iter().find(|row| row["quantity"] == quantity).unwrap();
    assert_eq!(row("operations")["holds"], true, "counts are exact on any machine: {service}");
    let all_hold = rows.iter().all(|row| row["holds"] == true);
    let why = service["why"].as_str().unwrap();
    match (service["verdict"].as_str().unwrap(), ended.code) {
        ("pass", Some(0)) => assert!(all_hold && why.is_empty(), "{service}"),
        ("fail", Some(6)) => assert!(!why.is_empty(), "{service}"),
        ("too-noisy", Some(7)) => too_noisy("doctor --prove --only K1", why),
        other => panic!("{other:?}: {}", ended.stdout),
    }
}

/// The guest has its own clock, so that the step affects no other test.
#[test]
fn wall_clock_set_back_changes_no_measured_time() {
    needs!(KernelGuest::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let guest = KernelGuest::prepare(&[]).unwrap();
    let binary = sharebench.binary();
    let script = format!(
        "ip link set lo up; before=$(date +%s)
         {binary} doctor --prove --only K20 --step-clock --format json; echo code $?
         echo later $(($(date +%s) - before))"
    );
    let printed = guest.run(&script, &[], KernelGuest::LONG).unwrap();
    println!("{printed}");
    let proof = printed.split_once("\"proofs\"").unwrap().1;
    assert!(proof.contains("\"verdict\": \"pass\"") && printed.contains("code 0"), "{printed}");
    let later: i64 = printed.split_once("later ").unwrap().1.lines().next().unwrap().trim().parse().unwrap();
    assert!((0..600).contains(&later), "the clock was set forward again: {later} s");
}

#[test]
fn unknown_experiment_is_rejected_with_the_known_ones() {
    let ended = Sharebench::new().unwrap().run(&["doctor", "--prove", "--only", "K99"]).unwrap();
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("--only") && ended.stderr.contains("K18"), "{}", ended.stderr);
}
