//! Maps that change: the parts of a map, in the verdict, the findings and the answer.

use crate::synthetic::{Synthetic, cell, grid};
use crate::tables::imported;
use sharebench_analysis::{
    Analysis, ComparisonOutcome, Options, Pairing, PartEvidence, RatioVerdict, analyse,
};
use sharebench_model::{Coordinates, Value, axis};

/// Total work of single cells is not what these tests are about.
fn quick() -> Options {
    Options { resamples: 200, ..Options::default() }
}

fn texts(sentences: &[sharebench_analysis::Sentence]) -> String {
    sentences.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn contradictions(analysis: &Analysis) -> Vec<String> {
    crate::oracle::contradictions(&serde_json::to_value(analysis).unwrap())
}

fn verdict(analysis: &Analysis) -> &str {
    &analysis.verdict.as_ref().unwrap().text
}

/// The same table as `sharebench import` reads it.
fn table(name: &str, bytes: &[u8], clock_ns: u64, map: &[&str]) -> Analysis {
    let mut runs = imported(name, bytes, map);
    for run in &mut runs {
        run.header.environment.insert("clock_resolution_ns".into(), clock_ns.to_string());
    }
    let analysis = analyse(&runs, &quick());
    assert_eq!(contradictions(&analysis), [] as [String; 0], "{name}");
    analysis
}

const SERVERS: [&str; 6] = [
    "target=server",
    "test=op",
    "file_size=file_mb:MiB",
    "record_size=rec_kb:KiB",
    "repetition=rep",
    "rate=kBps:KiB/s",
];

#[test]
fn cells_with_fewer_repetitions_than_others_count() {
    let analysis =
        table("dropped_cells.csv", include_bytes!("data/verdict/dropped_cells.csv"), 1000, &SERVERS);
    let text = verdict(&analysis);
    println!("{text}\n{}", texts(&analysis.answer));
    assert!(text.starts_with("depends on the file size: "), "{text}");
    assert!(
        text.contains("B is 2.0") && text.contains(" times as fast ") && text.contains(" for files of 4MiB"),
        "{text}"
    );
    assert!(text.contains("A is 31 % faster [") && text.contains(" for files of 1MiB"), "{text}");
    assert!(text.contains("(6 cells, "), "{text}");
}

#[test]
fn opposite_files_are_no_equal_mean() {
    let analysis = table("simpson.csv", include_bytes!("data/verdict/simpson.csv"), 1000, &SERVERS);
    let text = verdict(&analysis);
    println!("{text}\n{}", texts(&analysis.answer));
    assert!(text.starts_with("depends on the file size: "), "{text}");
    assert!(text.contains("B is 35 % faster [") && text.contains(" for files of 1MiB"), "{text}");
    assert!(text.contains("A is 3") && text.contains(" for files of 4MiB"), "{text}");
    assert!(!texts(&analysis.answer).contains("no region"), "{}", texts(&analysis.answer));
}

#[test]
fn a_reversal_by_file_size_names_both_sizes() {
    let map = SERVERS
        .map(|mapping| if mapping.starts_with("file_size") { "file_size=file_kb:KiB" } else { mapping });
    let analysis = table("cross.csv", include_bytes!("data/verdict/cross.csv"), 1000, &map);
    let text = verdict(&analysis);
    println!("{text}\n{}", texts(&analysis.answer));
    assert!(text.starts_with("depends on the file size: "), "{text}");
    assert!(text.contains(" % faster [") && text.contains("] for files of 64KiB (48 cells"), "{text}");
    assert!(text.contains("A is 42 % faster [") && text.contains("] for files of 16MiB, "), "{text}");
    assert!(!text.contains("1MiB and more"), "{text}");
}

#[test]
fn one_cell_is_named_and_not_its_neighbours() {
    let analysis = table("onecell.csv", include_bytes!("data/verdict/onecell.csv"), 1000, &SERVERS);
    let text = verdict(&analysis);
    println!("{text}\n{}", texts(&analysis.answer));
    assert!(
        text.starts_with("A is ")
            && text.contains(" % faster than B for files of 4MiB with records of 64KiB, ["),
        "{text}"
    );
    assert!(text.contains("; elsewhere nothing opposite beyond "), "{text}");
    let parts = &analysis.comparisons[0].differences.parts;
    assert_eq!(parts.iter().map(sharebench_analysis::DifferingPart::cells).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_fall_has_a_beginning_and_an_end() {
    let map = [
        "target=how",
        "test=op",
        "queue_depth=depth",
        "file_size==64:MiB",
        "record_size=rec_kb:KiB",
        "repetition=rep",
        "rate=MBps:MB/s",
    ];
    let analysis = table("curve.csv", include_bytes!("data/verdict/curve.csv"), 1_000_000, &map);
    let found = texts(&analysis.findings);
    println!("{found}");
    assert!(
        found.contains("read: UNC falls from ") && found.contains(" kB/s at records of 256KiB"),
        "{found}"
    );
    assert!(found.contains(" MB/s at records of 16KiB to "), "{found}");
    assert!(!found.contains("861 kB/s at records of 32KiB"), "{found}");
}

fn above_16k(at: &Coordinates) -> bool {
    at.number(axis::RECORD_SIZE).unwrap() > 16_384
}

/// Reads of `b` are 12 % faster above 16 KiB, writes are equal.
fn planted(seed: u64) -> Analysis {
    let mut run = Synthetic::new("planted", &["a", "b"], seed);
    run.sweep(&grid(&["write", "read"], 5, 5), 10, |target, at| {
        let planted = target == 1 && at.text(axis::TEST) == Some("read") && above_16k(at);
        1e8 * if planted { 1.12 } else { 1.0 }
    });
    analyse(&[run.run], &quick())
}

#[test]
fn a_part_is_found_named_and_in_the_verdict() {
    let analysis = planted(3);
    let differences = &analysis.comparisons[0].differences;
    let scanned = differences.scanned.unwrap();
    assert_eq!((scanned.sections, scanned.cells, scanned.repetitions), (2, 44, (10, 10)));
    assert_eq!(scanned.pairing, Pairing::Interleaved);
    let [part] = differences.parts.as_slice() else { panic!("{:#?}", differences.parts) };
    assert_eq!(
        part.sections.iter().map(|s| analysis.sections[*s].title.as_str()).collect::<Vec<_>>(),
        ["read"]
    );
    assert_eq!(part.place[1].from, Some(Value::Bytes(65_536)));
    assert!(part.places().all(|(section, row)| above_16k(&analysis.sections[section].rows[row].coordinates)));
    assert_eq!(
        (part.cells(), part.direction, part.evidence),
        (12, RatioVerdict::Faster, PartEvidence::EachCell)
    );
    assert!(part.typical.interval.unwrap().contains(1.12), "{part:?}");
    let text = verdict(&analysis);
    println!("{text}");
    assert!(
        text.starts_with("b is 1") && text.contains(" in read for records of 64KiB and more, ["),
        "{text}"
    );
    assert!(texts(&analysis.answer).starts_with("Over 44 cells in 2 tests, "), "{}", texts(&analysis.answer));
    assert_eq!(contradictions(&analysis), [] as [String; 0]);
}

#[test]
fn both_directions_are_in_the_verdict_and_equal_systems_have_no_part() {
    let mut run = Synthetic::new("crossing", &["a", "b"], 5);
    run.sweep(&grid(&["read"], 5, 5), 10, |target, at| {
        1e8 * match (target, at.number(axis::FILE_SIZE).unwrap() > 1 << 20) {
            (1, true) => 1.15,
            (1, false) => 0.85,
            _ => 1.0,
        }
    });
    let analysis = analyse(&[run.run], &quick());
    let text = verdict(&analysis);
    assert_eq!(analysis.verdict.as_ref().unwrap().outcome, ComparisonOutcome::Depends);
    assert!(text.contains("for files of 4MiB and more") && text.contains("for files up to 1MiB"), "{text}");
    assert!(text.contains("b is 15") && text.contains("a is 17"), "{text}");
    let mut claimed = 0;
    for seed in 0..12 {
        let mut run = Synthetic::new("equal", &["a", "b"], 900 + seed);
        run.sweep(&grid(&["write", "read"], 4, 4), 8, |_, _| 1e8);
        let analysis = analyse(&[run.run], &quick());
        claimed += analysis.comparisons[0].differences.parts.len();
        assert_eq!(contradictions(&analysis), [] as [String; 0]);
    }
    assert_eq!(claimed, 0);
}

#[test]
fn runs_of_two_days_are_divided_with_their_caveat_and_five_repetitions_are_not() {
    let night = |title: &str, rate: f64, sweeps: u32| {
        let mut run = Synthetic::new(title, &["nas"], 7 + u64::from(sweeps));
        run.drift = 0.0;
        run.sweep(&grid(&["read"], 4, 4), sweeps, |_, at| if above_16k(at) { rate } else { 1e8 });
        run.run
    };
    let analysis = analyse(&[night("monday", 1e8, 8), night("tuesday", 0.8e8, 8)], &quick());
    let part = &analysis.comparisons[0].differences.parts[0];
    assert_eq!(part.direction, RatioVerdict::Slower);
    assert!(texts(&analysis.answer).contains("not interleaved"), "{}", texts(&analysis.answer));
    let few = analyse(&[night("monday", 1e8, 5), night("tuesday", 0.8e8, 5)], &quick());
    assert_eq!(few.comparisons[0].differences.scanned, None);
}

#[test]
fn cells_of_few_repetitions_are_named_and_left_out() {
    let mut run = Synthetic::new("few", &["a", "b"], 3);
    run.sweep(&grid(&["read"], 4, 4), 10, |target, _| if target == 1 { 1.2e8 } else { 1e8 });
    run.sweep(&[cell("read", 1 << 30, 4096)], 3, |target, _| if target == 1 { 0.5e8 } else { 1e8 });
    let analysis = analyse(&[run.run], &quick());
    assert!(verdict(&analysis).contains("(15 of 16 cells, "), "{}", verdict(&analysis));
    let open = texts(&analysis.not_resolved);
    assert!(open.contains("b/a: cells with fewer than 6 repetitions take part in no mean: "), "{open}");
    assert!(open.contains("1GiB"), "{open}");
}

#[test]
fn one_side_s_cache_is_no_part() {
    let mut run = Synthetic::new("cached", &["direct", "mounted"], 11);
    run.sweep(&grid(&["read"], 4, 4), 10, |target, at| if target == 1 && !above_16k(at) { 9e8 } else { 1e8 });
    run.mount(1, |at| if above_16k(at) { 0.0 } else { 1.0 });
    let analysis = analyse(&[run.run], &quick());
    let differences = &analysis.comparisons[0].differences;
    assert!(differences.parts.is_empty(), "{:#?}", differences.parts);
    assert!(texts(&analysis.answer).contains("as users see it"), "{}", texts(&analysis.answer));
}

#[test]
fn cliffs_and_saturation_are_named() {
    let mut run = Synthetic::new("cliff", &["unc", "local"], 13);
    let cells: Vec<_> = (0..9).map(|k| cell("write", 64 << 20, 2048 << k)).collect();
    let shape = [6.0, 11.0, 18.0, 22.0, 2.1, 5.5, 5.8, 6.0, 5.6];
    run.sweep(&cells, 10, |target, at| {
        let k = (at.number(axis::RECORD_SIZE).unwrap() / 2048).ilog2() as usize;
        1e6 * if target == 0 { shape[k] } else { [5.0, 9.0, 16.0][k.min(2)] }
    });
    let found = texts(&analyse(&[run.run], &quick()).findings);
    assert!(
        found.contains("write: unc falls from 2") && found.contains(" MB/s at records of 16KiB to 2."),
        "{found}"
    );
    assert!(found.contains(" MB/s at records of 32KiB, then stays at 5."), "{found}");
    assert!(found.contains("from records of 64KiB on."), "{found}");
    assert!(found.contains("no more growth from records of 8KiB on: local 1"), "{found}");
}
