//! The part of a terminal that the live view owns: lines at the bottom that are redrawn in place, and keys.

use std::io::{IsTerminal, Write, stderr, stdin};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};
use sharebench_report::columns;

use crate::output::terminal_width;

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
    /// Settings to restore; none if keys are not read.
    saved: Option<Termios>,
}

impl Screen {
    /// Hides the cursor, and reads keys if standard input is a terminal of this job.
    pub fn new() -> Self {
        let _ = write!(stderr(), "\u{1b}[?25l");
        Self { drawn: Vec::new(), last: None, saved: read_keys() }
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
        if self.saved.is_none() {
            return false;
        }
        let mut typed = [0_u8; 32];
        // The read returns at once, because VMIN and VTIME are 0.
        let read = rustix::io::read(stdin(), &mut typed).unwrap_or(0);
        typed[..read].iter().any(|key| matches!(key, b'q' | b'Q'))
    }

    /// Erases the lines and restores the terminal.
    pub fn close(&mut self) {
        let out = format!("{}\u{1b}[?25h", self.erased());
        self.drawn.clear();
        let _ = stderr().write_all(out.as_bytes());
        if let Some(saved) = self.saved.take() {
            CHANGED.lock().unwrap_or_else(PoisonError::into_inner).take();
            let _ = tcsetattr(stdin(), OptionalActions::Now, &saved);
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.close();
    }
}

/// Settings of the terminal while a screen has changed them.
static CHANGED: Mutex<Option<Termios>> = Mutex::new(None);

/// Restores cursor and settings when the process ends without dropping the screen.
pub fn restore_terminal() {
    if let Some(saved) = CHANGED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &saved);
        let _ = stderr().write_all(b"\x1b[?25h\n");
    }
}

/// Makes the terminal deliver keys at once and without echo; returns its settings before. None if standard input is not
/// a terminal or belongs to another job.
fn read_keys() -> Option<Termios> {
    let input = stdin();
    if !input.is_terminal() || tcgetpgrp(&input).ok()? != getpgrp() {
        return None;
    }
    let saved = tcgetattr(&input).ok()?;
    let mut changed = saved.clone();
    changed.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    changed.special_codes[SpecialCodeIndex::VMIN] = 0;
    changed.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(&input, OptionalActions::Now, &changed).ok()?;
    *CHANGED.lock().unwrap_or_else(PoisonError::into_inner) = Some(saved.clone());
    Some(saved)
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
