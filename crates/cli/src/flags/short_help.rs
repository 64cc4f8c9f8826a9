//! What `-h` shows of a command with many options; `--help` shows everything.

use clap::Command;

/// The usual options of a command and examples, which fit on a terminal of 80 columns and 24 lines.
pub struct ShortHelp {
    /// Identifiers of the options, each with a help of one line.
    pub options: &'static [(&'static str, &'static str)],
    /// Examples, and where the other options are.
    pub examples: &'static str,
}

pub const QUICK: (&str, &str) = ("quick", "6 repetitions of each cell");
pub const PRECISION: (&str, &str) = ("precision", "Repeat until intervals are at most ±PERCENT");
pub const TIME_BUDGET: (&str, &str) = ("time_budget", "Measure for TIME in total");
pub const VARY: (&str, &str) = ("vary", "Values of URL options: sign=off,required");
pub const PASSWORD_FILE: (&str, &str) = ("password_file", "Read the password from the first line of FILE");
pub const DATABASE: (&str, &str) = ("db", "Results database");
pub const REPORT: (&str, &str) = ("report", "Also write an HTML report to FILE");

impl ShortHelp {
    /// Puts the usual options into the first group of both helps, and hides the others from `-h`.
    pub fn apply(&self, command: Command) -> Command {
        let mut command = command;
        for (id, line) in self.options {
            command = command.mut_arg(id, |arg| {
                let long = arg.get_help().cloned().unwrap_or_default();
                arg.help(*line).long_help(long).help_heading(None::<&str>).hide_short_help(false)
            });
        }
        command.mut_args(|arg| {
            let is_usual = self.options.iter().any(|(id, _)| arg.get_id() == *id);
            arg.hide_short_help(!is_usual)
        })
    }
}
