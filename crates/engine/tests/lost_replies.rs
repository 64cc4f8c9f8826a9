//! A reply to an operation on names is lost with its session: whatever it was, the user comes back, finds or makes
//! anew what is its own, and never takes its own doubt for wrong data.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, CollectedRun, RunEnd};
use sharebench_model::{ErrorClass, Measure, MetaReply, OpError, OpStep, SessionOp};
use sharebench_plan::Plan;
use sharebench_simulated::{Device, Service, SimulatedTarget};
use sharebench_target::{Alteration, Altered, Connecting, LocalBoxFuture, Session, SessionSpec, Target};

/// The second session, which is the only user's first, does its `nth` operation on names and loses the reply.
#[derive(Clone)]
struct Losing {
    nth: u32,
    sessions: Arc<AtomicU32>,
}

/// Loses the reply to the last of N operations.
struct LosingSession(u32);

impl Alteration for Losing {
    fn connect<'a>(&'a self, inner: &'a dyn Target, spec: &'a SessionSpec) -> Connecting<'a> {
        let second = self.sessions.fetch_add(1, Ordering::Relaxed) == 1;
        let left = if second { self.nth } else { u32::MAX };
        Box::pin(async move { Ok(LosingSession(left).session(inner.connect(spec).await?)) })
    }
}

impl Alteration for LosingSession {
    fn call<'s>(&'s mut self, inner: &'s mut dyn Session, op: SessionOp) -> LocalBoxFuture<'s, MetaReply> {
        Box::pin(async move {
            let reply = inner.call(op).await;
            self.0 = self.0.saturating_sub(1);
            if self.0 > 0 {
                return reply;
            }
            let lost = OpError::new(ErrorClass::Disconnected, OpStep::Injected, "its reply was lost");
            MetaReply { result: Err(lost), ..reply }
        })
    }
}

const PLAN: &str = "
seed = '5'
verify = 'full'
[[target]]
url = '/memory'
[load]
users = [1]
think = 'exp 10ms'
warm_up = '0s'
measure = '3s'
[workload]
name = 'own'
order = 'sequence'
[[workload.files]]
name = 'docs'
count = 3
size = '1KiB..20KiB'
owner = 'user'
depth = 1
fan_out = 2
[[workload.files]]
name = 'shared'
count = 2
size = '4KiB'
[[workload.transactions]]
files = 'docs'
operations = ['open', 'read 4KiB all', 'close']
[[workload.transactions]]
files = 'docs'
operations = ['create', 'write 4KiB all', 'close', 'rename']
[[workload.transactions]]
files = 'docs'
operations = ['rename']
[[workload.transactions]]
files = 'shared'
operations = ['copy-to-server']
";

/// A user who replays a loadfile.
const REPLAY: &str = r#"
seed = '5'
verify = 'full'
[[target]]
url = '/memory'
[load]
users = [1]
warm_up = '0s'
measure = '3s'
think = 'exp 10ms'
[workload]
name = 'replay'
script = '''
Deltree "/clients" NT_STATUS_OK
Mkdir "/clients" NT_STATUS_OK
NTCreateX "/clients/a" 0 2 1 NT_STATUS_OK
WriteX 1 0 8192 8192 NT_STATUS_OK
Close 1 NT_STATUS_OK
Rename "/clients/a" "/clients/b" NT_STATUS_OK
NTCreateX "/clients/b" 0 1 1 NT_STATUS_OK
ReadX 1 0 8192 8192 NT_STATUS_OK
NTCreateX "/given/c" 0 1 2 NT_STATUS_OK
ReadX 2 100 1000 1000 NT_STATUS_OK
Close 2 NT_STATUS_OK
Close 1 NT_STATUS_OK
Unlink "/clients/b" 0x6 NT_STATUS_OK
'''
"#;

fn measure(plan: &str, nth: u32) -> (Measure, MemoryTarget) {
    let memory = MemoryTarget::new();
    let clock = Clock::virtual_at(0);
    let device = Device::new(1).service_center(1, Service::Fixed(Duration::from_micros(200)));
    let losing = Altered::new(memory.clone(), Losing { nth, sessions: Arc::default() });
    let plan = Plan::parse(plan).unwrap().resolve().unwrap();
    let simulated = SimulatedTarget::new(losing, &clock, device);
    let mut run = CollectedRun::new(&plan, &[Arc::new(simulated)], &clock);
    assert_eq!(run.end, Ok(RunEnd::CLEAN), "{nth}");
    (run.steps.remove(0).measure, memory)
}

#[test]
fn a_user_goes_on_after_any_lost_reply() {
    for nth in 1..60 {
        let (measure, memory) = measure(PLAN, nth);
        let others: Vec<_> =
            measure.errors.iter().filter(|(class, _)| **class != ErrorClass::Disconnected).collect();
        // The copy that was made without a reply is found once.
        let met = others.iter().all(|(class, count)| **class == ErrorClass::Exists && **count == 1);
        assert!(met, "{nth}: {:?}", measure.errors);
        assert_eq!(
            (measure.errors.get(&ErrorClass::Disconnected), measure.users_reported),
            (Some(&1), 1),
            "{nth}"
        );
        assert_eq!(memory.names(), Vec::<String>::new(), "{nth}");
    }
}

#[test]
fn a_replay_begins_anew_after_any_lost_reply() {
    for nth in 1..40 {
        let (measure, memory) = measure(REPLAY, nth);
        let lost = [(ErrorClass::Disconnected, 1)];
        assert_eq!(
            measure.errors.iter().map(|(class, count)| (*class, *count)).collect::<Vec<_>>(),
            lost,
            "{nth}"
        );
        assert_eq!((measure.users_reported, measure.verified), (1, measure.bytes.read), "{nth}");
        assert_eq!(memory.names(), Vec::<String>::new(), "{nth}");
    }
}
