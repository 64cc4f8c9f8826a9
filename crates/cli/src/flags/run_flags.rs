//! The options of every command that runs a plan against targets of the user.

use std::path::PathBuf;

use clap::Args;

use super::heading;
use super::login::LoginFlags;
use super::monitoring::MonitoringFlags;
use super::output::OutputFlags;

/// Longest start of a name.
const MAX_WORK_DIR: usize = 32;

/// Options of `sweep`, `depth`, `load` and `run`: they do not change the plan.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = heading::TARGETS)]
pub struct RunFlags {
    #[command(flatten)]
    pub login: LoginFlags,
    /// Begin the names of directories on the targets with NAME, for shares that hide names with a dot in front.
    #[arg(long, value_name = "NAME", value_parser = work_dir)]
    pub work_dir: Option<String>,
    #[command(flatten)]
    pub monitoring: MonitoringFlags,
    #[command(flatten)]
    pub output: OutputFlags,
    /// Also write an HTML report to FILE.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub report: Option<PathBuf>,
}

impl RunFlags {
    /// The start of the names of directories; empty without one.
    pub fn work_dir(&self) -> &str {
        self.work_dir.as_deref().unwrap_or_default()
    }
}

/// A start of a name that every file system and protocol accepts.
fn work_dir(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if text.is_empty() || text.len() > MAX_WORK_DIR || text.starts_with('-') || !text.chars().all(is_plain) {
        return Err(format!("a name has at most {MAX_WORK_DIR} letters, digits, - and _"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::work_dir;

    #[test]
    fn a_name_begins_without_a_dot_and_is_no_path() {
        assert_eq!(work_dir("bench_1"), Ok("bench_1".to_owned()));
        for wrong in ["", ".bench", "a/b", "a.b", "-a", "\u{e4}", &"x".repeat(33)] {
            assert!(work_dir(wrong).is_err(), "{wrong}");
        }
    }
}
