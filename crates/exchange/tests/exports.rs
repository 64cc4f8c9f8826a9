//! Runs that were exported are read back with the same numbers.
#![expect(clippy::unwrap_used, reason = "a test may panic, its helper functions too")]

use std::path::Path;

use sharebench_exchange::{Options, import, iozone_text, parquet, xlsx};
use sharebench_model::{Histogram, RunOutcome, Value};
use sharebench_results::{FinishedRun, RunId, RunState, StoredRun, write_csv};

fn imported(name: &str) -> StoredRun {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let runs = import(name, &std::fs::read(path).unwrap(), &Options::default()).unwrap().runs;
    stored(runs.into_iter().next().unwrap())
}

fn stored(run: FinishedRun) -> StoredRun {
    let FinishedRun { header, facts, steps } = run;
    StoredRun { id: RunId(7), header, state: RunState::Ended(RunOutcome::Complete), facts, steps }
}

#[test]
fn iozone_text_survives_the_round_trip() {
    let first = imported("iozone-3.489-auto-R.txt");
    let exported = iozone_text(&first).unwrap();
    assert_eq!(exported.notes, Vec::<String>::new());
    let again = import("again.txt", exported.text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(again.runs[0].steps, first.steps);
    assert!(again.notes.is_empty(), "{:?}", again.notes);
    assert!(again.runs[0].header.environment["program"].starts_with("sharebench "));
    assert_eq!(again.runs[0].header.environment["clock_resolution_ns"], "1000");
    assert_eq!(iozone_text(&stored(again.runs[0].clone())).unwrap().text, exported.text);
}

#[test]
fn what_iozone_has_no_place_for_is_told() {
    let mut run = imported("iozone-3.489-some-tests.txt");
    run.steps.truncate(12);
    let odd = run.steps[0].coordinates.clone().with("record_size", Value::Bytes(512));
    run.steps[0].coordinates = odd;
    run.steps[1].coordinates = run.steps[1].coordinates.clone().with("test", Value::text("mmap-read"));
    let notes = iozone_text(&run).unwrap().notes.join("\n");
    assert!(notes.contains("1 cells") && notes.contains("mmap-read"), "{notes}");
    run.steps[2].coordinates = run.steps[2].coordinates.clone().with("queue_depth", Value::Count(2));
    assert!(iozone_text(&run).unwrap_err().to_string().contains("queue_depth=2"));
    run.header.targets.push(run.header.targets[0].clone());
    assert!(iozone_text(&run).unwrap_err().to_string().contains("one system"));
}

#[test]
fn our_own_csv_comes_back_with_every_number() {
    for name in ["fio-3.33-plus.json", "iozone-3.489-throughput.txt"] {
        let mut first = imported(name);
        let mut csv = Vec::new();
        write_csv(&first, &mut csv).unwrap();
        let again = import("run.csv", &csv, &Options::default()).unwrap();
        assert_eq!(
            (again.runs.len(), again.runs[0].header.targets[0].name.as_str()),
            (1, first.header.targets[0].name.as_str())
        );
        let mut steps = again.runs[0].steps.clone();
        for (one, other) in first.steps.iter_mut().zip(&mut steps) {
            for quantile in [0.5, 0.95, 0.99] {
                assert_eq!(
                    one.measure.response.quantile(quantile),
                    other.measure.response.quantile(quantile)
                );
            }
            // Between the quantiles that a table tells, histograms may differ.
            for step in [one, other] {
                step.measure.response = Histogram::default();
                step.measure.service = Histogram::default();
            }
        }
        assert_eq!(steps, first.steps, "{name}");
    }
}

#[test]
fn binary_forms_are_what_their_formats_say() {
    let run = imported("fio-3.33.json");
    let file = parquet(&run).unwrap();
    let footer = u32::from_le_bytes(file[file.len() - 8..][..4].try_into().unwrap()) as usize;
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1") && footer < file.len());
    let book = xlsx(&run).unwrap();
    assert!(book.starts_with(b"PK\x03\x04") && book[book.len() - 22..].starts_with(b"PK\x05\x06"));
    assert_eq!(xlsx(&run).unwrap(), book, "equal runs give equal bytes");
}
