//! Databases with integers that nothing measures: every command ends with figures or with an error, and none panics.

use std::collections::BTreeSet;
use std::fs;

use rusqlite::Connection;
use sharebench_tests::Sharebench;

/// Columns with one integer, and with JSON.
const INTEGERS: [&str; 23] = [
    "position",
    "target",
    "repetition",
    "started_unix_ms",
    "unmeasured_ms",
    "window_ns",
    "busy_ns",
    "operations",
    "transactions",
    "bytes_read",
    "bytes_written",
    "bytes_verified",
    "wire_requests",
    "wire_bytes_sent",
    "wire_bytes_received",
    "wire_payload_sent",
    "wire_payload_received",
    "passes",
    "users_assigned",
    "users_reported",
    "censored",
    "client_cpu_user_ns",
    "client_cpu_kernel_ns",
];
const JSON: [&str; 9] =
    ["coordinates", "rate_base", "errors", "shares", "evidence", "load", "ranks", "server", "tcp"];
/// The largest integers of 64, 62 and 32 bits, and a negative one.
const EXTREMES: [&str; 4] = ["9223372036854775807", "4611686018427387903", "4294967295", "-1"];

/// Where the integers of a JSON text are that are no part of a string or of a fraction, one for each field.
fn integers(text: &str) -> Vec<(usize, usize)> {
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    let mut quoted = false;
    let mut field = String::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'"' {
            quoted = !quoted;
            if quoted {
                field.clear();
            }
        } else if quoted {
            field.push(char::from(bytes[at]));
        } else if bytes[at].is_ascii_digit() {
            let start = at;
            while at < bytes.len() && (bytes[at].is_ascii_digit() || b".e-+".contains(&bytes[at])) {
                at += 1;
            }
            let is_integer = text[start..at].bytes().all(|byte| byte.is_ascii_digit());
            if is_integer && known.insert(field.clone()) {
                found.push((start, at));
            }
            continue;
        }
        at += 1;
    }
    found
}

#[test]
fn no_integer_of_a_database_is_a_panic() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let load = ["load", "local", "--preset", "single", "--scale", "64KiB", "--users", "1,2"];
    let times = ["--measure", "200ms", "--warm-up", "0s", "--think", "1ms", "--db", "good.db"];
    let _ = sharebench.run(&[&load[..], &times].concat()).unwrap().expect_success();
    let sweep = ["sweep", "local", "--file-sizes", "64KiB", "--record-sizes", "4KiB", "--repetitions", "2"];
    let _ = sharebench.run(&[&sweep[..], &["--db", "good.db"]].concat()).unwrap().expect_success();
    let good = sharebench.home().join("good.db");
    let bad = sharebench.home().join("bad.db");
    let check = |run: &str, change: &str, value: &dyn rusqlite::ToSql| {
        fs::copy(&good, &bad).unwrap();
        // What violates the constraints of the table cannot be in a file.
        if Connection::open(&bad).unwrap().execute(change, [value]).is_err() {
            return;
        }
        for command in [&["show", run][..], &["report", run, "-o", "r.html"]] {
            let ended = sharebench.run(&[command, &["--db", "bad.db"]].concat()).unwrap();
            let text = ended.text();
            assert!(ended.code.is_some_and(|code| code < 100), "{change}: {text}");
            assert!(!text.contains("panicked") && !text.contains("overflow"), "{change}: {text}");
        }
    };
    for run in ["1", "2"] {
        for column in INTEGERS {
            for value in EXTREMES {
                let change = format!(
                    "UPDATE step SET {column} = ?1 WHERE rowid = (SELECT min(rowid) FROM step WHERE run = {run})"
                );
                check(run, &change, &value.parse::<i64>().unwrap());
            }
        }
        for column in JSON {
            let select = format!("SELECT {column} FROM step WHERE run = {run} ORDER BY rowid LIMIT 1");
            let database = Connection::open(&good).unwrap();
            let text: Option<String> = database.query_row(&select, [], |row| row.get(0)).unwrap();
            let Some(text) = text else { continue };
            for (start, end) in integers(&text) {
                for value in &EXTREMES[..3] {
                    let change = format!(
                        "UPDATE step SET {column} = ?1 WHERE rowid = (SELECT min(rowid) FROM step WHERE run = {run})"
                    );
                    check(run, &change, &format!("{}{value}{}", &text[..start], &text[end..]));
                }
            }
        }
    }
}
