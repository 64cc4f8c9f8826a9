//! The file-sharing performance lab: arguments, wiring, what the user sees, exit codes.

mod args;
mod commands;
mod exit;
mod flags;
mod http;
mod live;
mod monitoring;
mod output;
mod run;

use std::process::ExitCode;

use args::{Arguments, Command};
use clap::{CommandFactory, Parser};
use exit::Failure;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(code) => code,
        Err(failure) => {
            output::say(&failure);
            failure.code()
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let flags = &arguments.flags;
    if flags.json && !arguments.command.measures() {
        return Err(Failure::usage("--json: for commands that measure; elsewhere see --format json"));
    }
    match &arguments.command {
        Command::Demo(demo) => run::ranks::alone("demo").and_then(|()| commands::demo::run(demo, flags)),
        Command::Sweep(sweep) => commands::run::plan(&commands::sweep::plan(sweep)?, &sweep.measuring, flags),
        Command::Depth(depth) => commands::run::plan(&commands::depth::plan(depth)?, &depth.measuring, flags),
        Command::Load(load) => commands::run::plan(&commands::load::plan(load)?, &load.measuring, flags),
        Command::Presets(presets) => commands::presets::presets(presets),
        Command::Survey(survey) => commands::survey::run(survey, flags),
        Command::Run(run) => commands::run::file(run, flags),
        Command::Plan(plan) => commands::plan::check(plan),
        Command::Serve(serve) => commands::serve::run(serve, flags),
        Command::Clean(clean) => commands::clean::clean(clean, flags),
        Command::Runs => commands::runs::runs(flags),
        Command::Show(show) => commands::show::show(show, flags),
        Command::Compare(compare) => commands::compare::compare(compare, flags),
        Command::Report(report) => commands::report::report(report, flags),
        Command::Ranks(cost) => commands::ranks::run(cost),
        Command::Doctor(doctor) => Ok(commands::doctor::run(doctor, flags)),
        Command::Import(import) => commands::import::import(import, flags),
        Command::Export(export) => commands::export::export(export, flags),
        Command::Completions(completions) => {
            clap_complete::generate(
                completions.shell,
                &mut Arguments::command(),
                "sharebench",
                &mut std::io::stdout(),
            );
            Ok(ExitCode::SUCCESS)
        }
    }
}
