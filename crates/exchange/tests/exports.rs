//! Runs that were exported are read back with the same numbers.
use std::path::Path;

use sharebench_exchange::{Options, import, iozone_text};
use sharebench_model::{Histogram, RunOutcome, Value};
use sharebench_results::{
    Entry, FinishedRun, RunId, RunState, SpreadsheetText, StoredRun, table, write_csv, write_json,
};

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
fn exported_iozone_text_imports_as_the_same_steps() {
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
fn iozone_text_reports_what_it_cannot_represent() {
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
fn exported_csv_imports_with_the_same_numbers() {
    for name in ["fio-3.33-plus.json", "iozone-3.489-throughput.txt"] {
        let mut first = imported(name);
        let mut csv = Vec::new();
        write_csv(&first, SpreadsheetText::Defused, &mut csv).unwrap();
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
            // Between the quantiles of a table, histograms may differ.
            for step in [one, other] {
                step.measure.response = Histogram::default();
                step.measure.service = Histogram::default();
            }
        }
        assert_eq!(steps, first.steps, "{name}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn a_parquet_file_holds_the_columns_of_the_csv() {
    use parquet::basic::{Compression, ConvertedType};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use sharebench_results::{Entry, table};

    let mut run = imported("fio-3.33.json");
    run.steps[0].measure.operations = u64::MAX;
    let file = sharebench_exchange::parquet(&run).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let table = table(&run);
    let names: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
    assert_eq!(names, table.header);
    for column in schema.columns() {
        let text = ["target", "test", "verdict", "checks"].contains(&column.name());
        let expected = if text { ConvertedType::UTF8 } else { ConvertedType::UINT_64 };
        assert_eq!(column.converted_type(), expected, "{}", column.name());
    }
    assert_eq!(reader.metadata().row_group(0).column(0).compression(), Compression::SNAPPY);
    let rows: Vec<Vec<Entry>> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            let columns = row.unwrap().into_columns();
            let entry = |(_, field)| match field {
                Field::Null => Entry::Empty,
                Field::ULong(number) => Entry::Number(number),
                Field::Str(text) => Entry::Text(text),
                other => panic!("{other}"),
            };
            columns.into_iter().map(entry).collect()
        })
        .collect();
    assert_eq!(rows, table.rows);
}

#[cfg(feature = "xlsx")]
#[test]
fn a_workbook_has_its_sheets_with_headings_that_stay_and_filter() {
    let run = imported("fio-3.33.json");
    let book = sharebench_exchange::xlsx(&run).unwrap();
    assert_eq!(sharebench_exchange::xlsx(&run).unwrap(), book, "equal runs give equal bytes");
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&book)).unwrap();
    let mut read = |name: &str| std::io::read_to_string(archive.by_name(name).unwrap()).unwrap();
    let workbook = read("xl/workbook.xml");
    assert!(workbook.contains("name=\"all steps\"") && workbook.contains("name=\"write\""), "{workbook}");
    let sheets = workbook.matches("<sheet ").count();
    let last = read(&format!("xl/worksheets/sheet{sheets}.xml"));
    assert!(last.contains("state=\"frozen\"") && last.contains("<autoFilter"), "{last}");
    assert_eq!(last.matches("<row ").count(), run.steps.len() + 1);
    assert!(last.contains("<t>busy_ns</t>"), "{last}");
    let texts = read("xl/sharedStrings.xml");
    assert!(texts.contains("median, MB/s"), "{texts}");
    for name in ["xl/workbook.xml".to_owned(), format!("xl/worksheets/sheet{sheets}.xml")] {
        assert_eq!(archive.by_name(&name).unwrap().compression(), zip::CompressionMethod::Deflated, "{name}");
    }
}

/// The figures of 1997, with a mean response time and nothing else about it.
fn figures_of_1997() -> StoredRun {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dynameasure1997.csv");
    let map = [
        "target=server",
        "users=users",
        "rate=kB_per_s:kB/s",
        "response=art_s:s",
        "reported=mps",
        "test==write",
    ];
    let map = map.iter().map(|text| text.parse().unwrap()).collect();
    let options = Options { map, ..Options::default() };
    let runs = import("dynameasure1997.csv", &std::fs::read(path).unwrap(), &options).unwrap().runs;
    stored(runs.into_iter().next().unwrap())
}

/// Columns that a table of means leaves empty.
const UNKNOWN: [&str; 12] = [
    "started_unix_ms",
    "operations",
    "transactions",
    "verified_bytes",
    "censored",
    "client_cpu_user_ns",
    "flush_ns",
    "errors",
    "reported_think_ns",
    "response_p50_ns",
    "response_p95_ns",
    "response_max_ns",
];

#[test]
fn unknown_values_of_an_imported_table_are_empty_in_exports_and_come_back_as_unknown() {
    let run = figures_of_1997();
    let table = table(&run);
    let entry = |name: &str| {
        let column = table.header.iter().position(|heading| heading == name).unwrap();
        table.rows[0][column].clone()
    };
    for name in UNKNOWN {
        assert_eq!(entry(name), Entry::Empty, "{name}");
    }
    assert_eq!(entry("reported_response_mean_ns"), Entry::Number(132_000_000_000));
    assert_eq!((entry("read_bytes"), entry("written_bytes")), (Entry::Number(0), Entry::Number(841_000)));
    let mut csv = Vec::new();
    write_csv(&run, SpreadsheetText::Defused, &mut csv).unwrap();
    let again = import("run.csv", &csv, &Options::default()).unwrap();
    assert_eq!(again.runs[0].steps, run.steps);
    let mut json = Vec::new();
    write_json(&run, &mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let step = &json["steps"][0];
    for name in ["started_unix_ms", "operations", "transactions", "verified_bytes", "censored", "client_cpu"]
    {
        assert!(step[name].is_null(), "{name}: {}", step[name]);
    }
    assert_eq!(step["response"]["count"], 0);
    assert!(step["response"].get("p95_ns").is_none());
    assert_eq!(step["reported"]["response_mean_ns"], 132_000_000_000u64);
    assert!(step["reported"]["think_ns"].is_null());
}
