//! The options of every command that runs a plan against targets of the user.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::Args;

use super::heading;
use super::login::LoginFlags;
use super::monitoring::MonitoringFlags;
use super::output::OutputFlags;
use super::work_dir::WorkDirFlag;

/// Options of `sweep`, `depth`, `load` and `run`: they do not change the plan.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = heading::TARGETS)]
pub struct RunFlags {
    #[command(flatten)]
    pub login: LoginFlags,
    #[command(flatten)]
    pub work_dir: WorkDirFlag,
    #[command(flatten)]
    pub monitoring: MonitoringFlags,
    #[command(flatten)]
    pub output: OutputFlags,
    /// Also write an HTML report to FILE.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT, value_parser = page)]
    pub report: Option<PathBuf>,
}

/// A file for a page: the extension says what it is to whoever opens it.
fn page(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let extension = path.extension().map(OsStr::to_ascii_lowercase);
    match extension.as_ref().and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => Ok(path),
        _ => Err("write a name that ends with .html; `sharebench report RUN -o FILE.xlsx` writes a workbook"
            .to_owned()),
    }
}
