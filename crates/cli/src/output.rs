//! Standard output and standard error: everything that the program prints, and what a terminal there can show.
//!
//! Their reader may be gone (`| head`, a closed terminal). A run then continues and cleans up all the same, so a missing
//! reader is never an error here.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;

use rustix::termios::tcgetwinsize;
use serde_json::Value;
use sharebench_report::Style;

use crate::exit::Failure;

/// Width of output where no terminal is known.
const DEFAULT_WIDTH: usize = 100;

/// Prints text to standard output.
pub fn print_out(text: &str) -> Result<ExitCode, Failure> {
    print_bytes(text.as_bytes())
}

/// Prints bytes to standard output.
pub fn print_bytes(bytes: &[u8]) -> Result<ExitCode, Failure> {
    match stdout().write_all(bytes) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Prints one JSON object as a line to standard output.
pub fn print_object(object: &Value) {
    let _ = writeln!(stdout(), "{object}");
}

/// Prints a message with the name of the program to standard error.
pub fn message(text: impl Display) {
    line(format_args!("sharebench: {text}"));
}

/// Prints a line to standard error.
pub fn line(text: impl Display) {
    let _ = writeln!(stderr(), "{text}");
}

/// Prints what an import or export left out or assumed to standard error, unless `quiet`.
pub fn print_notes(notes: &[String], quiet: bool) {
    for note in notes.iter().filter(|_| !quiet) {
        line(format_args!("note: {note}"));
    }
}

/// Style of standard output: that of the terminal, or plain text for a pipe.
pub fn style() -> Style {
    if stdout().is_terminal() {
        Style { colour: has_colours(), ..Style::terminal(terminal_width()) }
    } else {
        Style::piped()
    }
}

/// True if output may have colours: `NO_COLOR` is not set (no-color.org).
pub fn has_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns of the terminal.
pub fn terminal_width() -> usize {
    terminal_size().map_or(DEFAULT_WIDTH, |(columns, _)| columns)
}

/// Columns and rows of the terminal on standard output or standard error, if there is one.
pub fn terminal_size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(stdout()).or_else(|_| tcgetwinsize(stderr())).ok()?;
    (size.ws_col > 0).then_some((usize::from(size.ws_col), usize::from(size.ws_row)))
}
