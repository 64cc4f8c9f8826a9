//! Sweeps: verdicts, regions, curves, remedies, what is left out, and the state of runs.

use sharebench_analysis::{Options, RunData, RunScatter, Weight, Weights};
use sharebench_model::{
    Coordinates, ErrorClass, Facts, RepeatRule, RunOutcome, StepError, Value, Verdict, axis,
};

use crate::sentences::{check, quick};
use crate::synthetic::{Synthetic, cell, depths, grid, load, misaligned, plausible};

fn record(at: &Coordinates) -> u64 {
    at.number(axis::RECORD_SIZE).unwrap_or(1)
}

fn is_read(at: &Coordinates) -> bool {
    at.text(axis::TEST).is_some_and(|test| test.contains("read"))
}

/// Two targets with interleaved repetitions; `factor` is the rate of the second over that of the first.
fn pair(
    cells: &[Coordinates],
    repetitions: u32,
    noise: f64,
    factor: impl Fn(&Coordinates) -> f64,
) -> Synthetic {
    let mut run = Synthetic::new("pair", &["smb", "nfs"], 31);
    run.noise = noise;
    run.sweep(cells, repetitions, |target, at| 1e8 * if target == 1 { factor(at) } else { 1.0 });
    run
}

/// The same of one cell with these log ratios.
fn of_logs(logs: &[f64]) -> Synthetic {
    let mut run = Synthetic::new("pair", &["smb", "nfs"], 8);
    for (repetition, log_ratio) in (0..).zip(logs) {
        run.step(0, repetition, cell("read", 1 << 20, 4096), 1e8);
        run.step(1, repetition, cell("read", 1 << 20, 4096), 1e8 * log_ratio.exp());
    }
    run
}

#[test]
fn a_clear_difference() {
    let cells = grid(&["read", "write", "reread", "rewrite"], 3, 2);
    let factor = |at: &Coordinates| match at.text(axis::TEST) {
        Some("read") => 1.4,
        _ => 0.97,
    };
    check("clear_difference", &[pair(&cells, 10, 0.004, factor).run], &quick());
    let equal =
        pair(&grid(&["read", "write"], 2, 2), 10, 0.004, |at| if is_read(at) { 1.1 } else { 1.0 / 1.1 });
    check("equal_on_average", &[equal.run], &quick());
}

#[test]
fn what_keeps_a_ratio_from_being_resolved() {
    check("noise", &[of_logs(&[-1.273, -0.6, 0.08, 0.14, 0.8, 2.53]).run], &quick());
    let wide = pair(&grid(&["read", "write"], 2, 2), 6, 0.06, |_| 1.05);
    check("repetitions", &[wide.run], &quick());
    check("too_few_repetitions", &[pair(&grid(&["read"], 2, 2), 3, 0.02, |_| 1.2).run], &quick());
    let mut ticks = pair(&grid(&["read"], 2, 2), 10, 0.02, |_| 1.1);
    ticks.run.header.environment.insert("clock_resolution_ns".into(), "54925000".into());
    check("clock", &[ticks.run], &quick());
    let logs: Vec<f64> = (0..40).map(|n| 0.0198 + 0.0002 * f64::from(n % 7 - 3)).collect();
    check("edge", &[of_logs(&logs).run], &quick());
    let above_zero: Vec<f64> = (0..10).map(|n| 0.022 + 0.004 * f64::from(n % 5 - 2)).collect();
    check("maybe_below_the_tolerance", &[of_logs(&above_zero).run], &quick());
    check("single_runs", &[pair(&grid(&["read"], 2, 2), 1, 0.02, |_| 2.0).run], &quick());
    let mut one = pair(&[cell("read", 1 << 20, 4096)], 1, 0.02, |_| 2.0);
    one.noise = 0.0;
    check("single_cell", &[one.run], &Options { equal_spread: Some(0.01), ..quick() });
}

#[test]
fn regions() {
    let above = |limit: u64| move |at: &Coordinates| record(at) > limit;
    let large = above(16_384);
    let planted =
        pair(
            &grid(&["write", "read"], 5, 5),
            10,
            0.02,
            |at| if is_read(at) && large(at) { 1.12 } else { 1.0 },
        );
    check("region", &[planted.run], &quick());
    let crossing = pair(&grid(&["read", "reread"], 5, 5), 10, 0.02, |at| {
        match (at.number(axis::FILE_SIZE).unwrap() > 1 << 20, at.text(axis::TEST)) {
            (true, Some("read")) => 1.15,
            (false, Some("read")) => 0.85,
            _ => 1.0,
        }
    });
    check("opposite_regions", &[crossing.run], &quick());
    let same = pair(&grid(&["read", "reread", "write"], 5, 5), 10, 0.02, |at| {
        if is_read(at) && large(at) { 1.2 } else { 1.0 }
    });
    check("regions_of_several_tests", &[same.run], &quick());
    let steps = pair(&grid(&["read"], 5, 5), 10, 0.02, |at| match record(at) {
        size if size > 65_536 => 2.6,
        size if size > 4096 => 1.3,
        _ => 1.0,
    });
    check("part_of_a_region", &[steps.run], &quick());
    check("no_region", &[pair(&grid(&["read", "write"], 4, 4), 8, 0.02, |_| 1.0).run], &quick());
    let small = pair(&grid(&["read"], 5, 5), 10, 0.01, |at| if large(at) { 1.022 } else { 1.0 });
    check("region_of_open_size", &[small.run], &quick());
    // Slow cells differ more than fast ones, so that their work decides.
    let mut work = Synthetic::new("work", &["smb", "nfs"], 9);
    work.sweep(&grid(&["read"], 5, 5), 10, |target, at| {
        let slow = at.number(axis::FILE_SIZE).unwrap() > 1 << 20;
        let factor = if target == 1 && large(at) { if slow { 1.9 } else { 1.5 } } else { 1.0 };
        factor * if slow { 1e7 } else { 1e9 }
    });
    check("total_work", &[work.run], &quick());
}

#[test]
fn stalls_and_cells_that_are_not_resolved() {
    let mut stalls = pair(&grid(&["read"], 2, 2), 10, 0.02, |_| 1.3);
    for step in stalls.run.steps.iter_mut().filter(|step| step.target == 1 && step.repetition == 4) {
        step.measure.busy_ns *= 30;
    }
    check("stalls", &[stalls.run], &quick());
    let open = pair(&grid(&["read"], 3, 3), 6, 0.08, |_| 1.06);
    check("open_cells", &[open.run], &quick());
}

#[test]
fn runs_of_two_days_and_of_unequal_cells() {
    let night = |title: &str, label: &str, rate: f64, cells: &[Coordinates]| {
        let mut run = Synthetic::new(title, &["nas"], 7);
        run.drift = 0.0;
        run.run.label = label.to_owned();
        run.sweep(cells, 8, |_, at| if record(at) > 16_384 { rate } else { 1e8 });
        run.run
    };
    let mut tuesday = night("tuesday", "2", 0.8e8, &grid(&["read"], 3, 4));
    tuesday.outcome = Some(RunOutcome::Incomplete(StepError::Stopped));
    let days = [night("monday", "1", 1e8, &grid(&["read"], 4, 4)), tuesday];
    check("two_days", &days, &quick());
    let run_scatter = Some(RunScatter { deviation: 0.01, runs: 5 });
    check("two_days_after_five", &days, &Options { run_scatter, ..quick() });
    let mut blocked = Synthetic::new("blocked", &["a", "b"], 9);
    for target in 0..2 {
        for repetition in 0..8 {
            let rate = if target == 1 { 1.3e8 } else { 1e8 } + 1e5 * f64::from(repetition);
            blocked.step(target, repetition, cell("read", 1 << 20, 65_536), rate);
        }
    }
    check("blocked", &[blocked.run], &quick());
    check("not_aligned", &misaligned(), &quick());
    let mut apart = Synthetic::new("apart", &["a", "b"], 3);
    apart.step(0, 0, cell("read", 1 << 20, 4096), 1e8);
    apart.step(1, 0, cell("write", 1 << 20, 4096), 1e8);
    check("no_common_cell", &[apart.run], &quick());
    let mut gap = pair(&grid(&["read"], 2, 2), 6, 0.02, |_| 1.2);
    gap.step(0, 0, cell("mmap-read", 1 << 20, 4096), 1e8);
    check("one_position_on_one_system", &[gap.run], &quick());
    let mut failed = pair(&grid(&["read"], 2, 2), 1, 0.02, |_| 1.2);
    let last = failed.run.steps.len() - 1;
    failed.check(last, Verdict::Invalid, "bytes", "fewer than requested");
    check("cell_left_out", &[failed.run], &quick());
}

#[test]
fn systems_alone_and_many_of_them() {
    let mut alone = Synthetic::new("alone", &["nas"], 3);
    alone.sweep(&grid(&["read"], 2, 2), 6, |_, _| 1e8);
    check("alone", &[alone.run], &quick());
    check("nothing", &[Synthetic::new("nothing", &["a"], 1).run], &quick());
    let mut three = Synthetic::new("three", &["a", "b", "c"], 3);
    three.sweep(&grid(&["read"], 2, 2), 10, |target, _| [1e8, 1.2e8, 1.205e8][target]);
    for facts in &mut three.run.facts {
        facts.insert("signing".to_owned(), if facts.len() % 2 == 1 { "off" } else { "AES-GMAC" }.to_owned());
    }
    check("three_systems", &[three.run], &quick());
    let mut depth = Synthetic::new("depth", &["a"], 8);
    depth.sweep(&depths("read", &[4096, 65_536], &[1, 2, 4, 8, 16]), 6, plausible);
    check("depth", &[depth.run], &quick());
    let mut lossy = Synthetic::new("depth", &["a"], 8);
    let falling = |_: usize, at: &Coordinates| match at.number(axis::QUEUE_DEPTH) {
        Some(1) => 5e7,
        Some(2) => 1e8,
        _ => 6.9e7,
    };
    lossy.sweep(&depths("read", &[4096], &[1, 2, 4, 8]), 6, falling);
    lossy.sweep(&depths("write", &[4096], &[1, 2, 4]), 6, |_, _| 1e8);
    check("depth_that_loses", &[lossy.run], &quick());
}

#[test]
fn shapes_of_curves() {
    let mut run = Synthetic::new("cliff", &["unc", "local"], 13);
    let cells: Vec<_> = [1, 64]
        .into_iter()
        .flat_map(|file| (0..9).map(move |k| cell("write", file << 20, 2048 << k)))
        .collect();
    let shape = [6.0, 11.0, 18.0, 22.0, 2.1, 5.5, 5.8, 6.0, 5.6];
    run.sweep(&cells, 10, |target, at| {
        let k = (record(at) / 2048).ilog2() as usize;
        1e6 * if target == 0 { shape[k] } else { [5.0, 9.0, 16.0][k.min(2)] }
    });
    check("curves", &[run.run], &quick());
    let mut flat = Synthetic::new("flat", &["nas"], 13);
    flat.noise = 0.002;
    flat.sweep(&cells, 10, |_, _| 1e8);
    check("flat_curve", &[flat.run], &quick());
}

#[test]
fn weights_of_a_workload() {
    let cells: Vec<Coordinates> = ["read", "write"]
        .into_iter()
        .flat_map(|test| [1u64, 16].map(|file| [4096, 65_536].map(|size| cell(test, file << 20, size))))
        .flatten()
        .map(|at| at.with(axis::QUEUE_DEPTH, Value::Count(1)))
        .collect();
    let run = |factor: f64| pair(&cells, 10, 0.01, move |at| if record(at) == 4096 { factor } else { 1.2 });
    let part =
        |record_size, file_size, bytes| Weight { write: false, random: false, file_size, record_size, bytes };
    let weights = |parts: Vec<Weight>| Options {
        weights: Some(Weights { name: "mine.toml".into(), parts }),
        ..quick()
    };
    let near = part(65_536, 12 << 20, 9e9);
    let small = part(4096, 12 << 20, 4e9);
    check("weights", &[run(0.5).run], &weights(vec![near, part(65_536, 1 << 30, 1e9)]));
    check("weights_too_few", &[run(0.5).run], &weights(vec![near, part(65_536, 1 << 30, 2e10)]));
    let mut cached = run(4.0);
    cached.mount(1, |at| if record(at) == 4096 { 1.0 } else { 0.0 });
    check("weights_cached", &[cached.run], &weights(vec![near, small]));
    check("weights_open", &[run(1.0 / 1.44).run], &weights(vec![near, small]));
}

#[test]
fn self_checks_failures_and_wrong_data() {
    let mut checks = pair(&grid(&["read"], 2, 2), 7, 0.02, |_| 1.2);
    checks.check(0, Verdict::Invalid, "little", "10 users, 3 accounted for");
    checks.check(1, Verdict::Warning, "hiccups", "a stall of 31 ms");
    checks.check(2, Verdict::NotKnown, "steal", "the kernel does not report it");
    checks.run.steps[5].measure.verified /= 2;
    checks.run.steps[6].measure.errors.insert(ErrorClass::Timeout, 3);
    checks.run.steps[7].measure.operations = 0;
    checks.run.steps[7].measure.bytes = sharebench_model::IoBytes::default();
    checks.run.steps[7].measure.errors.insert(ErrorClass::Refused, 4);
    check("self_checks", &[checks.run], &quick());
    let mut wrong = pair(&grid(&["read"], 2, 2), 7, 0.02, |_| 1.2);
    wrong.run.steps[3].measure.errors.insert(ErrorClass::DataMismatch, 2);
    check("wrong_data", &[wrong.run], &quick());
    let mut passed = pair(&grid(&["write"], 2, 2), 7, 0.02, |_| 1.2);
    passed.check(0, Verdict::Valid, "bytes", "as many as requested");
    check("written_only", &[passed.run], &quick());
}

#[test]
fn ends_of_runs() {
    let end = |outcome: Option<RunOutcome>| {
        let mut run = pair(&grid(&["read"], 2, 2), 6, 0.02, |_| 1.2).run;
        run.outcome = outcome;
        run
    };
    let incomplete = |error| end(Some(RunOutcome::Incomplete(error)));
    let lost =
        StepError::TargetLost { class: ErrorClass::Disconnected, reason: "connection reset".to_owned() };
    check("target_lost", &[incomplete(lost)], &quick());
    check("stopped", &[incomplete(StepError::Stopped)], &quick());
    let command = StepError::PreStepCommandFailed("the pre-step command exited with 1".to_owned());
    check("pre_step_command_failed", &[incomplete(command)], &quick());
    check("engine_failed", &[incomplete(StepError::EngineFailed("a thread ended".to_owned()))], &quick());
    check("end_not_recorded", &[end(None)], &quick());
}

#[test]
fn precision_of_repetitions() {
    let rule = |half_width: Option<f64>, budget_ns: Option<u64>| RepeatRule {
        steps_least: 20,
        half_width,
        repetitions: (10, 60),
        budget_ns,
    };
    let run = |rule: RepeatRule| -> RunData {
        let mut run = pair(&grid(&["read"], 2, 2), 10, 0.02, |_| 1.2).run;
        run.header.repeat = Some(rule);
        run
    };
    check("precision_reached", &[run(rule(Some(0.2), None))], &quick());
    check("precision_missed", &[run(rule(Some(0.012), None))], &quick());
    check("time_budget", &[run(rule(None, Some(1_000_000_000)))], &quick());
}

#[test]
fn low_confidence() {
    let mut warned = pair(&grid(&["read"], 2, 2), 7, 0.2, |_| 4.0);
    (0..warned.run.steps.len()).for_each(|step| warned.check(step, Verdict::Warning, "pressure", "CPU 31 %"));
    warned.run.header.targets[1].name = "nfs".to_owned();
    check("low_confidence", &[warned.run], &quick());
    let mut titled = Synthetic::new("nas with signing off", &["nas"], 4);
    titled.run.facts[0].insert("signing".to_owned(), "AES-CMAC".to_owned());
    titled.sweep(&grid(&["read"], 2, 2), 10, |_, _| 1e8);
    let mut other = Synthetic::new("later", &["nas"], 5);
    other.run.facts[0].insert("signing".to_owned(), "AES-CMAC".to_owned());
    other.sweep(&grid(&["read"], 2, 2), 10, |_, _| 2e8);
    check("contradicted", &[titled.run, other.run], &quick());
}

#[test]
fn settings_of_systems() {
    let facts = |stated: &[(&str, &str)]| -> Facts {
        stated.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let limits =
        ["max_read", "max_write", "max_mpx", "rtmax", "wtmax", "maxread", "maxwrite", "slots_granted"];
    let mut run = pair(&grid(&["read"], 2, 2), 10, 0.004, |_| 1.2).run;
    let base = limits.map(|name| (name, "4096"));
    let changed = limits.map(|name| (name, "9216"));
    run.facts[0] = facts(&[&base[..], &[("dialect", "3.1.1"), ("server", "NAS 3.11")]].concat());
    let more = [("compound", "on"), ("of_another_version", "1, 2"), ("server", "NAS 4.10, patched")];
    run.facts[1] = facts(&[&changed[..], &more].concat());
    check("settings", &[run.clone()], &quick());
    // A direct target without a simulated distance is known to have none.
    run.facts[0] = facts(&base);
    run.facts[1] = facts(&[&base[..], &[("simulated_distance", "20 ms")]].concat());
    check("simulated_distance", &[run], &quick());
}

#[test]
fn parts_of_maps() {
    // Four corners in both directions, and a middle that is equal.
    let corners = pair(&grid(&["read", "write"], 4, 4), 12, 0.01, |at| {
        let large = at.number(axis::FILE_SIZE).unwrap() > 1 << 20;
        match (is_read(at), large, record(at) > 16_384) {
            (true, true, true) => 1.5,
            (true, true, false) => 0.7,
            (true, false, true) => 0.8,
            (false, true, false) => 1.2,
            (false, true, true) => 0.9,
            _ => 1.0,
        }
    });
    check("many_parts", &[corners.run], &quick());
    let faint = pair(&grid(&["read"], 5, 5), 10, 0.08, |_| 1.06);
    check("part_on_average", &[faint.run], &quick());
    let uneven = pair(&grid(&["read"], 4, 4), 10, 0.06, |_| 1.12);
    check("some_cells_are_certain", &[uneven.run], &quick());
    let mut few = pair(&grid(&["read"], 4, 4), 10, 0.02, |_| 1.2);
    for repetition in 0..3 {
        for target in 0..2 {
            few.step(target, repetition, cell("read", 1 << 30, 4096), 1e8);
        }
    }
    check("cell_of_few_repetitions", &[few.run], &quick());
    let mut drifting = Synthetic::new("drifting", &["smb", "nfs"], 8);
    for repetition in 0..24 {
        let factor = 1.1 + 0.1 * (f64::from(repetition) / 4.0).sin();
        for at in grid(&["read"], 3, 2) {
            drifting.step(0, repetition, at.clone(), 1e8);
            drifting.step(1, repetition, at, 1e8 * factor);
        }
    }
    check("drifting_repetitions", &[drifting.run], &quick());
    let mut users = Synthetic::new("users", &["smb", "nfs"], 5);
    users.noise = 0.01;
    users.sweep(&load(&[10, 20, 40, 80]), 10, |target, at| {
        let many = at.number(axis::USERS).unwrap() > 20;
        1e7 * if target == 0 {
            1.0
        } else if many {
            0.7
        } else {
            1.3
        }
    });
    check("reversal_by_users", &[users.run], &quick());
    // The verdict is about the sweep, and a load differs.
    let mut both = pair(&grid(&["read"], 2, 2), 10, 0.005, |_| 1.0);
    both.sweep(&load(&[10, 20]), 10, |target, _| if target == 0 { 1e7 } else { 1.3e7 });
    check("load_that_differs_from_the_sweep", &[both.run], &quick());
}

#[test]
fn remedies_of_a_low_confidence() {
    use sharebench_analysis::{Confidence, Objection, ObjectionKind};
    let kinds = [
        ObjectionKind::Contradictions,
        ObjectionKind::NotInterleaved,
        ObjectionKind::IncompleteRun,
        ObjectionKind::MissingCells,
        ObjectionKind::FewRepetitions,
        ObjectionKind::Warnings,
        ObjectionKind::ClientCache,
        ObjectionKind::Stalls,
        ObjectionKind::Sharpness,
        ObjectionKind::Imported,
    ];
    let remedies = kinds.map(|kind| {
        let objection = Objection { kind, value: Some(0.6), confidence: Confidence::Low };
        format!("{}: {}", objection.words(), objection.remedy().1)
    });
    crate::sentences::check_text("remedies", &remedies.join("\n"));
}
