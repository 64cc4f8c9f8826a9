//! Every built-in preset, made tiny, against the memory double in virtual time: each transaction happens, all that is
//! read is right, and no leftovers remain on the target.

use std::sync::Arc;
use std::time::Duration;

use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, CollectedRun, RunEnd};
use sharebench_model::units::ByteSize;
use sharebench_model::{DataOp, ErrorClass, Fact, Part, RunEvent, Slot, StepResult, UnitObjective, Verdict};
use sharebench_plan::{Load, PRESETS, Plan, PlannedTarget, Preset, Scale, Think, Verify};
use sharebench_simulated::{Device, Service, SimulatedTarget};
use sharebench_target::{Alteration, Altered, Connecting, Session, SessionSpec, Target};

/// Runs a plan that must end well.
fn run(plan: &Plan, memory: &MemoryTarget) -> (Vec<StepResult>, Vec<RunEvent>) {
    run_on(plan, memory.clone())
}

fn run_on(plan: &Plan, target: impl Target + 'static) -> (Vec<StepResult>, Vec<RunEvent>) {
    run_by(plan, target, Device::new(1).service_center(4, Service::Fixed(Duration::from_micros(200))))
}

fn run_by(plan: &Plan, target: impl Target + 'static, device: Device) -> (Vec<StepResult>, Vec<RunEvent>) {
    let clock = Clock::virtual_at(0);
    let simulated = SimulatedTarget::new(target, &clock, device);
    let run = CollectedRun::new(&plan.resolve().unwrap(), &[Arc::new(simulated)], &clock);
    assert_eq!(run.end, Ok(RunEnd::CLEAN));
    (run.steps, run.events)
}

/// A preset with two steps of few users, short pauses and small files; every byte that is read is checked.
fn tiny(plan: Plan) -> Plan {
    let load = plan.load.unwrap();
    // A loadfile has sizes of its own.
    let replays = plan.workload.as_ref().is_some_and(|workload| workload.script.is_some());
    let files = plan.workload.iter().flat_map(|workload| &workload.files);
    let many = files.map(|class| class.count.unwrap_or(1)).sum::<u32>() > 5_000;
    let scale = if many { Scale::Share(10_000) } else { ByteSize(200_000).into() };
    let think = match load.think {
        _ if replays => Think::Constant(Duration::ZERO),
        // So fast that each user performs the rarest transaction of a round of a thousand.
        Some(Think::Every(_)) => Think::Every(Duration::from_millis(3)),
        _ => Think::Exponential(Duration::from_millis(20)),
    };
    let load = Load {
        users: Some(vec![1, 3]),
        think: Some(think),
        warm_up: Some(Duration::from_millis(500)),
        measure: Some(Duration::from_secs(4)),
        scale: Some(scale).filter(|_| !replays),
        ..load
    };
    let targets = vec![PlannedTarget { name: "memory".into(), url: "/memory".into() }];
    Plan { load: Some(load), targets, verify: Some(Verify::Full), ..plan }
}

#[test]
fn every_preset_runs_and_cleans_up() {
    for name in PRESETS.into_iter().flat_map(Preset::names) {
        let memory = MemoryTarget::new();
        let (steps, _) = run(&tiny(Plan::from_preset(&name).unwrap()), &memory);
        assert_eq!(steps.len(), 2, "{name}");
        for step in &steps {
            let measure = &step.measure;
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
        assert!(seen.iter().all(|part| part.count > 0), "{name}: {seen:?}");
        assert_eq!(memory.names(), Vec::<String>::new(), "{name}");
    }
}

/// Percent of the transactions of each kind: as the sources publish it, as measured (`command=clone`), or, for the others from `build-` on, as we chose it.
const MIXES: [(&str, &[(&str, f64)]); 20] = [
    ("database-after-sfs2014:files=tables", &[("random-read", 79.0), ("read", 1.0), ("random-write", 20.0)]),
    ("database-after-sfs2014:files=log", &[("write", 80.0), ("random-write", 20.0)]),
    ("genomics-after-park2013", &[("read-hot", 80.0), ("read-other", 10.0), ("write-output", 10.0)]),
    ("backup-after-veeam:job=full", &[("write-block", 100.0)]),
    ("backup-after-veeam:job=incremental", &[("read-block", 100.0 / 3.0), ("write-block", 200.0 / 3.0)]),
    ("backup-after-veeam:job=synthetic", &[("read-block", 50.0), ("write-block", 50.0)]),
    ("backup-after-veeam:job=restore", &[("read-block", 100.0)]),
    ("frames-after-quantel:format=2k,rate=24", &[("frame", 100.0)]),
    ("frames-after-quantel:format=2k,rate=30", &[("frame", 100.0)]),
    ("frames-after-quantel:format=4k,rate=24", &[("frame", 100.0)]),
    ("frames-after-quantel:format=4k,rate=30", &[("frame", 100.0)]),
    ("training-after-mlperf", &[("record", 100.0)]),
    (
        "build-after-sfs2014",
        &[
            ("check-source", 60.0),
            ("check-object", 16.0),
            ("read-source", 10.0),
            ("write-object", 10.0),
            ("list", 4.0),
        ],
    ),
    (
        "eda-after-sfs2014",
        &[
            ("look-up", 38.0),
            ("check", 22.0),
            ("open-empty", 5.0),
            ("read", 15.0),
            ("write", 8.0),
            ("append", 6.0),
            ("list", 6.0),
        ],
    ),
    ("desktop-after-virtana", &[("write-clone", 70.0), ("read-clone", 15.0), ("read-replica", 15.0)]),
    ("git-after-git:command=status", &[("look-up", 1600.0 / 17.0), ("list", 100.0 / 17.0)]),
    ("git-after-git:command=clone", &[("receive", 7.71), ("resolve", 91.18), ("check-out", 1.11)]),
    ("package-install-after-npm", &[("install-file", 100.0)]),
    ("sqlite-wal-after-sqlite", &[("query", 74.9), ("commit", 25.0), ("checkpoint", 0.1)]),
    ("bands-after-time-machine", &[("change", 70.0), ("create", 15.0), ("delete", 5.0), ("read", 10.0)]),
];

/// Shares in percent, by name.
fn shares(parts: &[Part]) -> Vec<(&str, f64)> {
    let all: u64 = parts.iter().map(|part| part.count).sum();
    parts.iter().map(|part| (part.name.as_str(), part.count as f64 * 100.0 / all as f64)).collect()
}

#[test]
fn the_measured_mix_of_each_published_preset_is_within_a_point_of_its_table() {
    let names = PRESETS.into_iter().filter(|preset| preset.name.contains("-after-")).flat_map(Preset::names);
    let listed = names.count();
    assert_eq!(listed, MIXES.len(), "each preset after a source has its table here");
    for (name, table) in MIXES {
        let plan = tiny(Plan::from_preset(name).unwrap());
        let (steps, _) = run(&Plan { seed: Some(26), ..plan }, &MemoryTarget::new());
        let load = &steps[1].measure.load;
        let found = shares(&load.transactions);
        assert_eq!(found.len(), table.len(), "{name}: {found:?}");
        for ((transaction, share), (wanted, percent)) in found.iter().zip(table) {
            assert_eq!(transaction, wanted, "{name}");
            assert!(
                (share - percent).abs() <= 1.0,
                "{name}: {share:.2} % {transaction}, and {percent:.2} % wanted"
            );
        }
    }
}

#[test]
fn a_database_reads_and_writes_as_often_as_published_and_nearly_always_eight_kibibytes() {
    let plan = Plan::from_preset("database-after-sfs2014").unwrap();
    let mut plan = tiny(plan);
    // Files of the database have at least the size of its largest requests.
    plan.load.as_mut().unwrap().scale = Some(ByteSize(20 << 20).into());
    let (steps, _) = run(&Plan { seed: Some(26), ..plan }, &MemoryTarget::new());
    let load = &steps[1].measure.load;
    let operations: Vec<(&str, f64)> =
        shares(&load.operations).into_iter().filter(|(_, share)| *share > 0.0).collect();
    assert_eq!(operations.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["read", "write"]);
    assert!((operations[0].1 - 80.0).abs() <= 1.0, "{operations:?}");
    let count: u64 = load.operations.iter().map(|part| part.count).sum();
    let bytes: u64 = load.operations.iter().map(|part| part.bytes).sum();
    // The share of the large requests, from the mean size.
    let large = (bytes as f64 / count as f64 - 8192.0) / f64::from((1 << 20) - 8192);
    assert!((0.0..=0.02).contains(&large), "{large}");
}

#[test]
fn streams_and_accelerators_that_a_link_carries_are_in_the_step_with_their_unit() {
    let preset = Plan::from_preset("frames-after-quantel").unwrap();
    let load =
        Load { users: Some(vec![2, 4]), scale: Some(Scale::Share(10_000)), ..preset.load.clone().unwrap() };
    let targets = vec![PlannedTarget { name: "memory".into(), url: "/memory".into() }];
    let plan = Plan { load: Some(load), targets, verify: Some(Verify::Off), ..preset };
    // One stream needs 302 MB/s.
    let (steps, _) = run_by(&plan, MemoryTarget::new(), Device::new(1).link(1_000_000_000, 0));
    let [few, many] = [&steps[0], &steps[1]].map(|step| &step.measure.load);
    assert_eq!((few.missed(), few.transactions[0].count), (0, 768));
    assert!(many.missed() > 700, "{}", many.missed());
    let unit = few.unit.as_ref().unwrap();
    assert_eq!((unit.name.as_str(), unit.transaction.as_str(), unit.paced), ("stream", "frame", true));
    assert_eq!(unit.objective, UnitObjective::Missed { most_ppm: 10_000 });
    assert_eq!(
        (unit.with_deadline.as_slice(), unit.scale.as_deref()),
        (&["frame".to_owned()][..], Some("1%"))
    );
}

/// A target whose requests carry at most 60 KiB, and end at each multiple of it, as calls of NCP do.
#[derive(Clone)]
struct Narrow;

const NARROW: u32 = 60 << 10;

impl Alteration for Narrow {
    fn connect<'a>(&'a self, inner: &'a dyn Target, spec: &'a SessionSpec) -> Connecting<'a> {
        assert!(spec.allow_split && spec.slot_bytes <= NARROW, "{spec:?}");
        Box::pin(async move { Ok(Self.session(inner.connect(spec).await?)) })
    }

    fn max_transfer(&self, _: &dyn Session, op: DataOp) -> u32 {
        match op {
            DataOp::Read { offset, len, .. } | DataOp::Write { offset, len, .. } => {
                len.min(NARROW - (offset % u64::from(NARROW)) as u32)
            }
            DataOp::Flush { .. } => 0,
        }
    }

    fn submit(&mut self, inner: &mut dyn Session, slot: Slot, op: DataOp) {
        if let DataOp::Read { len, .. } | DataOp::Write { len, .. } = op {
            assert!(len <= self.max_transfer(inner, op), "{op:?} is more than a request carries");
        }
        inner.submit(slot, op);
    }
}

#[test]
fn a_split_block_counts_as_several_requests_everywhere_and_is_reported() {
    let memory = MemoryTarget::new();
    let plan = Plan::parse(
        "seed = '1'\nverify = 'full'\n[[target]]\nname = 'old'\nurl = '/memory'\n[load]\nusers = [2]\nblock = '100KB'\n\
         think = 'exp 10ms'\nwarm_up = '0s'\nmeasure = '4s'\nkeep_data = true\n[workload]\nname = 'copies'\n\
         [[workload.files]]\nname = 'docs'\ncount = 2\nsize = '300KB'\n\
         [[workload.transactions]]\noperations = ['copy-from-server']\n\
         [[workload.transactions]]\noperations = ['copy-to-server']\n",
    )
    .unwrap();
    for found in ["stays in", "unchanged and used again"] {
        let mut narrow = Altered::new(memory.clone(), Narrow);
        narrow.capabilities.max_record = NARROW;
        let (steps, events) = run_on(&plan, narrow);
        let reported = warnings(&events);
        assert!(reported.contains(found), "{reported}");
        assert!(
            reported.contains("old: a block of 100000B sent as 2 requests of at most 60KiB"),
            "{reported}"
        );
        let facts = events.iter().find_map(|event| match event {
            RunEvent::TargetReady { facts, .. } => Fact::Block.value(facts),
            _ => None,
        });
        assert_eq!(facts.unwrap(), "100000B sent as 2 requests of at most 60KiB");
        let measure = &steps[0].measure;
        assert!(measure.errors.is_empty() && measure.transactions > 100, "{:?}", measure.errors);
        assert_eq!(
            (measure.verified, measure.wire.unwrap().payload()),
            (measure.bytes.read, measure.bytes.total())
        );
        // Blocks of 300 KB begin at 0, 100 KB and 200 KB: two, three and two requests of at most 60 KiB by boundary.
        let moved: u64 =
            measure.load.operations.iter().filter(|part| part.bytes > 0).map(|part| part.count).sum();
        let split = measure.load.split;
        assert_eq!((split.largest, split.most), (100_000, 3));
        assert!(split.requests > 2 * split.blocks && split.requests <= moved, "{split:?} of {moved}");
        let check = steps[0].checks.iter().find(|check| check.name == "requests").unwrap();
        assert!(check.verdict == Verdict::Valid && check.detail.contains("up to 3 each"), "{}", check.detail);
    }
}

#[test]
fn films_that_fit_the_link_miss_no_deadline_and_those_that_do_not_are_counted() {
    let preset = Plan::from_preset("media-streaming").unwrap();
    let load = Load {
        users: Some(vec![5, 12]),
        warm_up: Some(Duration::from_secs(20)),
        measure: Some(Duration::from_secs(30)),
        scale: Some(ByteSize(16_000_000).into()),
        ..preset.load.clone().unwrap()
    };
    let targets = vec![PlannedTarget { name: "memory".into(), url: "/memory".into() }];
    let plan = Plan { load: Some(load), targets, verify: Some(Verify::Off), ..preset };
    // Ten megabytes per second carry ten streams of one.
    let (steps, _) = run_by(&plan, MemoryTarget::new(), Device::new(1).link(10_000_000, 0));
    let reported = |step: &StepResult| step.checks.iter().find(|check| check.name == "deadlines").cloned();
    let [few, many] = [&steps[0], &steps[1]].map(|step| (step.measure.load.missed(), reported(step)));
    assert_eq!(few, (0, None), "{:?}", steps[0].checks);
    assert!(many.0 > 200 && many.1.is_some_and(|check| check.verdict == Verdict::Warning), "{}", many.0);
    assert_eq!(steps[0].measure.transactions, 150);
    // Blocks that cross the edges of the window count where they end.
    assert!(
        (298_000_000..=302_000_000).contains(&steps[1].measure.bytes.read),
        "{}",
        steps[1].measure.bytes.read
    );
}

fn kept_plan(seed: &str) -> Plan {
    let text = format!(
        "seed = '{seed}'\n[[target]]\nurl = '/memory'\n[load]\nusers = [1]\nthink = 'exp 10ms'\nwarm_up = '0s'\n\
         measure = '2s'\nkeep_data = true\n[workload]\nname = 'kept'\n[[workload.files]]\nname = 'docs'\ncount = 12\n\
         size = '1KiB..40KiB'\ndata = 'text'\ndepth = 1\n[[workload.transactions]]\noperations = ['copy-from-server']\n"
    );
    Plan::parse(&text).unwrap()
}

fn warnings(events: &[RunEvent]) -> String {
    let reported = events.iter().filter_map(|event| match event {
        RunEvent::Warning(text) => Some(text.as_str()),
        _ => None,
    });
    reported.collect::<Vec<_>>().join("\n")
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
    // Another set exists next to it.
    let _ = run(&kept_plan("2"), &memory);
    let sets = memory.names().iter().filter(|name| name.ends_with("complete")).count();
    assert_eq!(sets, 2);
}
