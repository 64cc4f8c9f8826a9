//! What `--format json` prints is what the published schemas say (docs/schemas).

use crate::synthetic::{Synthetic, depths, everything, grid, load, plausible, plausible_load, with_a_cache};
use serde_json::{Value as Json, json};
use sharebench_analysis::{Options, RunData, Weight, Weights, analyse, series};
use sharebench_model::{
    IoBytes, LoadDetail, LoadUnit, Measure, Part, ProbeTimes, RateBase, ReportedFigures, ServerEvidence,
    UnitObjective, WhileProbed, WireCount, axis,
};
use sharebench_report::{csv, json as to_json, markdown, series_json};

const COMPARE: &str = include_str!("../../../docs/schemas/compare-1.json");
const SERIES: &str = include_str!("../../../docs/schemas/series-1.json");

fn read(text: &str) -> Json {
    serde_json::from_str(text).expect("JSON")
}

/// Holds what was printed against a schema.
fn holds(schema: &str, printed: &str) {
    let mistakes = crate::validator::mistakes(&read(schema), &read(printed));
    assert!(mistakes.is_empty(), "the schema differs from the output:\n{}", mistakes.join("\n"));
}

/// Steps with server evidence: probes that distinguish caches, probes that do not, and none.
fn with_probes() -> RunData {
    let mut run = Synthetic::new("bands", &["smb", "nfs"], 8);
    run.sweep(&grid(&["read"], 3, 3), 6, plausible);
    let times =
        |slow: u64| (0..100).map(|n| if n * 37 % 100 < slow { 500_000 } else { 100_000 + n }).collect();
    for step in &mut run.run.steps {
        let payload_received = step.measure.bytes.read / 2;
        step.measure.wire = Some(WireCount { payload_received, ..WireCount::default() }).into();
        let cold = if step.index.is_multiple_of(5) { 10 } else { 98 };
        let probes = ProbeTimes {
            ahead: times(40),
            hot: times(1),
            cold: times(cold),
            cold_again: times(cold),
            known_hot: times(0),
            distances: vec![1 << 20; 100],
            next: times(30),
        };
        *step.measure.server = if step.index.is_multiple_of(3) {
            ServerEvidence { without_probes: Some("no path".into()), ..ServerEvidence::default() }
        } else {
            let while_probed = Some(WhileProbed { read: 8, storage_read: 3 });
            ServerEvidence { probes, storage_read: Some(7), while_probed, ..ServerEvidence::default() }
        };
    }
    run.run
}

/// Measured by four machines.
fn ranked() -> RunData {
    let mut run = Synthetic::new("ranks", &["smb", "nfs"], 9);
    run.sweep(&load(&[10, 30]), 6, plausible_load);
    run.ranks(4, 2);
    run.run
}

/// Loads of users that stand for streams: with a verdict, without one, and by a schedule.
fn in_units() -> RunData {
    let mut run = Synthetic::new("streams", &["nas"], 11);
    run.sweep(&load(&[1, 30]), 1, plausible_load);
    for step in &mut run.run.steps {
        let count = if step.index == 0 { 0 } else { 5_000 };
        let part = Part { count, missed: count / 1000, ..Part::named("frame") };
        let unit = LoadUnit {
            name: "stream".into(),
            transaction: "frame".into(),
            objective: UnitObjective::Missed { most_ppm: 10_000 },
            with_deadline: vec!["frame".into()],
            paced: false,
            scale: (step.index == 0).then(|| "1%".into()),
        };
        *step.measure.load =
            LoadDetail { transactions: vec![part], unit: Some(unit), ..LoadDetail::default() };
    }
    run.run
}

/// A table of users, rates in bytes and mean response times, and nothing else.
fn imported() -> RunData {
    let mut run = Synthetic::new("imported", &["nt", "netware"], 10);
    run.sweep(&load(&[10, 30, 50]), 1, |_, _| 1e6);
    for step in &mut run.run.steps {
        let milli = 1_000_000_000 + u64::from(step.index) * 1_000;
        step.measure = Measure {
            window_ns: 1_000_000_000,
            busy_ns: 1_000_000_000,
            rate_base: RateBase::Reported { milli },
            bytes: IoBytes { read: milli / 1000, written: 0 },
            users_assigned: 10,
            users_reported: 10,
            reported: ReportedFigures { response_mean_ns: Some(5_000_000), ..ReportedFigures::default() }
                .into(),
            ..Measure::default()
        };
    }
    run.run
}

#[test]
fn unknown_values_of_an_imported_table_are_never_shown_as_zero() {
    let analysis = analyse(&[imported()], &Options::default());
    let printed = read(&to_json(&analysis).expect("JSON"));
    let outcome = &printed["sections"][0]["rows"][0]["outcomes"][0];
    assert_eq!(outcome["response_mean_ns"], json!(5_000_000.0));
    let unknown = [
        "p50",
        "p95",
        "p99",
        "operations_per_s",
        "transactions_per_s",
        "cpu_user_ns_per_operation",
        "cpu_kernel_ns_per_operation",
        "cpu_ns_per_byte",
        "curve",
    ];
    for name in unknown {
        assert!(outcome[name].is_null(), "{name}: {}", outcome[name]);
    }
    assert!(!to_json(&analysis).expect("JSON").contains("-0.0"));
    let csv = csv(&analysis);
    let fields = |line: usize| csv.lines().nth(line).expect("a line").split(',').collect::<Vec<_>>();
    let heading = fields(0);
    let first = fields(1);
    for name in ["p50_ns", "p95_ns", "p99_ns", "operations_per_s", "cpu_user_ns_per_op", "errors"] {
        let column = heading.iter().position(|heading| *heading == format!("nt {name}")).expect("a column");
        assert_eq!(first[column], "", "{name}");
    }
    let text = markdown(&analysis);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| 10 |")).collect();
    let expected = [
        "| 10 | 1.00 MB/s (n=1) | - | 5.00 ms | - | 10 | 1.00 MB/s (n=1) | - | 5.00 ms | - | 10 | 1.00 (n=1) |",
        "| 10 | 5.00 ms | - | - | - | - | 5.00 ms | - | - | - | - |",
        "| 10 | - | 977 KiB | - | - | - | 977 KiB | - | - |",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn the_json_of_every_kind_of_run_matches_the_schema() {
    let two = |tests: &[&str]| {
        let mut run = Synthetic::new("two", &["smb", "nfs"], 21);
        run.sweep(&grid(tests, 4, 3), 10, plausible);
        run.sweep(&load(&[10, 30, 50]), 2, plausible_load);
        run.sweep(&depths("random-read", &[4096], &[1, 2, 4]), 6, plausible);
        run.run
    };
    // Each cell once, with a region and a break.
    let mut once = Synthetic::new("once", &["smb", "nfs"], 22);
    once.noise = 0.001;
    once.sweep(&grid(&["read"], 4, 4), 1, |target, at| {
        let large = at.number(axis::RECORD_SIZE).is_some_and(|size| size > 4096);
        1e8 * if target == 1 && large { 1.5 } else { 1.0 }
    });
    let once = once.run;
    let part = Weight { write: false, random: false, file_size: 1 << 20, record_size: 65_536, bytes: 1.0 };
    let weights = Some(Weights { name: "mine.toml".into(), parts: vec![part] });
    let link = "10Mbit".parse().ok();
    for (runs, options) in [
        (vec![everything(3)], Options::default()),
        (vec![once], Options::default()),
        (vec![two(&["read", "write"])], Options { weights, ..Options::default() }),
        (vec![two(&["read"]), everything(4)], Options { link, ..Options::default() }),
        (vec![with_probes()], Options::default()),
        (vec![ranked()], Options::default()),
        (vec![with_a_cache(24 << 20)], Options::default()),
        (vec![imported()], Options::default()),
        (vec![in_units()], Options::default()),
        (Vec::new(), Options::default()),
    ] {
        holds(COMPARE, &to_json(&analyse(&runs, &options)).expect("JSON"));
    }
}

#[test]
fn the_json_has_the_verdict_in_the_unit_of_a_preset() {
    let printed = read(&to_json(&analyse(&[in_units()], &Options::default())).expect("JSON"));
    let rows = printed["sections"][0]["rows"].as_array().expect("rows");
    let [few, many] = [0, 1].map(|row| &rows[row]["outcomes"][0]["load"]["unit"]);
    assert_eq!(
        (&many["number"], &many["sustained"], &many["kind"], &many["objective"]),
        (&json!(30), &json!(true), &json!("missed"), &json!("missed<=1%"))
    );
    assert!(many["share"]["interval"]["high"].as_f64() > Some(0.001) && many["refused"].is_null(), "{many}");
    assert_eq!((&few["sustained"], &few["share"], &few["scale"]), (&Json::Null, &Json::Null, &json!("1%")));
    assert_eq!(few["refused"], json!("no frame is known to have been due"));
}

#[test]
fn the_json_has_the_cliffs_of_a_server_s_cache() {
    let analysis = analyse(&[with_a_cache(24 << 20)], &Options::default());
    let printed = read(&to_json(&analysis).expect("JSON"));
    let [curve] = printed["cache_curves"].as_array().expect("curves").as_slice() else { panic!("{printed}") };
    assert_eq!(curve["cliff"]["between"], json!([16 << 20, 32 << 20]));
    assert_eq!(curve["states"][1]["size"], json!(16 << 20));
}

#[test]
fn the_json_of_a_series_matches_the_schema() {
    let night = |index: u64| {
        let mut night = Synthetic::new("nightly", &["smb"], index);
        (night.noise, night.drift) = (0.01, 0.01);
        let level = if index > 8 { 5e7 } else { 1e8 };
        night.sweep(&grid(&["read", "write"], 2, 2), 2, |_, _| level);
        night.run
    };
    let nights: Vec<RunData> = (0..14).map(night).collect();
    let found = series(&nights, &Options::default()).expect("a series");
    assert_eq!(found.changes.len(), 1);
    holds(SERIES, &series_json(&found).expect("JSON"));
}

#[test]
fn the_validator_finds_mistakes() {
    let schema = json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {
            "a": { "type": ["integer", "null"] },
            "b": { "anyOf": [{ "enum": ["x"] }, { "$ref": "#/$defs/pair" }] },
        },
        "$defs": { "pair": {
            "type": "array", "minItems": 2, "maxItems": 2,
            "prefixItems": [{ "type": "number" }, { "type": "boolean" }],
        } },
    });
    for good in [json!({"a": 1}), json!({"a": null, "b": "x"}), json!({"a": 1, "b": [1.5, true]})] {
        assert_eq!(crate::validator::mistakes(&schema, &good), Vec::<String>::new());
    }
    for (bad, place) in [
        (json!({}), "$: 'a' is missing"),
        (json!({"a": 1.5}), "$.a: not integer or null"),
        (json!({"a": 1, "c": 2}), "$: 'c' is not in the schema"),
        (json!({"a": 1, "b": "y"}), "$.b: fits none"),
        (json!({"a": 1, "b": [1]}), "$.b: fits none"),
        (json!([]), "$: not object"),
    ] {
        let found = crate::validator::mistakes(&schema, &bad);
        assert!(found.iter().any(|mistake| mistake.starts_with(place)), "{bad}: {found:?}");
    }
}
