//! Integers of a database that nothing measures: an error of their column, and never a sum that overflows.

use crate::sample::{Scratch, header, step};
use rusqlite::Connection;
use sharebench_results::{Problem, RunId, Store};

/// A database with a run of three steps in which an update has spoilt a column.
fn load(file: &Scratch, update: &str) -> Result<(), Problem> {
    file.remove();
    let mut store = Store::open(&file.0).unwrap();
    let run = store.begin_run(&header()).unwrap();
    (0..3).for_each(|index| store.record_step(run, &step(index)).unwrap());
    let changed = Connection::open(&file.0).unwrap().execute(update, []).unwrap();
    assert!(changed > 0, "{update}");
    let whole = store.load(RunId(1)).map(drop);
    let compact = store.load_compact(RunId(1), None).map(drop);
    assert_eq!(whole.is_ok(), compact.is_ok(), "{update}");
    whole.map_err(|error| error.problem)
}

#[test]
fn an_integer_that_cannot_be_added_to_the_others_is_an_error_of_its_column() {
    let file = Scratch::new("extremes");
    let columns = [
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
        "censored",
        "client_cpu_user_ns",
        "client_cpu_kernel_ns",
    ];
    // In one step, or together in all of them.
    let updates = columns.iter().flat_map(|column| {
        [
            ("9223372036854775807", "= 2"),
            ("-1", "= 2"),
            ("(-9223372036854775807 - 1)", "= 0"),
            ("1 << 62", ">= 0"),
        ]
        .map(|(value, which)| {
            (
                *column,
                format!("UPDATE step SET {column} = {value} WHERE position {which} AND {column} NOT NULL"),
            )
        })
    });
    let json = [
        ("errors", "timeout"),
        ("shares", "worked_ns"),
        ("evidence", "flush_ns"),
        ("server", "cold_passes"),
        ("tcp", "rtt_us"),
        ("ranks", "late_ns"),
        ("reported", "think_ns"),
    ];
    let json = json.map(|(column, _)| {
        let update = format!("UPDATE step SET {column} = replace(replace({column}, ':0', ':1'), ':', ':922337203685477580') WHERE {column} LIKE '%:_%'");
        (column, update)
    });
    for (column, update) in updates.chain(json) {
        match load(&file, &update) {
            Err(Problem::Value { column: found, detail }) => assert_eq!(found, column, "{update}: {detail}"),
            other => panic!("{update}: {other:?}"),
        }
    }
    load(&file, "UPDATE step SET window_ns = 1 << 60").unwrap();
    for instant in ["-1", "253402300800000", "9223372036854775807"] {
        let update = format!("UPDATE step SET started_unix_ms = {instant} WHERE position = 1");
        assert!(
            matches!(load(&file, &update), Err(Problem::Value { column: "started_unix_ms", .. })),
            "{instant}"
        );
    }
    load(&file, "UPDATE step SET started_unix_ms = 253402300799999").unwrap();
}
