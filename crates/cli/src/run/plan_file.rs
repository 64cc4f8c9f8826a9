//! Plans from files and from the results database, checked before anything runs.

use std::path::Path;

use sharebench_model::StepResult;
use sharebench_plan::{Plan, ResolvedPlan};
use sharebench_results::{RunId, RunReference, Store};

use crate::exit::Failure;
use crate::flags::GlobalFlags;
use crate::flags::plan_file::RunArgs;
use crate::run::environment::{self, DIRECTORY_FACT};
use crate::run::loadfile;

/// Reads a plan file with the loadfile that it names.
pub fn read(path: &Path) -> Result<Plan, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
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

/// A command in a file that somebody else may have written is not run unseen.
pub fn allowed(plan: &ResolvedPlan, args: &RunArgs) -> Result<(), String> {
    match &plan.pre_step_cmd {
        Some(command) if !args.allow_pre_step_cmd => Err(format!(
            "between: the plan runs a command on this machine before each step: {command}\n    \
             hint: if that is what you want, add --allow-pre-step-cmd"
        )),
        _ => Ok(()),
    }
}

/// What can be continued: its plan, its finished steps, its directory on the targets, and where it is.
pub type Resumable = (ResolvedPlan, Vec<StepResult>, String, (Store, RunId));

/// Looks a run up to be continued.
pub fn resumable(
    reference: &RunReference,
    args: &RunArgs,
    flags: &GlobalFlags,
) -> Result<Resumable, Failure> {
    let path = reference.path.clone().unwrap_or_else(|| flags.db.clone());
    let store = Store::open(&path)?;
    let run = reference.resolve(&store)?;
    let stored = store.load(run)?;
    let plan = Plan::parse(&stored.header.plan)?.resolve()?;
    allowed(&plan, args).map_err(|why| Failure::usage(format!("run {run}: {why}")))?;
    let directory = stored.header.environment.get(DIRECTORY_FACT).cloned();
    Ok((plan, stored.steps, directory.unwrap_or_else(environment::new_directory), (store, run)))
}
