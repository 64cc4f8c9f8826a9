//! Plans from files and from the results database, checked before anything runs.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::Path;

use sharebench_model::{StepResult, axis};
use sharebench_plan::{Plan, ResolvedPlan};
use sharebench_results::{RunId, RunReference, Store};

use crate::exit::Failure;
use crate::files;
use crate::flags::plan_file::RunArgs;
use crate::run::environment::{self, DIRECTORY_FACT};
use crate::run::{loadfile, named_targets};

/// Reads a plan file with the loadfile that it names.
pub fn read(path: &Path) -> Result<Plan, Failure> {
    let text = files::read_text(path).map_err(|error| in_file(path, unreadable(&error)))?;
    let mut plan = Plan::parse(&text).map_err(|mistakes| in_file(path, mistakes))?;
    named_targets::resolve_planned(&mut plan.targets)?;
    loadfile::read_into(plan, path)
}

/// Why a plan file cannot be read, and what to name instead.
fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => {
            format!("{error}\nhint: name a plan file, such as nightly.toml; docs/measure/gate.md has one")
        }
        ErrorKind::InvalidData => format!("{error}\nhint: a plan is a text file in TOML"),
        _ => error.to_string(),
    }
}

/// The plan of a file, with a seed. Its command needs the user's consent.
pub fn planned(path: &Path, allow_pre_step_cmd: bool) -> Result<ResolvedPlan, Failure> {
    let mut plan = read(path)?;
    if plan.seed.is_none() {
        plan.seed = Some(environment::new_seed());
    }
    let plan = plan.resolve().map_err(|mistakes| in_file(path, mistakes))?;
    allowed(&plan, allow_pre_step_cmd).map_err(|why| in_file(path, why))?;
    Ok(plan)
}

/// Mistakes in a plan, with the name of its file.
pub fn in_file(path: &Path, mistakes: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("{}: {mistakes}", path.display()))
}

/// Checks that the user allowed the command of the plan, because somebody else may have written the file.
pub fn allowed(plan: &ResolvedPlan, allow_pre_step_cmd: bool) -> Result<(), String> {
    match &plan.pre_step_cmd {
        Some(command) if !allow_pre_step_cmd => Err(format!(
            "pre_step_cmd: the plan runs a command on this machine before each step: {command}\n    \
             hint: add --allow-pre-step-cmd to allow this command"
        )),
        _ => Ok(()),
    }
}

/// A run to finish: its plan and what is already there.
pub struct Resumable {
    pub plan: ResolvedPlan,
    /// The finished steps that count.
    pub done: Vec<StepResult>,
    /// Positions of finished steps that are measured again.
    pub again: Vec<u32>,
    /// Its directory on the targets.
    pub directory: String,
    pub store: Store,
    pub run: RunId,
}

/// Loads a run to finish it.
pub fn resumable(reference: &RunReference, args: &RunArgs) -> Result<Resumable, Failure> {
    let path = reference.path.as_ref().unwrap_or(&args.run.output.database.db);
    let store = Store::open(path)?;
    let run = reference.resolve(&store)?;
    let stored = store.load(run)?;
    let plan = Plan::parse(&stored.header.plan)?.resolve()?;
    allowed(&plan, args.allow_pre_step_cmd).map_err(|why| Failure::usage(format!("run {run}: {why}")))?;
    let directory = stored.header.environment.get(DIRECTORY_FACT).cloned();
    let directory = directory.unwrap_or_else(|| environment::new_directory(args.run.work_dir.name()));
    let (again, done) = restarted(&plan, stored.steps);
    Ok(Resumable { plan, done, again, directory, store, run })
}

/// Separates the finished steps of a series that was interrupted, by their positions, from those that count. A series keeps
/// its users from step to step, so that it starts again as a whole (docs/design/load-steps.md); each repetition is a series.
fn restarted(plan: &ResolvedPlan, steps: Vec<StepResult>) -> (Vec<u32>, Vec<StepResult>) {
    if !plan.keeps_users() {
        return (Vec::new(), steps);
    }
    let is_load = |step: &StepResult| step.coordinates.get(axis::WORKLOAD).is_some();
    let mut finished: BTreeMap<u32, usize> = BTreeMap::new();
    for step in steps.iter().filter(|step| is_load(step)) {
        *finished.entry(step.repetition).or_default() += 1;
    }
    let is_cut = |step: &StepResult| is_load(step) && finished[&step.repetition] < plan.loads.len();
    let (again, done): (Vec<_>, Vec<_>) = steps.into_iter().partition(is_cut);
    (again.iter().map(|step| step.index).collect(), done)
}

#[cfg(test)]
mod tests {
    use sharebench_model::{Coordinates, Measure, Value};

    use super::*;

    fn step(index: u32, axis: &'static str) -> StepResult {
        StepResult {
            index,
            target: 0,
            repetition: 0,
            coordinates: Coordinates::new().with(axis, Value::text("x")),
            started_unix_ms: 0,
            unmeasured_ms: 0,
            measure: Measure::default(),
            checks: Vec::new().into(),
        }
    }

    #[test]
    fn an_interrupted_series_is_measured_again_and_its_cells_are_not() {
        let plan = |keep: &str| {
            let text =
                format!("[[target]]\nurl = '/a'\n[sweep]\n[load]\nusers = [1, 2, 3]\nkeep_users = {keep}\n");
            Plan::parse(&text).unwrap().resolve().unwrap()
        };
        let cells = || vec![step(0, axis::TEST), step(1, axis::TEST)];
        let loads = |count: u32| (2..2 + count).map(|index| step(index, axis::WORKLOAD));
        let split = |keep: &str, count: u32| {
            let (again, done) = restarted(&plan(keep), cells().into_iter().chain(loads(count)).collect());
            (again, done.len())
        };
        assert_eq!(split("true", 2), (vec![2, 3], 2));
        assert_eq!(split("true", 3), (vec![], 5), "a whole series stays");
        assert_eq!(split("false", 2), (vec![], 4));
    }

    #[test]
    fn only_the_repetition_that_was_interrupted_is_measured_again() {
        let text = "repetitions = 3\n[[target]]\nurl = '/a'\n[load]\nusers = [1, 2, 3]\nkeep_users = true\n";
        let plan = Plan::parse(text).unwrap().resolve().unwrap();
        let steps = |count: u32| {
            let repeated = |index| StepResult { repetition: index / 3, ..step(index, axis::WORKLOAD) };
            (0..count).map(repeated).collect::<Vec<_>>()
        };
        let again = |count: u32| restarted(&plan, steps(count)).0;
        assert_eq!(again(5), [3, 4]);
        assert!(again(6).is_empty());
        assert_eq!(again(8), [6, 7]);
        assert!(again(9).is_empty());
    }
}
