//! Every built-in preset, made tiny, against the memory double in virtual time: each transaction happens, all that is
//! read is right, and nothing is left behind.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

use std::sync::{Arc, mpsc};
use std::time::Duration;

use sharebench_engine::simulated::{Device, Service, SimulatedTarget};
use sharebench_engine::{Clock, Run, StopSignal};
use sharebench_model::units::ByteSize;
use sharebench_model::{ErrorClass, RunEvent, RunOutcome, StepResult, Verdict};
use sharebench_plan::{Load, Plan, PlannedTarget, Think, Verify, WORKLOADS};
use sharebench_target::{MemoryTarget, Target};

/// Runs a plan that must end well.
fn run(plan: &Plan, memory: &MemoryTarget) -> (Vec<StepResult>, Vec<RunEvent>) {
    let clock = Clock::virtual_at(0);
    let device = Device::new(1).station(4, Service::Fixed(Duration::from_micros(200)));
    let targets: [Arc<dyn Target>; 1] = [Arc::new(SimulatedTarget::new(memory.clone(), &clock, device))];
    let (sender, receiver) = mpsc::channel();
    let run = Run {
        plan: &plan.resolve().unwrap(),
        targets: &targets,
        done: &[],
        directory: ".sharebench-presets",
        resumed: false,
        stop: &StopSignal::default(),
        clock: &clock,
        events: &sender,
        ranks: None,
    };
    let end = run.execute().unwrap();
    assert_eq!((end.outcome, end.left_behind), (RunOutcome::Complete, Vec::new()));
    let events: Vec<RunEvent> = receiver.try_iter().collect();
    let steps = events.iter().filter_map(|event| match event {
        RunEvent::StepFinished(step) => Some(step.as_ref().clone()),
        _ => None,
    });
    (steps.collect(), events)
}

/// A preset with two steps of few users, short pauses and small files; every byte that is read is checked.
fn tiny(plan: Plan) -> Plan {
    let load = plan.load.unwrap();
    let think = match load.think {
        Some(Think::Every(_)) => Think::Every(Duration::from_millis(50)),
        _ => Think::Exponential(Duration::from_millis(20)),
    };
    let load = Load {
        steps: Some(vec![1, 3]),
        think: Some(think),
        warm_up: Some(Duration::from_millis(500)),
        measure: Some(Duration::from_secs(4)),
        scale: Some(ByteSize(200_000)),
        ..load
    };
    let targets = vec![PlannedTarget { name: "memory".into(), url: "/memory".into() }];
    Plan { load: Some(load), targets, verify: Some(Verify::Full), ..plan }
}

#[test]
fn every_preset_runs_and_cleans_up_behind_itself() {
    for preset in WORKLOADS {
        let memory = MemoryTarget::new();
        let (steps, _) = run(&tiny(preset.plan().unwrap()), &memory);
        assert_eq!(steps.len(), 2, "{}", preset.name);
        for step in &steps {
            let (measure, name) = (&step.measure, preset.name);
            assert!(measure.errors.is_empty(), "{name}: {:?}", measure.errors);
            assert_eq!(measure.verified, measure.bytes.read, "{name}: all that was read was known");
            assert_eq!(measure.wire.unwrap().payload(), measure.bytes.total(), "{name}");
            let load = &measure.load;
            let ended: u64 = load.transactions.iter().map(|part| part.count).sum();
            assert_eq!((ended, load.fairness.sum), (measure.transactions, measure.transactions), "{name}");
            let operations: u64 = load.operations.iter().map(|part| part.count).sum();
            assert_eq!(operations, measure.operations, "{name}");
            let bytes: u64 = load.operations.iter().map(|part| part.bytes).sum();
            assert_eq!(bytes, measure.bytes.total(), "{name}");
        }
        let seen = &steps[1].measure.load.transactions;
        assert!(seen.iter().all(|part| part.count > 0), "{}: {seen:?}", preset.name);
        assert_eq!(memory.names(), Vec::<String>::new(), "{}", preset.name);
    }
}

fn kept_plan(seed: &str) -> Plan {
    let text = format!(
        "seed = '{seed}'\n[[target]]\nurl = '/memory'\n[load]\nsteps = [1]\nthink = 'exp 10ms'\nwarm_up = '0s'\n\
         measure = '2s'\nkeep_data = true\n[workload]\nname = 'kept'\n[[workload.files]]\nname = 'docs'\ncount = 12\n\
         size = '1KiB..40KiB'\ndata = 'text'\ndepth = 1\n[[workload.transactions]]\noperations = ['copy-from-server']\n"
    );
    Plan::parse(&text).unwrap()
}

fn warnings(events: &[RunEvent]) -> String {
    let told = events.iter().filter_map(|event| match event {
        RunEvent::Warning(text) => Some(text.as_str()),
        _ => None,
    });
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_kept_data_set_is_used_again_while_it_is_unchanged_and_made_anew_when_it_is_not() {
    let memory = MemoryTarget::new();
    let (_, events) = run(&kept_plan("1"), &memory);
    assert!(warnings(&events).contains("stays in .sharebench-set-"), "{}", warnings(&events));
    let names = memory.names();
    assert_eq!(names.iter().filter(|name| name.contains("/f")).count(), 12, "{names:?}");
    let (steps, events) = run(&kept_plan("1"), &memory);
    assert!(warnings(&events).contains("unchanged and used again"), "{}", warnings(&events));
    assert_eq!(
        (memory.names(), steps[0].verdict()),
        (names.clone(), Verdict::Valid),
        "{:?}",
        steps[0].checks
    );
    // Somebody writes into one of the files.
    let file = names.iter().find(|name| name.contains("/f")).unwrap().clone();
    futures_util::future::FutureExt::now_or_never(async {
        let mut session = memory.connect(&sharebench_target::SessionSpec::default()).await.unwrap();
        let open = sharebench_model::MetaOp::open(file, sharebench_model::OpenHow::ReadWrite);
        let Ok(sharebench_model::MetaYield::Opened { file, .. }) = session.call(open).await.result else {
            panic!("not opened")
        };
        let slot = sharebench_model::Slot(0);
        session.buffer(slot)[..100].fill(7);
        let stability = sharebench_model::Stability::Unstable;
        session.submit(slot, sharebench_model::DataOp::Write { file, offset: 0, len: 100, stability });
    })
    .unwrap();
    let (steps, events) = run(&kept_plan("1"), &memory);
    assert!(warnings(&events).contains("stays in .sharebench-set-"), "{}", warnings(&events));
    assert!(!steps[0].measure.errors.contains_key(&ErrorClass::DataMismatch));
    // Another set stands beside it.
    let _ = run(&kept_plan("2"), &memory);
    let sets = memory.names().iter().filter(|name| name.ends_with("complete")).count();
    assert_eq!(sets, 2);
}
