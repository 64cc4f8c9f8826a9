//! Verdicts of a gate on small series of runs.

use std::fmt::Write as _;

use sharebench_analysis::{Analysis, GateOptions, Options, RunData, analyse, gate, gate_calibration};

use crate::sentences::check_text;
use crate::synthetic::{Synthetic, cell, night_with_large_records};

/// Nights of two tests with these rates in MB/s.
fn nights(rates: &[f64], noise: f64) -> Vec<RunData> {
    let night = |(index, rate): (usize, &f64)| {
        let mut night = Synthetic::new("nightly", &["smb"], 900 + index as u64);
        night.noise = noise;
        night.drift = 0.0;
        let cells =
            [cell("write", 1 << 20, 4096), cell("read", 1 << 20, 4096), cell("read", 1 << 20, 65_536)];
        night.sweep(&cells, 6, |_, _| rate * 1e6);
        night.run.label = format!("nightly #{}", index + 1);
        night.run
    };
    rates.iter().enumerate().map(night).collect()
}

fn compared(runs: &[RunData]) -> Analysis {
    analyse(&runs[runs.len().saturating_sub(2)..], &Options { resamples: 20, ..Options::default() })
}

/// The verdict on the last run as the command prints it.
fn shown(runs: &[RunData], analysis: &Analysis) -> String {
    let verdict = gate(runs, analysis, &GateOptions::default());
    let mut text = verdict.text.clone();
    if !verdict.decides.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\ndecides: {}", verdict.decides);
    }
    for line in &verdict.lines {
        let _ = write!(text, "\n  {}: {}", line.name(), line.change);
    }
    for finding in &verdict.findings {
        let _ = write!(text, "\n  - {finding}");
    }
    text
}

fn check(name: &str, runs: &[RunData]) {
    check_text(name, &shown(runs, &compared(runs)));
}

#[test]
fn gates_that_pass() {
    check("gate_first_run", &nights(&[500.0], 0.01));
    check("gate_second_run", &nights(&[500.0, 500.0], 0.01));
}

#[test]
fn gates_that_find_a_fall() {
    check("gate_one_night", &nights(&[500.0, 500.0, 500.0, 500.0, 420.0], 0.01));
    let mut rates = vec![500.0; 10];
    rates.extend([477.0, 475.0, 473.0]);
    check("gate_several_nights", &nights(&rates, 0.01));
    let gradual: Vec<f64> = (0..12).map(|night| 500.0 * 0.99f64.powi(night)).collect();
    check("gate_gradual_fall", &nights(&gradual, 0.01));
}

#[test]
fn gates_of_noisy_runs() {
    let noisy = nights(&[500.0, 500.0], 0.3);
    check("gate_candidate", &noisy[..1]);
    let mut two = nights(&[500.0, 500.0, 500.0], 0.01);
    (two[0], two[1]) = (noisy[0].clone(), noisy[1].clone());
    check("gate_two_replaced", &two);
    let mut replaced = nights(&[500.0, 500.0], 0.01);
    replaced[0] = noisy[0].clone();
    check("gate_replaced", &replaced);
    check("gate_few_repetitions", &nights(&[500.0; 4], 0.15));
    check("gate_scatter", &nights(&[500.0, 410.0, 560.0, 430.0, 600.0, 450.0, 570.0, 470.0], 0.01));
}

#[test]
fn limits_that_a_machine_can_hold() {
    let runs = nights(&[500.0, 510.0, 495.0, 505.0, 500.0, 490.0], 0.01);
    let text = match gate_calibration(&runs) {
        Ok(calibration) => calibration.text,
        Err(error) => error.to_string(),
    };
    check_text("gate_calibration", &text);
}

#[test]
fn gates_that_find_a_slower_region() {
    let nights = [(0, 1.0), (1, 1.0), (9, 0.75)].map(|(seed, factor)| night_with_large_records(seed, factor));
    check("gate_slower_region", &nights);
}

#[test]
fn gates_that_cannot_judge() {
    check("gate_noisy_run", &nights(&[500.0, 500.0], 0.6));
    let mut empty = nights(&[500.0, 500.0], 0.01);
    empty[1].steps.clear();
    let mut alone = empty[1..].to_vec();
    alone[0].label = "nightly #1".into();
    let strangers = nights(&[500.0, 500.0], 0.01);
    let mut one_missing: Vec<RunData> = [1, 2]
        .map(|seed| {
            let mut night = Synthetic::new("nightly", &["smb", "nfs"], seed);
            night.sweep(&[cell("read", 1 << 20, 4096)], 6, |_, _| 1e8);
            night.run
        })
        .into();
    one_missing[1].steps.retain(|step| step.target == 0);
    let texts = [
        shown(&alone, &compared(&alone)),
        shown(&empty, &compared(&empty)),
        shown(&strangers, &compared(&strangers[1..])),
        shown(&one_missing, &compared(&one_missing)),
    ];
    check_text("gate_invalid", &texts.join("\n"));
}
