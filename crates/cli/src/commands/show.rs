//! `sharebench show`: one run, or the plan that repeats it.

use std::process::ExitCode;

use clap::Args;
use sharebench_results::RunReference;

use crate::exit::Failure;
use crate::flags::GlobalFlags;
use crate::flags::format::Format;
use crate::output::print_out;
use crate::run::run_store::{analysis, load, render};

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Number, `last`, or FILE.db:NUMBER.
    pub run: RunReference,
    /// How.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Print the run's plan instead; `sharebench run` repeats it.
    #[arg(long)]
    pub plan: bool,
}

/// Shows one run.
pub fn show(args: &ShowArgs, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    let run = load(&args.run, &flags.db)?;
    if args.plan {
        if run.header.is_imported() {
            return Err(Failure::usage(
                "--plan: the run was imported, so there is no plan that would repeat it",
            ));
        }
        return print_out(&run.header.plan);
    }
    print_out(&render(&analysis(&[run]), args.format)?)
}
