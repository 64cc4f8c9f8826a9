//! `sharebench clean`: removes leftovers of interrupted runs.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::exit::Failure;
use crate::flags::password::PasswordFlags;
use crate::output::print_out;
use crate::run::targets;

pub const CLEAN_HELP: &str = "Example:
  sharebench clean smb://alice@nas/share --directory .sharebench-1f2e3d4c";

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Target to clean: a path or URL.
    pub target: String,
    /// Remove only this directory [default: all .sharebench-* directories].
    #[arg(long, value_name = ".sharebench-ID")]
    pub directory: Option<String>,
    #[command(flatten)]
    pub password: PasswordFlags,
}

/// Removes leftovers.
pub fn clean(args: &CleanArgs) -> Result<ExitCode, Failure> {
    if let Some(directory) = &args.directory
        && (!directory.starts_with(sharebench_engine::DIRECTORY_PREFIX) || directory.contains('/'))
    {
        return Err(Failure::usage(format!(
            "--directory {directory}: not the name of a directory of sharebench"
        )));
    }
    let target = targets::open(&args.target, args.password.file())?;
    let names = sharebench_engine::remove_leftovers(
        target.as_ref(),
        args.directory.as_deref(),
        Duration::from_secs(30),
    )?;
    let mut out = String::new();
    for name in &names {
        for part in ["removed ", name, "\n"] {
            out.push_str(part);
        }
    }
    if names.is_empty() {
        out = format!("no leftovers on {}\n", target.url());
    }
    print_out(&out)
}
