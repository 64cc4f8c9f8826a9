//! `sharebench show`: one run, or the plan that repeats it.

use std::process::ExitCode;

use clap::Args;
use sharebench_results::RunReference;

use crate::exit::Failure;
use crate::flags::format::Format;
use crate::flags::output::DatabaseFlags;
use crate::output::{print_out, style};
use crate::run::run_store::{analyse_loaded, load, render};

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Run: a number, `last`, or FILE.db:NUMBER.
    pub run: RunReference,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Print the plan of the run, which `sharebench run` repeats, instead of its results.
    #[arg(long)]
    pub plan: bool,
    #[command(flatten)]
    pub database: DatabaseFlags,
}

/// Shows one run.
pub fn show(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let loaded = load(&args.run, &args.database.db)?;
    if args.plan {
        let run = loaded.run;
        if run.header.is_imported() {
            return Err(Failure::usage("--plan: an imported run has no plan"));
        }
        return print_out(&run.header.plan);
    }
    print_out(&render(&analyse_loaded(vec![loaded])?, args.format, style())?)
}
