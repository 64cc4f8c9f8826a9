//! Messages of `compare` where the data does not decide what a build requires.

use sharebench_analysis::{Analysis, Options, Requirements, RunData, Series, analyse};

use super::{FixedResults, NIGHTLY, nightly_runs, plan_of, rate, response};
use crate::commands::compare::open_requirements;
use crate::commands::compare_series::inconclusive_words;
use crate::run::run_store::run_data;

/// The messages of a limit on slowdowns, and of a required sharpness.
fn messages(analysis: &Analysis, limit: f64) -> Vec<String> {
    let slower = Requirements { not_slower: Some(limit), sharpness: None };
    let sharp = Requirements { not_slower: None, sharpness: Some(limit) };
    open_requirements(analysis, &slower, &sharp)
}

#[test]
fn requirements_that_stay_open_are_named_with_the_comparison_and_the_option() {
    let repeated: Vec<RunData> = nightly_runs().into_iter().map(|run| run_data(run, true)).collect();
    let single = NIGHTLY.replace("--repetitions 10", "--repetitions 1");
    let once = |id: i64| {
        let results = FixedResults { id, command: NIGHTLY, rate, noise: |_| 0.01, response };
        run_data(results.run(&plan_of(&single)), true)
    };
    let mut lines = messages(&analyse(&repeated, &Options::default()), 0.05);
    lines.extend(messages(&analyse(&[once(1), once(2)], &Options::default()), 0.05));
    let series = |detectable_fall, runs_to_detect_half| Series {
        runs: Vec::new(),
        lines: Vec::new(),
        changes: Vec::new(),
        last_run: Vec::new(),
        runs_to_confirm: None,
        trends: Vec::new(),
        sentences: Vec::new(),
        error: 0.05,
        detectable_fall,
        runs_to_detect_half,
    };
    let open = [(Some(0.1), None), (None, Some(3)), (None, None)];
    lines.extend(open.map(|(fall, runs)| inconclusive_words(&series(fall, runs))));
    insta::with_settings!({ snapshot_path => "../../tests/snapshots/output", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("open_requirements", lines.join("\n"));
    });
}
