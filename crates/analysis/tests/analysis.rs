//! Whole analyses of runs whose truth is known.

use crate::synthetic::{Synthetic, TESTS, cell, depths, everything, grid, load, plausible, plausible_load};
use sharebench_analysis::{Access, Options, Pairing, RatioVerdict, Status, Tone, View, analyse};
use sharebench_model::{Coordinates, ErrorClass, Verdict, axis};

fn texts(sentences: &[sharebench_analysis::Sentence]) -> String {
    sentences.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_planted_difference_is_found_in_the_right_tests_and_cells() {
    let mut run = Synthetic::new("planted", &["smb", "nfs"], 3);
    run.sweep(&grid(&["read", "write"], 4, 4), 10, |target, at| {
        let planted = target == 1 && at.text(axis::TEST) == Some("read");
        100e6 * if planted { 1.12 } else { 1.0 }
    });
    let analysis = analyse(&[run.run], &Options::default());
    let comparison = &analysis.comparisons[0];
    assert_eq!(comparison.name, "nfs/smb");
    // Sections stand in the usual order of tests: write before read.
    let summaries: Vec<_> = comparison.sections.iter().rev().flatten().collect();
    assert_eq!(
        (summaries[0].verdict, summaries[1].verdict),
        (RatioVerdict::Faster, RatioVerdict::AboutTheSame)
    );
    assert!(summaries[0].typical.interval.unwrap().contains(1.12), "{:?}", summaries[0]);
    assert!(summaries[1].typical.interval.unwrap().contains(1.0), "{:?}", summaries[1]);
    assert!(summaries[0].counts.faster >= 12, "{:?}", summaries[0].counts);
    assert!(summaries[1].counts.faster + summaries[1].counts.slower <= 1, "{:?}", summaries[1].counts);
    let found = texts(&analysis.findings);
    // 2 % noise on both sides leaves 0.23 % of it after 15 cells in 10 repetitions; three times that is allowed.
    let planted = summaries[0].typical.value;
    let equal = summaries[1].typical.value;
    assert!((planted / 1.12).ln().abs() < 0.007 && equal.ln().abs() < 0.007, "{planted} {equal}");
    let faster = format!("read: nfs is {:.1} % faster than smb", (planted - 1.0) * 100.0);
    assert!(found.contains(&faster), "{faster}: {found}");
    let same = format!("write: nfs and smb are about the same: ratio {equal:.3}");
    assert!(found.contains(&same), "{same}: {found}");
    assert!(analysis.trust.iter().all(|line| line.status == Status::Ok), "{:#?}", analysis.trust);
}

#[test]
fn intervals_over_many_cells_hold_the_planted_difference_at_their_level() {
    let covers = |seed: &u64| {
        let mut run = Synthetic::new("planted", &["smb", "nfs"], 500 + seed);
        run.sweep(&grid(&["read"], 2, 2), 10, |target, _| if target == 1 { 1.12e8 } else { 1e8 });
        let analysis = analyse(&[run.run], &Options::default());
        analysis.comparisons[0].overall.as_ref().unwrap().summary.typical.interval.unwrap().contains(1.12)
    };
    // 95.1 of 100 are expected; fewer than 89 or more than 99 in one of 100 such experiments.
    let covered = (0..100).filter(covers).count();
    assert!((89..=99).contains(&covered), "{covered} of 100");
}

#[test]
fn shared_drift_of_a_repetition_does_not_become_a_difference() {
    let mut false_claims = 0;
    for seed in 0..60 {
        let mut run = Synthetic::new("A/A", &["one", "two"], 100 + seed);
        run.drift = 0.2;
        run.sweep(&grid(&["read"], 3, 3), 8, |_, _| 100e6);
        let analysis = analyse(&[run.run], &Options::default());
        let overall = analysis.comparisons[0].overall.as_ref().unwrap();
        assert_eq!(overall.summary.pairing, Pairing::Interleaved);
        false_claims +=
            usize::from(matches!(overall.summary.verdict, RatioVerdict::Faster | RatioVerdict::Slower));
    }
    assert_eq!(false_claims, 0);
}

#[test]
fn blocked_order_is_recognised_and_never_called_interleaved() {
    let mut run = Synthetic::new("blocked", &["a", "b"], 9);
    for target in 0..2 {
        for repetition in 0..8 {
            run.step(target, repetition, cell("read", 1 << 20, 65_536), 100e6 + 1e5 * f64::from(repetition));
        }
    }
    let analysis = analyse(&[run.run], &Options::default());
    let ratio = analysis.sections[0].rows[0].ratios[0].as_ref().unwrap();
    assert_eq!(ratio.pairing, Pairing::NotInterleaved);
    assert!(ratio.p_value.is_none() && ratio.total_work.is_none());
    assert!(texts(&analysis.answer).contains("not interleaved"), "{}", texts(&analysis.answer));
}

#[test]
fn single_runs_claim_nothing() {
    let runs = [1.0, 2.0].map(|factor| {
        let mut run = Synthetic::new("old table", &["server"], 1);
        run.run.label = format!("run {factor}");
        run.step(0, 0, cell("read", 1 << 20, 4096), 1e6 * factor);
        run.run
    });
    let analysis = analyse(&runs, &Options::default());
    let ratio = analysis.sections[0].rows[0].ratios[0].as_ref().unwrap();
    assert_eq!((ratio.pairing, ratio.verdict), (Pairing::SingleRun, RatioVerdict::NotResolved));
    assert!((ratio.typical.value - 2.0).abs() < 1e-6 && ratio.typical.interval.is_none());
    let answer = texts(&analysis.answer);
    assert!(
        answer.contains("single run") && answer.contains("--repetitions 6 gives an interval"),
        "{answer}"
    );
    assert!(!answer.contains("faster"), "{answer}");
}

#[test]
fn a_coarse_clock_takes_the_claim_away() {
    let mut run = Synthetic::new("ticks", &["a", "b"], 4);
    run.sweep(&[cell("read", 1 << 20, 65_536)], 10, |target, _| 1e8 * if target == 1 { 1.1 } else { 1.0 });
    let sharp = analyse(std::slice::from_ref(&run.run), &Options::default());
    assert_eq!(sharp.comparisons[0].overall.as_ref().unwrap().summary.verdict, RatioVerdict::Faster);
    run.run.header.environment.insert("clock_resolution_ns".into(), "54925000".into());
    let blunt = analyse(&[run.run], &Options::default());
    assert_eq!(blunt.comparisons[0].overall.as_ref().unwrap().summary.verdict, RatioVerdict::NotResolved);
    assert!(blunt.trust.iter().any(|line| line.subject == "clock" && line.status == Status::Warning));
}

#[test]
fn invalid_steps_are_left_out_and_listed_and_warnings_marked() {
    let mut run = Synthetic::new("checks", &["a", "b"], 5);
    run.sweep(&grid(&["read"], 2, 2), 7, plausible);
    run.check(0, Verdict::Invalid, "little", "10 users, 3 accounted for");
    run.check(1, Verdict::Warning, "hiccup", "a stall of 31 ms");
    let analysis = analyse(&[run.run], &Options::default());
    assert_eq!(analysis.left_out.len(), 1);
    assert_eq!(analysis.left_out[0].reason, "little: 10 users, 3 accounted for");
    let summary = &analysis.comparisons[0].overall.as_ref().unwrap().summary;
    assert_eq!(
        (summary.cells, summary.incomplete_cells, summary.typical.n),
        (4, 0, 7),
        "the other cells keep all seven repetitions"
    );
    let outcome =
        analysis.sections[0].rows[0].outcomes.iter().flatten().find(|o| o.verdict == Verdict::Warning);
    assert_eq!(*outcome.unwrap().remarks, ["hiccup: a stall of 31 ms"]);
    assert!(
        analysis.trust.iter().any(|line| line.status == Status::Failed && line.text.contains("1 invalid"))
    );
    let thinned = &analysis.comparisons[0].thinned;
    assert_eq!((thinned.len(), thinned[0].steps, thinned[0].whole), (1, 1, false));
    let found_text = texts(&analysis.not_resolved);
    assert!(found_text.contains("b/a: 1 cell lost 1 step to failed self-checks."), "{found_text}");
    let summed: Vec<_> = analysis.self_checks.iter().map(|c| (c.name.as_str(), c.verdict())).collect();
    assert!(summed.contains(&("little", Verdict::Invalid)) && summed.contains(&("hiccup", Verdict::Warning)));
}

#[test]
fn checks_that_held_and_checks_without_evidence_are_summed_up_and_taint_nothing() {
    let mut run = Synthetic::new("checks", &["a", "b"], 5);
    run.sweep(&grid(&["read"], 2, 2), 6, plausible);
    run.check(0, Verdict::Valid, "little", "1.00 of 1 in flight");
    run.check(1, Verdict::NotKnown, "steal", "the kernel does not report it");
    let analysis = analyse(&[run.run], &Options::default());
    let lines = analysis.trust.iter().filter(|line| line.subject == "self-checks");
    assert!(
        lines
            .clone()
            .all(|line| line.status == Status::Ok && line.text.contains("could not be checked: steal"))
    );
    assert_eq!(lines.count(), 1);
    let held: Vec<_> = analysis.self_checks.iter().map(|c| (c.valid, c.not_known, c.verdict())).collect();
    assert_eq!(held, [(1, 0, Verdict::Valid), (0, 1, Verdict::NotKnown)]);
    assert!(
        analysis.sections[0]
            .rows
            .iter()
            .flat_map(|row| row.outcomes.iter().flatten())
            .all(|o| o.remarks.is_empty())
    );
    assert!(analysis.comparisons[0].thinned.is_empty());
}

#[test]
fn wrong_data_comes_first_and_loud() {
    let mut run = Synthetic::new("liar", &["a", "b"], 6);
    run.sweep(&grid(&["read"], 2, 2), 7, plausible);
    run.run.steps[3].measure.errors.insert(ErrorClass::DataMismatch, 2);
    let analysis = analyse(&[run.run], &Options::default());
    assert_eq!(analysis.answer[0].tone, Tone::Alarm);
    assert!(analysis.answer[0].text.contains("wrong data"), "{}", analysis.answer[0].text);
}

#[test]
fn positions_without_counterpart_are_listed() {
    let mut run = Synthetic::new("gap", &["a", "b"], 7);
    run.sweep(&grid(&["read"], 2, 2), 6, plausible);
    run.step(0, 0, cell("mmap", 1 << 20, 4096), 1e8);
    let analysis = analyse(&[run.run], &Options::default());
    assert_eq!(analysis.unaligned.len(), 1);
    assert_eq!(analysis.unaligned[0].missing, [1]);
    assert!(texts(&analysis.not_resolved).contains("1 position was not measured"));
}

#[test]
fn loads_name_their_stress_point_and_silent_users() {
    let mut run = Synthetic::new("load", &["nt", "netware"], 8);
    run.sweep(&load(&[10, 20, 30, 40, 50]), 8, plausible_load);
    for step in run.run.steps.iter_mut().filter(|s| s.target == 1 && s.measure.users_assigned == 50) {
        step.measure.users_reported = 33;
    }
    let analysis = analyse(&[run.run], &Options::default());
    let section = &analysis.sections[0];
    assert_eq!(section.view, View::Load);
    assert_eq!(section.stress[0].after, Some(30));
    assert_eq!(section.stress[1].after, None);
    let found = texts(&analysis.findings);
    assert!(found.contains("nt passes its stress point after 30 users"), "{found}");
    assert!(found.contains("netware reached no stress point up to 50 users"), "{found}");
    assert!(found.contains("only 33 of 50 users finished"), "{found}");
    assert!(analysis.trust.iter().any(|line| line.subject == "users" && line.status == Status::Failed));
}

#[test]
fn depth_studies_are_distinguished_from_sweeps_and_name_a_sufficient_depth() {
    let mut run = Synthetic::new("depth", &["a", "b"], 8);
    run.sweep(&depths("read", &[4096, 65_536], &[1, 2, 4, 8, 16]), 6, plausible);
    run.sweep(
        &[cell("write", 1 << 20, 4096).with(axis::QUEUE_DEPTH, sharebench_model::Value::Count(1))],
        6,
        plausible,
    );
    let analysis = analyse(&[run.run], &Options::default());
    let views: Vec<View> = analysis.sections.iter().map(|section| section.view).collect();
    assert_eq!(views, [View::Sweep, View::Depth]);
    let found = texts(&analysis.findings);
    assert!(found.contains("a with 4KiB records needs queue depth 8"), "{found}");
    let outcome = analysis.sections[1].rows[0].outcomes[0].as_ref().unwrap();
    assert!((outcome.cpu.user_ns_per_operation.unwrap() - 2100.0).abs() < 1.0);
    assert!((outcome.cpu.kernel_ns_per_operation.unwrap() - 4204.0).abs() < 1.0);
}

#[test]
fn the_json_holds_all_of_it() {
    let analysis = analyse(&[everything(1)], &Options::default());
    assert_eq!(analysis.sections.len(), TESTS.len() + 2);
    assert_eq!(
        analysis.comparisons.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        ["nfs/smb", "local/smb", "local/nfs"]
    );
    let json = serde_json::to_string(&analysis).unwrap();
    let back: sharebench_analysis::Analysis = serde_json::from_str(&json).unwrap();
    assert_eq!(back.sections.len(), analysis.sections.len());
    assert_eq!(back.answer, analysis.answer);
}

#[test]
fn an_empty_run_is_said_to_be_empty() {
    let run = Synthetic::new("nothing", &["a"], 1).run;
    let analysis = analyse(&[run], &Options::default());
    assert!(analysis.answer[0].text.contains("no operation could be measured"), "{:?}", analysis.answer);
    assert!(analyse(&[], &Options::default()).sections.is_empty());
}

#[test]
fn what_the_client_cache_served_is_no_part_of_the_answer_about_servers() {
    let mut run = Synthetic::new("mount", &["direct", "mount"], 31);
    // The mount is 10 % faster where the server is asked, and twenty times as fast where it is not.
    let cached = |at: &Coordinates| at.text(axis::TEST) == Some("reread");
    run.sweep(&grid(&["read", "reread"], 2, 2), 10, |target, at| {
        1e8 * if target == 0 { 1.0 } else { [1.1, 20.0][usize::from(cached(at))] }
    });
    run.mount(1, |at| if cached(at) { 1.0 } else { 0.0 });
    let analysis = analyse(&[run.run], &Options::default());

    let overall = &analysis.comparisons[0].overall.as_ref().unwrap().summary;
    assert!((overall.typical.value / 1.1).ln().abs() < 0.02, "{overall:?}");
    let found_text = overall.cached.unwrap();
    assert_eq!((overall.cells, found_text.cells, found_text.one_sided), (4, 4, 4));
    let felt = found_text.all_cells.unwrap();
    assert!(felt.cells == 8 && (felt.typical.value / 22f64.sqrt()).ln().abs() < 0.02, "{felt:?}");
    let answer = texts(&analysis.answer);
    assert!(answer.starts_with("Over 4 cells in 1 test, mount is "), "{answer}");
    assert!(
        answer.contains("Excluded: 4 cells that the client's cache served on one side only; including them, as users see it: mount is 4."),
        "{answer}"
    );
    // The test in which no cell crossed the wire has a sentence that says so.
    let found = texts(&analysis.findings);
    assert!(found.contains("reread: mount is ") && found.contains("served all of these cells"), "{found}");
    let line = analysis.trust.iter().find(|line| line.subject == "client cache").unwrap();
    assert!(
        line.status == Status::Warning
            && line.text.contains("mount: the client's cache served 4 of 8 cells (100 %")
    );
    let systems: Vec<Access> = analysis.systems.iter().map(|system| system.access).collect();
    assert_eq!(systems, [Access::Direct, Access::Mounted]);
}

#[test]
fn a_mount_without_a_cache_hit_compares_as_a_server_does() {
    let mut run = Synthetic::new("mount", &["direct", "mount"], 32);
    run.sweep(&grid(&["read"], 2, 2), 10, |_, _| 1e8);
    // Below two percent nothing that counts can come from the cache.
    run.mount(1, |_| 0.019);
    let analysis = analyse(&[run.run], &Options::default());
    let summary = &analysis.comparisons[0].overall.as_ref().unwrap().summary;
    assert_eq!((summary.cells, summary.cached), (4, None));
    let line = analysis.trust.iter().find(|line| line.subject == "client cache").unwrap();
    assert_eq!(
        (line.status, line.text.as_str()),
        (Status::Ok, "mount: at least 98 % of the bytes of each of 4 cells crossed the wire")
    );
}
