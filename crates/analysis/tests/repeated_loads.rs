//! Loads that were repeated: verdicts on response times, users at the objective and capacity.

use crate::synthetic::Synthetic;
use crate::synthetic::repeated::{LIMITED, Noise, QUIET, SLOWER, STEPS, Truth, repeated};
use sharebench_analysis::{
    Analysis, LoadComparison, LoadFigure, LoadLevel, Options, RatioVerdict, Tone, analyse,
};

fn analysed(run: Synthetic) -> Analysis {
    analyse(&[run.run], &Options { resamples: 50, ..Options::default() })
}

fn figure(analysis: &Analysis, figure: LoadFigure) -> &LoadComparison {
    analysis.sections[0].load_comparisons.iter().find(|found| found.figure == figure).unwrap()
}

fn level(analysis: &Analysis, system: usize, figure: LoadFigure) -> &LoadLevel {
    let mut levels = analysis.sections[0].load_levels.iter();
    levels.find(|level| (level.system, level.figure) == (system, figure)).unwrap()
}

fn sentences(analysis: &Analysis, about: &str) -> Vec<(Tone, String)> {
    let all = analysis.answer.iter().chain(&analysis.findings).chain(&analysis.not_resolved);
    let mut found: Vec<(Tone, String)> =
        all.filter(|s| s.text.contains(about)).map(|s| (s.tone, s.text.clone())).collect();
    found.dedup();
    found
}

#[test]
fn capacity_users_and_times_get_verdicts_with_intervals() {
    let analysis = analysed(repeated(&[("smb", SLOWER), ("nfs", LIMITED)], &STEPS, 8, &QUIET, 1));
    let capacity = figure(&analysis, LoadFigure::Capacity);
    assert_eq!(capacity.verdict, RatioVerdict::Faster);
    assert!(capacity.ratio.unwrap().interval.unwrap().contains(800.0 / 600.0), "{capacity:?}");
    let of_nfs = level(&analysis, 1, LoadFigure::Capacity);
    assert!(of_nfs.value.unwrap().interval.unwrap().contains(8e7), "{of_nfs:?}");
    // 2 + n ms reach 20 ms at 18 users, 2 + 1.5 n ms at 12; lines through logarithms between 10 and 20 users.
    let held = figure(&analysis, LoadFigure::UsersAtObjective);
    assert!((1.35..1.55).contains(&held.ratio.unwrap().value), "{held:?}");
    assert_eq!(held.verdict, RatioVerdict::Faster);
    let times = figure(&analysis, LoadFigure::MeanResponse);
    assert_eq!((times.verdict, times.steps.len()), (RatioVerdict::Faster, 4));
    assert!(times.steps.iter().all(|step| step.verdict == RatioVerdict::Faster), "{times:?}");
    let truth = |n: f64| (2.0 + n) / (2.0 + 1.5 * n);
    assert!(
        times.steps.iter().all(|s| s.ratio.interval.unwrap().contains(truth(s.load as f64))),
        "{times:?}"
    );
    let answer: String = analysis.answer.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join("\n");
    for said in [
        "office, mean response time: nfs takes less time than smb at 4 of 4 steps, most at 40 users:",
        "office, users that meet mean<20ms: nfs carries 4",
        "office, capacity: nfs is 3",
        "8 interleaved repetitions",
    ] {
        assert!(answer.contains(said), "{said}: {answer}");
    }
}

#[test]
fn a_response_time_that_depends_on_the_number_of_users_says_so() {
    let few = Truth { rate: |n| 10.0 * n as f64, response_ms: |n| 1.0 + 0.1 * n as f64 };
    let many = Truth { rate: |n| 10.0 * n as f64, response_ms: |n| 2.0 + 0.03 * n as f64 };
    let analysis = analysed(repeated(&[("smb", many), ("nfs", few)], &STEPS, 8, &QUIET, 2));
    let found = sentences(&analysis, "mean response time: depends on the number of users: nfs takes");
    assert!(found[0].1.contains("less time than smb") && found[0].1.contains("smb takes"), "{found:?}");
    assert!(found[0].1.contains("at 5 users") && found[0].1.contains("at 40 users"), "{found:?}");
    assert_eq!(found[0].0, Tone::Difference);
    let capacity = sentences(&analysis, ", capacity:");
    assert!(capacity[0].1.contains("its rate still rises at 40 users, the largest step"), "{capacity:?}");
    assert_eq!(capacity[0].0, Tone::NotResolved);
}

#[test]
fn a_difference_at_one_step_is_not_a_difference_at_the_others() {
    let flat = Truth { rate: |n| 10.0 * n as f64, response_ms: |_| 4.0 };
    let one = Truth { rate: |n| 10.0 * n as f64, response_ms: |n| if n == 40 { 8.0 } else { 4.0 } };
    let analysis = analysed(repeated(&[("a", flat), ("b", one)], &STEPS, 8, &QUIET, 3));
    let found = sentences(&analysis, "office, mean response time");
    assert!(
        found[0].1.contains("at 40 users; this holds at 1 of 4 steps; at the others a difference of up to"),
        "{found:?}"
    );
}

#[test]
fn equal_servers_are_about_the_same_and_say_what_a_step_may_hide() {
    let quiet = Noise { own: 0.005, shared: 0.03 };
    let analysis = analysed(repeated(&[("a", LIMITED), ("b", LIMITED)], &STEPS, 10, &quiet, 4));
    let found = sentences(&analysis, "office, mean response time");
    assert!(found[0].1.contains("b and a are about the same over 4 steps: ratio"), "{found:?}");
    assert!(found[0].1.contains("; a single step may differ by up to"), "{found:?}");
    assert_eq!(figure(&analysis, LoadFigure::Capacity).verdict, RatioVerdict::AboutTheSame);
}

#[test]
fn an_objective_is_kept_only_if_every_repetition_keeps_it() {
    // 19.9 ms at 20 users: some repetitions miss 20 ms.
    let edge = Truth {
        rate: |n| 10.0 * n as f64,
        response_ms: |n| if n < 20 { 5.0 } else { 19.9 + (n - 20) as f64 },
    };
    let analysis = analysed(repeated(&[("nas", edge)], &STEPS, 8, &Noise { own: 0.03, shared: 0.0 }, 5));
    let found =
        sentences(&analysis, "nas meets mean<20ms up to 10 users and does not always meet it at 20 (kept in");
    assert!(found[0].1.contains("of 8 repetitions"), "{found:?}");
    let all = analysed(repeated(&[("nas", LIMITED)], &[5, 10], 8, &QUIET, 6));
    let level = level(&all, 0, LoadFigure::UsersAtObjective);
    let refused = "it is met at 10 users, the largest step, in 8 of 8 repetitions";
    assert_eq!((level.value, level.refused.as_deref()), (None, Some(refused)));
    assert!(sentences(&all, "that meet mean<20ms").is_empty());
}

#[test]
fn one_repetition_gets_no_verdict_and_names_the_option_that_gives_one() {
    let analysis = analysed(repeated(&[("smb", SLOWER), ("nfs", LIMITED)], &STEPS, 1, &QUIET, 7));
    assert!(analysis.sections[0].load_comparisons.is_empty() && analysis.sections[0].load_levels.is_empty());
    let found = sentences(&analysis, "--repetitions 6 gives an interval");
    assert_eq!(found.len(), 1, "{found:?}");
    // A search for a knee does not take repetitions.
    let mut searched = repeated(&[("smb", SLOWER), ("nfs", LIMITED)], &STEPS, 1, &QUIET, 7);
    searched.run.header.plan = "[load]\nfind_knee = true\n".to_owned();
    let searched = analysed(searched);
    assert!(sentences(&searched, "--repetitions").is_empty());
    assert!(!searched.verdict.unwrap().text.contains("--repetitions"));
}
