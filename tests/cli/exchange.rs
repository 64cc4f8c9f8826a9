//! Results of other programs: imported, compared with a new run, exported and read back.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sharebench_stats::{ErrorScale, LoadPoint, Usl};
use sharebench_tests::program::find_program;
use sharebench_tests::{Need, Sharebench, needs, python};

/// Results that were printed elsewhere, with their sources named in docs/measure/exchange.md.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/exchange/tests/data").join(name)
}

/// Copies a stored sample into the working directory.
pub fn place(sharebench: &Sharebench, name: &str, sample: &str) {
    std::fs::copy(data(sample), sharebench.home().join(name)).unwrap();
}

/// A fresh run over the sizes given; the run's number.
fn sweep(sharebench: &Sharebench, files: &str, records: &str, tests: &str) {
    let directory = sharebench.home().join("here");
    std::fs::create_dir_all(directory).unwrap();
    let line = [
        "sweep",
        "./here",
        "--file-sizes",
        files,
        "--record-sizes",
        records,
        "--tests",
        tests,
        "--repetitions",
        "6",
        "plan:min_sample_time=1ms",
    ];
    let _ = sharebench.run(&line).unwrap().expect_success();
}

/// What `compare` says of two runs.
fn compare(sharebench: &Sharebench, one: &str, other: &str) -> Value {
    for format in ["text", "md", "csv"] {
        let _ = sharebench.run(&["compare", one, other, "--format", format]).unwrap().expect_success();
    }
    let json = sharebench.run(&["compare", one, other, "--format", "json"]).unwrap().expect_success();
    serde_json::from_str(&json.stdout).unwrap()
}

/// Positions with a ratio, each of single runs.
fn single_run_ratios(analysis: &Value) -> usize {
    let sections = analysis["sections"].as_array().unwrap();
    let rows = sections.iter().flat_map(|section| section["rows"].as_array().unwrap());
    let ratios = rows.map(|row| &row["ratios"][0]).filter(|ratio| !ratio.is_null());
    ratios
        .inspect(|ratio| {
            assert_eq!(ratio["pairing"], "single-run", "{ratio}");
            assert!(ratio["typical"]["interval"].is_null() && ratio["verdict"] == "not-resolved", "{ratio}");
        })
        .count()
}

/// The whole answer, which never claims more than single runs can bear.
fn answer(analysis: &Value) -> String {
    let sentences = analysis["answer"].as_array().unwrap().iter();
    let answer: String = sentences.map(|sentence| sentence["text"].as_str().unwrap()).collect();
    assert!(answer.contains("single run") && !answer.contains("faster"), "{answer}");
    answer
}

#[test]
fn run_of_iozone_compares_with_a_new_run() {
    let sharebench = Sharebench::new().unwrap();
    match find_program("iozone") {
        Some(iozone) => {
            let line = ["-a", "-n", "64k", "-g", "128k", "-q", "8k", "-R", "-f", "iozone.tmp"];
            let output = Command::new(iozone).args(line).current_dir(sharebench.home()).output().unwrap();
            std::fs::write(sharebench.home().join("iozone.txt"), output.stdout).unwrap();
        }
        None => place(&sharebench, "iozone.txt", "iozone-3.489-auto-R.txt"),
    }
    let _ = sharebench.run(&["import", "iozone.txt", "--system", "old nas"]).unwrap().expect_success();
    sweep(&sharebench, "64KiB,128KiB", "4KiB,8KiB", "write,read,random-read");
    let analysis = compare(&sharebench, "1", "2");
    assert_eq!(single_run_ratios(&analysis), 3 * 4);
    assert!(answer(&analysis).contains("old nas"));
    let runs = sharebench.run(&["runs"]).unwrap().expect_success().stdout;
    assert!(runs.contains("imported") && runs.contains("unknown"), "{runs}");
    let shown = sharebench.run(&["show", "1"]).unwrap().expect_success().stdout;
    assert!(shown.contains("measured by iozone 3.") && shown.contains("resolution 1.00 us"), "{shown}");
    assert_eq!(sharebench.run(&["show", "1", "--plan"]).unwrap().code, Some(2));
    assert_eq!(sharebench.run(&["run", "--resume", "1"]).unwrap().code, Some(2));
    let _ = sharebench.run(&["report", "1", "2", "-o", "r.html"]).unwrap().expect_success();
    let page = std::fs::read_to_string(sharebench.home().join("r.html")).unwrap();
    assert!(page.contains("This command imported it") && page.contains("file_sha256"));
}

#[test]
fn run_of_fio_compares_with_a_new_run() {
    let sharebench = Sharebench::new().unwrap();
    match find_program("fio") {
        Some(fio) => {
            let line = [
                "--output-format=json+",
                "--output=fio.json",
                "--ioengine=psync",
                "--size=1m",
                "--bs=4k",
                "--name=w",
                "--rw=write",
                "--stonewall",
                "--name=r",
                "--rw=randread",
                "--stonewall",
            ];
            let status = Command::new(fio).args(line).current_dir(sharebench.home()).output().unwrap().status;
            assert!(status.success());
        }
        None => place(&sharebench, "fio.json", "fio-3.33.json"),
    }
    let _ = sharebench.run(&["import", "fio.json"]).unwrap().expect_success();
    sweep(&sharebench, "1MiB", "4KiB", "write,random-read");
    let analysis = compare(&sharebench, "2", "1");
    assert!(single_run_ratios(&analysis) >= 1, "{analysis}");
    let _ = answer(&analysis);
}

/// The command of docs/measure/exchange.md.
pub const TABLE_OF_1993: [&str; 18] = [
    "import",
    "doupnik1993.csv",
    "--title",
    "1993",
    "--clock",
    "54.9254ms",
    "--map",
    "run=section",
    "--map",
    "fact.client=os_client_config",
    "--map",
    "file_size=file_size_mb:MiB",
    "--map",
    "record_size=record_bytes:B",
    "--map",
    "rate.write=write_Bps:B/s",
    "--map",
    "rate.read=read_Bps:B/s",
];

#[test]
fn table_of_1993_compares_with_itself_and_with_a_new_run() {
    let sharebench = Sharebench::new().unwrap();
    place(&sharebench, "doupnik1993.csv", "doupnik1993.csv");
    let imported = sharebench.run(&TABLE_OF_1993).unwrap().expect_success();
    assert_eq!(imported.stdout.lines().count(), 14, "{}", imported.text());
    sweep(&sharebench, "1MiB", "512B,4KiB", "write,read");
    let fresh = compare(&sharebench, "last", "1");
    assert_eq!(single_run_ratios(&fresh), 4);
    let _ = answer(&fresh);

    // bnetx against netx: 2 KiB writes of 1 MiB differ by a quarter, 512-byte ones by less than a tick.
    let old = compare(&sharebench, "1", "2");
    let rows = old["sections"][0]["rows"].as_array().unwrap();
    let resolved = |record: u64| {
        let at = |row: &&Value| row["coordinates"]["record_size"]["bytes"] == record;
        rows.iter().find(at).unwrap()["ratios"][0]["single_run"]["resolved"].clone()
    };
    assert_eq!((resolved(512), resolved(2048)), (false.into(), true.into()));
    // Two configurations that differ by nothing measurable say how far equal results lie apart.
    let line = ["compare", "1", "2", "--noise-baseline", "6", "7", "--format", "json"];
    let equal = sharebench.run(&line).unwrap().expect_success().stdout;
    assert!(equal.contains("\"equal_share\": 0."), "{equal}");
    assert!(equal.contains("more than the uncertainty of clocks or runs declared equal ("), "{equal}");
}

/// The analysis of one stored run.
fn show(sharebench: &Sharebench, run: &str) -> Value {
    let json = sharebench.run(&["show", run, "--format", "json"]).unwrap().expect_success();
    serde_json::from_str(&json.stdout).unwrap()
}

/// The texts of one part of an analysis.
fn texts(analysis: &Value, part: &str) -> Vec<String> {
    let sentences = analysis[part].as_array().unwrap().iter();
    sentences.map(|sentence| sentence["text"].as_str().unwrap().to_owned()).collect()
}

const MAP_1997: [&str; 12] = [
    "--map",
    "target=server",
    "--map",
    "users=users",
    "--map",
    "rate=kB_per_s:kB/s",
    "--map",
    "response=art_s:s",
    "--map",
    "reported=mps",
    "--map",
    "test==write",
];

#[test]
fn table_of_users_is_checked_with_the_think_time_and_the_transaction_size_that_it_states() {
    let sharebench = Sharebench::new().unwrap();
    place(&sharebench, "1997.csv", "dynameasure1997.csv");
    let import = |more: &[&str]| {
        let line = [&["import", "1997.csv"][..], &MAP_1997, more].concat();
        let _ = sharebench.run(&line).unwrap().expect_success();
    };
    let of_the_law = |run: &str| -> Vec<String> {
        let found = texts(&show(&sharebench, run), "contradictions").into_iter();
        found.filter(|text| text.contains("Little's law")).collect()
    };
    import(&[]);
    assert_eq!(of_the_law("1"), Vec::<String>::new(), "the think time is not known");
    import(&["--map", "think==0:s"]);
    let sizes = of_the_law("2");
    assert!(
        sizes.len() == 1 && sizes[0].contains("NT 4.0 2220 kB with 50 users, 302 kB with 100"),
        "{sizes:?}"
    );
    import(&["--map", "think==15:s", "--map", "transaction_size==2:MB"]);
    let residuals = of_the_law("3");
    assert_eq!(residuals.len(), 4, "{residuals:?}");
    assert!(
        residuals[0].contains("a think time of 15.0 s account for 61.8 users, but 50 reported"),
        "{residuals:?}"
    );
    // A comparison with another import has the same contradictions.
    let compared = compare(&sharebench, "2", "3");
    assert!(
        texts(&compared, "contradictions").iter().any(|text| text.contains("Little's law")),
        "{compared}"
    );
}

#[test]
fn values_that_an_imported_table_does_not_state_stay_unknown() {
    let sharebench = Sharebench::new().unwrap();
    place(&sharebench, "1997.csv", "dynameasure1997.csv");
    let line = [&["import", "1997.csv"][..], &MAP_1997].concat();
    let _ = sharebench.run(&line).unwrap().expect_success();
    let analysis = show(&sharebench, "1");
    let outcome = &analysis["sections"][0]["rows"][0]["outcomes"][0];
    assert_eq!(outcome["response_mean_ns"], 132e9);
    for unknown in ["p50", "p95", "p99", "operations_per_s", "transactions_per_s", "cpu_ns_per_byte", "curve"]
    {
        assert!(outcome[unknown].is_null(), "{unknown}: {outcome}");
    }
    assert!(outcome["reported"]["think_ns"].is_null() && outcome["reported"]["transaction_bytes"].is_null());
    let json = sharebench.run(&["show", "1", "--format", "json"]).unwrap().expect_success().stdout;
    assert!(!json.contains("-0.0"), "{json}");
    let csv = sharebench.run(&["show", "1", "--format", "csv"]).unwrap().expect_success().stdout;
    let fields = |line: usize| csv.lines().nth(line).unwrap().split(',').collect::<Vec<_>>();
    let heading = fields(0);
    for unknown in ["p50_ns", "p95_ns", "p99_ns", "operations_per_s", "cpu_user_ns_per_op", "errors"] {
        let column = heading.iter().position(|heading| heading.ends_with(unknown)).unwrap();
        assert_eq!(fields(1)[column], "", "{unknown}");
    }
}

/// Processors and throughput of R's `raytracer`.
const RAYTRACER: [(f64, f64); 11] = [
    (1.0, 20.0),
    (4.0, 78.0),
    (8.0, 130.0),
    (12.0, 170.0),
    (16.0, 190.0),
    (20.0, 200.0),
    (24.0, 210.0),
    (28.0, 230.0),
    (32.0, 260.0),
    (48.0, 280.0),
    (64.0, 310.0),
];

#[test]
fn imported_table_gets_the_scalability_law_of_the_statistics() {
    let sharebench = Sharebench::new().unwrap();
    place(&sharebench, "raytracer.csv", "raytracer.csv");
    let map = ["--map", "users=processors", "--map", "rate=throughput:ops/s", "--map", "test==render"];
    for _ in 0..2 {
        let line = [&["import", "raytracer.csv"][..], &map].concat();
        let _ = sharebench.run(&line).unwrap().expect_success();
    }
    let points: Vec<LoadPoint> = RAYTRACER.iter().map(|(load, rate)| LoadPoint::new(*load, *rate)).collect();
    let law = Usl::fit(&points, ErrorScale::Absolute).unwrap();
    let shown = show(&sharebench, "1");
    let compared = compare(&sharebench, "1", "2");
    for report in shown["sections"][0]["capacity"]
        .as_array()
        .unwrap()
        .iter()
        .chain(compared["sections"][0]["capacity"].as_array().unwrap())
    {
        let found = &report["scalability"];
        for (name, expected) in [("alpha", law.alpha), ("beta", law.beta), ("gamma", law.gamma)] {
            let found = found[name].as_f64().unwrap();
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{name}: {found} {expected}");
        }
    }
    assert_eq!(compared["sections"][0]["capacity"].as_array().unwrap().len(), 2);
    let found = texts(&shown, "findings").join("\n");
    assert!(found.contains("a contention alpha of 0.0578 (standard error 0.0056)"), "{found}");
}

#[test]
fn failed_import_stores_nothing() {
    let sharebench = Sharebench::new().unwrap();
    let table = "server,mb,record,write\na,1,512,293718\nb,2,512,none\n";
    sharebench.write("t.csv", table).unwrap();
    let map = ["--map", "run=server", "--map", "file_size=mb:MiB", "--map", "rate.write=write:B/s"];
    let refused = sharebench.run(&[&["import", "t.csv"], &map[..]].concat()).unwrap();
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("t.csv: line 3: 'none' is not a rate"), "{}", refused.stderr);
    assert!(!sharebench.home().join("sharebench.db").exists());
    for line in [&["import", "missing.txt"][..], &["import", "."], &["import", "t.csv", "--map", "size=mb"]] {
        assert_eq!(sharebench.run(line).unwrap().code, Some(2), "{line:?}");
    }
}

/// Compares every export with the CSV one, which is what the arguments name.
const READ_BACK: &str = r#"
import csv, json, sys, zipfile
import xml.etree.ElementTree as xml
import pyarrow.parquet
rows = list(csv.reader(open("run.csv", newline="")))
header, rows = rows[0], rows[1:]
text = lambda value: "" if value is None else str(value)
table = pyarrow.parquet.read_table("run.parquet")
assert table.column_names == header, table.column_names
assert [[text(value) for value in row.values()] for row in table.to_pylist()] == rows
assert str(table.schema.field("busy_ns").type) == "uint64"
run = json.load(open("run.json"))
assert [str(step["busy_ns"]) for step in run["steps"]] == [row[header.index("busy_ns")] for row in rows]
book = zipfile.ZipFile("run.xlsx")
assert book.testzip() is None
main = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
names = [sheet.get("name") for sheet in xml.fromstring(book.read("xl/workbook.xml")).iter(main + "sheet")]
assert names == ["random-read", "read", "write", "all steps"], names
texts = ["".join(item.itertext()) for item in xml.fromstring(book.read("xl/sharedStrings.xml"))]
def content(cell):
    value = "".join(cell.itertext())
    return texts[int(value)] if cell.get("t") == "s" else value
def sheet(number):
    root = xml.fromstring(book.read(f"xl/worksheets/sheet{number}.xml"))
    for row in root.iter(main + "row"):
        yield {cell.get("r").rstrip("0123456789"): content(cell) for cell in row}
column = lambda n: chr(65 + n) if n < 26 else column(n // 26 - 1) + chr(65 + n % 26)
flat = [[row.get(column(n), "") for n in range(len(header))] for row in sheet(4)]
assert flat == [header] + rows
grid = list(sheet(1))
assert grid[1]["B"] == "4KiB" and grid[2]["A"] == "64KiB" and float(grid[2]["B"]) > 0, grid
print(len(rows), "rows")
"#;

#[test]
fn other_readers_get_the_same_values_from_exports() {
    needs!([Need::Program("python3"), Need::PythonModule("pyarrow")]);
    let sharebench = Sharebench::new().unwrap();
    sweep(&sharebench, "64KiB", "4KiB,8KiB", "write,read,random-read");
    for format in ["csv", "json", "parquet", "xlsx", "iozone"] {
        let file = format!("run.{format}");
        let _ = sharebench.run(&["export", "1", "--format", format, "-o", &file]).unwrap().expect_success();
    }
    let read = python().args(["-c", READ_BACK]).current_dir(sharebench.home()).output().unwrap();
    let said = String::from_utf8_lossy(&[read.stdout, read.stderr].concat()).into_owned();
    assert!(read.status.success() && said == "36 rows\n", "{said}");
}

#[test]
fn iozone_export_of_several_targets_writes_the_named_one() {
    let sharebench = Sharebench::new().unwrap();
    for directory in ["a", "b"] {
        std::fs::create_dir(sharebench.home().join(directory)).unwrap();
    }
    let sizes = ["--file-sizes", "64KiB", "--record-sizes", "4KiB", "--tests", "write", "--repetitions", "1"];
    let _ = sharebench.run(&[&["sweep", "./a", "./b"], &sizes[..]].concat()).unwrap().expect_success();
    let export =
        |target: &[&str]| sharebench.run(&[&["export", "1", "--format", "iozone"], target].concat()).unwrap();
    let both = export(&[]);
    assert!(
        both.code == Some(2) && both.stderr.contains("a, b; choose one with --target"),
        "{}",
        both.text()
    );
    let neither = export(&["--target", "c"]);
    assert!(
        neither.code == Some(2) && neither.stderr.contains("--target c: the run has a, b"),
        "{}",
        neither.text()
    );
    let first = export(&["--target", "a"]).expect_success().stdout;
    let second = export(&["--target", "b"]).expect_success().stdout;
    assert!(first.contains("Writer") && second.contains("Writer") && first != second, "{first}{second}");
}

#[test]
fn imported_exports_equal_the_original_runs() {
    let sharebench = Sharebench::new().unwrap();
    sweep(&sharebench, "64KiB", "4KiB,8KiB", "write,read");
    for format in ["csv", "iozone"] {
        let file = format!("run.{format}");
        let _ = sharebench.run(&["export", "1", "--format", format, "-o", &file]).unwrap().expect_success();
        let _ = sharebench.run(&["import", &file]).unwrap().expect_success();
    }
    let csv = compare(&sharebench, "1", "2");
    let iozone = compare(&sharebench, "1", "3");
    for (analysis, apart) in [(csv, 1e-12), (iozone, 1e-4)] {
        let sections = analysis["sections"].as_array().unwrap();
        let rows: Vec<&Value> =
            sections.iter().flat_map(|section| section["rows"].as_array().unwrap()).collect();
        assert_eq!(rows.len(), 4);
        for row in rows {
            let ratio = row["ratios"][0]["typical"]["value"].as_f64().unwrap();
            assert!((ratio - 1.0).abs() < apart, "{row}");
        }
    }
    let binary = sharebench.run(&["export", "1", "--format", "xlsx"]).unwrap();
    assert!(binary.code == Some(2) && binary.stderr.contains("--output"), "{}", binary.text());
}
