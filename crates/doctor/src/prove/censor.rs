//! Known answer K14 (docs/measurement-rules.md K14): users whose replies are lost do not make the others look better.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sharebench_model::units::show_nanos;
use sharebench_nfs::NfsTarget;
use sharebench_plan::Plan;
use sharebench_server::MemoryVolume;
use sharebench_target::{
    Capabilities, ConnectError, Fault, FaultyTarget, LocalBoxFuture, Session, SessionSpec, Target,
};

use crate::prove::rig::{Served, flagged, run_one};
use crate::prove::{Attempt, Conditions, ProveError, Row};

const USERS: u32 = 9;
const LOST: u32 = 3;

/// K14: a third of nine users never gets a reply.
pub(super) fn lost_replies(_: Conditions) -> Result<Attempt, ProveError> {
    let served = Served::start(Arc::new(MemoryVolume::new(64 << 20)))?;
    // The deadline is longer than the step: the lost users are still waiting when it ends.
    let plan = || {
        Plan::parse(&format!(
            "timeout = '3s'\n[load]\nworkload = 'copy-all-from-server'\nusers = [{USERS}]\nthink = '20ms'\n\
             warm_up = '200ms'\nmeasure = '1500ms'\nscale = '100KB'\nblock = '10KB'"
        ))
    };
    let whole = run_one(plan()?, &[Arc::new(served.target.clone())])?;
    let step = run_one(plan()?, &[Arc::new(Deaf::new(&served.target))])?;
    let reported = USERS - LOST;
    let censored = flagged(&step, "participation");
    let [all, some] = [&whole, &step].map(|step| step.measure.response.mean());
    Ok(vec![
        Row::new(
            "users that reported",
            format!("{reported} of {USERS}"),
            format!("{} of {}", step.measure.users_reported, step.measure.users_assigned),
            "0",
            (step.measure.users_reported, step.measure.users_assigned) == (reported, USERS),
        ),
        Row::new("the step is called", "censored", if censored { "censored" } else { "whole" }, "", censored),
        Row::new(
            "mean response time",
            format!("{} with all users", show_nanos(all)),
            show_nanos(some),
            "no better",
            some >= all,
        ),
    ]
    .into())
}

/// A target of which every third session gets no reply to its reads and writes; the first, which is the engine's own, does.
struct Deaf {
    hearing: NfsTarget,
    lost: FaultyTarget<NfsTarget>,
    sessions: AtomicU32,
}

impl Deaf {
    fn new(target: &NfsTarget) -> Self {
        let lost = FaultyTarget::new(target.clone()).data(0, Fault::Never);
        Self { hearing: target.clone(), lost, sessions: AtomicU32::new(0) }
    }
}

impl Target for Deaf {
    fn url(&self) -> String {
        self.hearing.url()
    }

    fn capabilities(&self) -> Capabilities {
        self.hearing.capabilities()
    }

    fn connect<'a>(
        &'a self,
        spec: &'a SessionSpec,
    ) -> LocalBoxFuture<'a, Result<Box<dyn Session>, ConnectError>> {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        if number > 0 && number.is_multiple_of(USERS / LOST) {
            self.lost.connect(spec)
        } else {
            self.hearing.connect(spec)
        }
    }
}
