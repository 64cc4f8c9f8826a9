//! The part of a terminal that the live view owns: lines at the bottom that are redrawn in place, and keys.

use std::io::{Write, stderr};
use std::time::{Duration, Instant};

use sharebench_report::columns;

use crate::output::terminal_width;
use crate::system::{Keys, prepare_terminal, restore_keys};

/// Shortest time between two drawings.
const DRAW_INTERVAL: Duration = Duration::from_millis(100);

/// Lines at the bottom of the terminal on standard error.
///
/// It owns the cursor and the settings of the terminal from its creation until it is closed or dropped, when it restores
/// both. The lines are in the normal screen buffer, so messages above them stay in the scrollback. The terminal keeps
/// its signals: Ctrl-C reaches all processes of the job, also a pre-step command.
pub struct Screen {
    /// Columns of each line drawn.
    drawn: Vec<usize>,
    last: Option<Instant>,
    /// None if keys are not read.
    keys: Option<Keys>,
}

impl Screen {
    /// Hides the cursor, and reads keys if standard input is a terminal of this job.
    pub fn new() -> Self {
        prepare_terminal();
        let _ = write!(stderr(), "\u{1b}[?25l");
        Self { drawn: Vec::new(), last: None, keys: Keys::read() }
    }

    /// True if the lines may be drawn again.
    pub fn is_due(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= DRAW_INTERVAL)
    }

    /// Replaces the lines.
    pub fn draw(&mut self, lines: &[String]) {
        let mut out = self.erased();
        out.push_str(&lines.join("\n"));
        self.drawn = lines.iter().map(|line| columns(&without_escapes(line))).collect();
        self.last = Some(Instant::now());
        // A measurement continues even if nobody can see its progress.
        let _ = stderr().write_all(out.as_bytes());
    }

    /// Prints a line above the drawn lines; it stays.
    pub fn line(&mut self, text: &str) {
        let out = format!("{}{text}\n", self.erased());
        self.drawn.clear();
        self.last = None;
        let _ = stderr().write_all(out.as_bytes());
    }

    /// The escape sequences that erase the drawn lines. A terminal that became narrower has wrapped them into more rows.
    fn erased(&self) -> String {
        let width = terminal_width().max(1);
        let rows: usize = self.drawn.iter().map(|columns| columns.div_ceil(width).max(1)).sum();
        match rows {
            0 => String::new(),
            1 => "\r\u{1b}[J".to_owned(),
            n => format!("\r\u{1b}[{}A\u{1b}[J", n - 1),
        }
    }

    /// True if the user has typed `q` since the last call.
    pub fn wants_stop(&self) -> bool {
        self.keys.as_ref().is_some_and(|keys| keys.typed().iter().any(|key| matches!(key, b'q' | b'Q')))
    }

    /// Erases the lines and restores the terminal.
    pub fn close(&mut self) {
        let out = format!("{}\u{1b}[?25h", self.erased());
        self.drawn.clear();
        let _ = stderr().write_all(out.as_bytes());
        self.keys = None;
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.close();
    }
}

/// Restores cursor and settings when the process ends without dropping the screen.
pub fn restore_terminal() {
    if restore_keys() {
        let _ = stderr().write_all(b"\x1b[?25h\n");
    }
}

/// The text without the escape sequences of colours.
fn without_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            let _ = letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::without_escapes;

    #[test]
    fn escape_sequences_have_no_width() {
        assert_eq!(without_escapes("\u{1b}[1mnfs\u{1b}[0m 8"), "nfs 8");
    }
}
