//! `sharebench presets`: the built-in workloads of `load --preset`.

use std::process::ExitCode;

use clap::Args;
use sharebench_plan::{PRESETS, Plan, Preset};

use crate::exit::Failure;
use crate::output::print_out;

/// Examples of `presets --help`.
pub const PRESETS_HELP: &str =
    "Each preset is listed with its parameters and their values, the default first.

Examples:
  sharebench presets
  sharebench presets frames-after-quantel:rate=30
  sharebench load smb://alice@nas/share --preset copy:files=binary,direction=to-server";

#[derive(Debug, Args)]
pub struct PresetsArgs {
    /// Print the plan of this preset, as a start for a file for --preset.
    #[arg(value_name = "NAME[:PARAMETER=VALUE,...]")]
    pub name: Option<String>,
}

/// Lists the presets with their parameters, what their users do, and their sources; or prints one.
pub fn presets(args: &PresetsArgs) -> Result<ExitCode, Failure> {
    if let Some(name) = &args.name {
        let plan = Plan::from_preset(name).map_err(Failure::usage)?;
        return print_out(Plan { title: None, ..plan }.to_toml().trim_start());
    }
    print_out(&PRESETS.map(listed).concat())
}

fn listed(preset: Preset) -> String {
    let parameters: Vec<String> =
        preset.parameters().iter().map(|parameter| format!("    {parameter}\n")).collect();
    let parameters = parameters.concat();
    format!("{}\n{parameters}    {}\n    Source: {}\n", preset.name, preset.summary(), preset.source())
}
