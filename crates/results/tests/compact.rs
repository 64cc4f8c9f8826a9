//! Runs as an analysis loads them: all figures, less memory, and only the targets that are wanted.
use crate::sample::{Scratch, header, step};
use sharebench_model::{Check, Measure, RunOutcome, Sparse, Verdict};
use sharebench_results::{RunId, Store};

fn stored(name: &str) -> (Scratch, RunId) {
    let file = Scratch::new(name);
    let mut store = Store::open(&file.0).unwrap();
    let run = store.begin_run(&header()).unwrap();
    for index in 0..6 {
        let mut step = step(index);
        step.checks.push(Check::new("bytes", Verdict::Valid, format!("{index} bytes")));
        store.record_step(run, &step).unwrap();
    }
    store.finish_run(run, &RunOutcome::Complete).unwrap();
    (file, run)
}

#[test]
fn a_compact_run_has_the_measures_of_the_whole_run() {
    let (file, run) = stored("compact");
    let store = Store::open_read_only(&file.0).unwrap();
    let whole = store.load(run).unwrap();
    let (compact, histograms) = store.load_compact(run, None).unwrap();
    for (compact, whole) in compact.steps.iter().zip(&whole.steps) {
        // Analyses take the figures of the whole step.
        let without_jobs = Measure { shares: Sparse::default(), ..whole.measure.clone() };
        assert_eq!((&compact.measure, &compact.coordinates), (&without_jobs, &whole.coordinates));
    }
    let details = |steps: &[sharebench_model::StepResult]| -> Vec<String> {
        steps.iter().map(|step| step.checks[1].detail.clone()).collect()
    };
    assert_eq!(details(&whole.steps)[5], "5 bytes");
    assert_eq!(details(&compact.steps), ["0 bytes", "", "", "", "", ""], "one explanation of what passed");
    assert!(compact.steps.iter().all(|step| step.checks[0].detail == "N is 3, X*R is 2"));
    assert!(histograms.failure().is_none());
}

#[test]
fn a_run_is_loaded_with_the_steps_of_some_targets() {
    let (file, run) = stored("targets");
    let store = Store::open_read_only(&file.0).unwrap();
    let of = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let (run, _) = store.load_compact(run, Some(&names)).unwrap();
        assert_eq!((run.header.targets.len(), run.facts.len()), (2, 2));
        run.steps.iter().map(|step| (step.index, step.target)).collect::<Vec<_>>()
    };
    assert_eq!(of(&["local"]), [(1, 1), (3, 1), (5, 1)]);
    assert_eq!(of(&["local", "smb"]).len(), 6);
    assert_eq!(of(&["nobody"]), []);
}

#[test]
fn a_histogram_that_is_lost_is_reported() {
    let (file, run) = stored("lost");
    let store = Store::open_read_only(&file.0).unwrap();
    let (compact, histograms) = store.load_compact(run, None).unwrap();
    std::fs::OpenOptions::new().write(true).open(&file.0).unwrap().set_len(0).unwrap();
    let response = &compact.steps[0].measure.response;
    assert_eq!(response.quantile(0.5), 0);
    let failure = histograms.failure().unwrap().to_string();
    assert!(failure.contains("read a histogram"), "{failure}");
}
