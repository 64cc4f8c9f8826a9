//! `sharebench plan check`: what a plan file would do.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::exit::Failure;
use crate::live::plan_preview::plan_preview;
use crate::run::plan_file::{in_file, read};

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(subcommand)]
    pub command: PlanCommand,
}

#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Check a plan and say what would run and for how long.
    Check {
        /// The plan.
        #[arg(value_name = "PLAN.toml")]
        plan: PathBuf,
    },
}

/// Checks a plan and says what it would do.
pub fn check(args: &PlanArgs) -> Result<ExitCode, Failure> {
    let PlanCommand::Check { plan: path } = &args.command;
    let plan = read(path)?.resolve().map_err(|mistakes| in_file(path, mistakes))?;
    println!("{}: valid", path.display());
    println!("{} targets:", plan.targets.len());
    for target in &plan.targets {
        println!("  {}  {}", target.name, target.url);
    }
    for text in plan_preview(&plan) {
        println!("{text}");
    }
    if let Some(command) = &plan.pre_step_cmd {
        println!("before each step this machine runs: {command}");
    }
    for (coordinates, _) in plan.cells.iter().chain(&plan.loads) {
        println!("  {coordinates}");
    }
    Ok(ExitCode::SUCCESS)
}
