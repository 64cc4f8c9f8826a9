//! Loads that were repeated: verdicts on response times, users at the objective and capacity, and the coverage of their
//! intervals.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

mod synthetic;

use sharebench_analysis::{
    Analysis, LoadComparison, LoadFigure, LoadLevel, Options, RatioVerdict, Tone, analyse,
};
use sharebench_model::{
    Coordinates, Histogram, LoadDetail, ObjectiveReport, Part, Random, RateBase, Timeline, Value, axis,
};
use sharebench_stats::normal_quantile;
use synthetic::Synthetic;

const STEPS: [u64; 4] = [5, 10, 20, 40];

/// What a server does with a number of users.
#[derive(Clone, Copy)]
struct Truth {
    /// Transactions per second.
    rate: fn(u64) -> f64,
    /// Mean response time, milliseconds.
    response_ms: fn(u64) -> f64,
}

/// Standard deviations of logarithms: of each step, and of what the steps of a repetition share.
struct Noise {
    own: f64,
    shared: f64,
}

/// The objective: the mean response time is below 20 ms.
const LIMIT_MS: f64 = 20.0;

fn users(n: u64) -> Coordinates {
    Coordinates::new().with(axis::WORKLOAD, Value::text("office")).with(axis::USERS, Value::Count(n))
}

fn normal(random: &mut Random) -> f64 {
    normal_quantile(random.unit().max(f64::MIN_POSITIVE))
}

/// Repetitions of a series on each target, which take turns at each step.
fn repeated(
    truths: &[(&str, Truth)],
    steps: &[u64],
    repetitions: u32,
    noise: &Noise,
    seed: u64,
) -> Synthetic {
    let names: Vec<&str> = truths.iter().map(|(name, _)| *name).collect();
    let mut run = Synthetic::new("load", &names, seed);
    let mut random = Random::new(seed, 5);
    for repetition in 0..repetitions {
        let shared = noise.shared * normal(&mut random);
        for &n in steps {
            for (target, (_, truth)) in truths.iter().enumerate() {
                let factor = (shared + noise.own * normal(&mut random)).exp();
                let time = (truth.response_ms)(n) * (noise.own * normal(&mut random) - shared).exp();
                step(&mut run, (target, repetition), n, (truth.rate)(n) * factor, time);
            }
        }
    }
    run
}

fn step(run: &mut Synthetic, (target, repetition): (usize, u32), n: u64, rate: f64, time_ms: f64) {
    run.step(target, repetition, users(n), rate * 1e5);
    let mut timeline = Timeline::over(60_000_000_000);
    let each = (rate * 60.0 / timeline.transactions.len() as f64) as u64;
    timeline.transactions.fill(each);
    timeline.bytes.fill(each * 100_000);
    let measure = &mut run.run.steps.last_mut().unwrap().measure;
    measure.rate_base = RateBase::Window;
    measure.window_ns = 60_000_000_000;
    measure.transactions = (rate * 60.0).round() as u64;
    measure.bytes.read = (rate * 60.0 * 1e5) as u64;
    measure.response = Histogram::new();
    (0..20).for_each(|_| measure.response.record((time_ms * 1e6) as u64));
    let part =
        Part { count: measure.transactions, response: measure.response.clone(), ..Part::named("open") };
    let kept = time_ms < LIMIT_MS;
    let detail = format!("mean {time_ms:.1} ms of at most {LIMIT_MS} ms");
    let objective = Some(ObjectiveReport { wanted: format!("mean<{LIMIT_MS}ms"), kept, detail });
    *measure.load = LoadDetail { transactions: vec![part], timeline, objective, ..LoadDetail::default() };
}

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

const QUIET: Noise = Noise { own: 0.01, shared: 0.03 };

/// A limit of 800/s from 20 users on.
const LIMITED: Truth = Truth { rate: |n| (40.0 * n as f64).min(800.0), response_ms: |n| 2.0 + n as f64 };
/// A limit of 600/s from 15 users on.
const SLOWER: Truth = Truth { rate: |n| (40.0 * n as f64).min(600.0), response_ms: |n| 2.0 + n as f64 * 1.5 };

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
        "office, mean response time: nfs takes less time than smb at 4 of 4 steps; most: nfs takes",
        "office, users that meet mean<20ms: nfs carries",
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
        found[0].1.contains("at 40 users; this holds at 1 of 4 steps; at the others neither takes"),
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
    let found = sentences(&analysis, "nas meets mean<20ms up to 10 users and misses it at 20 (kept in");
    assert!(found[0].1.contains("of 8 repetitions"), "{found:?}");
    let all = analysed(repeated(&[("nas", LIMITED)], &[5, 10], 8, &QUIET, 6));
    let found = sentences(&all, "office, users that meet mean<20ms");
    assert!(
        found[0].1.contains("has none: it is met at 10 users, the largest step, in 8 of 8 repetitions"),
        "{found:?}"
    );
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

/// How many of `runs` intervals contain the truth, in percent.
fn coverage(runs: u64, of: impl Fn(u64) -> bool) -> f64 {
    (0..runs).filter(|seed| of(1000 + seed)).count() as f64 * 100.0 / runs as f64
}

/// Coverage of every interval that a report prints of a repeated load: throughput and mean response time of a step, ratio of
/// response times over the steps and at all steps together, capacity of a system, ratio of capacities.
#[test]
fn intervals_of_repeated_loads_cover_what_they_promise() {
    const RUNS: u64 = 400;
    for (repetitions, shared) in [(6, 0.0), (6, 0.03), (10, 0.0), (10, 0.03)] {
        let noise = Noise { own: 0.03, shared };
        let run =
            |seed| analysed(repeated(&[("a", SLOWER), ("b", LIMITED)], &STEPS, repetitions, &noise, seed));
        let all: Vec<Analysis> = (0..RUNS).map(|seed| run(1000 + seed)).collect();
        let of = |holds: &dyn Fn(&Analysis) -> bool| coverage(RUNS, |seed| holds(&all[seed as usize - 1000]));
        let rate = of(&|found| {
            let rate = found.sections[0].rows[1].outcomes[1].as_ref().unwrap().rate;
            rate.interval.unwrap().contains(4e7)
        });
        let capacity = of(&|found| {
            let level = level(found, 1, LoadFigure::Capacity);
            level.value.unwrap().interval.unwrap().contains(8e7)
        });
        let capacities = of(&|found| {
            let ratio = figure(found, LoadFigure::Capacity).ratio.unwrap();
            ratio.interval.unwrap().contains(800.0 / 600.0)
        });
        let truth = |n: u64| (LIMITED.response_ms)(n) / (SLOWER.response_ms)(n);
        let mean = STEPS.map(|n| truth(n).ln()).iter().sum::<f64>() / 4.0;
        let response = of(&|found| {
            let ratio = figure(found, LoadFigure::MeanResponse).ratio.unwrap();
            ratio.interval.unwrap().contains(mean.exp())
        });
        let together = of(&|found| {
            let steps = &figure(found, LoadFigure::MeanResponse).steps;
            steps.iter().all(|step| step.ratio.interval.unwrap().contains(truth(step.load)))
        });
        println!(
            "| {repetitions} | {shared} | {rate:.1} | {response:.1} | {together:.1} | {capacity:.1} | {capacities:.1} |"
        );
        // Four standard deviations of 400 draws at 95 %: 4.4 points.
        for (name, found) in [
            ("throughput", rate),
            ("response time", response),
            ("response time at all steps", together),
            ("capacity", capacity),
            ("capacities", capacities),
        ] {
            assert!(
                (90.6..=99.4).contains(&found),
                "{name}: {found} % of {repetitions} repetitions, {shared}"
            );
        }
    }
}
