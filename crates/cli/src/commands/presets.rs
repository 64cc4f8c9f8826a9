//! `sharebench presets`: the built-in workloads of `load --preset`.

use std::process::ExitCode;

use clap::Args;
use sharebench_plan::{Preset, WORKLOADS};

use crate::exit::Failure;

#[derive(Debug, Args)]
pub struct PresetsArgs {
    /// Print the plan of this preset, as a start for a file for --preset.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// Lists the presets with their sources, or prints one.
pub fn presets(args: &PresetsArgs) -> Result<ExitCode, Failure> {
    if let Some(name) = &args.name {
        let known = || WORKLOADS.map(|preset| preset.name).join(", ");
        let preset = Preset::named(name)
            .ok_or_else(|| Failure::usage(format!("{name}: no such preset; use one of {}", known())))?;
        print!("{}", preset.text);
        return Ok(ExitCode::SUCCESS);
    }
    for preset in WORKLOADS {
        println!("{}\n    {}", preset.name, preset.source());
    }
    Ok(ExitCode::SUCCESS)
}
