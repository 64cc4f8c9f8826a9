//! Runs a plan: made from options, read from a file, or the rest of an interrupted run.

use std::fmt::Write as _;
use std::process::ExitCode;

use sharebench_cluster::StartRank;
use sharebench_model::units::counted;
use sharebench_plan::ResolvedPlan;
use sharebench_results::{RunReference, RunSink};

use crate::exit::Failure;
use crate::flags::plan_file::RunArgs;
use crate::flags::run_flags::RunFlags;
use crate::live::plan_preview::plan_preview;
use crate::output::print_out;
use crate::run::measure::{Measured, Measurement, finish};
use crate::run::plan_file::{Resumable, in_file, planned, read, resumable};
use crate::run::ranks::{Source, measure_together};
use crate::run::targets;

/// Runs a plan made from options.
pub fn plan(plan: &ResolvedPlan, flags: &RunFlags, mpi: Option<StartRank>) -> Result<ExitCode, Failure> {
    if let Some(exit) = measure_together(&Source::Flags(plan), flags, mpi) {
        return exit;
    }
    let targets = targets::open_all(plan, &flags.login.read()?)?;
    let measured = Measurement::new(plan, &targets)
        .in_directory(flags.work_dir.name())
        .monitored(&flags.monitoring)
        .run(&flags.output)?;
    finish(&measured, flags.report.as_deref(), &flags.output)
}

/// Runs a plan file, or the missing steps of an earlier run.
pub fn file(args: &RunArgs, mpi: Option<StartRank>) -> Result<ExitCode, Failure> {
    let flags = &args.run;
    if args.check {
        return check(args);
    }
    if let Some(exit) = measure_together(&Source::File(args), flags, mpi) {
        return exit;
    }
    let measured = match (&args.plan, &args.resume) {
        (_, Some(reference)) => resume(reference, args)?,
        (Some(path), None) => {
            let plan = planned(path, args.allow_pre_step_cmd)?;
            let targets = targets::open_all(&plan, &flags.login.read()?)?;
            Measurement::new(&plan, &targets)
                .in_directory(flags.work_dir.name())
                .monitored(&flags.monitoring)
                .run(&flags.output)?
        }
        (None, None) => return Err(Failure::usage("give a plan file, or --resume RUN")),
    };
    finish(&measured, flags.report.as_deref(), &flags.output)
}

/// Checks a plan file, and prints what it would run and for how long.
fn check(args: &RunArgs) -> Result<ExitCode, Failure> {
    let Some(path) = &args.plan else { return Err(Failure::usage("--check: give a plan file")) };
    let plan = read(path)?.resolve().map_err(|mistakes| in_file(path, mistakes))?;
    let mut out = format!("{}: valid\n{}:\n", path.display(), counted(plan.targets.len(), "target"));
    // Writing to a String cannot fail.
    for target in &plan.targets {
        let _ = writeln!(out, "  {}  {}", target.name, target.url);
    }
    for text in plan_preview(&plan) {
        let _ = writeln!(out, "{text}");
    }
    for (coordinates, _) in plan.cells.iter().chain(&plan.loads) {
        let _ = writeln!(out, "  {coordinates}");
    }
    print_out(&out)
}

fn resume(reference: &RunReference, args: &RunArgs) -> Result<Measured, Failure> {
    let Resumable { plan, done, again, directory, store, run } = resumable(reference, args)?;
    let targets = targets::open_all(&plan, &args.run.login.read()?)?;
    let new = Measurement::new(&plan, &targets).monitored(&args.run.monitoring);
    let measurement = Measurement { done, directory, resumed: true, ..new };
    measurement.into_sink(RunSink::resume(store, run, &again)?, &args.run.output)
}
