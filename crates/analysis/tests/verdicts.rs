//! The verdict of a comparison: its line, its confidence, and what a build may require of it.

use crate::synthetic::{Synthetic, cell, grid, load, plausible_load};
use sharebench_analysis::{
    Analysis, ComparisonOutcome, ComparisonVerdict, Confidence, Gate, InconclusiveReason, ObjectionKind,
    Options, Requirements, RunData, RunScatter, Tone, analyse,
};
use sharebench_model::{ErrorClass, RunOutcome, StepError, Verdict, axis};

/// Two systems in one run of 8 cells; the second has this many times the rate of the first in reads and in writes.
fn run(repetitions: u32, noise: f64, read: f64, write: f64) -> RunData {
    let mut run = Synthetic::new("two", &["smb", "nfs"], 31);
    run.noise = noise;
    run.sweep(&grid(&["read", "write"], 2, 2), repetitions, |target, at| {
        let factor = if at.text(axis::TEST) == Some("read") { read } else { write };
        1e8 * if target == 1 { factor } else { 1.0 }
    });
    run.run
}

fn analysis_of(runs: &[RunData]) -> Analysis {
    analyse(runs, &Options::default())
}

fn verdict(analysis: &Analysis) -> &ComparisonVerdict {
    analysis.verdict.as_ref().expect("a comparison")
}

/// The result of a required limit on slowdowns, and of a required sharpness.
fn gates(analysis: &Analysis, limit: f64) -> (Gate, Gate) {
    let slower = Requirements { not_slower: Some(limit), sharpness: None };
    let sharp = Requirements { not_slower: None, sharpness: Some(limit) };
    (analysis.gate(&slower), analysis.gate(&sharp))
}

#[test]
fn a_clear_difference_has_high_confidence() {
    let analysis = analysis_of(&[run(10, 0.004, 1.2, 1.2)]);
    let verdict = verdict(&analysis);
    assert_eq!(verdict.text, "nfs is 19.9 % faster than smb [19.8, 20.1] (8 cells, confidence: high)");
    assert_eq!(
        (verdict.outcome, verdict.confidence, verdict.reason),
        (ComparisonOutcome::Faster, Some(Confidence::High), None)
    );
    assert_eq!((verdict.cells, verdict.of_cells), (8, 8));
    assert_eq!(gates(&analysis, 0.05), (Gate::Passed, Gate::Passed));
}

#[test]
fn a_test_in_the_other_direction_makes_the_answer_depend_on_the_test() {
    let analysis = analysis_of(&[run(10, 0.004, 1.3, 0.9)]);
    let text = &verdict(&analysis).text;
    assert!(
        text.starts_with("depends on the test: nfs is 30 % faster [")
            && text.contains("] in read, smb is 11.")
            && text.ends_with("] in write (8 cells, confidence: high)"),
        "{text}"
    );
    assert_eq!(
        (verdict(&analysis).outcome, verdict(&analysis).tone()),
        (ComparisonOutcome::Depends, Tone::Difference)
    );
    assert_eq!(gates(&analysis, 0.05).0, Gate::Slower, "writes are slower");
    assert_eq!(gates(&analysis, 0.15).0, Gate::Passed);
    let equal = analysis_of(&[run(10, 0.004, 1.1, 1.0 / 1.1)]);
    assert_eq!(verdict(&equal).outcome, ComparisonOutcome::Depends);
    let one = analysis_of(&[run(10, 0.004, 1.1, 1.0)]);
    let text = &verdict(&one).text;
    assert!(
        text.starts_with("nfs is 9.")
            && text.contains(" % faster than smb in read, [")
            && text.contains("]; elsewhere nothing opposite beyond 2"),
        "{text}"
    );
    assert_eq!(verdict(&one).outcome, ComparisonOutcome::Faster);
}

#[test]
fn a_difference_below_the_tolerance_is_part_of_the_line() {
    let within = analysis_of(&[run(10, 0.004, 1.01, 1.01)]);
    assert_eq!(
        verdict(&within).text,
        "nfs and smb are about the same: ratio 1.010 [1.008, 1.011] on average; no cell differs by more than 2.0 %; nfs has the \
         higher rate, by less than the tolerance of 2 % (8 cells, confidence: high)"
    );
    assert_eq!((verdict(&within).outcome, verdict(&within).differs), (ComparisonOutcome::Equal, true));
    let edge = analysis_of(&[run(10, 0.004, 1.0 / 1.02, 1.0 / 1.02)]);
    assert!(
        verdict(&edge)
            .text
            .contains("; smb has the higher rate, maybe by less than the tolerance of 2 %; about "),
        "{}",
        verdict(&edge).text
    );
    assert_eq!(verdict(&edge).outcome, ComparisonOutcome::Inconclusive);
}

#[test]
fn equal_systems_seldom_differ_by_chance() {
    let differs = |seed: u64| {
        let mut run = Synthetic::new("two", &["smb", "nfs"], seed);
        run.noise = 0.02;
        run.sweep(&grid(&["read", "write"], 2, 2), 12, |_, _| 1e8);
        verdict(&analysis_of(&[run.run])).differs
    };
    let found = (0..200).filter(|seed| differs(1000 + seed)).count();
    // 1 % of 200 by the level of the interval.
    assert!(found <= 5, "{found} of 200");
}

#[test]
fn the_answer_states_the_mean_of_a_map_that_changes() {
    let analysis = analysis_of(&[run(10, 0.004, 1.3, 0.9)]);
    let text = &analysis.answer[0].text;
    assert!(
        text.starts_with("Over 8 cells in 2 tests, nfs is 8.")
            && text.contains("] on average (geometric mean, 10 interleaved repetitions)."),
        "{text}"
    );
    assert_eq!(analysis.answer[0].tone, verdict(&analysis).tone());
    assert_eq!(analysis.comparisons[0].verdict, *verdict(&analysis));
}

#[test]
fn few_repetitions_and_warnings_lower_the_confidence() {
    let mut few = Synthetic::new("few", &["smb", "nfs"], 5);
    few.sweep(&grid(&["read"], 2, 2), 7, |target, _| 1e8 * if target == 1 { 1.2 } else { 1.0 });
    few.check(0, Verdict::Warning, "pressure", "CPU pressure 31 %");
    let analysis = analysis_of(&[few.run]);
    let verdict = verdict(&analysis);
    let kinds: Vec<_> =
        verdict.objections.iter().map(|objection| (objection.kind, objection.value)).collect();
    assert_eq!(kinds, [(ObjectionKind::FewRepetitions, Some(7.0)), (ObjectionKind::Warnings, Some(0.25))]);
    assert_eq!(verdict.confidence, Some(Confidence::Moderate));
    let line = analysis.trust.iter().find(|line| line.subject == "confidence").expect("a line");
    assert_eq!(
        line.text,
        "nfs/smb: moderate: 7 repetitions are fewer than 10; self-checks have a warning about 25 % of the cells"
    );
}

#[test]
fn runs_one_after_the_other_and_missing_cells_lower_the_confidence() {
    let mut before = Synthetic::new("before", &["nas"], 1);
    let mut after = Synthetic::new("after", &["nas"], 2);
    before.run.label = "1".into();
    after.run.label = "2".into();
    before.drift = 0.0;
    after.drift = 0.0;
    before.sweep(&grid(&["read"], 2, 2), 10, |_, _| 1e8);
    after.sweep(&grid(&["read"], 2, 1), 10, |_, _| 8e7);
    after.run.outcome = Some(RunOutcome::Incomplete(StepError::Stopped));
    let analysis = analysis_of(&[before.run, after.run]);
    let line = analysis.trust.iter().find(|line| line.subject == "confidence").expect("a line");
    assert!(
        line.text.ends_with(
            ": low: two runs that did not take turns differ by whatever changes between runs, which is not known: 0 earlier \
             runs of the same plan, 4 are needed; only 50 % of the cells take part; a run ended early"
        ),
        "{}",
        line.text
    );
    assert!(
        verdict(&analysis).text.ends_with(
            "(2 of 4 cells, confidence: low; to raise it, measure both systems in one run, or the plan until four earlier runs \
             show how runs differ)"
        ),
        "{}",
        verdict(&analysis).text
    );
    assert_eq!(gates(&analysis, 0.05).0, Gate::Slower);
    assert_eq!(gates(&analysis, 0.30).0, Gate::Passed);
}

#[test]
fn a_noisy_comparison_is_inconclusive_and_passes_no_requirement() {
    let mut swings = Synthetic::new("swings", &["smb", "nfs"], 1);
    for repetition in 0..6 {
        let factor = if repetition % 2 == 0 { 20.0 } else { 0.05 };
        swings.step(0, repetition, cell("read", 1 << 20, 4096), 1e8);
        swings.step(1, repetition, cell("read", 1 << 20, 4096), 1e8 * factor);
    }
    let analysis = analysis_of(&[swings.run]);
    let verdict = verdict(&analysis);
    assert_eq!((verdict.outcome, verdict.confidence), (ComparisonOutcome::Inconclusive, None));
    assert_eq!(verdict.reason, Some(InconclusiveReason::Noise));
    assert!(verdict.sharpness.is_some_and(|sharpness| sharpness > 0.5), "{:?}", verdict.sharpness);
    assert!(
        verdict.text.starts_with("inconclusive: nfs against smb, ratio ")
            && verdict.text.ends_with(
                " or more would be detected, and more than 500 repetitions would be needed: measure longer or on a \
                 quieter machine (1 cell)"
            ),
        "{}",
        verdict.text
    );
    assert_eq!(gates(&analysis, 0.03), (Gate::Inconclusive, Gate::Inconclusive));
}

#[test]
fn repetitions_that_would_settle_it_are_named() {
    let few = analysis_of(&[run(3, 0.02, 1.2, 1.2)]);
    assert!(
        verdict(&few).text.ends_with("[no interval]; 6 repetitions instead of 3 give an interval (8 cells)"),
        "{}",
        verdict(&few).text
    );
    let wide = analysis_of(&[run(6, 0.06, 1.05, 1.05)]);
    let open = verdict(&wide);
    let needed = open.repetitions_needed.expect("a number");
    assert!(
        open.text.ends_with(&format!("; about {needed} repetitions instead of 6 would settle it (8 cells)")),
        "{}",
        open.text
    );
    // The interval excludes a slowdown of 20 %, although it does not settle which system is faster.
    assert_eq!(gates(&wide, 0.2).0, Gate::Passed);
}

#[test]
fn single_runs_are_inconclusive() {
    let analysis = analysis_of(&[run(1, 0.02, 2.0, 2.0)]);
    let verdict = verdict(&analysis);
    assert_eq!(verdict.reason, Some(InconclusiveReason::SingleRuns));
    assert!(
        verdict.text.ends_with(
            " times the rate of smb, but one run each does not rule out chance; --repetitions 6 gives an \
             interval (8 cells)"
        ),
        "{}",
        verdict.text
    );
    assert_eq!(gates(&analysis, 0.05), (Gate::Inconclusive, Gate::Inconclusive));
}

#[test]
fn a_coarse_clock_is_named_with_the_time_that_it_needs() {
    let mut ticks = Synthetic::new("ticks", &["smb", "nfs"], 4);
    ticks.sweep(&[cell("read", 1 << 20, 65_536)], 10, |target, _| 1e8 * if target == 1 { 1.1 } else { 1.0 });
    ticks.run.header.environment.insert("clock_resolution_ns".into(), "54925000".into());
    let analysis = analysis_of(&[ticks.run]);
    let verdict = verdict(&analysis);
    assert_eq!(verdict.reason, Some(InconclusiveReason::Clock));
    let longer = verdict.longer.expect("a factor");
    assert!((3.0..6.0).contains(&longer), "{longer}");
    assert!(
        verdict
            .text
            .ends_with(&format!("; the clock is too coarse: measure about {longer} times as long (1 cell)")),
        "{}",
        verdict.text
    );
}

#[test]
fn wrong_data_and_a_failed_engine_refuse_the_verdict() {
    let mut wrong = run(10, 0.004, 1.2, 1.2);
    wrong.steps[1].measure.errors.insert(ErrorClass::DataMismatch, 1);
    let wrong = analysis_of(&[wrong]);
    assert_eq!(verdict(&wrong).reason, Some(InconclusiveReason::WrongData));
    let overall = wrong.answer.iter().find(|sentence| sentence.text.starts_with("Over ")).expect("a mean");
    assert_eq!(overall.tone, Tone::NotResolved);
    assert_eq!(gates(&wrong, 0.05).0, Gate::Inconclusive);
    let mut failed = run(10, 0.004, 1.2, 1.2);
    failed.outcome = Some(RunOutcome::Incomplete(StepError::EngineFailed("a bug".into())));
    assert_eq!(
        verdict(&analysis_of(&[failed])).text,
        "inconclusive: nfs against smb: the engine failed, so that no number may be used; repeat the run"
    );
}

#[test]
fn systems_without_a_common_cell_have_no_ratio() {
    let mut apart = Synthetic::new("apart", &["smb", "nfs"], 4);
    for repetition in 0..6 {
        apart.step(0, repetition, cell("read", 1 << 20, 4096), 1e8);
        apart.step(1, repetition, cell("read", 2 << 20, 4096), 1e8);
    }
    let analysis = analysis_of(&[apart.run]);
    assert_eq!(
        verdict(&analysis).text,
        "inconclusive: no cell supports a ratio of nfs and smb; NOT RESOLVED and NOT ALIGNED list the reasons"
    );
    assert_eq!(gates(&analysis, 0.05).0, Gate::Inconclusive);
}

#[test]
fn loads_have_a_verdict_and_one_system_alone_has_none() {
    let mut loads = Synthetic::new("loads", &["smb", "nfs"], 4);
    loads.sweep(&load(&[10, 30]), 10, plausible_load);
    let analysis = analysis_of(&[loads.run]);
    assert_eq!(verdict(&analysis).cells, 2);
    assert_eq!(verdict(&analysis).ratio, analysis.comparisons[0].sections[0].as_ref().map(|s| s.typical));
    let mut alone = Synthetic::new("alone", &["smb"], 4);
    alone.sweep(&grid(&["read"], 2, 2), 6, |_, _| 1e8);
    assert_eq!(analysis_of(&[alone.run]).verdict, None);
}

#[test]
fn equal_systems_get_no_verdict_of_a_difference() {
    let differs = |seed: &u64| {
        let mut equal = Synthetic::new("A/A", &["one", "two"], 900 + seed);
        equal.sweep(&grid(&["read"], 3, 3), 8, |_, _| 1e8);
        let analysis = analysis_of(&[equal.run]);
        matches!(verdict(&analysis).outcome, ComparisonOutcome::Faster | ComparisonOutcome::Slower)
    };
    assert_eq!((0..60).filter(differs).count(), 0);
}

#[test]
fn the_order_of_the_targets_is_the_order_of_the_comparison() {
    let names = |names: [&str; 2]| names.map(str::to_owned);
    let straight = analysis_of(&[run(10, 0.004, 1.2, 1.2).with_targets(&names(["smb", "nfs"]))]);
    let turned = analysis_of(&[run(10, 0.004, 1.2, 1.2).with_targets(&names(["nfs", "smb"]))]);
    assert_eq!(straight.comparisons[0].name, "nfs/smb");
    assert_eq!(turned.comparisons[0].name, "smb/nfs");
    let ratio = |analysis: &Analysis| verdict(analysis).ratio.expect("a ratio").value;
    assert!((ratio(&straight) * ratio(&turned) - 1.0).abs() < 1e-9);
    assert_eq!(verdict(&straight).outcome, ComparisonOutcome::Faster);
    assert_eq!(verdict(&turned).outcome, ComparisonOutcome::Slower);
    assert_eq!((gates(&straight, 0.05).0, gates(&turned, 0.05).0), (Gate::Passed, Gate::Slower));
    // Both lines state the same: the claim begins with the faster system.
    assert_eq!(verdict(&straight).claim, verdict(&turned).claim);
}

#[test]
fn a_slower_part_that_may_reach_the_limit_passes_no_build() {
    let analysis = analysis_of(&[run(10, 0.02, 1.3, 0.95)]);
    assert_eq!(verdict(&analysis).outcome, ComparisonOutcome::Depends, "{}", verdict(&analysis).text);
    assert_eq!(gates(&analysis, 0.02).0, Gate::Slower);
    assert_eq!(gates(&analysis, 0.05).0, Gate::Inconclusive);
    assert_eq!(gates(&analysis, 0.15).0, Gate::Passed);
}

#[test]
fn a_low_confidence_names_the_cheapest_remedy() {
    let mut few = Synthetic::new("few", &["smb", "nfs"], 5);
    few.sweep(&grid(&["read"], 2, 2), 7, |target, _| 1e8 * if target == 1 { 1.2 } else { 1.0 });
    for step in 0..few.run.steps.len() {
        few.check(step, Verdict::Warning, "pressure", "CPU pressure 31 %");
    }
    let analysis = analysis_of(&[few.run]);
    assert!(
        verdict(&analysis).text.ends_with(
            "confidence: low; to raise it, remove the cause of the most frequent warning and measure again)"
        ),
        "{}",
        verdict(&analysis).text
    );
}

/// Two runs of one plan, of which the second is 10 % faster.
fn two_runs() -> [RunData; 2] {
    [(31, 1.0), (32, 1.1)].map(|(seed, factor)| {
        let mut run = Synthetic::new("plan", &["smb"], seed);
        run.drift = 0.0;
        run.sweep(&[cell("read", 1 << 20, 4096), cell("read", 1 << 20, 65_536)], 12, |_, _| 1e8 * factor);
        run.run.label = format!("plan #{seed}");
        run.run
    })
}

fn verdict_with(run_scatter: Option<RunScatter>) -> ComparisonVerdict {
    let analysis = analyse(&two_runs(), &Options { run_scatter, ..Options::default() });
    analysis.comparisons[0].verdict.clone()
}

#[test]
fn two_runs_that_did_not_take_turns_need_earlier_runs_for_more_than_low_confidence() {
    let objection = |verdict: &ComparisonVerdict| {
        let mut found = verdict.objections.iter().filter(|found| found.kind == ObjectionKind::TwoRuns);
        found.next().map(|found| (found.confidence, found.words()))
    };
    let unknown = verdict_with(None);
    assert_eq!(unknown.confidence, Some(Confidence::Low), "{unknown:?}");
    let (confidence, words) = objection(&unknown).unwrap();
    assert_eq!(confidence, Confidence::Low);
    assert!(words.contains("which is not known: 0 earlier runs of the same plan, 4 are needed"), "{words}");
    let three = verdict_with(Some(RunScatter { deviation: 0.01, runs: 3 }));
    assert_eq!((three.confidence, three.ratio), (Some(Confidence::Low), unknown.ratio));
    let five = verdict_with(Some(RunScatter { deviation: 0.01, runs: 5 }));
    let (confidence, words) = objection(&five).unwrap();
    assert_eq!(confidence, Confidence::Moderate);
    assert!(words.contains("the interval includes the scatter between 5 earlier runs"), "{words}");
    // Student's t with 4 degrees of freedom is 2.776.
    let margin = 2.776 * 0.01 * 2f64.sqrt();
    let half_width =
        |verdict: &ComparisonVerdict| verdict.ratio.unwrap().interval.unwrap().map(f64::ln).half_width();
    let expected = half_width(&unknown).hypot(margin);
    assert!((half_width(&five) - expected).abs() < 0.1 * expected, "{expected} {five:?}");
    let wild = verdict_with(Some(RunScatter { deviation: 0.1, runs: 5 }));
    assert_eq!(
        wild.outcome,
        ComparisonOutcome::Inconclusive,
        "10 % are within the scatter of the runs: {wild:?}"
    );
}
