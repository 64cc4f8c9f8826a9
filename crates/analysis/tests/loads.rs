//! Loads: forecasts and their refusals, objectives, paces and fairness as sentences and numbers.

use crate::synthetic::Synthetic;
use crate::synthetic::loads::{Gaps, counted, thinking};
use crate::synthetic::streams::{BUSY, LATE, PACE, units};
use sharebench_analysis::{Analysis, Options, Sentence, analyse};
use sharebench_model::{Check, Fairness, ObjectiveReport, Verdict};
use sharebench_stats::mean_value_analysis;

fn said(sentences: &[Sentence]) -> String {
    sentences.iter().map(|sentence| sentence.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn analysed(run: Synthetic) -> Analysis {
    analyse(&[run.run], &Options::default())
}

#[test]
fn a_load_with_a_bend_is_predicted_up_to_twice_its_largest_step() {
    // One queue of 2 ms, think time 20 ms: knee at 11 users, ceiling 500/s.
    let law = |n: u64| mean_value_analysis(&[0.002], 0.020, n as u32).0;
    let analysis = analysed(thinking(&[1, 2, 5, 8, 11, 15, 20, 30], 0.020, law));
    let report = &analysis.sections[0].capacity[0];
    assert_eq!((report.tried, report.rejected.as_ref()), (30, None));
    let (users, rate) = report.forecast.as_ref().unwrap();
    assert!((*users - 60.0).abs() < 1e-9 && (rate.value / 500.0 - 1.0).abs() < 0.03, "{rate:?}");
    assert!((report.knee.unwrap() / 11.0 - 1.0).abs() < 0.15, "{report:?}");
    let found = said(&analysis.findings);
    assert!(found.contains("nas reaches") && found.contains("knee at"), "{found}");
    let part =
        &analysis.sections[0].rows[0].outcomes[0].as_ref().unwrap().load.as_ref().unwrap().transactions[0];
    assert!((part.per_s - law(1)).abs() < 0.05 && part.response_ns[0] > 0, "{part:?}");
}

#[test]
fn k11_a_rejected_forecast_states_its_reason() {
    let straight = analysed(thinking(&[1, 2, 4, 6, 8], 1.0, |n| n as f64 * 10.0));
    let open = said(&straight.not_resolved);
    assert!(open.contains("no forecast for nas: at the largest load each user still got 100 %"), "{open}");
    assert!(straight.sections[0].capacity[0].forecast.is_none());
    let few = said(&analysed(thinking(&[1, 2, 4], 1.0, |n| n as f64)).not_resolved);
    assert!(few.contains("3 different loads are too few for a forecast; measure at least 5"), "{few}");
}

#[test]
fn an_objective_has_the_largest_load_that_meets_it_and_the_smallest_that_misses_it() {
    let mut run = thinking(&[10, 20, 40], 1.0, |n| n as f64);
    for (step, kept) in run.run.steps.iter_mut().zip([true, true, false]) {
        let detail = format!("p95 {} ms of at most 20 ms", if kept { 8 } else { 31 });
        step.measure.load.objective = Some(ObjectiveReport { wanted: "p95<20ms".into(), kept, detail });
    }
    let found = said(&analysed(run).findings);
    assert!(
        found.contains("nas meets p95<20ms up to 20 users and misses it at 40 (p95 31 ms of at most 20 ms)"),
        "{found}"
    );
}

#[test]
fn overload_and_uneven_service_are_named() {
    let mut run = thinking(&[10, 20], 1.0, |n| n as f64);
    let detail = "12 of 20 transactions/s that 20 users ask for ended: overloaded".to_owned();
    let check = Check::new("pace", Verdict::Warning, detail);
    run.run.steps[1].checks.push(check);
    let mut fairness = Fairness::default();
    (0..10).for_each(|user| fairness.add(if user < 5 { 900 } else { 20 }));
    run.run.steps[0].measure.load.fairness = fairness;
    let found = said(&analysed(run).findings);
    assert!(found.contains("nas sustains 10 users at their pace and is overloaded with 20"), "{found}");
    assert!(
        found.contains("served unevenly: from 20 to 900 transactions each (fairness 0.52 of 1)"),
        "{found}"
    );
}

/// All sentences of an analysis.
fn all_of(analysis: &Analysis) -> String {
    [said(&analysis.answer), said(&analysis.findings), said(&analysis.not_resolved)].join("\n")
}

#[test]
fn a_load_of_a_few_transactions_names_the_window_it_needs_instead_of_a_ratio() {
    // 2 to 4 transactions per step, as `load A B --preset office --steps 3,6 --measure 5s` completes.
    let analysis =
        analysed(counted(&[("a", 0.13, 50.0), ("b", 0.08, 50.0)], &[3, 6], 5, 8000, Gaps::Jittered));
    let all = all_of(&analysis);
    let expected = "office: no ratio, stress point or forecast from 2 of 2 load steps: 1 transaction of b at 3 users is too few; \
                    --measure 3m gives about 36.";
    assert_eq!(said(&analysis.answer), expected);
    assert!(said(&analysis.not_resolved).contains(expected), "{all}");
    for claim in [
        "times the rate",
        "cells differ",
        "cell differs",
        "stress point after",
        "no stress point",
        "no forecast",
    ] {
        assert!(!all.contains(claim), "{claim}: {all}");
    }
    assert!(analysis.sections[0].rows.iter().all(|row| row.ratios.iter().all(Option::is_none)));
    assert!(analysis.sections[0].stress.is_empty() && analysis.sections[0].capacity.is_empty());
}

#[test]
fn an_objective_of_a_few_transactions_is_neither_met_nor_missed() {
    let mut run = counted(&[("nas", 0.13, 50.0)], &[3, 6], 5, 8000, Gaps::Jittered);
    for (step, kept) in run.run.steps.iter_mut().zip([true, false]) {
        let detail = "p95 8 ms of at most 20 ms".to_owned();
        step.measure.load.objective = Some(ObjectiveReport { wanted: "p95<20ms".into(), kept, detail });
    }
    let analysis = analysed(run);
    let all = all_of(&analysis);
    assert!(!all.contains("meets p95<20ms") && !all.contains("misses"), "{all}");
    let few = "office: no ratio, stress point, forecast or verdict on p95<20ms from 2 of 2 load steps: 2 transactions of \
               nas at 3 users are too few; ";
    assert!(said(&analysis.not_resolved).contains(few), "{all}");
}

#[test]
fn a_rate_that_scatters_needs_more_transactions_than_an_even_one() {
    let mut run = counted(&[("nas", 20.0, 40.0)], &[4, 8], 10, 10, Gaps::Jittered);
    let support = |run: &Synthetic| {
        let analysis = analyse(std::slice::from_ref(&run.run), &Options::default());
        let outcome = analysis.sections[0].rows[0].outcomes[0].clone().unwrap();
        (outcome.load.unwrap().support.unwrap(), analysis)
    };
    let (even, analysis) = support(&run);
    assert!(even.needed == 30 && even.half_width.unwrap() < 0.05, "{even:?}");
    assert!(said(&analysis.findings).contains("reached no stress point up to 8 users"));
    // The same number of transactions, in bursts of 2 s.
    let timeline = &mut run.run.steps[0].measure.load.timeline;
    for series in [&mut timeline.transactions, &mut timeline.bytes] {
        (0..series.len()).filter(|at| at % 50 >= 20).for_each(|at| series[at] = 0);
    }
    let (uneven, analysis) = support(&run);
    assert!(uneven.needed > even.transactions && uneven.half_width.unwrap() > 0.2, "{uneven:?}");
    let open = said(&analysis.not_resolved);
    let expected = "office: no ratio, stress point or forecast from 1 of 2 load steps: 803 transactions of nas at 4 users are \
                    too few (the rate is known to ±59 %, and ±20 % is needed); --measure 90s gives about 7227.";
    assert!(open.contains(expected), "{open}");
}

#[test]
fn a_load_bound_by_think_time_says_so_once_instead_of_a_ratio_per_pair() {
    let targets = [("smb", 9.9, 1.0), ("nfs", 9.95, 0.5), ("ncp", 9.8, 2.0), ("local", 10.0, 0.1)];
    let analysis = analysed(counted(&targets, &[2, 8], 20, 100, Gaps::Jittered));
    let all = all_of(&analysis);
    assert!(!all.contains("times the rate"), "{all}");
    let sentence = "office: the think time determines the rate at all 2 load steps (users wait for a reply at most 2.0 % of \
                    their time), so these rates do not compare the servers; compare the response times, or use more users or \
                    a shorter --think.";
    assert_eq!(said(&analysis.answer), sentence);
    assert_eq!(said(&analysis.findings).matches(sentence).count(), 1);
}

#[test]
fn a_step_that_is_not_bound_by_think_time_keeps_its_ratio() {
    let analysis = analysed(counted(&[("a", 8.0, 25.0), ("b", 5.0, 100.0)], &[8], 30, 100, Gaps::Jittered));
    let answer = said(&analysis.answer);
    assert!(answer.contains("a shows 1.61 times the rate of b"), "{answer}");
    assert!(!answer.contains("think time"), "{answer}");
    assert!(analysis.sections[0].rows[0].ratios[0].as_ref().unwrap().single_run.unwrap().resolved);
}

/// Two steps of 5.0 and 4.5 transactions per tenth of a second, in runs of `run_length` tenths with one fewer and one more.
fn declining(run_length: usize) -> String {
    let mut run = counted(&[("nas", 20.0, 40.0)], &[4, 8], 10, 10, Gaps::Jittered);
    for (step, counts) in run.run.steps.iter_mut().zip([[4, 6], [4, 5]]) {
        let measure = &mut step.measure;
        let timeline = &mut measure.load.timeline;
        for (at, count) in timeline.transactions.iter_mut().enumerate() {
            *count = counts[at / run_length % 2];
        }
        timeline.bytes = timeline.transactions.iter().map(|count| count * 100_000).collect();
        measure.transactions = timeline.transactions.iter().sum();
        measure.bytes.read = measure.transactions * 100_000;
        measure.load.transactions[0].count = measure.transactions;
    }
    said(&analysed(run).findings)
}

#[test]
fn a_decline_within_the_scatter_of_the_transactions_is_no_stress_point() {
    let even = declining(1);
    assert!(
        even.contains("nas passes its stress point after 4 users: with 8 users it is 10 % slower"),
        "{even}"
    );
    let uneven = declining(25);
    assert!(uneven.contains("nas reached no stress point up to 8 users"), "{uneven}");
}

/// The share of the only system in each step, with its verdict.
fn verdicts(analysis: &Analysis) -> Vec<(f64, Option<bool>)> {
    let rows = analysis.sections[0].rows.iter();
    let unit = |row: &sharebench_analysis::Row| {
        let unit = row.outcomes[0].as_ref().unwrap().load.as_ref().unwrap().unit.clone().unwrap();
        (unit.share.map_or(f64::NAN, |share| share.value), unit.sustained)
    };
    rows.map(unit).collect()
}

#[test]
fn streams_are_sustained_while_few_enough_frames_are_late() {
    // Two frames of each stream in each tenth of a second: 320 frames of each stream, all that are due.
    let run = units(LATE, true, &[(2, &|_| 4, 0), (4, &|_| 8, 1), (8, &|_| 16, 900), (16, &|_| 32, 2000)]);
    let analysis = analysed(run);
    let found = said(&analysis.findings);
    assert!(
        found.contains(
            "nas: 4 streams sustained: 0.08 % [0.01 %, 0.44 %] of 1280 frames late; 8 streams not sustained: 35.16 %"
        ),
        "{found}"
    );
    assert!(found.contains("of 2560 frames late (missed<=1% with 1% of the data set)."), "{found}");
    let shares = verdicts(&analysis);
    assert_eq!(
        shares.iter().map(|(_, sustained)| *sustained).collect::<Vec<_>>(),
        [Some(true), Some(true), Some(false), Some(false)]
    );
}

#[test]
fn frames_that_were_due_and_never_came_are_late() {
    // Nothing comes in the second half of the window, and no frame that came was late.
    let stopped: &dyn Fn(usize) -> u64 = &|at| if at < 80 { 8 } else { 0 };
    let analysis = analysed(units(LATE, true, &[(4, stopped, 0)]));
    let found = said(&analysis.findings);
    assert!(found.contains("nas: 4 streams not sustained: 49.8"), "{found}");
    // Without a pace it is not known how many were due.
    assert_eq!(verdicts(&analysed(units(LATE, false, &[(4, stopped, 0)]))), [(0.0, Some(true))]);
}

#[test]
fn a_verdict_that_the_counts_cannot_support_is_refused_with_the_reason() {
    // 160 frames: up to 2.3 % may be late by chance.
    let few = analysed(units(LATE, false, &[(1, &|_| 1, 0)]));
    let open = said(&few.not_resolved);
    assert!(
        open.contains(
            "no verdict on missed<=1% for 1 stream of nas (0.00 % [0.00 %, 2.34 %] of 160 frames late): the interval \
             contains the limit; raise --measure"
        ),
        "{open}"
    );
    assert!(!said(&few.findings).contains("sustained"), "{}", said(&few.findings));
    let paused = analysed(units(PACE, false, &[(1, &|_| 2, 0), (2, &|_| 4, 0)]));
    let open = said(&paused.not_resolved);
    assert!(
        open.contains(
            "no verdict on pace>=95% for 1, 2 streams of nas: users pause instead of keeping a pace"
        ),
        "{open}"
    );
    // Sixteen frames of each stream.
    let mut short = units(PACE, true, &[(10, &|_| 1, 0)]);
    short.run.steps[0].measure.load.think_ns = 1_000_000_000;
    let open = said(&analysed(short).not_resolved);
    assert!(
        open.contains(
            "for 10 streams of nas (100.0 % of the requested frames completed): the window is too short"
        ),
        "{open}"
    );
}

#[test]
fn a_pace_is_kept_by_completed_transactions() {
    let run =
        units(PACE, true, &[(2, &|_| 4, 0), (4, &|at| if at % 10 == 0 { 4 } else { 8 }, 0), (8, &|_| 12, 0)]);
    let analysis = analysed(run);
    let found = said(&analysis.findings);
    assert!(found.contains("nas: 2 streams sustained: 100.0 %"), "{found}");
    assert!(found.contains("8 streams not sustained: 75.0 %"), "{found}");
    // 95 % is the limit.
    assert_eq!(verdicts(&analysis)[1].1, None);
    assert!(
        said(&analysis.not_resolved).contains("for 4 streams of nas (95.0 %"),
        "{}",
        said(&analysis.not_resolved)
    );
}

#[test]
fn a_target_that_completes_nothing_sustains_nothing() {
    for objective in [LATE, PACE] {
        let analysis = analysed(units(objective, true, &[(2, &|_| 0, 0)]));
        let found = said(&analysis.findings);
        assert!(found.contains("nas: 2 streams not sustained: "), "{found}");
        assert_eq!(verdicts(&analysis)[0].1, Some(false));
    }
}

#[test]
fn accelerators_that_catch_up_after_a_stall_have_been_idle_in_it() {
    // Each user computes 50 ms for each record. For 8 s nothing comes, then twice as much comes to catch up.
    let stalled: &dyn Fn(usize) -> u64 = &|at| match at {
        40..120 => 0,
        120.. => 8,
        _ => 4,
    };
    let analysis = analysed(units(BUSY, true, &[(2, stalled, 0), (4, &|_| 8, 0)]));
    let shares = verdicts(&analysis);
    assert!((shares[0].0 - 0.5).abs() < 0.02 && shares[0].1 == Some(false), "{shares:?}");
    assert!((shares[1].0 - 1.0).abs() < 1e-9 && shares[1].1 == Some(true), "{shares:?}");
    let found = said(&analysis.findings);
    assert!(found.contains("nas: 2 streams not sustained: busy 50."), "{found}");
}

#[test]
fn a_rate_that_falls_little_by_little_has_a_stress_point() {
    let falling =
        said(&analysed(thinking(&[4, 8, 16, 32], 0.0, |n| 1000.0 - 35.0 * f64::from(n.ilog2()))).findings);
    assert!(
        falling.contains("nas passes its stress point after 4 users: with 16 users it is 8 % slower"),
        "{falling}"
    );
    let level =
        said(&analysed(thinking(&[4, 8, 16, 32], 0.0, |n| if n == 4 { 1000.0 } else { 960.0 })).findings);
    assert!(level.contains("nas reached no stress point up to 32 users. Peak:"), "{level}");
}
