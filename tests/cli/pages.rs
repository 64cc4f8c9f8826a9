//! No sentence that the program prints contradicts a cell of the same run: the JSON has the cells, and every format the
//! sentences. Nothing here depends on who is faster.

#[path = "../../crates/analysis/tests/oracle/mod.rs"]
mod oracle;

use std::fs;

use serde_json::Value;
use sharebench_tests::{Ended, Sharebench};

use crate::plans::sweep;

/// Judges the JSON of a command, and its text and Markdown. Returns the JSON.
fn judge(sharebench: &Sharebench, command: &[&str]) -> Value {
    let output = |format: &str| {
        let line = [command, &["--format", format]].concat();
        sharebench.run(&line).unwrap().expect_success().stdout
    };
    let json: Value = serde_json::from_str(&output("json")).unwrap();
    assert_eq!(oracle::contradictions(&json), [] as [String; 0], "{command:?}");
    let cells = oracle::of_json(&json);
    assert!(!cells.is_empty(), "{command:?}: {json}");
    for format in ["text", "md"] {
        judge_page(&cells, &output(format), &format!("{command:?} as {format}"));
    }
    json
}

/// Judges a page of text or Markdown against these cells. It must have statements about them.
fn judge_page(cells: &[oracle::Cell], page: &str, what: &str) {
    assert!(oracle::statements(cells, page) > 0, "{what} says nothing:\n{page}");
    assert_eq!(oracle::contradictions_of_page(cells, page), [] as [String; 0], "{what}");
}

/// An HTML page claims only what the JSON of the same runs claims, which is judged.
fn judge_html(sharebench: &Sharebench, json: &Value, name: &str) {
    let page = fs::read_to_string(sharebench.home().join(name)).unwrap();
    assert!(oracle::statements(&oracle::of_json(json), &page) > 0, "{name} says nothing");
    assert_eq!(oracle::foreign_claims(json, &page), [] as [String; 0], "{name}");
}

/// Judges every output of a demo that has ended here.
pub fn judge_demo(sharebench: &Sharebench, demo: &Ended) {
    let json = judge(sharebench, &["show", "1"]);
    judge_page(&oracle::of_json(&json), &demo.stdout, "demo");
    judge_html(sharebench, &json, "sharebench-demo.html");
    // Each pair of its targets alone.
    for pair in [["1/nfs", "1/smb"], ["1/smb", "1/local"], ["1/local", "1/ncp"]] {
        let _ = judge(sharebench, &[&["compare"], &pair[..]].concat());
    }
}

#[test]
fn no_page_of_runs_and_gates_contradicts_its_cells() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    fs::create_dir_all(sharebench.home().join("local")).unwrap();
    let plan = sweep(&[("nfs", &served.nfs_url("")), ("local", "./local")], "3ms", 6);
    sharebench.write("plan.toml", &plan).unwrap();
    // A gate runs the plan as any other command does. What it decides depends on the machine.
    for _ in 0..2 {
        let line = ["gate", "plan.toml", "--max-slower", "95%", "--report", "gate.html", "--quiet"];
        let gate = sharebench.run(&line).unwrap();
        assert!(matches!(gate.code, Some(0 | 8 | 9)), "{}", gate.text());
    }
    let _ = judge(&sharebench, &["show", "1"]);
    let _ = judge(&sharebench, &["compare", "1", "2"]);
    let _ = sharebench.run(&["report", "1", "2", "-o", "report.html"]).unwrap().expect_success();
    let reported = sharebench.run(&["compare", "1", "2", "--format", "json"]).unwrap().expect_success();
    let json: Value = serde_json::from_str(&reported.stdout).unwrap();
    for name in ["gate.html", "report.html"] {
        judge_html(&sharebench, &json, name);
    }
}
