//! Users who share sessions, in virtual time: how many sessions there are, that requests of several users are under way
//! at once where the session carries them, that each keeps its own data and counts, and that a lost session comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sharebench_doubles::{FaultyTarget, MemoryTarget};
use sharebench_engine::{Clock, CollectedRun, RunEnd};
use sharebench_model::{ErrorClass, StepResult, Verdict};
use sharebench_plan::Plan;
use sharebench_simulated::{Device, Service, SimulatedTarget};
use sharebench_target::{Alteration, Altered, Connecting, SessionSpec, Target};

/// Counts sessions; carries N requests at a time on each.
#[derive(Clone)]
struct Counting {
    depth: u32,
    sessions: Arc<AtomicU32>,
}

impl Alteration for Counting {
    fn connect<'a>(&'a self, inner: &'a dyn Target, spec: &'a SessionSpec) -> Connecting<'a> {
        assert!(spec.slots <= self.depth, "{spec:?}");
        self.sessions.fetch_add(1, Ordering::Relaxed);
        inner.connect(spec)
    }
}

/// Reads of one file without pauses, by users who share sessions.
fn reads(users: u32, per_session: u32) -> String {
    format!(
        "seed = '4'\nverify = 'full'\n[[target]]\nurl = '/memory'\n[load]\nworkload = 'single'\nusers = [{users}]\n\
         users_per_session = {per_session}\nthink = '0s'\nscale = '256KiB'\nblock = '4KiB'\nwarm_up = '0s'\nmeasure = '2s'\n"
    )
}

fn run(plan: &str, inner: impl Target + 'static, depth: u32) -> (StepResult, u32) {
    let clock = Clock::virtual_at(0);
    let sessions = Arc::new(AtomicU32::new(0));
    let device = Device::new(1).service_center(64, Service::Fixed(Duration::from_millis(1)));
    let mut counting = Altered::new(inner, Counting { depth, sessions: Arc::clone(&sessions) });
    counting.capabilities.max_queue_depth = depth;
    let plan = Plan::parse(plan).unwrap().resolve().unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let simulated = SimulatedTarget::new(counting, &clock, device);
    let mut run = CollectedRun::new(&plan, &[Arc::new(simulated)], &clock);
    assert_eq!(run.end, Ok(RunEnd::CLEAN));
    (run.steps.remove(0), sessions.load(Ordering::Relaxed))
}

#[test]
fn requests_of_several_users_are_under_way_on_one_session_as_far_as_it_carries_them() {
    // A request takes a millisecond, wherever it is: 6 users on 2 sessions of 3, then of 1 at a time.
    for (depth, wanted) in [(3, 12_000), (1024, 12_000), (1, 4_000)] {
        let memory = MemoryTarget::new();
        let (step, sessions) = run(&reads(6, 3), memory.clone(), depth);
        let measure = &step.measure;
        assert!(measure.errors.is_empty(), "{:?}", measure.errors);
        assert!(measure.transactions.abs_diff(wanted) <= 12, "depth {depth}: {}", measure.transactions);
        // The engine's own, one that lays out the data, and two for the users.
        assert!((3..=4).contains(&sessions), "{sessions}");
        assert_eq!(measure.verified, measure.bytes.read);
        let fairness = measure.load.fairness;
        assert_eq!((fairness.users, measure.users_reported), (6, 6));
        assert!(fairness.most - fairness.least <= 2, "first come, first served: {fairness:?}");
        let check = step.checks.iter().find(|check| check.name == "shared sessions").unwrap();
        assert!(
            check.verdict == Verdict::Valid && check.detail.contains("up to 3 users"),
            "{}",
            check.detail
        );
        assert_eq!(memory.names(), Vec::<String>::new());
    }
}

/// Users with files of their own who do all that users do.
const OWN: &str = "
seed = '5'
verify = 'full'
[[target]]
url = '/memory'
[load]
users = [7]
users_per_session = 4
think = 'exp 10ms'
warm_up = '500ms'
measure = '3s'
[workload]
name = 'own'
[[workload.files]]
name = 'docs'
count = 3
size = '1KiB..20KiB'
owner = 'user'
depth = 1
[[workload.files]]
name = 'shared'
count = 2
size = '4KiB'
[[workload.transactions]]
files = 'docs'
operations = ['open', 'read 4KiB all', 'close', 'stat', 'list']
[[workload.transactions]]
files = 'docs'
operations = ['create', 'write 4KiB all', 'flush', 'close', 'rename']
[[workload.transactions]]
files = 'shared'
operations = ['copy-to-server']
";

#[test]
fn each_user_of_a_session_keeps_files_counts_and_bytes_of_its_own() {
    for depth in [1, 4] {
        let memory = MemoryTarget::new();
        let (step, _) = run(OWN, memory.clone(), depth);
        let measure = &step.measure;
        assert!(measure.errors.is_empty(), "{:?}", measure.errors);
        assert!(measure.transactions > 500 && measure.users_reported == 7, "{}", measure.transactions);
        assert_eq!(measure.verified, measure.bytes.read);
        let wrong: Vec<_> = step.checks.iter().filter(|check| check.verdict == Verdict::Invalid).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(memory.names(), Vec::<String>::new());
    }
}

#[test]
fn a_session_that_is_lost_is_lost_to_all_its_users_and_comes_back_for_all() {
    let memory = MemoryTarget::new();
    let faulty = FaultyTarget::new(memory.clone()).disconnect_after(400);
    let (step, _) = run(OWN, faulty, 4);
    let measure = &step.measure;
    let classes: Vec<ErrorClass> = measure.errors.keys().copied().collect();
    assert!(
        !classes.contains(&ErrorClass::DataMismatch) && classes.contains(&ErrorClass::Disconnected),
        "{classes:?}"
    );
    assert_eq!(measure.users_reported, 7);
    // Seven users with three files each; their copies of the two shared ones, and these, as far as the last session went.
    let seen = measure.load.set_check;
    assert!(seen.files + seen.unread >= 21 && seen.wrong == 0, "{seen:?}");
    assert_eq!(memory.names(), Vec::<String>::new());
}
