//! Findings over regions: planted truths in, sentences out, scored.

#![expect(clippy::unwrap_used, reason = "all of it is tests, which clippy sees by #[test] only")]

mod synthetic;

use sharebench_analysis::{Analysis, DifferingRegion, Options, Pairing, RatioVerdict, Tone, analyse};
use sharebench_model::{Coordinates, Random, Value, axis};
use synthetic::{Synthetic, cell, grid};

/// Total work of single cells is not what these tests are about.
fn quick() -> Options {
    Options { resamples: 200, ..Options::default() }
}

fn texts(sentences: &[sharebench_analysis::Sentence]) -> String {
    sentences.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join("\n")
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
fn a_region_is_found_named_and_in_the_answer() {
    let analysis = planted(3);
    let differences = &analysis.comparisons[0].differences;
    let scanned = differences.scanned.unwrap();
    assert_eq!((scanned.sections, scanned.cells, scanned.sweeps), (2, 44, 10));
    assert_eq!(scanned.pairing, Pairing::Interleaved);
    let [region] = differences.regions.as_slice() else { panic!("{:#?}", differences.regions) };
    assert_eq!(analysis.sections[region.section].title, "read");
    assert_eq!(region.place[0].from, None);
    assert_eq!(region.place[1].from, Some(Value::Bytes(65_536)));
    assert!(
        region.rows.iter().all(|row| above_16k(&analysis.sections[region.section].rows[*row].coordinates))
    );
    assert_eq!((region.rows.len(), region.verdict), (12, RatioVerdict::Faster));
    assert!(region.typical.interval.unwrap().contains(1.12), "{region:?}");
    assert!(region.total_work.unwrap().interval.unwrap().contains(1.12), "{region:?}");
    let answer = texts(&analysis.answer);
    assert!(answer.starts_with("Over 44 cells in 2 tests, "), "{answer}");
    assert!(answer.contains("Largest difference: read, records of 64KiB and more: b is "), "{answer}");
    assert_eq!(analysis.answer.len(), 2, "{answer}");
    // The largest files alone have all records: along them the ratio breaks where it was made to.
    let found = texts(&analysis.findings);
    assert!(found.contains("read: the ratio b/a changes with records of 64KiB"), "{found}");
}

#[test]
fn both_directions_are_reported_and_equal_systems_too() {
    let mut run = Synthetic::new("crossing", &["a", "b"], 5);
    run.sweep(&grid(&["read"], 5, 5), 10, |target, at| {
        1e8 * match (target, at.number(axis::FILE_SIZE).unwrap() > 1 << 20) {
            (1, true) => 1.15,
            (1, false) => 0.85,
            _ => 1.0,
        }
    });
    let answer = texts(&analyse(&[run.run], &quick()).answer);
    assert!(answer.contains("read, files of 4MiB and more: b is 15"), "{answer}");
    assert!(answer.contains("read, files up to 1MiB: a is 17"), "{answer}");
    assert!(answer.contains("In the opposite direction: "), "{answer}");
    let mut claimed = 0;
    for seed in 0..12 {
        let mut run = Synthetic::new("equal", &["a", "b"], 900 + seed);
        run.sweep(&grid(&["write", "read"], 4, 4), 8, |_, _| 1e8);
        let analysis = analyse(&[run.run], &quick());
        let regions = &analysis.comparisons[0].differences.regions;
        claimed += regions.iter().filter(|region| region.verdict != RatioVerdict::NotResolved).count();
        assert!(regions.is_empty() == texts(&analysis.answer).contains("no region of 4 cells or more"));
    }
    assert_eq!(claimed, 0);
}

#[test]
fn runs_of_two_days_are_scanned_with_their_caveat_and_five_sweeps_are_not() {
    let night = |title: &str, rate: f64, sweeps: u32| {
        let mut run = Synthetic::new(title, &["nas"], 7 + u64::from(sweeps));
        run.drift = 0.0;
        run.sweep(&grid(&["read"], 4, 4), sweeps, |_, at| if above_16k(at) { rate } else { 1e8 });
        run.run
    };
    let analysis = analyse(&[night("monday", 1e8, 8), night("tuesday", 0.8e8, 8)], &quick());
    let region = &analysis.comparisons[0].differences.regions[0];
    assert_eq!(region.verdict, RatioVerdict::Slower);
    assert!(texts(&analysis.answer).contains("not interleaved"), "{}", texts(&analysis.answer));
    let few = analyse(&[night("monday", 1e8, 5), night("tuesday", 0.8e8, 5)], &quick());
    assert_eq!(few.comparisons[0].differences.scanned, None);
}

#[test]
fn one_side_s_cache_is_no_region() {
    let mut run = Synthetic::new("cached", &["direct", "mounted"], 11);
    run.sweep(&grid(&["read"], 4, 4), 10, |target, at| if target == 1 && !above_16k(at) { 9e8 } else { 1e8 });
    run.mount(1, |at| if above_16k(at) { 0.0 } else { 1.0 });
    let analysis = analyse(&[run.run], &quick());
    let differences = &analysis.comparisons[0].differences;
    assert!(differences.regions.is_empty(), "{:#?}", differences.regions);
    assert!(texts(&analysis.answer).contains("as users see it"), "{}", texts(&analysis.answer));
}

/// A random rectangle of one of two tests in which `b` differs, or none.
struct Plant {
    test: usize,
    rows: (usize, usize),
    columns: (usize, usize),
    effect: f64,
}

const SIDE: usize = 6;

impl Plant {
    fn draw(random: &mut Random) -> Option<Self> {
        if random.unit() < 0.2 {
            return None;
        }
        let mut span = || {
            let len = 2 + random.below(SIDE as u64 - 2) as usize;
            let from = random.below((SIDE - len + 1) as u64) as usize;
            (from, from + len)
        };
        let rows = span();
        let columns = span();
        let size = 0.08 + 0.2 * random.unit();
        let effect = if random.unit() < 0.5 { size } else { -size };
        Some(Self { test: random.below(2) as usize, rows, columns, effect })
    }

    fn holds(&self, test: usize, row: usize, column: usize) -> bool {
        test == self.test
            && (self.rows.0..self.rows.1).contains(&row)
            && (self.columns.0..self.columns.1).contains(&column)
    }
}

fn place(at: &Coordinates) -> (usize, usize, usize) {
    let log = |axis: &str, least: u64| (at.number(axis).unwrap() / least).ilog2() as usize;
    let test = usize::from(at.text(axis::TEST) == Some("read"));
    (test, log(axis::FILE_SIZE, 1 << 20), log(axis::RECORD_SIZE, 4096))
}

/// Share of the cells of both that are common.
fn agreement(analysis: &Analysis, region: &DifferingRegion, plant: &Plant) -> f64 {
    let mut common = 0;
    for row in &region.rows {
        let (test, file, record) = place(&analysis.sections[region.section].rows[*row].coordinates);
        common += usize::from(plant.holds(test, file, record));
    }
    let planted = (plant.rows.1 - plant.rows.0) * (plant.columns.1 - plant.columns.0);
    common as f64 / (planted + region.rows.len() - common) as f64
}

#[test]
fn planted_truths_are_found_and_little_else() {
    let seeds = if std::env::var_os("SHAREBENCH_LONG").is_some() { 300 } else { 12 };
    let mut planted = 0;
    let mut found = 0;
    let mut claims = 0;
    let mut right = 0;
    for seed in 0..seeds {
        let plant = Plant::draw(&mut Random::new(seed, 31));
        let mut run = Synthetic::new("planted", &["a", "b"], 7000 + seed);
        let mut cells = Vec::new();
        for test in ["write", "read"] {
            cells.extend((0..SIDE * SIDE).map(|c| cell(test, 1 << (20 + c / SIDE), 4096 << (c % SIDE))));
        }
        run.sweep(&cells, 8, |target, at| {
            let (test, file, record) = place(at);
            let inside = plant.as_ref().filter(|plant| target == 1 && plant.holds(test, file, record));
            1e8 * inside.map_or(1.0, |plant| plant.effect.exp())
        });
        let analysis = analyse(&[run.run], &quick());
        let regions = analysis.comparisons[0].differences.regions.iter();
        let found_text: Vec<_> =
            regions.filter(|region| region.verdict != RatioVerdict::NotResolved).collect();
        planted += usize::from(plant.is_some());
        claims += found_text.len();
        let hits = |region: &&&DifferingRegion| {
            plant.as_ref().is_some_and(|plant| {
                agreement(&analysis, region, plant) >= 0.5
                    && (region.typical.value > 1.0) == (plant.effect > 0.0)
            })
        };
        right += found_text.iter().filter(hits).count();
        found += usize::from(found_text.iter().any(|region| hits(&region)));
    }
    let precision = right as f64 / claims as f64;
    let recall = found as f64 / planted as f64;
    println!(
        "planted regions, {seeds} surfaces: precision {precision:.3} of {claims}, recall {recall:.3} of {planted}"
    );
    assert!(precision >= 0.95 && recall >= 0.9, "{precision} {recall}");
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
    assert!(found.contains("write: unc falls from 2"), "{found}");
    assert!(found.contains(" MB/s at records of 32KiB, then stays at 5."), "{found}");
    assert!(found.contains("from records of 64KiB on."), "{found}");
    assert!(found.contains("no more growth from records of 8KiB on: local 1"), "{found}");
}

#[test]
fn a_region_s_claim_is_a_difference_and_its_doubt_is_not() {
    let analysis = planted(4);
    let of = |tone: Tone| {
        analysis.findings.iter().filter(move |s| s.tone == tone && s.text.contains(" and more: "))
    };
    assert_eq!((of(Tone::Difference).count(), of(Tone::NotResolved).count()), (1, 0));
}
