//! `sharebench presets`: the built-in workloads of `load --preset`.

use std::process::ExitCode;

use clap::Args;
use sharebench_plan::{Preset, WORKLOADS};

use crate::exit::Failure;
use crate::output::print_out;

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
        return print_out(preset.text);
    }
    let listed = WORKLOADS.map(|preset| format!("{}\n    {}\n", preset.name, preset.source()));
    print_out(&listed.concat())
}
