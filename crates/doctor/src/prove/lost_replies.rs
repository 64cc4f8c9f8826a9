//! Known answer K14 (docs/measure/measurement-rules.md K14): users whose replies are lost do not improve the result of
//! the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sharebench_model::units::show_nanos;
use sharebench_model::{DataOp, Slot};
use sharebench_plan::Plan;
use sharebench_server::MemoryVolume;
use sharebench_target::{Alteration, Altered, Connecting, Session, SessionSpec, Target};

use crate::prove::fixture::{flagged, run_one};
use crate::prove::served_volume::ServedVolume;
use crate::prove::{Attempt, Conditions, ProveError, Row};

const USERS: u32 = 9;
const LOST: u32 = 3;

/// K14: a third of nine users never gets a reply.
pub(super) fn censored_users(conditions: Conditions) -> Result<Attempt, ProveError> {
    let served = ServedVolume::start(conditions.protocol, Arc::new(MemoryVolume::new(64 << 20)), None)?;
    // The timeout is longer than the step, so that the lost users are still waiting at its end.
    let plan = || {
        Plan::parse(&format!(
            "timeout = '3s'\n[load]\nworkload = 'copy:direction=from-server'\nusers = [{USERS}]\nthink = '20ms'\n\
             warm_up = '200ms'\nmeasure = '1500ms'\nscale = '100KB'\nblock = '10KB'"
        ))
    };
    let whole = run_one(plan()?, &[served.target()])?;
    let step = run_one(plan()?, &[Arc::new(Altered::of_shared(served.target(), LostReplies::default()))])?;
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
        Row::new(
            "verdict of the step",
            "censored",
            if censored { "censored" } else { "whole" },
            "",
            censored,
        ),
        Row::new(
            "mean response time",
            format!("{} with all users", show_nanos(all)),
            show_nanos(some),
            "at least as long",
            some >= all,
        ),
    ]
    .into())
}

/// The server never replies to the reads and writes of every third session. The first session, which belongs to the engine, gets
/// all replies.
#[derive(Clone, Default)]
struct LostReplies {
    sessions: Arc<AtomicU32>,
    is_lost: bool,
}

impl Alteration for LostReplies {
    fn connect<'a>(&'a self, inner: &'a dyn Target, spec: &'a SessionSpec) -> Connecting<'a> {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let is_lost = number > 0 && number.is_multiple_of(USERS / LOST);
        let lost = Self { is_lost, ..self.clone() };
        Box::pin(async move { Ok(lost.session(inner.connect(spec).await?)) })
    }

    fn submit(&mut self, inner: &mut dyn Session, slot: Slot, op: DataOp) {
        if !self.is_lost {
            inner.submit(slot, op);
        }
    }
}
