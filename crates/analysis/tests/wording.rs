//! Sentences that state what the data supports: one number per claim, and the remedy that fits its cause.

use crate::synthetic::{Synthetic, cell, grid};
use sharebench_analysis::{Analysis, Obstacle, Options, RunData, Status, analyse};
use sharebench_model::axis;

fn texts(sentences: &[sharebench_analysis::Sentence]) -> String {
    sentences.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// Reads of the second system have `factor` times the rate, writes are equal.
fn reads_differ(factor: f64, noise: f64, repetitions: u32) -> Analysis {
    let mut run = Synthetic::new("reads", &["smb", "nfs"], 3);
    run.noise = noise;
    run.sweep(&grid(&["read", "write"], 3, 3), repetitions, |target, at| {
        let read = target == 1 && at.text(axis::TEST) == Some("read");
        1e8 * if read { factor } else { 1.0 }
    });
    analyse(&[run.run], &Options::default())
}

#[test]
fn the_answer_and_the_findings_report_one_number_for_one_claim() {
    let analysis = reads_differ(107.0, 0.3, 6);
    let number = |text: &str| {
        let (_, claim) = text.split_once("nfs is ")?;
        claim.split_once(" times as fast").map(|(number, _)| number.to_owned())
    };
    let verdict = &analysis.comparisons[0].verdict.text;
    let claims: Vec<String> = analysis
        .findings
        .iter()
        .filter(|sentence| sentence.text.starts_with("read"))
        .filter_map(|sentence| number(&sentence.text))
        .collect();
    assert!(!claims.is_empty(), "{}", texts(&analysis.findings));
    let one = number(verdict);
    assert!(claims.iter().all(|claim| Some(claim) == one.as_ref()), "{verdict}\n{claims:?}");
}

#[test]
fn a_noisy_ratio_is_not_called_one_at_the_edge_of_the_tolerance() {
    let mut run = Synthetic::new("noisy", &["smb", "nfs"], 8);
    for (repetition, log_ratio) in (0..).zip([-1.273, -0.6, 0.08, 0.14, 0.8, 2.53]) {
        run.step(0, repetition, cell("read", 1 << 20, 4096), 1e8);
        run.step(1, repetition, cell("read", 1 << 20, 4096), 1e8 * f64::exp(log_ratio));
    }
    let analysis = analyse(&[run.run], &Options::default());
    let summary = &analysis.comparisons[0].overall.as_ref().unwrap().summary;
    assert_eq!(summary.obstacle, Some(Obstacle::Noise), "{summary:?}");
    let expected = "Over 1 cell in 1 test, nfs against smb is not resolved: ratio 1.12 [0.28, 12.55] (geometric mean, 6 \
                    interleaved repetitions); the repetitions scatter too much: more than 500 of them would be needed, so \
                    measure longer or on a quieter machine.";
    assert_eq!(texts(&analysis.answer), expected);
}

#[test]
fn a_coarse_clock_is_not_remedied_by_repetitions() {
    let mut run = Synthetic::new("ticks", &["a", "b"], 4);
    run.sweep(&grid(&["read"], 2, 2), 10, |target, _| 1e8 * if target == 1 { 1.1 } else { 1.0 });
    run.run.header.environment.insert("clock_resolution_ns".into(), "54925000".into());
    let analysis = analyse(&[run.run], &Options::default());
    let summary = &analysis.comparisons[0].overall.as_ref().unwrap().summary;
    assert_eq!((summary.obstacle, summary.repetitions_needed), (Some(Obstacle::Clock), None));
    let remedy =
        "; the resolution of the clock leaves it open, whatever the number of repetitions: measure longer.";
    assert!(texts(&analysis.answer).contains(remedy), "{}", texts(&analysis.answer));
}

#[test]
fn ratios_of_one_to_hundreds_have_digits() {
    let mut run = Synthetic::new("cliff", &["a", "b"], 5);
    run.sweep(&grid(&["read"], 4, 4), 8, |target, at| {
        let large = at.number(axis::RECORD_SIZE).unwrap() > 16_384;
        1e8 * if target == 1 && large { 0.004 } else { 1.0 }
    });
    let found = texts(&analyse(&[run.run], &Options::default()).findings);
    assert!(found.contains("a is 249.66 times as fast as b [24"), "{found}");
    assert!(!found.contains("0.00 ["), "{found}");
}

/// A table of one run; `signing` is stated of its system.
fn table(name: &str, signing: &str) -> RunData {
    let mut run = Synthetic::new(name, &[name], 5);
    run.noise = 0.0;
    run.drift = 0.0;
    run.run.facts[0] = [("signing".to_owned(), signing.to_owned())].into();
    run.sweep(&grid(&["read"], 3, 4), 1, |_, _| 1e8);
    run.run
}

#[test]
fn a_setting_without_effect_is_a_finding_and_no_failure() {
    let mut runs = [table("plain", "off"), table("signed", "required")];
    for run in &mut runs {
        run.header.targets[0].url = format!("imported from {}", run.label);
    }
    let analysis = analyse(&runs, &Options::default());
    assert_eq!(analysis.contradictions, []);
    let failed = analysis.trust.iter().filter(|line| line.status == Status::Failed);
    assert_eq!(failed.count(), 0, "{:?}", analysis.trust);
    let expected = "signed equals plain to one tick of the clock in 11 of 11 cells, although what is stated of them differs \
                    (signing: off against required): these settings have no effect that this clock shows.";
    assert!(texts(&analysis.findings).contains(expected), "{}", texts(&analysis.findings));
}
