//! A directory that is searched linearly, planted in virtual time: found where it is, and not claimed where it is not.

use std::sync::Arc;
use std::time::Duration;

use sharebench_analysis::{Analysis, Options, RunData, analyse};
use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, CollectedRun};
use sharebench_model::{Facts, RunHeader, RunOutcome, TargetIdentity};
use sharebench_plan::Plan;
use sharebench_simulated::{Device, SimulatedTarget};
use sharebench_target::Target;

/// Median time of an operation on a name.
const OPERATION: Duration = Duration::from_micros(200);
/// Standard deviation of the logarithm of that time.
const SPREAD: f64 = 0.35;

/// Measures some tests in virtual time and analyses them.
fn analysed(seed: u64, sweep: &str, entry_ns: f64) -> Analysis {
    let text = format!(
        "seed = {seed}\nrepetitions = 8\nmin_sample_time = '50ms'\nverify = 'off'\n[[target]]\nname = 'nas'\n\
         url = 'nfs://nas/export'\n[sweep]\n{sweep}\n"
    );
    let plan = Plan::parse(&text).unwrap().resolve().unwrap();
    let clock = Clock::virtual_at(0);
    let device = Device::new(seed).varying_metadata(OPERATION, SPREAD).linear_directories(entry_ns);
    let target: Arc<dyn Target> = Arc::new(SimulatedTarget::new(MemoryTarget::new(), &clock, device));
    let run = CollectedRun::new(&plan, &[target], &clock);
    assert_eq!(run.end.unwrap().outcome, RunOutcome::Complete);
    let header = RunHeader {
        title: "planted".into(),
        started_unix_ms: 0,
        version: String::new(),
        plan: text,
        seed,
        steps_planned: 0,
        repeat: None,
        environment: Facts::new(),
        targets: vec![TargetIdentity { name: "nas".into(), url: "nfs://nas/export".into() }],
    };
    let run = RunData {
        label: "1".into(),
        command: String::new(),
        header,
        facts: vec![Facts::new()],
        steps: run.steps,
        outcome: Some(RunOutcome::Complete),
    };
    analyse(&[run], &Options::default())
}

/// The findings that speak of a fall.
fn falls(analysis: &Analysis) -> Vec<String> {
    let texts = analysis.findings.iter().map(|finding| finding.text.clone());
    texts.filter(|text| text.contains("entries per directory")).collect()
}

/// The number of entries at which a finding says that the time is doubled.
fn doubled_at(text: &str) -> f64 {
    let number = text.split("at about ").nth(1).and_then(|rest| rest.split(' ').next());
    number.unwrap_or_else(|| panic!("no linear search: {text}")).parse().unwrap()
}

#[test]
fn a_planted_linear_directory_is_found_within_one_doubling_in_ten_of_ten_runs() {
    for seed in 0..10 {
        // The search takes as long as the rest of an operation at this size.
        let planted = [250.0, 700.0, 1500.0][seed as usize % 3];
        let entry_ns = OPERATION.as_nanos() as f64 / planted;
        let sweep = "tests = ['stat']\nentries = ['16..4096 x4']\nbatch = 100";
        let analysis = analysed(seed, sweep, entry_ns);
        let found = falls(&analysis);
        let [text] = found.as_slice() else { panic!("seed {seed}: {:?}", analysis.findings) };
        println!("seed {seed}, planted {planted}: {text}");
        assert!(text.contains("the directory is searched linearly"), "{text}");
        let ratio = doubled_at(text) / planted;
        assert!((0.5..=2.0).contains(&ratio), "seed {seed}: planted {planted}: {text}");
    }
}

#[test]
fn no_break_is_claimed_in_directories_that_are_not_searched_linearly() {
    let claimed = (100..120).filter(|seed| {
        let sweep = "tests = ['stat', 'create', 'unlink']\nentries = ['16..4096 x4']\nbatch = 100";
        let analysis = analysed(*seed, sweep, 0.0);
        let found = falls(&analysis);
        println!("seed {seed}: {found:?}");
        !found.is_empty()
    });
    let claimed = claimed.count();
    assert!(claimed <= 1, "claimed in {claimed} of 20 runs");
}

#[test]
fn missing_names_and_shared_directories_are_compared() {
    let analysis = analysed(
        7,
        "tests = ['stat', 'stat-miss']\nentries = [100]\njobs = [2]\nlayouts = ['own', 'shared']",
        1000.0,
    );
    let texts: Vec<&str> = analysis.findings.iter().map(|finding| finding.text.as_str()).collect();
    let found = |part: &str| texts.iter().any(|text| text.contains(part));
    assert!(found("requests for missing names"), "{texts:?}");
    assert!(found("jobs in one directory"), "{texts:?}");
}
