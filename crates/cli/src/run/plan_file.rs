//! Plans from files and from the results database, checked before anything runs.

use std::path::Path;

use sharebench_model::StepResult;
use sharebench_plan::{Plan, ResolvedPlan};
use sharebench_results::{RunId, RunReference, Store};

use crate::exit::Failure;
use crate::files;
use crate::flags::plan_file::RunArgs;
use crate::run::environment::{self, DIRECTORY_FACT};
use crate::run::loadfile;

/// Reads a plan file with the loadfile that it names.
pub fn read(path: &Path) -> Result<Plan, Failure> {
    let text =
        files::read_text(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    loadfile::read_into(Plan::parse(&text).map_err(|mistakes| in_file(path, mistakes))?, path)
}

/// The plan of a file, with a seed.
pub fn planned(path: &Path, args: &RunArgs) -> Result<ResolvedPlan, Failure> {
    let mut plan = read(path)?;
    if plan.seed.is_none() {
        plan.seed = Some(environment::new_seed());
    }
    let plan = plan.resolve().map_err(|mistakes| in_file(path, mistakes))?;
    allowed(&plan, args).map_err(|why| in_file(path, why))?;
    Ok(plan)
}

/// Mistakes in a plan, with the name of its file.
pub fn in_file(path: &Path, mistakes: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("{}: {mistakes}", path.display()))
}

/// Checks that the user allowed the command of the plan, because somebody else may have written the file.
pub fn allowed(plan: &ResolvedPlan, args: &RunArgs) -> Result<(), String> {
    match &plan.pre_step_cmd {
        Some(command) if !args.allow_pre_step_cmd => Err(format!(
            "pre_step_cmd: the plan runs a command on this machine before each step: {command}\n    \
             hint: add --allow-pre-step-cmd to allow this command"
        )),
        _ => Ok(()),
    }
}

/// A run to finish: its plan and what is already there.
pub struct Resumable {
    pub plan: ResolvedPlan,
    /// The finished steps.
    pub done: Vec<StepResult>,
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
    allowed(&plan, args).map_err(|why| Failure::usage(format!("run {run}: {why}")))?;
    let directory = stored.header.environment.get(DIRECTORY_FACT).cloned();
    let directory = directory.unwrap_or_else(environment::new_directory);
    Ok(Resumable { plan, done: stored.steps, directory, store, run })
}
