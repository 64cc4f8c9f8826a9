//! `sharebench clean`: removes leftovers of interrupted runs.

use std::cell::Cell;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use sharebench_model::units::parse_duration;
use sharebench_plan::target_url;
use sharebench_report::plain;
use sharebench_target::is_working_directory;

use crate::exit::{self, Failure};
use crate::flags::login::LoginFlags;
use crate::output::{line, print_out};
use crate::run::{named_targets, targets};

/// Time between two lines of progress, as in a run whose output is a pipe.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

pub const CLEAN_HELP: &str = "Only directories that sharebench made are removed: they contain its marker
file, and on a local path they belong to the calling user. The others are
listed with the reason, and the exit code is 3.

Example:
  sharebench clean smb://alice@nas/share --directory .sharebench-1f2e3d4c";

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Target to clean: a path or URL.
    #[arg(value_parser = target_url)]
    pub target: String,
    /// Remove only this directory [default: all .sharebench-* directories, and those with 8.3 names of sharebench].
    #[arg(long, value_name = ".sharebench-ID")]
    pub directory: Option<String>,
    /// Longest wait for a reply of the target.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub timeout: Duration,
    #[command(flatten)]
    pub login: LoginFlags,
}

/// Removes leftovers.
pub fn clean(args: &CleanArgs) -> Result<ExitCode, Failure> {
    if let Some(directory) = &args.directory
        && (!is_working_directory(directory) || directory.contains('/'))
    {
        return Err(Failure::usage(format!(
            "--directory {directory}: not the name of a directory of sharebench"
        )));
    }
    let target = targets::open(&named_targets::url(&args.target)?, &args.login.read()?)?;
    let shown = Cell::new(Instant::now());
    let on_removed = |entries: u64| {
        if shown.get().elapsed() >= PROGRESS_INTERVAL {
            shown.set(Instant::now());
            line(format_args!("{}: entries removed: {entries}", target.url()));
        }
    };
    let directory = args.directory.as_deref();
    let found = sharebench_engine::remove_leftovers(target.as_ref(), directory, args.timeout, &on_removed)?;
    let removed = found.removed.iter().map(|name| format!("removed {}\n", plain(name)));
    let kept = found
        .kept
        .iter()
        .map(|(name, why)| format!("not removed {}: {}\n", plain(name), plain(&why.to_string())));
    let lines: String = removed.chain(kept).collect();
    if lines.is_empty() {
        return print_out(&format!("no leftovers on {}\n", target.url()));
    }
    let printed = print_out(&lines)?;
    Ok(if found.kept.is_empty() { printed } else { ExitCode::from(exit::TARGET) })
}
