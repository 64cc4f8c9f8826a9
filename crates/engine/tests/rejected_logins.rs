//! A server that accepts fewer connections than a step has users: what is known of those that it accepted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, CollectedRun};
use sharebench_model::{ErrorClass, Measure, RunOutcome};
use sharebench_plan::Plan;
use sharebench_simulated::{Device, Service, SimulatedTarget};
use sharebench_target::{Alteration, Altered, ConnectError, Connecting, SessionSpec, Target, UrlPart};

/// Accepts this many sessions and rejects the others as a busy server does.
#[derive(Clone)]
struct Crowded {
    accepts: u32,
    sessions: Arc<AtomicU32>,
}

impl Alteration for Crowded {
    fn connect<'a>(&'a self, inner: &'a dyn Target, spec: &'a SessionSpec) -> Connecting<'a> {
        if self.sessions.fetch_add(1, Ordering::Relaxed) < self.accepts {
            return inner.connect(spec);
        }
        let class = ErrorClass::Busy;
        let detail = "no connection is free".to_owned();
        let error = ConnectError { url: inner.url(), part: UrlPart::Host, class, detail };
        Box::pin(std::future::ready(Err(error)))
    }
}

/// Forty users with a think time, of whom the server accepts some; the engine itself has the first session.
fn measure(accepted_users: u32, think: &str) -> Measure {
    let plan = format!(
        "seed = '5'\n[[target]]\nurl = '/memory'\n[load]\nworkload = 'single:operation=write'\nblock = '4KiB'\nscale = '64KiB'\n\
         users = [40]\nthink = '{think}'\nwarm_up = '0s'\nmeasure = '200ms'\n"
    );
    let clock = Clock::virtual_at(0);
    let device = Device::new(1).service_center(1, Service::Fixed(Duration::from_micros(200)));
    let crowded = Crowded { accepts: accepted_users + 1, sessions: Arc::default() };
    let crowded = Altered::new(MemoryTarget::new(), crowded);
    let plan = Plan::parse(&plan).unwrap().resolve().unwrap();
    let simulated = SimulatedTarget::new(crowded, &clock, device);
    let mut run = CollectedRun::new(&plan, &[Arc::new(simulated)], &clock);
    assert_eq!(run.end.unwrap().outcome, RunOutcome::Complete);
    run.steps.remove(0).measure
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
