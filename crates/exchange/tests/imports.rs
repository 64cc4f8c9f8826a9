//! Results that IOzone 3.489 and fio 3.33 printed on a Linux machine, and the table of 1993, become runs.
use std::path::Path;

use sharebench_exchange::{Format, Imported, Options, import};
use sharebench_model::{Coordinates, Measure, ReportedFigures, StepResult, Value, axis};

fn data(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

fn read(name: &str, options: &Options) -> Imported {
    import(name, &data(name), options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn plain(name: &str) -> Imported {
    read(name, &Options::default())
}

fn at(test: &str, file_kib: u64, record_kib: u64) -> Coordinates {
    Coordinates::new()
        .with(axis::TEST, Value::text(test))
        .with(axis::FILE_SIZE, Value::Bytes(file_kib << 10))
        .with(axis::RECORD_SIZE, Value::Bytes(record_kib << 10))
        .with(axis::QUEUE_DEPTH, Value::Count(1))
}

fn find<'a>(imported: &'a Imported, coordinates: &Coordinates) -> &'a StepResult {
    let mut found = imported.runs[0].steps.iter().filter(|step| step.coordinates == *coordinates);
    let step = found.next().unwrap_or_else(|| panic!("no {coordinates}"));
    assert!(found.next().is_none(), "two of {coordinates}");
    step
}

/// Whole KiB per second.
fn kib(step: &StepResult) -> u64 {
    let rate = step.measure.throughput().unwrap() / 1024.0;
    assert!((rate - rate.round()).abs() < 1e-9, "{rate}");
    rate.round() as u64
}

#[test]
fn table_and_matrices_of_iozone_import_as_the_same_run() {
    let name = "iozone-3.489-auto-R.txt";
    let table = plain(name);
    let run = &table.runs[0];
    // 3 file sizes x 5 record sizes x 13 tests.
    assert_eq!((table.runs.len(), run.steps.len(), table.notes.len()), (1, 195, 1));
    assert!(table.notes[0].contains("our reread"), "{:?}", table.notes);
    let environment = &run.header.environment;
    assert_eq!(environment["origin"], "imported");
    assert_eq!(environment["program"], "iozone 3.489");
    assert_eq!((environment["clock_resolution_ns"].as_str(), environment["file"].as_str()), ("1000", name));
    assert_eq!((environment["file_bytes"].as_str(), environment["file_sha256"].len()), ("6477", 64));
    assert!(!environment.contains_key("kernel") && !environment.contains_key("cpu"));
    let text = String::from_utf8(data(name)).unwrap();
    let first: Vec<u64> = text
        .lines()
        .find(|line| line.trim_start().starts_with("64       4"))
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .unwrap();
    let tests = [
        "write",
        "rewrite",
        "read",
        "reread",
        "random-read",
        "random-write",
        "backward-read",
        "record-rewrite",
        "stride-read",
        "fwrite",
        "frewrite",
        "fread",
        "freread",
    ];
    for (test, reported) in tests.iter().zip(&first[2..]) {
        assert_eq!(kib(find(&table, &at(test, 64, 4))), *reported, "{test}");
    }
    let matrices = read(name, &Options { format: Some(Format::IozoneMatrices), ..Options::default() });
    assert_eq!(matrices.runs[0].steps, run.steps);
    let remounted = String::from_utf8(data(name)).unwrap().replacen(
        "Command line used: ",
        "Command line used: iozone -U /mnt ",
        1,
    );
    assert_eq!(import(name, remounted.as_bytes(), &Options::default()).unwrap().notes, [""; 0]);
}

#[test]
fn blank_columns_belong_to_tests_that_were_not_run() {
    let some = plain("iozone-3.489-some-tests.txt");
    let tests: std::collections::BTreeSet<&str> =
        some.runs[0].steps.iter().filter_map(|step| step.coordinates.text(axis::TEST)).collect();
    assert_eq!(
        tests.into_iter().collect::<Vec<_>>(),
        ["random-read", "random-write", "rewrite", "stride-read", "write"]
    );
    assert_eq!(some.runs[0].steps.len(), (5 + 6) * 5);
}

#[test]
fn operations_per_second_become_bytes_and_options_become_axes() {
    let imported = plain("iozone-3.489-ops-direct-sync.txt");
    let direct = |test| {
        at(test, 256, 4).with("cache", Value::text("unbuffered")).with("sync", Value::text("write-through"))
    };
    let write = find(&imported, &direct("write"));
    assert_eq!(write.measure.operation_rate(), Some(1415.0));
    assert_eq!(write.measure.throughput(), Some(1415.0 * 4096.0));
    let flushed = plain("iozone-3.489-close-flush.txt");
    let _ = find(&flushed, &at("write", 256, 4).with("included", Value::text("flush+close")));
    let _ = find(&flushed, &at("read", 256, 4));
}

#[test]
fn throughput_mode_counts_processes_as_jobs() {
    let imported = plain("iozone-3.489-throughput.txt");
    for users in 1..=2 {
        for test in ["write", "rewrite", "read", "reread"] {
            let step = find(&imported, &at(test, 256, 4).with(axis::JOBS, Value::Count(users)));
            assert_eq!(step.measure.bytes.total(), users * 256 * 1024);
        }
    }
    assert_eq!(imported.runs[0].steps.len(), 8);
}

#[test]
fn fio_jobs_become_steps() {
    let imported = plain("fio-3.33.json");
    let run = &imported.runs[0];
    assert_eq!((run.steps.len(), run.header.environment["program"].as_str()), (4, "fio 3.33"));
    assert!(run.header.started_unix_ms > 1_700_000_000_000);
    let json: serde_json::Value = serde_json::from_slice(&data("fio-3.33.json")).unwrap();
    let reported = |job: usize, side: &str, name: &str| json["jobs"][job][side][name].as_u64().unwrap();
    let write = find(&imported, &at("write", 1024, 4));
    assert_eq!(write.measure.bytes.written, reported(0, "write", "io_bytes"));
    assert_eq!(write.measure.busy_ns, reported(0, "write", "runtime") * 1_000_000);
    assert_eq!(write.measure.throughput().unwrap() as u64, reported(0, "write", "bw_bytes"));
    let p99 = json["jobs"][0]["write"]["clat_ns"]["percentile"]["99.000000"].as_u64().unwrap();
    assert!(write.measure.response.quantile(0.99).abs_diff(p99) * 1000 <= p99);
    let mix = find(&imported, &at("random-mix", 1024, 4));
    assert_eq!(mix.measure.bytes.read, reported(2, "read", "io_bytes"));
    assert_eq!(mix.measure.bytes.written, reported(2, "write", "io_bytes"));
    // Two processes without group reporting are two entries and one step.
    let two = find(&imported, &at("random-read", 1024, 4).with(axis::JOBS, Value::Count(2)));
    assert_eq!(two.measure.bytes.read, reported(3, "read", "io_bytes") + reported(4, "read", "io_bytes"));
    assert!(two.measure.response.is_empty() && imported.notes[0].contains("json+"), "{:?}", imported.notes);
}

#[test]
fn bins_of_json_plus_are_whole_histograms() {
    let imported = plain("fio-3.33-plus.json");
    let steps = &imported.runs[0].steps;
    assert_eq!((steps.len(), imported.notes.len()), (3, 1));
    assert!(imported.notes[0].contains("invalidate=0"), "{:?}", imported.notes);
    assert!(steps.iter().all(|step| step.measure.response.len() == step.measure.operations));
    let deep = at("random-write", 2048, 4)
        .with(axis::QUEUE_DEPTH, Value::Count(4))
        .with("cache", Value::text("unbuffered"));
    let _ = find(&imported, &deep);
    // psync waits for each operation, whatever the global iodepth says.
    let pair = find(&imported, &at("read", 2048, 64).with(axis::JOBS, Value::Count(2)));
    assert_eq!(pair.measure.operations, 64);
    let grouped = find(&imported, &at("random-read", 2048, 4).with(axis::JOBS, Value::Count(2)));
    assert!(grouped.measure.client_cpu.total_ns() > 0);
}

#[test]
fn import_notes_a_job_that_rewrote_its_file() {
    let once = String::from_utf8(data("fio-3.33.json")).unwrap();
    let notes = |text: &str| import("x", text.as_bytes(), &Options::default()).unwrap().notes;
    assert!(!notes(&once).iter().any(|note| note.contains("rewrites")));
    // The first job wrote its 1 MiB; a third as much again is not one file any more.
    let again = once.replacen("\"io_bytes\" : 1048576", "\"io_bytes\" : 1398101", 1);
    let reported = notes(&again);
    assert!(
        reported.iter().any(|note| note.contains("'seq-write'") && note.contains("rewrites")),
        "{reported:?}"
    );
}

#[test]
fn an_empty_field_of_an_axis_means_its_usual_position() {
    let map = ["file_size=mb:MiB", "axis.shell=shell", "rate.write=write:B/s"];
    let map = map.map(|mapping| mapping.parse().unwrap()).to_vec();
    let table = b"mb,shell,write\n1,,10\n1,netx,20\n";
    let imported = import("x.csv", table, &Options { map, ..Options::default() }).unwrap();
    let shells = imported.runs[0].steps.iter().map(|step| step.coordinates.text("shell"));
    assert_eq!(shells.collect::<Vec<_>>(), [None, Some("netx")]);
}

/// The one command of docs/measure/exchange.md.
fn table_of_1993() -> Options {
    let map = [
        "run=section",
        "fact.client=os_client_config",
        "file_size=file_size_mb:MiB",
        "record_size=record_bytes:B",
        "rate.write=write_Bps:B/s",
        "rate.read=read_Bps:B/s",
    ];
    let map = map.map(|mapping| mapping.parse().unwrap()).to_vec();
    Options { map, clock_ns: Some(54_925_400), title: Some("1993".into()), ..Options::default() }
}

#[test]
fn the_table_of_1993_is_a_run_per_configuration() {
    let imported = read("doupnik1993.csv", &table_of_1993());
    assert_eq!(imported.runs.len(), 14);
    let steps: usize = imported.runs.iter().map(|run| run.steps.len()).sum();
    assert_eq!((steps, imported.notes.len()), (171 * 2, 0));
    let first = &imported.runs[0];
    assert_eq!(
        (first.header.title.as_str(), first.header.targets[0].name.as_str()),
        ("1993: bnetx_nw311", "bnetx_nw311")
    );
    assert_eq!(first.facts[0]["client"], "DOS client, bnetx shell, NW 3.11");
    assert_eq!(first.header.environment["clock_resolution_ns"], "54925400");
    let half = Coordinates::new()
        .with(axis::TEST, Value::text("write"))
        .with(axis::FILE_SIZE, Value::Bytes(1 << 20))
        .with(axis::RECORD_SIZE, Value::Bytes(512))
        .with(axis::QUEUE_DEPTH, Value::Count(1));
    let step = find(&imported, &half);
    assert_eq!((step.measure.throughput(), step.measure.operations), (Some(293_718.0), 2048));
    // 1 MiB at 293 718 B/s.
    assert_eq!(step.measure.busy_ns, 3_570_009_329);
}

#[test]
fn tables_of_users_have_response_times_and_users_that_reported() {
    let table =
        b"server,users,kBps,art_s,reporting\nold,10,1000,0.5,10\nold,50,2000,0.9,33\nnew,10,1100,0.45,\n";
    let map = [
        "target=server",
        "test==copy-all",
        "users=users",
        "rate=kBps:kB/s",
        "response=art_s:s",
        "reported=reporting",
    ];
    let map: Vec<_> = map.iter().map(|text| text.parse().unwrap()).collect();
    let imported = import("users.csv", table, &Options { map, ..Options::default() }).unwrap();
    let steps = &imported.runs[0].steps;
    let of = |measure: &Measure| {
        (measure.reported.response_mean_ns, measure.users_reported, measure.users_assigned)
    };
    let reported: Vec<_> = steps.iter().map(|step| of(&step.measure)).collect();
    assert_eq!((reported[0].0, reported[1].0), (Some(500_000_000), Some(900_000_000)));
    assert_eq!((reported[1].1, reported[1].2), (33, 50), "17 did not report");
    assert_eq!((reported[2].1, reported[2].2), (10, 10), "no count reported");
    assert!(steps[0].measure.response.is_empty(), "a mean leaves the distribution unknown");
    assert_eq!(steps[0].measure.transaction_rate(), None, "a rate in bytes does not count transactions");
    assert!(
        imported.notes.contains(
            &"users, rates and response times are not checked with Little's law, because the think time is not known; map \
              think (think==0:s where users do not pause), and transaction_size where it is known"
                .to_owned()
        ),
        "{:?}",
        imported.notes
    );
    let two = ["rate.read=kBps:kB/s", "rate.write=users:kB/s", "response=art_s:s"]
        .map(|text| text.parse().unwrap());
    let refused =
        import("users.csv", table, &Options { map: two.to_vec(), ..Options::default() }).unwrap_err();
    assert!(refused.to_string().contains("belong to one rate"), "{refused}");
}

#[test]
fn think_time_and_transaction_size_are_kept_as_reported() {
    let table = b"users,kBps,art_ms,pause_s,kb\n10,1000,500,2.5,100\n20,1000,500,,\n";
    let map = [
        "test==read",
        "users=users",
        "rate=kBps:kB/s",
        "response=art_ms:ms",
        "think=pause_s:s",
        "transaction_size=kb:kB",
    ];
    let options = |map: &[&str]| Options {
        map: map.iter().map(|text| text.parse().unwrap()).collect(),
        ..Options::default()
    };
    let imported = import("users.csv", table, &options(&map)).unwrap();
    let measure = |step: usize| &imported.runs[0].steps[step].measure;
    let figures = ReportedFigures {
        response_mean_ns: Some(500_000_000),
        think_ns: Some(2_500_000_000),
        transaction_bytes: Some(100_000),
    };
    assert_eq!((*measure(0).reported, measure(0).transaction_rate()), (figures, Some(10.0)));
    assert_eq!(
        (measure(1).reported.think_ns, measure(1).transaction_rate()),
        (None, None),
        "empty is unknown"
    );
    assert!(!imported.notes.iter().any(|note| note.contains("Little's law")), "{:?}", imported.notes);
    let rejected = |map: &[&str]| import("users.csv", table, &options(map)).unwrap_err().to_string();
    assert_eq!(
        rejected(&["test==read", "rate=kBps:ops/s", "transaction_size=kb:kB"]),
        "--map transaction_size= needs a rate in bytes; a rate in ops/s counts transactions already"
    );
    assert_eq!(
        rejected(&["test==read", "rate=kBps:kB/s", "transaction_size==0:B"]),
        "line 2: a transaction size of 0"
    );
    assert_eq!(rejected(&["test==read", "rate=kBps:kB/s", "think==-1:s"]), "line 2: '-1' is no think time");
    assert_eq!(
        rejected(&["test==read", "rate=kBps:kB/s", "think==1:s", "think==2:ms"]),
        "--map names one key twice"
    );
}
