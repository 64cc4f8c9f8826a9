//! Known answer K12 (docs/measure/measurement-rules.md K12): a load generator at its limit is flagged, and one below it
//! is not.

use std::sync::Arc;
use std::time::Duration;

use sharebench_engine::Clock;
use sharebench_model::{DataOp, Slot};
use sharebench_plan::{Plan, Verify};
use sharebench_target::{Alteration, Altered, NullTarget, ScriptedReply, ScriptedTarget, Session, Target};

use crate::prove::fixture::{flagged, reading, run};
use crate::prove::{Attempt, Conditions, ProveError, Row};

/// Runs of each kind; all must be judged correctly.
const RUNS: u32 = 10;
/// CPU time per operation of the spinning client.
const SPIN: Duration = Duration::from_micros(50);

/// K12: the null target and a spinning client are flagged, a client at 10 % load is not.
pub(super) fn saturation(_: Conditions) -> Result<Attempt, ProveError> {
    let kinds: [(&str, &str, bool, Arc<dyn Target>); 4] = [
        ("null target: ceiling", "ceiling", true, Arc::new(NullTarget)),
        ("spinning client: threads", "threads", true, Arc::new(spinning())),
        ("client at 10 % load: ceiling", "ceiling", false, Arc::new(waiting())),
        ("client at 10 % load: threads", "threads", false, Arc::new(waiting())),
    ];
    let mut rows = Vec::new();
    for (what, check, expected, target) in kinds {
        // These targets store no data, so there is nothing to verify.
        let plan = Plan { verify: Some(Verify::Off), ..reading(Duration::from_millis(100), RUNS)? };
        let steps = run(plan, &[target])?;
        let count = steps.iter().filter(|step| flagged(step, check)).count();
        let truth = if expected { RUNS as usize } else { 0 };
        let of = |count: usize| format!("flagged in {count} of {RUNS}");
        rows.push(Row::new(what, of(truth), of(count), "0", count == truth && steps.len() == RUNS as usize));
    }
    Ok(rows.into())
}

/// Creates a target that replies after 1 ms without using the CPU.
fn waiting() -> ScriptedTarget {
    ScriptedTarget::new([ScriptedReply::all().after(Duration::from_millis(1))])
}

/// The null target with a client that computes for [`SPIN`] per operation.
fn spinning() -> impl Target {
    Altered::new(NullTarget, Spin(Clock::start()))
}

#[derive(Clone)]
struct Spin(Clock);

impl Alteration for Spin {
    fn submit(&mut self, inner: &mut dyn Session, slot: Slot, op: DataOp) {
        self.0.spend(SPIN.as_nanos() as u64);
        inner.submit(slot, op);
    }
}
