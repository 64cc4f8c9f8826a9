//! Standard output and standard error: everything that the program prints, and what a terminal there can show.
//!
//! Their reader may be gone (`| head`, a closed terminal). A run then continues and cleans up all the same, so a missing
//! reader is never an error here.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;

use serde_json::Value;
use sharebench_report::{Style, coloured_lines, plain, plain_lines};
use sharebench_results::WriteError;

use crate::exit::Failure;
pub use crate::system::terminal_size;

/// Width of output where no terminal is known.
const DEFAULT_WIDTH: usize = 100;

/// Prints text to standard output, without escape sequences other than those of [`style`].
pub fn print_out(text: &str) -> Result<ExitCode, Failure> {
    write_out(coloured_lines(text).as_bytes())
}

/// Prints a file to standard output: as it is into a pipe or a file, and as text to a terminal.
pub fn print_bytes(bytes: &[u8]) -> Result<ExitCode, Failure> {
    if stdout().is_terminal() { print_out(&String::from_utf8_lossy(bytes)) } else { write_out(bytes) }
}

/// Prints what `fill` writes to standard output, as [`print_bytes`] does, without holding all of it in memory.
pub fn print_with(fill: impl FnOnce(&mut dyn Write) -> Result<(), WriteError>) -> Result<ExitCode, Failure> {
    let written = if stdout().is_terminal() {
        let mut lines = TerminalLines::default();
        fill(&mut lines).and_then(|()| Ok(lines.end()?))
    } else {
        let mut out = BufWriter::new(stdout().lock());
        fill(&mut out).and_then(|()| Ok(out.flush()?))
    };
    match written {
        Err(WriteError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(WriteError::Output(error)) => Err(error.into()),
        Err(WriteError::Store(error)) => Err(error.into()),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

/// Text for a terminal, whose control characters are replaced line by line.
#[derive(Default)]
struct TerminalLines {
    /// The line that has not ended yet.
    line: Vec<u8>,
}

impl TerminalLines {
    fn end(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        stdout().write_all(coloured_lines(&String::from_utf8_lossy(&line)).as_bytes())?;
        stdout().flush()
    }
}

impl Write for TerminalLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        stdout().flush()
    }
}

fn write_out(bytes: &[u8]) -> Result<ExitCode, Failure> {
    match stdout().write_all(bytes).and_then(|()| stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Prints one JSON object as a line to standard output.
pub fn print_object(object: &Value) {
    let mut text = String::new();
    for c in object.to_string().chars() {
        // Only strings contain such characters, and JSON has an escape for each.
        if c == plain(c.encode_utf8(&mut [0; 4])).chars().next().unwrap_or(c) {
            text.push(c);
        } else {
            text.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    let _ = writeln!(stdout(), "{text}");
}

/// Prints a message with the name of the program to standard error. Further lines are indented, so that a name with a
/// line feed in it cannot look like another message.
pub fn message(text: impl Display) {
    let text = plain_lines(&without_error_numbers(&text.to_string()));
    let indented = text.replace('\n', "\n  ");
    let _ = writeln!(stderr(), "sharebench: {}", indented.trim_end());
}

/// A text without the numbers of the system's errors, such as ` (os error 21)`: the words before them say the same.
fn without_error_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(')')
    })
}

/// Prints a line to standard error.
pub fn line(text: impl Display) {
    let _ = writeln!(stderr(), "{}", plain_lines(&text.to_string()));
}

/// Prints what an import or export left out or assumed to standard error, unless `quiet`.
pub fn print_notes(notes: &[String], quiet: bool) {
    for note in notes.iter().filter(|_| !quiet) {
        line(format_args!("note: {}", plain(note)));
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

#[cfg(test)]
mod tests {
    use super::without_error_numbers;

    #[test]
    fn messages_have_the_words_of_the_system_and_no_numbers() {
        let text = "a: Is a directory (os error 21); b: Connection refused (os error 111)";
        assert_eq!(without_error_numbers(text), "a: Is a directory; b: Connection refused");
        assert_eq!(without_error_numbers("a (os errors)"), "a (os errors)");
    }
}
