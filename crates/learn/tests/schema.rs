//! What `--json` prints is what the published schema says (docs/schemas/learn-1.json).

use std::io::{Cursor, Read};

use serde_json::{Value, json};
use sharebench_learn::{
    Contents, ReadOptions, learn, mount_reports, mounts_to_json, read, server_report, to_json,
};

const SCHEMA: &str = include_str!("../../../docs/schemas/learn-1.json");
const AUDIT: &[u8] = include_bytes!("../src/input/audit/samples/smbclient.txt");
const TRACE: &[u8] =
    b"1 1.0 openat(AT_FDCWD, \"/srv/f\", O_RDONLY) = 3 <0.1>\n1 1.5 read(3, \"\", 9) = 9 <0.1>\n";
const BEFORE: &[u8] = include_bytes!("../src/mountstats/samples/before.txt");
const AFTER: &[u8] = include_bytes!("../src/mountstats/samples/after.txt");
const REMOUNTED: &[u8] = include_bytes!("../src/mountstats/samples/remounted.txt");

fn document(inputs: &[&'static [u8]]) -> Value {
    let inputs =
        inputs.iter().map(|bytes| ("input".to_owned(), Box::new(Cursor::new(*bytes)) as Box<dyn Read>));
    match read(inputs, &ReadOptions::default()).expect("inputs") {
        Contents::Operations(observed) => to_json(&server_report(&observed), &learn(&observed)),
        Contents::Mounts(snapshots) => mounts_to_json(&mount_reports(&snapshots), snapshots.len()),
    }
}

fn mistakes(document: &Value) -> Vec<String> {
    crate::validator::mistakes(&serde_json::from_str(SCHEMA).expect("JSON"), document)
}

#[test]
fn documents_are_what_the_schema_says() {
    for inputs in [&[AUDIT][..], &[TRACE], &[AFTER], &[BEFORE, AFTER, REMOUNTED], &[AFTER, BEFORE]] {
        let found = mistakes(&document(inputs));
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn the_schema_rejects_other_documents() {
    assert!(!mistakes(&json!({ "schema": sharebench_learn::SCHEMA })).is_empty());
    let mut mounts = document(&[AFTER]);
    mounts["mounts"][0]["basis"] = json!("never");
    assert_eq!(mistakes(&mounts).len(), 1);
}
