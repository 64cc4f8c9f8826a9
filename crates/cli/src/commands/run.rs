//! Runs a plan: made from options, read from a file, or the rest of an interrupted run.

use std::process::ExitCode;

use sharebench_plan::ResolvedPlan;
use sharebench_results::{RunReference, RunSink};

use crate::exit::Failure;
use crate::flags::GlobalFlags;
use crate::flags::measuring::MeasuringFlags;
use crate::flags::plan_file::RunArgs;
use crate::run::measure::{Measured, Measurement, finish};
use crate::run::plan_file::{planned, resumable};
use crate::run::ranks::{Source, measure_together};
use crate::run::targets;

/// Runs a plan made from flags.
pub fn plan(
    plan: &ResolvedPlan,
    measuring: &MeasuringFlags,
    flags: &GlobalFlags,
) -> Result<ExitCode, Failure> {
    if let Some(ended) = measure_together(&Source::Flags(plan, measuring), flags) {
        return ended;
    }
    let targets = targets::open_all(plan, flags.password_file.as_deref())?;
    let measured = Measurement::new(plan, &targets).with(&measuring.monitoring).run(flags)?;
    finish(&measured, measuring.report.as_deref(), flags)
}

/// Runs a plan file, or what is missing of an earlier run.
pub fn file(args: &RunArgs, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    if let Some(ended) = measure_together(&Source::File(args), flags) {
        return ended;
    }
    let measured = match (&args.plan, &args.resume) {
        (_, Some(reference)) => resume(reference, args, flags)?,
        (Some(path), None) => {
            let plan = planned(path, args)?;
            let targets = targets::open_all(&plan, flags.password_file.as_deref())?;
            Measurement::new(&plan, &targets).with(&args.monitoring).run(flags)?
        }
        (None, None) => return Err(Failure::usage("name a plan file, or a run by --resume")),
    };
    finish(&measured, args.report.as_deref(), flags)
}

fn resume(reference: &RunReference, args: &RunArgs, flags: &GlobalFlags) -> Result<Measured, Failure> {
    let (plan, done, directory, sink) = resumable(reference, args, flags)?;
    let targets = targets::open_all(&plan, flags.password_file.as_deref())?;
    let new = Measurement::new(&plan, &targets).with(&args.monitoring);
    let measurement = Measurement { done, directory, resumed: true, ..new };
    measurement.into_sink(RunSink::resume(sink.0, sink.1)?, flags)
}
