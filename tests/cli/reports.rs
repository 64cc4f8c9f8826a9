//! Reports in a browser: nothing on the console or the network, headings in order, charts with data, filters,
//! downloads, cells by click and by keyboard, no violation of accessibility, first screen, phone width, print.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use sharebench_tests::program::{PATIENCE, poll};
use sharebench_tests::{Reader, Sharebench, needs, widen_window};

use crate::cli::exchange::{TABLE_OF_1993, place};
use crate::plans::sweep;
use crate::stored::Stored;

/// Writes a report of these runs and reads it; `kinds` are the charts it must have. Runs may be followed by flags.
fn read(sharebench: &Sharebench, name: &str, runs: &[&str], kinds: &[&str]) -> Value {
    let file = format!("{name}.html");
    let line = [&["report"], runs, &["-o", file.as_str()]].concat();
    let _ = sharebench.run(&line).unwrap().expect_success();
    let page = sharebench.home().join(&file);
    let found = Reader::read(page.to_str().unwrap(), name).unwrap();
    for silent in ["console", "requests", "problems", "violations"] {
        assert_eq!(found[silent], Value::Array(Vec::new()), "{name}: {silent}: {found}");
    }
    let figures = found["figures"].as_array().unwrap();
    for kind in kinds {
        assert!(figures.iter().any(|figure| figure["kind"] == *kind), "{name}: no chart of {kind}: {found}");
    }
    for figure in figures {
        let number = |what: &str| figure[what].as_u64().unwrap();
        assert!(number("marks") >= 3 && number("lines") > 1, "{name}: a chart without data: {figure}");
    }
    assert_eq!(found["downloads"].as_u64().unwrap(), 2 * figures.len() as u64, "{name}: {found}");
    assert!(found["phone_width"].as_u64().unwrap() <= 390, "{name} is wider than a phone: {found}");
    assert!(found["pdf_bytes"].as_u64().unwrap() > 10_000, "{name}: {found}");
    println!("{name}: longest task while scrolling {} ms", found["longest_task_ms"]);
    found
}

fn directories(sharebench: &Sharebench, names: &[&str]) {
    for name in names {
        fs::create_dir_all(sharebench.home().join(name)).unwrap();
    }
}

/// Runs a plan whose last section is that of a load, with a window in which each user completes a transaction.
fn measured(sharebench: &Sharebench, plan: &str, first_window: Duration) -> Stored {
    let measure = |window: &str| {
        sharebench.write("plan.toml", &format!("{plan}measure = '{window}'\n")).unwrap();
        let _ = sharebench.run(&["run", "plan.toml", "--quiet"]).unwrap().expect_success();
        Stored::last(sharebench)
    };
    // The cells of a sweep have no users.
    widen_window(first_window, measure, Stored::all_users_reported)
}

fn parts(found: &Value) -> Vec<&str> {
    found["parts"].as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect()
}

#[test]
fn two_targets_and_their_users() {
    needs!(Reader::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let local = "./local";
    directories(&sharebench, &["local"]);
    let plan = sweep(&[("nfs", &served.nfs_url("")), ("local", local)], "5ms", 6);
    let load = "[load]\nusers = [1, 2, 4]\nthink = '20ms'\nwarm_up = '100ms'\nscale = '1MB'\nblock = '64KiB'\nslo = 'p95<200ms'\n";
    let plan = plan.replace("title = 'test'", "title = 'an export and a local disk'") + load;
    let stored = measured(&sharebench, &plan, Duration::from_millis(700));
    let kinds = ["overview", "load", "ratio", "throughput", "bands", "tail", "timeline", "cost"];
    let found = read(&sharebench, "two-targets", &[&stored.number], &kinds);
    let order = ["answer", "trust", "users", "differ", "why", "tails", "cost", "open", "method"];
    let shown: Vec<&str> = parts(&found).into_iter().filter(|part| *part != "contradictions").collect();
    assert_eq!(shown, order, "{found}");
    assert_eq!(found["filter"], serde_json::json!(["0 of 4", "4 of 4"]), "{found}");
}

/// Greatest height of the page of a demo with its tests closed, in pixels.
const MAX_HEIGHT: u64 = 6000;

#[test]
fn first_screen_has_verdict_bars_trust_and_the_map_of_that_pair() {
    needs!(Reader::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    directories(&sharebench, &["local"]);
    let targets = [("smb", &*served.smb_url("")), ("nfs", &*served.nfs_url("")), ("local", "./local")];
    let load = "[load]\nusers = [1, 2]\nthink = '20ms'\nwarm_up = '100ms'\nscale = '1MB'\nblock = '64KiB'\n";
    let stored = measured(&sharebench, &(sweep(&targets, "3ms", 6) + load), Duration::from_millis(500));
    let run = stored.number.as_str();
    let _ = sharebench.run(&["report", run, "-o", "first.html"]).unwrap().expect_success();
    let json = sharebench.run(&["show", run, "--format", "json"]).unwrap().expect_success().stdout;
    let analysis: Value = serde_json::from_str(&json).unwrap();
    let reported = analysis["reported"][0].as_u64().unwrap() as usize;
    let found = Reader::first_screen(sharebench.home().join("first.html").to_str().unwrap()).unwrap();
    for silent in ["console", "requests"] {
        assert_eq!(found[silent], Value::Array(Vec::new()), "{silent}: {found}");
    }
    for (screen, height) in found["screens"].as_array().unwrap().iter().zip([900, 844]) {
        for part in ["verdict", "bars", "light"] {
            let bottom = screen[part].as_u64().unwrap_or_else(|| panic!("no {part}: {screen}"));
            assert!(bottom <= height, "{part} ends at {bottom} of {height}: {screen}");
        }
        assert!(screen["height"].as_u64().unwrap() <= MAX_HEIGHT, "{screen}");
        assert_eq!(screen["pair"], analysis["comparisons"][reported]["name"], "{screen}");
        for width in ["overflow", "overflow_open", "overflow_print"] {
            assert_eq!(screen[width], Value::Array(Vec::new()), "{width}: {screen}");
        }
        for tip in screen["tips"].as_array().unwrap() {
            assert!(tip["is_within"] == true && tip["lines"].as_u64().unwrap() <= 4, "{tip}");
        }
        assert_eq!(screen["marked"], serde_json::json!(["#tails"]), "{screen}");
        let print = &screen["print"];
        assert!(print["closed_tests"] == 0 && print["charts"] == print["figures"], "{screen}");
        assert!(print["stated"].as_str().unwrap().contains("closed"), "{screen}");
    }
}

#[test]
fn a_depth_study() {
    needs!(Reader::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    directories(&sharebench, &["one", "two"]);
    let line = ["depth", "./one", "./two", "--file-size", "256KiB", "--record-sizes", "4KiB,16KiB"];
    let more =
        ["--depths", "1,2,4", "--tests", "read", "--repetitions", "6", "plan:min_sample_time=2ms", "--quiet"];
    let _ = sharebench.run(&[&line[..], &more[..]].concat()).unwrap().expect_success();
    let found = read(&sharebench, "depth", &["1"], &["depth", "level", "ratio", "tail", "cost"]);
    assert!(parts(&found).contains(&"depth"), "{found}");
}

#[test]
fn old_tables_compared() {
    needs!(Reader::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    place(&sharebench, "doupnik1993.csv", "doupnik1993.csv");
    let _ = sharebench.run(&TABLE_OF_1993).unwrap().expect_success();
    let kinds = ["ratio", "throughput"];
    let found = read(&sharebench, "tables-of-1993", &["1", "2"], &kinds);
    // Nothing is known of times, caches and the clock of 1993, so nothing is drawn of them.
    assert!(!parts(&found).contains(&"tails"), "{found}");
}

#[test]
fn a_run_that_lost_its_server() {
    needs!(Reader::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    directories(&sharebench, &["local"]);
    let plan = sweep(&[("local", "./local"), ("nfs", &served.nfs_url(""))], "100ms", 6);
    // Nothing is slow but the machine: a server that is killed refuses at once.
    sharebench.write("plan.toml", &format!("timeout = '20s'\n{plan}")).unwrap();
    let mut running = sharebench.start(&["run", "plan.toml"], "run.log").unwrap();
    assert!(poll(PATIENCE, || Stored::steps_so_far(&sharebench, 1) >= 6), "{}", running.output());
    drop(served);
    let status = running.wait(PATIENCE).unwrap();
    assert_eq!(status.code(), Some(3), "{}", running.output());
    let found = read(&sharebench, "broken", &["1"], &["throughput", "timeline"]);
    assert_eq!(parts(&found)[..2], ["answer", "trust"], "{found}");
}

#[test]
fn a_dash_is_standard_output_and_an_unknown_extension_is_an_error() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let small = ["--file-sizes", "64KiB", "--record-sizes", "4KiB", "--tests", "write", "--repetitions", "1"];
    let _ = sharebench.run(&[&["sweep", "./local"], &small[..]].concat()).unwrap().expect_success();
    let printed = |line: &[&str]| sharebench.run(line).unwrap().expect_success().stdout;
    assert_eq!(
        printed(&["export", "1", "--format", "csv", "-o", "-"]),
        printed(&["export", "1", "--format", "csv"])
    );
    assert!(printed(&["report", "1", "-o", "-"]).starts_with("<!doctype html>"));
    let survey = printed(&["learn", "/etc/ssl", "--max-files", "5", "-o", "-"]);
    assert!(survey.contains("[workload]"), "{survey}");
    let wrong = sharebench.run(&["report", "1", "-o", "nas.docx"]).unwrap();
    assert!(
        wrong.code == Some(2) && wrong.stderr.contains("(.html) or a workbook (.xlsx)"),
        "{}",
        wrong.text()
    );
    assert!(!sharebench.home().join("-").exists() && !sharebench.home().join("nas.docx").exists());
}
