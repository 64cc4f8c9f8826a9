//! Snapshots of the preview, the live frame and the plain lines of a run in progress.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;
use std::time::{Duration, Instant};

use sharebench_model::{RunEvent, RunOutcome, StepResult};
use sharebench_plan::ResolvedPlan;
use sharebench_results::StoredRun;

use super::fixed_run::facts_of;
use super::{LOAD, SWEEP, TERMINALS, assert_fits, check, load_run, plan_of, sweep_run};
use crate::live::LiveView;
use crate::live::fitted_lines;
use crate::live::frame::frame;
use crate::live::plan_preview::plan_preview;
use crate::live::progress::RunProgress;

/// The output of a view.
#[derive(Clone, Default)]
struct Written(Rc<RefCell<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn started(step: &StepResult) -> RunEvent {
    RunEvent::StepStarted {
        index: step.index,
        target: step.target,
        repetition: step.repetition,
        coordinates: step.coordinates.clone(),
    }
}

/// The preview of a plan and the live frame in the middle of its run; every step takes `each`.
fn check_progress(name: &str, plan: &ResolvedPlan, run: &StoredRun, each: Duration) {
    let begin = Instant::now();
    let mut progress = RunProgress::new(plan, 0, 1, begin);
    let done = run.steps.len() / 2;
    let mut at = begin;
    for step in &run.steps[..done] {
        progress.take(&started(step), at);
        at += each;
        progress.take(&RunEvent::StepFinished(Box::new(step.clone())), at);
    }
    progress.take(&started(&run.steps[done]), at);
    let moved = RunEvent::Progress {
        index: run.steps[done].index,
        operations: 40,
        bytes: 40 << 20,
        transactions: 18,
        failures: 2,
        users: 20,
    };
    progress.take(&moved, at);
    for (width, _) in TERMINALS {
        let preview: Vec<String> =
            plan_preview(plan).iter().flat_map(|line| fitted_lines(line, width)).collect();
        let lines =
            [preview, vec![String::new()], frame(&progress, width - 1, false, at + each / 2)].concat();
        let text = lines.join("\n");
        assert_fits(name, width, &text);
        check(&format!("{name}_progress"), width, &text);
    }
}

#[test]
fn sweep_shows_its_plan_and_its_progress() {
    check_progress("sweep", &plan_of(SWEEP), &sweep_run(), Duration::from_millis(600));
}

#[test]
fn load_shows_its_plan_and_its_progress() {
    check_progress("load", &plan_of(LOAD), &load_run(), Duration::from_secs(12));
}

#[test]
fn sweep_in_a_pipe_writes_plain_lines_every_five_seconds() {
    let plan = plan_of(SWEEP);
    let run = sweep_run();
    let begin = Instant::now();
    let written = Written::default();
    let mut view = LiveView::piped(&plan, begin, written.clone());
    for line in plan_preview(&plan) {
        view.line(&line);
    }
    for (target, planned) in plan.targets.iter().enumerate() {
        let facts = facts_of(&planned.url);
        view.show_at(&RunEvent::TargetReady { target: target as u32, facts }, begin);
    }
    let mut at = begin;
    for step in &run.steps {
        view.show_at(&started(step), at);
        at += Duration::from_millis(600);
        for (class, count) in &step.measure.errors {
            let detail = format!("READ: {class} ({count} times)");
            view.show_at(&RunEvent::Failure { index: step.index, class: *class, detail }, at);
        }
        view.show_at(&RunEvent::StepFinished(Box::new(step.clone())), at);
    }
    view.show_at(&RunEvent::Finished(RunOutcome::Complete), at);
    let text = String::from_utf8(written.0.take()).unwrap_or_else(|error| panic!("{error}"));
    insta::with_settings!({ snapshot_path => "../../tests/snapshots/output", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("sweep_progress_piped", text);
    });
}
