//! `sharebench plan check`: what a plan file would do.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use sharebench_model::units::counted;

use crate::exit::Failure;
use crate::live::plan_preview::plan_preview;
use crate::output::print_out;
use crate::run::plan_file::{in_file, read};

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(subcommand)]
    pub command: PlanCommand,
}

#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Check a plan, and print what it would run and for how long.
    Check {
        /// Plan file.
        #[arg(value_name = "PLAN.toml")]
        plan: PathBuf,
    },
}

/// Checks a plan and prints its preview.
pub fn check(args: &PlanArgs) -> Result<ExitCode, Failure> {
    let PlanCommand::Check { plan: path } = &args.command;
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
