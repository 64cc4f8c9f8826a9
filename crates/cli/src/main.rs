//! The file-sharing performance lab: arguments, wiring, output, exit codes.

mod args;
mod commands;
mod exit;
mod flags;
#[cfg(feature = "pages")]
mod http;
mod live;
mod monitoring;
mod output;
mod run;
#[cfg(test)]
mod snapshots_of_help;
#[cfg(test)]
mod snapshots_of_output;

use std::process::ExitCode;

use args::{Arguments, Command};
use clap::{CommandFactory, Parser};
use exit::Failure;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.command) {
        Ok(code) => code,
        Err(failure) => {
            output::message(&failure);
            failure.code()
        }
    }
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Demo(demo) => commands::demo::run(&demo),
        Command::Sweep(sweep) => {
            commands::run::plan(&commands::sweep::plan(&sweep)?, &sweep.run, sweep.ranks)
        }
        Command::Depth(depth) => {
            commands::run::plan(&commands::depth::plan(&depth)?, &depth.run, depth.ranks)
        }
        Command::Load(load) => {
            commands::run::plan(&commands::load::plan(&load)?, &load.run, load.ranks.into())
        }
        Command::Presets(presets) => commands::presets::presets(&presets),
        Command::Survey(survey) => commands::survey::run(&survey),
        Command::Run(run) => commands::run::file(&run),
        Command::Plan(plan) => commands::plan::check(&plan),
        Command::Serve(serve) => commands::serve::run(&serve),
        Command::Clean(clean) => commands::clean::clean(&clean),
        Command::Runs(runs) => commands::runs::runs(&runs),
        Command::Show(show) => commands::show::show(&show),
        Command::Compare(compare) => commands::compare::compare(&compare),
        Command::Report(report) => commands::report::report(&report),
        Command::Ranks(cost) => commands::ranks::run(&cost),
        Command::Doctor(doctor) => Ok(commands::doctor::run(&doctor)),
        Command::Import(import) => commands::import::import(&import),
        Command::Export(export) => commands::export::export(&export),
        Command::Completions(completions) => {
            let mut command = Arguments::command();
            clap_complete::generate(completions.shell, &mut command, "sharebench", &mut std::io::stdout());
            Ok(ExitCode::SUCCESS)
        }
        Command::Man(man) => {
            clap_mangen::generate_to(Arguments::command(), &man.directory)
                .map_err(|error| Failure::usage(format!("{}: {error}", man.directory.display())))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
