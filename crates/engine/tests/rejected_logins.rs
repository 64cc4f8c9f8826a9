//! A server that accepts fewer connections than a step has users: what is known of those that it accepted.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sharebench_engine::simulated::{Device, Service, SimulatedTarget, collect, finished_steps};
use sharebench_engine::{Clock, StopSignal};
use sharebench_model::{ErrorClass, Measure, RunOutcome};
use sharebench_plan::Plan;
use sharebench_target::{
    Capabilities, ConnectError, LocalBoxFuture, MemoryTarget, Session, SessionSpec, Target, UrlPart,
};

/// Accepts this many sessions and rejects the others as a busy server does.
struct Crowded {
    memory: MemoryTarget,
    accepts: u32,
    sessions: AtomicU32,
}

impl Target for Crowded {
    fn url(&self) -> String {
        self.memory.url()
    }

    fn capabilities(&self) -> Capabilities {
        self.memory.capabilities()
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        if self.sessions.fetch_add(1, Ordering::Relaxed) < self.accepts {
            return self.memory.connect(spec);
        }
        let class = ErrorClass::Busy;
        let detail = "no connection is free".to_owned();
        let error = ConnectError { url: self.url(), part: UrlPart::Host, class, detail };
        Box::pin(std::future::ready(Err(error)))
    }
}

/// Forty users with a think time, of whom the server accepts some; the engine itself has the first session.
fn measure(accepted_users: u32, think: &str) -> Measure {
    let plan = format!(
        "seed = '5'\n[[target]]\nurl = '/memory'\n[load]\nworkload = 'single-write'\nblock = '4KiB'\nscale = '64KiB'\n\
         users = [40]\nthink = '{think}'\nwarm_up = '0s'\nmeasure = '200ms'\n"
    );
    let clock = Clock::virtual_at(0);
    let device = Device::new(1).service_center(1, Service::Fixed(Duration::from_micros(200)));
    let accepts = accepted_users + 1;
    let crowded = Crowded { memory: MemoryTarget::new(), accepts, sessions: AtomicU32::new(0) };
    let targets: [Arc<dyn Target>; 1] = [Arc::new(SimulatedTarget::new(crowded, &clock, device))];
    let plan = Plan::parse(&plan).unwrap().resolve().unwrap();
    let (end, events) = collect(&plan, &targets, &[], &clock, &StopSignal::default());
    assert_eq!(end.unwrap().outcome, RunOutcome::Complete);
    finished_steps(events).swap_remove(0).measure
}

#[test]
fn users_with_a_session_are_counted_also_where_none_of_them_had_to_start_within_the_window() {
    let idle = measure(8, "100s");
    assert_eq!((idle.operations, idle.load.users_with_session), (0, 8));
    assert_eq!(idle.errors.keys().collect::<Vec<_>>(), [&ErrorClass::Busy]);
    let at_work = measure(8, "0s");
    assert!(at_work.operations > 0);
    assert_eq!((at_work.users_reported, at_work.load.users_with_session), (8, 8));
}

#[test]
fn no_user_has_a_session_where_the_server_accepts_none() {
    for think in ["0s", "100s"] {
        let rejected = measure(0, think);
        assert_eq!((rejected.operations, rejected.load.users_with_session), (0, 0), "{think}");
        assert!(rejected.errors[&ErrorClass::Busy] >= 40, "{think}: {:?}", rejected.errors);
    }
}
