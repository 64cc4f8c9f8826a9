//! `sharebench clean`: removes leftovers of interrupted runs.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::exit::Failure;
use crate::flags::GlobalFlags;
use crate::run::targets;

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Where to look.
    pub target: String,
    /// Only this directory [default: every .sharebench-* directory].
    #[arg(long, value_name = ".sharebench-ID")]
    pub directory: Option<String>,
}

/// Removes what killed runs left behind.
pub fn clean(args: &CleanArgs, flags: &GlobalFlags) -> Result<ExitCode, Failure> {
    if let Some(directory) = &args.directory
        && (!directory.starts_with(sharebench_engine::DIRECTORY_PREFIX) || directory.contains('/'))
    {
        return Err(Failure::usage(format!(
            "--directory {directory}: not a directory of sharebench's own naming"
        )));
    }
    let target = targets::open(&args.target, flags.password_file.as_deref())?;
    let names = sharebench_engine::remove_leftovers(
        target.as_ref(),
        args.directory.as_deref(),
        Duration::from_secs(30),
    )?;
    for name in &names {
        println!("removed {name}");
    }
    if names.is_empty() {
        println!("nothing of sharebench's on {}", target.url());
    }
    Ok(ExitCode::SUCCESS)
}
