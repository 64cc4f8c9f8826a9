//! Exports carry the numbers as they are.
use std::collections::HashMap;

use crate::sample::{Scratch, header, step};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sharebench_model::{Histogram, RunOutcome};
use sharebench_results::{SpreadsheetText, Store, StoredRun, write_csv, write_json};

fn run(name: &str) -> StoredRun {
    let file = Scratch::new(name);
    let mut store = Store::open(&file.0).unwrap();
    let run = store.begin_run(&header()).unwrap();
    (0..2).for_each(|index| store.record_step(run, &step(index)).unwrap());
    store.finish_run(run, &RunOutcome::Complete).unwrap();
    store.load(run).unwrap()
}

#[test]
fn csv_has_one_row_per_step_and_one_column_per_axis() {
    let mut text = Vec::new();
    write_csv(&run("csv"), SpreadsheetText::Defused, &mut text).unwrap();
    assert!(text.ends_with(b"\n"));
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_slice());
    let lines: Vec<csv::StringRecord> = reader.records().map(|record| record.unwrap()).collect();
    assert_eq!(lines.len(), 3);
    let row = |line: usize| -> HashMap<&str, &str> {
        assert_eq!(lines[0].len(), lines[line].len());
        lines[0].iter().zip(&lines[line]).collect()
    };
    let smb = row(1);
    let local = row(2);
    assert_eq!((smb["target"], local["target"]), ("smb", "local"));
    assert_eq!((smb["record_size_bytes"], smb["queue_depth"], smb["test"]), ("65536", "8", "read, again"));
    assert_eq!((smb["wire_received_bytes"], local["wire_received_bytes"]), ("65700000", ""));
    assert_eq!((smb["errors"], smb["errors_timeout"], smb["errors_not_found"]), ("3", "2", "1"));
    assert_eq!((smb["operations"], local["operations"]), ("1000", "1001"));
    let p50: u64 = smb["response_p50_ns"].parse().unwrap();
    assert!((999_000..=1_001_000).contains(&p50), "{p50}");
    assert_eq!((smb["lag_p50_ns"], smb["verdict"]), ("", "warning"));
    assert_eq!(smb["checks"], "little warning: N is 3, X*R is 2");
}

#[test]
fn json_has_a_version_and_complete_histograms() {
    let run = run("json");
    let mut text = Vec::new();
    write_json(&run, &mut text).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&json["schema"], &json["state"]), (&"sharebench.run/1".into(), &"complete".into()));
    assert_eq!(json["seed"], u64::MAX.to_string());
    let first = &json["steps"][0];
    assert_eq!(first["wire"]["payload_received"], 65_536_000);
    assert_eq!((&first["errors"]["timeout"], &first["bytes"]["written"]), (&2.into(), &7.into()));
    assert!(json["steps"][1]["wire"].is_null());
    let blob = STANDARD.decode(first["response"]["hdr_v2_base64"].as_str().unwrap()).unwrap();
    assert_eq!(Histogram::from_v2(&blob).unwrap(), run.steps[0].measure.response);
    assert_eq!(first["response"]["count"], 1000);
    assert!(first["lag"].get("p50_ns").is_none());
}
