//! Measures a property as a user would: plan, engine, results database, analysis.

use std::fmt::Write as _;
use std::sync::Arc;

use sharebench_analysis::{Analysis, Options, RunData, analyse};
use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, CollectedRun};
use sharebench_model::{Facts, RepeatRule, RunEvent, RunHeader, RunOutcome, StepResult, TargetIdentity};
use sharebench_plan::{Plan, Precision, ResolvedPlan};
use sharebench_results::{RunReference, RunSink, RunState, Store};
use sharebench_simulated::SimulatedTarget;
use sharebench_target::Target;
use sharebench_tests::Scratch;

use crate::properties::Property;

/// A run of a property.
pub struct Measured {
    pub analysis: Analysis,
    /// The stored steps.
    pub steps: Vec<StepResult>,
}

/// Measures a property once.
pub fn measure(property: &Property, seed: u64) -> Measured {
    let clock = Clock::virtual_at(0);
    let devices = (property.devices)(seed);
    let names = ["a", "b"];
    let mut text = format!("title = 'planted'\nseed = {seed}\n");
    for (name, _) in names.iter().zip(&devices) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "[[target]]\nname = '{name}'\nurl = '/{name}'");
    }
    text += &property.sections;
    let plan = Plan::parse(&text).unwrap().resolve().unwrap();
    let targets: Vec<Arc<dyn Target>> = devices
        .into_iter()
        .map(|device| Arc::new(SimulatedTarget::new(MemoryTarget::new(), &clock, device)) as Arc<dyn Target>)
        .collect();
    let runs = [stored(&plan, &targets, &clock)];
    let analysis = analyse(&runs, &Options::default());
    let [run] = runs;
    Measured { analysis, steps: run.steps }
}

/// Runs a plan into a results database, and loads it from there.
fn stored(plan: &ResolvedPlan, targets: &[Arc<dyn Target>], clock: &Clock) -> RunData {
    let scratch = Scratch::new("planted").unwrap();
    let path = scratch.path().join("runs.db");
    let run = CollectedRun::new(plan, targets, clock);
    assert_eq!(run.end.unwrap().outcome, RunOutcome::Complete);
    let mut sink = RunSink::new(Store::open(&path).unwrap());
    sink.record(&RunEvent::Started(Box::new(header(plan)))).unwrap();
    for event in &run.events {
        sink.record(event).unwrap();
    }
    let store = Store::open_read_only(&path).unwrap();
    let last = "last".parse::<RunReference>().unwrap().resolve(&store).unwrap();
    let run = store.load(last).unwrap();
    let RunState::Ended(outcome) = run.state else { panic!("the run has not ended") };
    let label = run.header.title.clone();
    let command = String::new();
    RunData { label, command, header: run.header, facts: run.facts, steps: run.steps, outcome: Some(outcome) }
}

fn header(plan: &ResolvedPlan) -> RunHeader {
    let target = |target: &sharebench_plan::PlannedTarget| TargetIdentity {
        name: target.name.clone(),
        url: target.url.clone(),
    };
    RunHeader {
        title: plan.title.clone(),
        started_unix_ms: 0,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        plan: plan.typed.to_toml(),
        seed: plan.seed,
        steps_planned: plan.steps().most as u32,
        repeat: Some(RepeatRule {
            steps_least: plan.steps().least as u32,
            half_width: plan.repeat.precision.map(Precision::share),
            repetitions: (plan.repeat.least, plan.repeat.most),
            budget_ns: None,
        }),
        environment: Facts::from([("clock_resolution_ns".to_owned(), "1".to_owned())]),
        targets: plan.targets.iter().map(target).collect(),
    }
}
