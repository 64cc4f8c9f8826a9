//! K14: users whose replies are lost do not make the others look better.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

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
    let plan = Plan::parse(&format!(
        "timeout = '3s'\n[load]\nworkload = 'copy-all-from-server'\nsteps = [{USERS}]\nthink = '20ms'\n\
         warm_up = '200ms'\nmeasure = '1500ms'\nscale = '100KB'\nblock = '10KB'"
    ))?;
    let step = run_one(plan, &[Arc::new(Deaf::new(&served.target))])?;
    let measure = &step.measure;
    let reported = USERS - LOST;
    let verdict = step.verdict();
    Ok(vec![
        Row::new(
            "users that reported",
            format!("{reported} of {USERS}"),
            format!("{} of {}", measure.motors_reported, measure.motors_assigned),
            "0",
            (measure.motors_reported, measure.motors_assigned) == (reported, USERS),
        ),
        Row::new(
            "the step is called",
            "censored",
            if flagged(&step, "participation") { "censored" } else { "whole" },
            "",
            flagged(&step, "participation"),
        ),
        Row::new(
            "its response time in comparisons",
            "left out",
            if verdict == sharebench_model::Verdict::Invalid { "left out" } else { "used" },
            "",
            verdict == sharebench_model::Verdict::Invalid,
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
