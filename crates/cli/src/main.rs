//! The file-sharing performance lab: arguments, wiring, what the user sees, exit codes.

mod args;
mod bands;
mod book;
mod browse;
mod compare;
mod credentials;
mod demo;
mod doctor;
mod ending;
mod environment;
mod exchange;
mod exit;
mod follower;
mod from_flags;
mod http;
mod images;
mod interrupts;
mod live;
mod load;
mod loadfile;
mod measure;
mod outlets;
mod outlook;
mod policies;
mod prometheus;
mod ranks;
mod repeating;
mod report;
mod series;
mod serve;
mod server_metrics;
mod survey;
mod targets;
mod told;
mod weigh;

use std::process::ExitCode;

use args::{Arguments, Command};
use clap::{CommandFactory, Parser};
use exit::Failure;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(code) => code,
        Err(failure) => {
            told::say(&failure);
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
        Command::Demo(demo) => ranks::alone("demo").and_then(|()| demo::run(demo, flags)),
        Command::Sweep(sweep) => measure::plan(&from_flags::sweep(sweep)?, &sweep.measuring, flags),
        Command::Depth(depth) => measure::plan(&from_flags::depth(depth)?, &depth.measuring, flags),
        Command::Load(load) => measure::plan(&load::plan(load)?, &load.measuring, flags),
        Command::Presets(presets) => load::presets(presets),
        Command::Survey(survey) => survey::run(survey, flags),
        Command::Run(run) => measure::file(run, flags),
        Command::Plan(plan) => measure::check(plan),
        Command::Serve(serve) => serve::run(serve, flags),
        Command::Clean(clean) => measure::clean(clean, flags),
        Command::Runs => book::runs(flags),
        Command::Show(show) => book::show(show, flags),
        Command::Compare(compare) => compare::compare(compare, flags),
        Command::Report(report) => report::report(report, flags),
        Command::Ranks(cost) => ranks::cost(cost),
        Command::Doctor(doctor) => Ok(doctor::run(doctor, flags)),
        Command::Import(import) => exchange::import(import, flags),
        Command::Export(export) => exchange::export(export, flags),
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
