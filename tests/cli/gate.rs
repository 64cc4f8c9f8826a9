//! `gate` from outside: baseline, verdicts with their exit codes, outputs for CI systems, and the workflow of docs/measure/gate.md.

use serde_json::Value;
use sharebench_tests::{Served, Sharebench};

const GUIDE: &str = include_str!("../../docs/measure/gate.md");

/// A plan of two small cells on one target.
fn plan(url: &str) -> String {
    format!(
        "title = 'nightly'\nrepetitions = 6\nmin_sample_time = '5ms'\n[[target]]\nname = 'nas'\nurl = '{url}'\n\
         [sweep]\nfile_sizes = ['16KiB']\nrecord_sizes = ['4KiB', '16KiB']\ntests = ['write', 'read']\n"
    )
}

/// The code block of the guide that begins with this language.
fn block(language: &str) -> &'static str {
    let start = format!("```{language}\n");
    let from = GUIDE.find(&start).unwrap_or_else(|| panic!("docs/measure/gate.md has no block {start}"))
        + start.len();
    &GUIDE[from..from + GUIDE[from..].find("```").unwrap()]
}

/// The shell lines of the workflow: those below `run: |`, without their indentation.
fn shell_lines(workflow: &str) -> String {
    let lines = workflow.lines().skip_while(|line| !line.trim_end().ends_with("run: |")).skip(1);
    let script: Vec<&str> = lines.take_while(|line| line.starts_with("          ")).map(str::trim).collect();
    assert!(script.len() >= 2, "{workflow}");
    script.join("\n")
}

/// The events of `--json` without those of other kinds.
fn event(stdout: &str, kind: &str) -> Value {
    let events = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.into_iter().find(|event| event["event"] == kind).unwrap_or_else(|| panic!("no {kind} in {stdout}"))
}

#[test]
fn equal_runs_pass_and_a_slower_server_fails_until_its_level_is_accepted() {
    let sharebench = Sharebench::new().unwrap();
    let served: Served = sharebench.serve_by(&[], "share", &["--service-time", "10ms"]).unwrap();
    sharebench.write("nightly.toml", &plan(&served.smb_url(""))).unwrap();
    // A busy machine may be several times slower in the second run, but not twenty times.
    let gate = |more: &[&str]| {
        let line = ["gate", "nightly.toml", "--max-slower", "95%"];
        sharebench.run(&[&line[..], more].concat()).unwrap()
    };
    let first = gate(&[]).expect_success();
    assert!(first.stdout.starts_with("GATE  first run: baseline recorded\n"), "{}", first.text());
    let second = gate(&["--json"]).expect_success();
    let verdict = event(&second.stdout, "gate");
    assert_eq!((&verdict["run"], &verdict["verdict"]["good_runs"]), (&2.into(), &1.into()));
    assert_eq!(verdict["verdict"]["lines"].as_array().unwrap().len(), 3, "{verdict}");
    // Another plan has no baseline yet.
    let other = plan(&served.smb_url("")).replace("repetitions = 6", "repetitions = 5");
    sharebench.write("other.toml", &other).unwrap();
    let of_other = sharebench.run(&["gate", "other.toml", "--quiet"]).unwrap().expect_success();
    assert!(of_other.stdout.contains("first run"), "{}", of_other.text());
    // Both servers wait before each operation, for longer than a busy machine delays it, so that this one is many times slower.
    let slow = sharebench.serve_by(&[], "slow", &["--service-time", "200ms"]).unwrap();
    let target = slow.smb_url("");
    sharebench.write("slow.toml", &plan(&target)).unwrap();
    let slower = sharebench
        .run(&[
            "gate",
            "slow.toml",
            "--against",
            "2",
            "--max-slower",
            "30%",
            "--junit",
            "slow.xml",
            "--quiet",
        ])
        .unwrap();
    assert_eq!(slower.code, Some(8), "{}", slower.text());
    assert!(slower.stdout.starts_with("GATE  slower: "), "{}", slower.stdout);
    let junit = std::fs::read_to_string(sharebench.home().join("slow.xml")).unwrap();
    assert!(junit.contains("<failure type=\"slower\" message="), "{junit}");
    // It is no baseline: the next run of this plan is its first one, and starts a series with the named run.
    let accepted = sharebench
        .run(&["gate", "slow.toml", "--against", "last", "--max-slower", "90%", "--json"])
        .unwrap()
        .expect_success();
    let accepted = event(&accepted.stdout, "gate");
    assert_eq!(accepted["verdict"]["good_runs"], 1, "{accepted}");
}

#[test]
fn sharpness_that_the_runs_do_not_reach_is_inconclusive_and_states_what_settles_it() {
    let sharebench = Sharebench::new().unwrap();
    std::fs::create_dir(sharebench.home().join("share")).unwrap();
    sharebench.write("nightly.toml", &plan("./share")).unwrap();
    let gate = |more: &[&str]| {
        sharebench.run(&[&["gate", "nightly.toml", "--max-slower", "90%"], more].concat()).unwrap()
    };
    let _ = gate(&[]).expect_success();
    // No interval of six repetitions is that narrow.
    let blunt = gate(&["--require-sharpness", "0.1%"]);
    assert_eq!(blunt.code, Some(9), "{}", blunt.text());
    assert!(blunt.stdout.starts_with("GATE  inconclusive: "), "{}", blunt.text());
    assert!(
        blunt.stdout.contains("and 0.1 % is required") && blunt.stdout.contains("repetitions"),
        "{}",
        blunt.text()
    );
}

#[test]
fn mistakes_name_the_option_and_an_unreachable_target_is_invalid_in_the_outputs() {
    let sharebench = Sharebench::new().unwrap();
    sharebench.write("nightly.toml", &plan("nfs://127.0.0.1:1/share?mountport=1")).unwrap();
    let refused = |line: &[&str], word: &str| {
        let ended = sharebench.run(&[&["gate", "nightly.toml"], line].concat()).unwrap();
        assert!(ended.code == Some(2) && ended.stderr.contains(word), "{line:?}: {}", ended.text());
    };
    refused(&["--against", "good"], "'good' names no run; write last-good");
    refused(&["--max-slower", "0"], "--max-slower");
    refused(&["--require-sharpness", "x"], "--require-sharpness");
    refused(&["--against", "7"], "--against: ");
    let lost = sharebench
        .run_with(
            &["gate", "nightly.toml", "--junit", "gate.xml", "--quiet"],
            &[("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", "summary.md")],
        )
        .unwrap();
    assert_eq!(lost.code, Some(3), "{}", lost.text());
    assert!(lost.stdout.contains("::error title=sharebench gate%3A nightly::invalid: "), "{}", lost.stdout);
    let read = |name: &str| std::fs::read_to_string(sharebench.home().join(name)).unwrap();
    assert!(read("gate.xml").contains("<error type=\"invalid\" message=\"invalid: "), "{}", read("gate.xml"));
    assert!(read("summary.md").starts_with("### nightly: invalid\n"), "{}", read("summary.md"));
}

#[test]
fn workflow_of_the_guide_runs_as_a_script() {
    let sharebench = Sharebench::new().unwrap();
    std::fs::create_dir(sharebench.home().join("share")).unwrap();
    let plan = block("toml").replace("/mnt/nas/bench", "./share").replace("50ms", "5ms");
    assert!(plan.contains("./share") && plan.contains("5ms"), "{plan}");
    sharebench.write("nightly.toml", &plan).unwrap();
    let commands = shell_lines(block("yaml"));
    let script = format!("set -e\nsharebench() {{ \"$program\" \"$@\"; }}\nprogram=$0\n{commands}\n");
    let environment = ["LAB=.", "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=summary.md"];
    let night = || {
        let words = [&["env"], &environment[..], &["sh", "-c", &script]].concat();
        sharebench.run_by(&words).unwrap()
    };
    let first = night().expect_success();
    assert!(
        first.stdout.contains("\n::notice title=sharebench gate%3A nightly::first run: "),
        "{}",
        first.text()
    );
    let second = night();
    let home = sharebench.home();
    let read = |name: &str| std::fs::read_to_string(home.join(name)).unwrap();
    // A busy machine may be too noisy for the limit of the guide: then the outcome is inconclusive or slower, or the first
    // night does not count, so that nothing is compared.
    let (outcome, level) = match second.code {
        Some(0) => ("passed", "notice"),
        Some(8) => ("slower", "error"),
        Some(9) => ("inconclusive", "warning"),
        _ => panic!("{}", second.text()),
    };
    let is_annotated = |text: &str| {
        let annotation = format!("\n::{level} title=sharebench gate%3A nightly::{text}: ");
        second.stdout.contains(&annotation)
    };
    let is_compared = is_annotated(outcome);
    let is_baseline = || ["baseline recorded", "no run counts yet"].into_iter().any(is_annotated);
    assert!(is_compared || (outcome == "passed" && is_baseline()), "{}", second.text());
    let markdown = read("gate.md");
    assert!(markdown.starts_with(&format!("### nightly: {outcome}\n")), "{markdown}");
    assert!(markdown.lines().count() <= 30, "{markdown}");
    assert!(read("summary.md").ends_with(&markdown), "each night appends its summary");
    let junit = read("gate.xml");
    let case = if is_compared { ("nas", "read") } else { ("gate", "verdict") };
    assert!(junit.contains(&format!("<testcase classname=\"{}\" name=\"{}\"", case.0, case.1)), "{junit}");
    assert_eq!(junit.contains("<failure"), outcome != "passed", "{junit}");
    assert!(read("gate.html").contains("<html"), "the report of the night");
}

#[test]
fn every_json_document_names_the_version_of_its_schema() {
    let sharebench = Sharebench::new().unwrap();
    std::fs::create_dir(sharebench.home().join("share")).unwrap();
    sharebench.write("nightly.toml", &plan("./share")).unwrap();
    let run = |line: &[&str]| sharebench.run(line).unwrap().expect_success().stdout;
    for _ in 0..6 {
        let events = run(&["run", "nightly.toml", "--json"]);
        assert_eq!(event(&events, "started")["schema"], "sharebench.events/1");
    }
    let gate = run(&["gate", "nightly.toml", "--json"]);
    assert_eq!(event(&gate, "gate")["schema"], "sharebench.gate/1");
    let series = ["compare", "--series", "1", "2", "3", "4", "5", "6", "--format", "json"];
    for (line, schema) in [
        (&["show", "last", "--format", "json"][..], "urn:sharebench:schema:compare:1"),
        (&["compare", "1", "2", "--format", "json"], "urn:sharebench:schema:compare:1"),
        (&series, "urn:sharebench:schema:series:1"),
        (&["export", "1", "--format", "json"], "sharebench.run/1"),
        (&["probe", "./share", "--json"], "urn:sharebench:schema:probe:1"),
        (&["doctor", "--format", "json"], "sharebench.doctor/1"),
    ] {
        let document: Value = serde_json::from_str(&run(line)).unwrap();
        assert_eq!(document["schema"], schema, "{line:?}");
    }
}
