//! The file-sharing performance lab: arguments, wiring, output, exit codes.
//!
//! The program is [`main`] with the message library of its build; the tests link a program with MPI to the same code.

mod args;
mod argument_errors;
mod commands;
#[cfg(test)]
mod commands_in_documents;
#[cfg_attr(not(feature = "pages"), path = "dashboard/absent.rs")]
mod dashboard;
mod exit;
mod files;
mod flags;
mod gate_output;
#[cfg(feature = "pages")]
mod http;
mod identity;
mod live;
mod monitoring;
mod next_step;
mod output;
mod run;
#[cfg(test)]
mod snapshots_of_help;
#[cfg(test)]
mod snapshots_of_output;
mod system;

use std::process::ExitCode;

use args::Command;
use exit::Failure;
use sharebench_cluster::StartRank;
use sharebench_model::without_secrets;

/// Runs the command of the process's arguments. `mpi` starts MPI; without it, runs under a launcher are rejected.
pub fn main(mpi: Option<StartRank>) -> ExitCode {
    let arguments = match args::parse() {
        Ok(arguments) => arguments,
        Err(error) => return explained(&error),
    };
    match run(arguments.command, mpi) {
        Ok(code) => code,
        Err(failure) => {
            output::message(&failure);
            failure.code()
        }
    }
}

/// Prints what clap has to say: an error in the arguments, help or the version.
fn explained(error: &clap::Error) -> ExitCode {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let message = argument_errors::message(error, &words);
    let mut text = message.unwrap_or_else(|| error.render().to_string());
    // An error quotes the argument, which may come from a script or a clipboard, and may contain a password.
    for argument in &words {
        let shown = sharebench_report::plain(&without_secrets(argument));
        if shown != *argument {
            text = text.replace(argument, &shown);
        }
    }
    if error.use_stderr() {
        output::line(text.trim_end());
    } else {
        let _ = output::print_out(&text);
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

fn run(command: Command, mpi: Option<StartRank>) -> Result<ExitCode, Failure> {
    match command {
        Command::Demo(demo) => commands::demo::run(&demo),
        Command::Sweep(sweep) => commands::run::plan(&commands::sweep::plan(&sweep)?, &sweep.run, mpi),
        Command::Depth(depth) => commands::run::plan(&commands::depth::plan(&depth)?, &depth.run, mpi),
        Command::Load(load) => commands::run::plan(&commands::load::plan(&load)?, &load.run, mpi),
        Command::Presets(presets) => commands::presets::presets(&presets),
        Command::Probe(probe) => commands::probe::run(&probe),
        Command::Diagnose(diagnose) => commands::diagnose::run(&diagnose),
        Command::Learn(learn) => commands::learn::run(&learn),
        Command::Run(run) => commands::run::file(&run, mpi),
        Command::Gate(gate) => commands::gate::gate(&gate),
        Command::Serve(serve) => commands::serve::run(&serve),
        Command::Relay(relay) => commands::relay::run(&relay),
        Command::Clean(clean) => commands::clean::clean(&clean),
        Command::Runs(runs) => commands::runs::runs(&runs),
        Command::Show(show) => commands::show::show(&show),
        Command::Compare(compare) => commands::compare::compare(&compare),
        Command::Report(report) => commands::report::report(&report),
        Command::Doctor(doctor) => Ok(commands::doctor::run(&doctor)),
        Command::Import(import) => commands::import::import(&import),
        Command::Export(export) => commands::export::export(&export),
        Command::Completions(completions) => {
            commands::completions::completions(&completions, &args::command())
        }
        Command::Man(man) => {
            clap_mangen::generate_to(args::command(), &man.directory)
                .map_err(|error| Failure::usage(format!("{}: {error}", man.directory.display())))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
