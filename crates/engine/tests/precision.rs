//! Whole runs whose number of steps depends on what they measure: their bounds, their end, their resumption.

use std::sync::Arc;

use sharebench_doubles::MemoryTarget;
use sharebench_engine::{Clock, CollectedRun, StopSignal};
use sharebench_model::{PrecisionReport, Round, RunEvent, RunOutcome, StepError, StepResult};
use sharebench_plan::{Plan, ResolvedPlan};
use sharebench_target::Target;

#[expect(clippy::unwrap_used, reason = "plans of these tests are right")]
fn plan(rule: &str) -> ResolvedPlan {
    let text = format!(
        "{rule}\nseed = 7\nmin_sample_time = '1ms'\nverify = 'off'\n[[target]]\nname = 'a'\nurl = '/a'\n[[target]]\nname = 'b'\nurl = '/b'\n
[sweep]\nfile_sizes = ['16KiB', '64KiB']\nrecord_sizes = ['4KiB']\ntests = ['read', 'rewrite']\n
[load]\nusers = [1]\nthink = '1ms'\nwarm_up = '1ms'\nmeasure = '100ms'\nscale = '10KB'\nblock = '1000'\n"
    );
    let mut plan = Plan::parse(&text).unwrap().resolve().unwrap();
    // Four rounds beyond the least show all there is to see.
    plan.repeat.most = plan.repeat.most.min(14);
    plan
}

struct Ran {
    outcome: RunOutcome,
    steps: Vec<StepResult>,
    rounds: Vec<Round>,
    report: Option<PrecisionReport>,
}

#[expect(clippy::unwrap_used, reason = "a run that cannot start fails its test")]
fn execute(plan: &ResolvedPlan, done: &[StepResult]) -> Ran {
    let target = || Arc::new(MemoryTarget::new()) as Arc<dyn Target>;
    let run = CollectedRun::until(plan, &[target(), target()], &Clock::start(), &StopSignal::default(), done);
    let mut rounds = Vec::new();
    let mut report = None;
    for event in run.events {
        match event {
            RunEvent::Round(round) => rounds.push(round),
            RunEvent::Precision(reported) => report = Some(*reported),
            _ => {}
        }
    }
    Ran { outcome: run.end.unwrap().outcome, steps: run.steps, rounds, report }
}

#[test]
fn a_run_ends_between_its_bounds_and_says_how_precise_it_became() {
    let plan = plan("precision = '50%'");
    let ran = execute(&plan, &[]);
    assert_eq!(ran.outcome, RunOutcome::Complete);
    let extent = plan.steps();
    assert!((extent.least..=extent.most).contains(&(ran.steps.len() as u64)), "{}", ran.steps.len());
    assert!(ran.rounds.len() >= 10 && ran.rounds[..10].iter().all(|round| round.cells == 4));
    let report = ran.report.unwrap();
    assert_eq!((report.asked, report.cells.len()), (Some(0.5), 4));
    let pairs: u32 = report.cells.iter().map(|cell| cell.repetitions).sum();
    assert_eq!(2 * pairs as usize + 2, ran.steps.len(), "every step belongs to a pair, and two to users");
}

#[test]
fn a_resumed_run_finds_its_order_again_wherever_it_was_cut() {
    let plan = plan("precision = '50%'");
    let whole = execute(&plan, &[]).steps;
    for cut in [1, 39, 81, whole.len() - 1] {
        let cut = cut.min(whole.len());
        let rest = execute(&plan, &whole[..cut]);
        assert_eq!(rest.outcome, RunOutcome::Complete, "cut after {cut}");
        // What is measured anew may take other rounds; what was laid out before the cut may not.
        let indices: Vec<u32> = whole[..cut].iter().chain(&rest.steps).map(|step| step.index).collect();
        assert!(indices.iter().copied().eq(0..indices.len() as u32), "cut after {cut}: {indices:?}");
    }
}

#[test]
fn stored_steps_of_another_order_are_refused() {
    let steps = execute(&plan("repetitions = 1"), &[]).steps;
    let mut plan = plan("repetitions = 1");
    plan.seed += 1;
    let ran = execute(&plan, &steps);
    assert!(
        matches!(&ran.outcome, RunOutcome::Incomplete(StepError::EngineFailed(why)) if why.contains("order")),
        "{:?}",
        ran.outcome
    );
}

#[test]
fn a_budget_that_is_too_short_still_measures_every_cell_once() {
    let mut plan = plan("time_budget = '1s'");
    plan.repeat.budget = Some(std::time::Duration::from_nanos(1));
    let ran = execute(&plan, &[]);
    assert_eq!(ran.outcome, RunOutcome::Complete);
    assert_eq!(ran.steps.len(), 8 + 2);
    assert!(ran.report.unwrap().cells.iter().all(|cell| cell.half_width.is_none()));
    // Resumed after the users' first step, the cells stay as they are.
    let rest = execute(&plan, &ran.steps[..9]);
    assert_eq!(rest.steps.iter().map(|step| step.index).collect::<Vec<_>>(), [ran.steps[9].index]);
}
