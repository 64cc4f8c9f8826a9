//! Single runs, imported ones above all: what may be said of them, and what not.

use crate::synthetic::{Synthetic, grid};
use sharebench_analysis::{Options, RatioVerdict, RunData, analyse, declared_equal_spread};

fn texts(sentences: &[sharebench_analysis::Sentence]) -> String {
    sentences.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// A run that another program measured: one repetition, and a clock that may be stated.
fn imported(title: &str, rate: f64, clock_ns: Option<&str>) -> RunData {
    let mut made = Synthetic::new(title, &[title], 5);
    made.noise = 0.0;
    made.drift = 0.0;
    made.sweep(&grid(&["read"], 2, 2), 1, |_, _| rate);
    let environment = &mut made.run.header.environment;
    environment.insert("origin".to_owned(), "imported".to_owned());
    environment.remove("clock_resolution_ns");
    if let Some(clock) = clock_ns {
        environment.insert("clock_resolution_ns".to_owned(), clock.to_owned());
    }
    made.run
}

#[test]
fn single_runs_are_resolved_only_beyond_their_clocks_and_beyond_what_equals_differ_by() {
    let judge = |b: f64, clock: Option<&str>, equal_spread: Option<f64>| {
        let runs = [imported("a", 1e8, clock), imported("b", b, clock)];
        let analysis = analyse(&runs, &Options { equal_spread, ..Options::default() });
        let ratio = analysis.sections[0].rows[0].ratios[0].clone().unwrap();
        assert_eq!(ratio.verdict, RatioVerdict::NotResolved, "never more than a note");
        let answer = texts(&analysis.answer);
        assert!(answer.contains("single run") && !answer.contains("interleaved"), "{answer}");
        let trust: String = analysis.trust.iter().map(|line| line.text.as_str()).collect();
        assert!(trust.contains("imported from") && !trust.contains("passed every check"), "{trust}");
        ratio.single_run.unwrap().resolved
    };
    // Steps last about 500 ms: a clock of 10 ms leaves 4 % open.
    let clock = Some("10000000");
    assert_eq!([1.02e8, 1.1e8, 0.9e8].map(|b| judge(b, clock, None)), [false, true, true]);
    assert_eq!([1.1e8, 1.5e8].map(|b| judge(b, clock, Some(0.05))), [false, true]);
    assert_eq!(
        [2.9e8, 0.4e8, 64e8].map(|b| judge(b, None, None)),
        [false, false, true],
        "any clock may explain 3 times, none explains 64"
    );
    assert!(judge(3e8, None, Some(0.05)));
    assert_eq!(
        [3e8, 1e12].map(|b| judge(b, None, Some(0.5))),
        [false, true],
        "three sigmas are a factor of 4.5"
    );
}

#[test]
fn results_declared_equal_have_a_spread() {
    let one = imported("a", 1e8, None);
    let mut other = imported("b", 1e8, None);
    assert!(declared_equal_spread(&one, &other).unwrap() < 1e-6);
    for (index, step) in (0u32..).zip(&mut other.steps) {
        step.measure.busy_ns = (step.measure.busy_ns as f64 * [0.99, 1.0, 1.01][index as usize % 3]) as u64;
    }
    let spread = declared_equal_spread(&one, &other).unwrap();
    // Logs of four cells: 0.01005 twice, 0 and -0.00995; they lie 0.005025 from their median, in the middle.
    assert!((spread - 1.4826 * 0.005_025).abs() < 1e-6, "{spread}");
    other.steps.truncate(2);
    assert_eq!(declared_equal_spread(&one, &other), None);
}

#[test]
fn the_spread_of_a_repeated_run_blurs_its_ratio_to_a_single_one() {
    let judge = |rate: f64| {
        let mut fresh = Synthetic::new("fresh", &["fresh"], 7);
        (fresh.noise, fresh.drift) = (0.2, 0.0);
        fresh.sweep(&grid(&["read"], 2, 2), 10, |_, _| rate);
        analyse(&[imported("old", 1e8, Some("1000")), fresh.run], &Options::default())
    };
    let resolved = |analysis: &sharebench_analysis::Analysis| {
        let rows = analysis.sections[0].rows.iter();
        rows.filter(|row| row.ratios[0].as_ref().unwrap().single_run.unwrap().resolved).count()
    };
    let near = judge(1.1e8);
    let far = judge(9e8);
    assert_eq!((resolved(&near), resolved(&far)), (0, 4));
    let found_text = texts(&near.answer);
    assert!(
        found_text.contains(
            "0 of 4 cells differ by more than the uncertainty of clocks or the spread of repetitions"
        ),
        "{found_text}"
    );
    // The mean over all cells is that of the cells' own ratios.
    let logs: Vec<f64> =
        far.sections[0].rows.iter().map(|row| row.ratios[0].as_ref().unwrap().typical.value.ln()).collect();
    let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    let shown = format!("{mean:.2} times the rate of old");
    assert!(texts(&far.answer).contains(&shown), "{shown}: {}", texts(&far.answer));
}

#[test]
fn equal_systems_measured_once_have_no_regions() {
    for seed in 0..40 {
        // The clock is fine, the machine is not: each cell scatters by 3 %.
        let mut run = Synthetic::new("equal", &["a", "b"], 600 + seed);
        run.noise = 0.03;
        run.sweep(&grid(&["write", "read"], 5, 5), 1, |_, _| 1e8);
        let differences = &analyse(&[run.run], &Options::default()).comparisons[0].differences;
        assert!(differences.single_run_regions.is_empty(), "{seed}: {differences:?}");
        assert!(differences.single_run_breaks.is_empty(), "{seed}: {differences:?}");
    }
}

#[test]
fn tables_without_a_known_clock_have_regions_of_large_ratios_alone() {
    let table = |title: &str, factor: f64, clock: Option<&str>| {
        let mut run = imported(title, 1e8, clock);
        run.steps.clear();
        let mut made = Synthetic::new(title, &[title], 5);
        (made.noise, made.drift) = (0.0, 0.0);
        made.sweep(&grid(&["read"], 4, 4), 1, |_, at| {
            1e8 * if at.number("record_size").is_some_and(|size| size > 4096) { factor } else { 1.0 }
        });
        run.steps = made.run.steps;
        run
    };
    let regions = |factor: f64, clock: Option<&str>| {
        let analysis = analyse(&[table("a", 1.0, clock), table("b", factor, clock)], &Options::default());
        analysis.comparisons[0].differences.single_run_regions.len()
    };
    assert_eq!([regions(1.5, Some("1000")), regions(1.5, None), regions(4.0, None)], [1, 0, 1]);
}
