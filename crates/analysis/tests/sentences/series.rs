//! Series of runs, with every verdict.

use sharebench_analysis::{Options, RunData, Series, SeriesError, series};

use crate::sentences::check_text;
use crate::synthetic::{Synthetic, cell};

/// Nights with these rates of one test, in MB/s, each with eight repetitions.
fn nights(rates: &[f64], noise: f64) -> Vec<RunData> {
    let night = |(index, rate): (usize, &f64)| {
        let mut night = Synthetic::new("nightly", &["smb"], 700 + index as u64);
        (night.noise, night.drift) = (noise, noise / 4.0);
        night.sweep(&[cell("read", 1 << 20, 4096), cell("read", 1 << 20, 65_536)], 8, |_, _| rate * 1e6);
        night.run.label = format!("nightly #{}", index + 1);
        night.run.header.started_unix_ms += index as u64 * 86_400_000;
        night.run
    };
    rates.iter().enumerate().map(night).collect()
}

fn texts(found: &Series) -> String {
    let lines = found.sentences.iter().map(|sentence| format!("{:?}: {}", sentence.tone, sentence.text));
    lines.collect::<Vec<_>>().join("\n")
}

fn check(name: &str, runs: &[RunData]) {
    check_text(name, &texts(&series(runs, &Options::default()).unwrap()));
}

#[test]
fn changes_of_a_series() {
    let levels = |count: usize, at: usize, rate: f64| -> Vec<f64> {
        (0..count).map(|night| if night < at { 500.0 } else { rate }).collect()
    };
    check("series_change", &nights(&levels(20, 12, 450.0), 0.02));
    check("series_rise", &nights(&levels(20, 12, 550.0), 0.02));
    check("series_few_after", &nights(&levels(14, 12, 400.0), 0.02));
    check("series_last_run", &nights(&levels(8, 7, 165.0), 0.02));
    check("series_open_size", &nights(&levels(24, 12, 490.0), 0.005));
    let falling: Vec<f64> = (0..7).map(|night| 500.0 * 0.95f64.powi(night)).collect();
    check("series_gradual_fall", &nights(&falling, 0.02));
    let rising: Vec<f64> = falling.iter().rev().copied().collect();
    check("series_gradual_rise", &nights(&rising, 0.02));
}

#[test]
fn a_last_run_without_repetitions() {
    let alone = |rates: &[f64]| {
        let mut runs = nights(rates, 0.02);
        for run in &mut runs {
            run.steps.retain(|step| step.repetition == 0);
        }
        runs
    };
    check("series_last_run_alone", &alone(&[500.0, 500.0, 500.0, 500.0, 500.0, 500.0, 500.0, 165.0]));
    check("series_last_of_six", &alone(&[500.0, 500.0, 500.0, 500.0, 500.0, 165.0]));
}

#[test]
fn series_without_a_change() {
    check("series_equal", &nights(&[500.0; 12], 0.02));
    check("series_too_few", &nights(&[1280.0, 1250.0, 1010.0, 640.0, 390.0, 373.0], 0.02));
    check("series_too_noisy", &nights(&[9000.0, 11.0, 7000.0, 9.0, 12_000.0, 14.0, 8000.0], 0.02));
    let mut unordered = nights(&[500.0; 8], 0.02);
    unordered.swap(2, 5);
    unordered[3].steps.retain(|step| step.coordinates.to_string().contains("record_size=4KiB"));
    check("series_unordered", &unordered);
    let names = ["smb, nfs", "smb2, nfs2"].map(str::to_owned).to_vec();
    let errors = [SeriesError::TooFew(5), SeriesError::NothingInCommon, SeriesError::DifferentTargets(names)];
    check_text("series_errors", &errors.map(|error| error.to_string()).join("\n"));
}
