//! Runs of one plan in a row, and surfaces weighed by what somebody does.

use crate::synthetic::Synthetic;
use sharebench_analysis::{
    Options, RatioVerdict, RunData, SeriesError, Tone, Weight, Weights, analyse, series,
};
use sharebench_exchange::import;
use sharebench_model::{Coordinates, RunOutcome, Value, axis};

fn cells(tests: &[&str]) -> Vec<Coordinates> {
    let mut cells = Vec::new();
    for test in tests {
        for file in [1u64 << 20, 16 << 20] {
            for record in [4u64 << 10, 64 << 10] {
                let at = Coordinates::new().with(axis::TEST, Value::text(*test));
                let at = at.with(axis::FILE_SIZE, Value::Bytes(file));
                cells.push(
                    at.with(axis::RECORD_SIZE, Value::Bytes(record)).with(axis::QUEUE_DEPTH, Value::Count(1)),
                );
            }
        }
    }
    cells
}

/// A series of nights; from night `from` on reads are 10 % slower.
fn nights(runs: usize, from: usize) -> Vec<RunData> {
    let night = |index: usize| {
        let mut night = Synthetic::new("nightly", &["smb"], 300 + index as u64);
        night.drift = 0.01;
        let slower = if index >= from { 0.9 } else { 1.0 };
        night.sweep(&cells(&["read", "write"]), 2, |_, at| {
            1e8 * if at.text(axis::TEST) == Some("read") { slower } else { 1.0 }
        });
        night.run.label = format!("nightly #{}", index + 1);
        night.run.header.started_unix_ms += index as u64 * 86_400_000;
        night.run
    };
    (0..runs).map(night).collect()
}

#[test]
fn the_night_from_which_on_reads_are_slower_is_named() {
    let found = series(&nights(20, 12), &Options::default()).unwrap();
    assert_eq!((found.changes.len(), found.changes[0].at), (1, 12), "{:?}", found.changes);
    let change = &found.changes[0];
    assert_eq!((change.runs, change.lines.len()), ((12, 8), 1));
    let line = &found.lines[change.lines[0].line];
    assert_eq!((line.target.as_str(), line.test.as_str(), line.cells), ("smb", "read", 4));
    assert_eq!(change.lines[0].verdict, RatioVerdict::Slower);
    let interval = change.lines[0].ratio.interval.unwrap();
    assert!(interval.low < 0.9 && 0.9 < interval.high, "{interval:?}");
    let text = &found.sentences[0].text;
    assert!(text.starts_with("smb read: from nightly #13 on ") && text.contains(" % slower ["), "{text}");
}

#[test]
fn equal_nights_state_what_they_would_have_shown_and_few_nights_are_refused() {
    let found = series(&nights(12, 99), &Options::default()).unwrap();
    assert!(found.changes.is_empty());
    assert_eq!(
        found.sentences[0].text,
        "No significant change in 2 tests over 12 runs: a fall of 5 % in the middle of them would have been detected (80 % \
         probability). A false change is reported in at most 1 of 20 such tables; the typical difference between runs is \
         at most 1.0 %."
    );
    assert_eq!(found.sentences[0].tone, Tone::Same);
    assert_eq!(series(&nights(5, 99), &Options::default()).unwrap_err(), SeriesError::TooFew(5));
    let mut other = nights(6, 99);
    other[3].steps.clear();
    assert_eq!(series(&other, &Options::default()).unwrap_err(), SeriesError::NothingInCommon);
}

#[test]
fn a_target_that_was_renamed_remains_one_series() {
    let mut renamed = nights(12, 7);
    for night in &mut renamed[5..] {
        night.header.targets[0].name = "nas2".to_owned();
    }
    let found = series(&renamed, &Options::default()).unwrap();
    assert_eq!(found.lines[0].target, "smb, nas2");
    assert_eq!((found.changes.len(), found.changes[0].at), (1, 7), "{:?}", found.changes);
}

#[test]
fn several_targets_with_different_names_are_an_error_that_lists_them() {
    let night = |index: usize| {
        let targets = if index < 3 { ["smb", "nfs"] } else { ["smb2", "nfs2"] };
        let mut night = Synthetic::new("nightly", &targets, 900 + index as u64);
        night.sweep(&cells(&["read"]), 2, |_, _| 1e8);
        night.run
    };
    let error = series(&(0..6).map(night).collect::<Vec<_>>(), &Options::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("different names (smb, nfs; smb2, nfs2)"), "{text}");
}

/// Nights with these rates of one test, in MB/s, each with eight repetitions that scatter by 2 %.
fn nights_of(rates: &[f64]) -> Vec<RunData> {
    let night = |(index, rate): (usize, &f64)| {
        let mut night = Synthetic::new("nightly", &["smb"], 700 + index as u64);
        night.drift = 0.005;
        night.sweep(&cells(&["read"]), 8, |_, _| rate * 1e6);
        night.run.label = format!("nightly #{}", index + 1);
        night.run.header.started_unix_ms += index as u64 * 86_400_000;
        night.run
    };
    rates.iter().enumerate().map(night).collect()
}

#[test]
fn a_fall_that_six_nights_cannot_prove_is_inconclusive() {
    // 1.28 GB/s fall to 373 MB/s: whether they fall or scatter is open after six nights.
    let found =
        series(&nights_of(&[1280.0, 1250.0, 1010.0, 640.0, 390.0, 373.0]), &Options::default()).unwrap();
    assert_eq!((found.changes.len(), found.detectable_fall), (0, None), "{found:?}");
    assert_eq!(found.sentences[0].tone, Tone::NotResolved);
    assert_eq!(
        found.sentences[0].text,
        "Inconclusive: no change is significant in 1 test over 6 runs, which is too few: a fall of 2x would be detected \
         after 2 more runs at that level (80 % probability; the typical difference between runs is at most 24.5 %)."
    );
    // Quiet nights are too few as well, and the next one decides.
    let quiet = series(&nights_of(&[500.0, 502.0, 499.0, 501.0, 498.0, 500.0]), &Options::default()).unwrap();
    let text = &quiet.sentences[0].text;
    assert!(text.contains("a fall of 2x would be detected after 1 more run at that level"), "{text}");
}

#[test]
fn seven_nights_that_fall_by_5_percent_each_fall_gradually() {
    let rates: Vec<f64> = (0..7).map(|night| 500.0 * 0.95f64.powi(night)).collect();
    let found = series(&nights_of(&rates), &Options::default()).unwrap();
    let [trend] = found.trends.as_slice() else { panic!("{found:?}") };
    assert!(found.changes.is_empty() && trend.verdict == RatioVerdict::Slower, "{found:?}");
    let truth = 0.95f64.powi(6);
    assert!(trend.total.interval.unwrap().contains(truth) && trend.total.n == 7, "{trend:?}");
    let text = &found.sentences[0].text;
    assert!(
        text.starts_with("smb read: falls gradually over 7 runs, 2") && text.contains(" in all (4 cells"),
        "{text}"
    );
    assert_eq!((found.sentences.len(), found.sentences[0].tone), (1, Tone::Difference));
    // A step of the same size is none.
    let step = [500.0, 502.0, 499.0, 501.0, 368.0, 367.0, 369.0, 366.0];
    assert!(series(&nights_of(&step), &Options::default()).unwrap().trends.is_empty());
}

#[test]
fn one_slow_night_after_seven_equal_ones_is_found() {
    let rates = [500.0, 502.0, 499.0, 501.0, 498.0, 500.0, 503.0, 165.0];
    let found = series(&nights_of(&rates), &Options::default()).unwrap();
    let change = &found.changes[0];
    assert_eq!((change.at, change.runs, found.changes.len()), (7, (7, 1), 1));
    assert_eq!(change.lines[0].verdict, RatioVerdict::Slower);
    let text = &found.sentences[0].text;
    assert!(text.starts_with("smb read: nightly #8 is 66.9 % slower [66.2, 67.6] than"), "{text}");
    assert!(
        text.ends_with(
            "than the 7 runs before it (4 cells; p = 0.000); one run does not show whether the level has changed."
        ),
        "{text}"
    );
}

/// The imported nights of `data/verdict`.
fn imported_nights(files: std::ops::RangeInclusive<usize>) -> Vec<RunData> {
    let night = |index: usize| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/verdict");
        let name = format!("series-{index}.csv");
        let table = std::fs::read(format!("{folder}/{name}")).unwrap();
        let map = [
            "test=test",
            "target==server",
            "file_size=file_size:B",
            "record_size=record_size:B",
            "rate=rate_mb_s:MB/s",
        ]
        .map(|mapping| mapping.parse().unwrap())
        .into();
        let options = sharebench_exchange::Options { map, ..sharebench_exchange::Options::default() };
        let run = import(&name, &table, &options).unwrap().runs.remove(0);
        let outcome = Some(RunOutcome::Complete);
        RunData {
            label: name,
            command: String::new(),
            header: run.header,
            facts: run.facts,
            steps: run.steps,
            outcome,
        }
    };
    files.map(night).collect()
}

#[test]
fn one_slow_night_without_repetitions_is_no_evidence_that_nothing_changed() {
    let found = series(&imported_nights(1..=8), &Options::default()).unwrap();
    assert!(found.changes.is_empty() && found.last_run.len() == 2, "{found:?}");
    assert_eq!(found.runs_to_confirm, Some(2));
    for (sentence, test) in found.sentences.iter().zip(["read", "write"]) {
        assert_eq!(sentence.tone, Tone::NotResolved);
        assert!(sentence.text.contains(&format!("{test}: series-8.csv alone is 66.")), "{}", sentence.text);
        assert!(
            sentence
                .text
                .ends_with("One run cannot decide whether the level has changed: 2 more like it would."),
            "{}",
            sentence.text
        );
    }
    // Without that night there is evidence of absence for large falls alone.
    let equal = series(&imported_nights(1..=7), &Options::default()).unwrap();
    assert!(equal.last_run.is_empty(), "{equal:?}");
    assert!(!equal.sentences[0].text.contains("No significant change") || equal.detectable_fall.is_some());
}

#[test]
fn a_last_night_alone_is_open_in_three_more_series() {
    let without_repetitions = |rates: &[f64]| {
        let mut nights = nights_of(rates);
        for night in &mut nights {
            night.steps.retain(|step| step.repetition == 0);
        }
        nights
    };
    let tail = |rates: &[f64]| {
        let found = series(&without_repetitions(rates), &Options::default()).unwrap();
        (found.changes.len(), found.last_run.iter().map(|change| change.verdict).collect::<Vec<_>>())
    };
    let quiet = [500.0, 504.0, 497.0, 501.0, 495.0, 503.0, 500.0];
    assert_eq!(tail(&[&quiet[..], &[300.0]].concat()), (0, vec![RatioVerdict::Slower]));
    assert_eq!(tail(&[&quiet[..], &[800.0]].concat()), (0, vec![RatioVerdict::Faster]));
    // After a change of level, the runs from there on count.
    let (changes, last) =
        tail(&[[500.0; 8].as_slice(), &[300.0, 303.0, 298.0, 301.0, 299.0, 302.0, 150.0]].concat());
    assert_eq!((changes, last), (1, vec![RatioVerdict::Slower]));
    assert_eq!(tail(&quiet), (0, Vec::new()));
}

#[test]
fn an_answer_for_the_user_s_files_weighs_their_cells() {
    // The second system is 20 % faster at large records and half as fast at small ones.
    let mut pair = Synthetic::new("pair", &["old", "new"], 5);
    pair.sweep(&cells(&["read", "write"]), 10, |target, at| {
        let small = at.number(axis::RECORD_SIZE) == Some(4 << 10);
        1e8 * match (target, small) {
            (1, false) => 1.2,
            (1, true) => 0.5,
            _ => 1.0,
        }
    });
    let part =
        |record_size, bytes| Weight { write: false, random: false, file_size: 12 << 20, record_size, bytes };
    let weighed = |parts: Vec<Weight>| {
        let weights = Some(Weights { name: "mine.toml".to_owned(), parts });
        analyse(&[pair.run.clone()], &Options { weights, ..Options::default() })
    };
    let mixed = weighed(vec![part(64 << 10, 9e9), part(4 << 10, 1e9)]);
    // Nine tenths at 1.2 times the speed and a tenth at half of it: 1 / (0.9 / 1.2 + 0.1 / 0.5).
    let found = &mixed.weighted[0];
    let ratio = found.ratio.unwrap();
    assert!((ratio.value - 1.0 / 0.95).abs() < 0.02, "{ratio:?}");
    assert!(ratio.interval.is_some() && (found.covered - 1.0).abs() < 1e-9 && found.cells == 2);
    let found_text =
        mixed.answer.iter().find(|sentence| sentence.text.starts_with("For your files (mine.toml): "));
    assert!(
        found_text.is_some_and(
            |found_text| found_text.text.contains("new is 5.") && found_text.text.contains("2 cells")
        ),
        "{found_text:?}"
    );
    let large = weighed(vec![part(64 << 10, 1.0), Weight { file_size: 1 << 30, ..part(64 << 10, 2.0) }]);
    assert!((large.weighted[0].covered - 1.0 / 3.0).abs() < 1e-9);
    assert_eq!((large.weighted[0].ratio, large.weighted[0].verdict), (None, RatioVerdict::NotResolved));
}
