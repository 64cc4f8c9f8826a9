//! Standard output and standard error: who writes to them, and what a terminal there can show.
//!
//! Both may have lost their reader (`| head`, a closed terminal). A run then continues and cleans up all the same, so
//! nothing here fails because of a missing reader.

use std::fmt::Display;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;

use serde_json::Value;
use sharebench_report::Style;

use crate::exit::Failure;

/// Prints to standard output; a reader that went away (`| head`) is no failure.
pub fn print_out(text: &str) -> Result<ExitCode, Failure> {
    print_bytes(text.as_bytes())
}

/// The same with what need not be text.
pub fn print_bytes(bytes: &[u8]) -> Result<ExitCode, Failure> {
    match std::io::stdout().write_all(bytes) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Prints one object as a line.
pub fn print_object(object: &Value) {
    let _ = writeln!(stdout(), "{object}");
}

/// A line with the program's name before it.
pub fn say(text: impl Display) {
    line(format_args!("sharebench: {text}"));
}

/// A line.
pub fn line(text: impl Display) {
    let _ = writeln!(stderr(), "{text}");
}

/// The style of standard output: of the terminal, or plain text in a pipe.
pub fn style() -> Style {
    if std::io::stdout().is_terminal() {
        Style { colour: has_colours(), ..Style::terminal(terminal_width()) }
    } else {
        Style::piped()
    }
}

/// Colours, unless `NO_COLOR` asks for none (no-color.org).
pub fn has_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns of the terminal on standard output or error; 100 where there is none.
pub fn terminal_width() -> usize {
    terminal_size().map_or(100, |(columns, _)| columns)
}

/// Columns and rows of the terminal on standard output or error; none where there is none.
pub fn terminal_size() -> Option<(usize, usize)> {
    // SAFETY: TIOCGWINSZ fills the struct it is given; zeroed is a valid winsize.
    let size = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let found = libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) == 0
            || libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &raw mut size) == 0;
        found.then_some(size)
    };
    size.filter(|size| size.ws_col > 0).map(|size| (size.ws_col as usize, size.ws_row as usize))
}

/// Prints what an import or export left out or assumed, unless `quiet`.
pub fn print_notes(notes: &[String], quiet: bool) {
    for note in notes.iter().filter(|_| !quiet) {
        line(format_args!("note: {note}"));
    }
}
