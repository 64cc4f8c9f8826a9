//! Runs a plan: made from options, read from a file, or the rest of an interrupted run.

use std::process::ExitCode;

use sharebench_cluster::StartRank;
use sharebench_plan::ResolvedPlan;
use sharebench_results::{RunReference, RunSink};

use crate::exit::Failure;
use crate::flags::plan_file::RunArgs;
use crate::flags::ranks::RankFlags;
use crate::flags::run_flags::RunFlags;
use crate::run::measure::{Measured, Measurement, finish};
use crate::run::plan_file::{Resumable, planned, resumable};
use crate::run::ranks::{Source, measure_together};
use crate::run::targets;

/// Runs a plan made from options.
pub fn plan(
    plan: &ResolvedPlan,
    flags: &RunFlags,
    ranks: RankFlags,
    mpi: Option<StartRank>,
) -> Result<ExitCode, Failure> {
    if let Some(exit) = measure_together(&Source::Flags(plan, ranks), flags, mpi) {
        return exit;
    }
    let targets = targets::open_all(plan, &flags.login)?;
    let measured = Measurement::new(plan, &targets)
        .in_directory(flags.work_dir.name())
        .monitored(&flags.monitoring)
        .run(&flags.output)?;
    finish(&measured, flags.report.as_deref(), &flags.output)
}

/// Runs a plan file, or the missing steps of an earlier run.
pub fn file(args: &RunArgs, mpi: Option<StartRank>) -> Result<ExitCode, Failure> {
    let flags = &args.run;
    if let Some(exit) = measure_together(&Source::File(args), flags, mpi) {
        return exit;
    }
    let measured = match (&args.plan, &args.resume) {
        (_, Some(reference)) => resume(reference, args)?,
        (Some(path), None) => {
            let plan = planned(path, args.allow_pre_step_cmd)?;
            let targets = targets::open_all(&plan, &flags.login)?;
            Measurement::new(&plan, &targets).monitored(&flags.monitoring).run(&flags.output)?
        }
        (None, None) => return Err(Failure::usage("give a plan file, or --resume RUN")),
    };
    finish(&measured, flags.report.as_deref(), &flags.output)
}

fn resume(reference: &RunReference, args: &RunArgs) -> Result<Measured, Failure> {
    let Resumable { plan, done, again, directory, store, run } = resumable(reference, args)?;
    let targets = targets::open_all(&plan, &args.run.login)?;
    let new = Measurement::new(&plan, &targets).monitored(&args.run.monitoring);
    let measurement = Measurement { done, directory, resumed: true, ..new };
    measurement.into_sink(RunSink::resume(store, run, &again)?, &args.run.output)
}
