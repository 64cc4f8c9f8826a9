//! The part of a terminal that the live view owns: lines at the bottom, drawn again in place, and keys.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use sharebench_report::columns;

use crate::output::terminal_width;

/// Least time between two drawings.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Lines at the bottom of the terminal on standard error. What it changed of the terminal is put back when it is
/// dropped or closed.
pub struct Screen {
    /// Columns of each line drawn.
    drawn: Vec<usize>,
    last: Option<Instant>,
    keys: Option<libc::termios>,
}

impl Screen {
    /// Hides the cursor, and takes keys as they are typed where a user sits before the terminal.
    pub fn new() -> Self {
        let _ = write!(stderr(), "\u{1b}[?25l");
        Self { drawn: Vec::new(), last: None, keys: take_keys() }
    }

    /// True when it is time to draw again.
    pub fn is_due(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= DRAW_EVERY)
    }

    /// Draws lines in place of the last ones; each carries how many columns it takes.
    pub fn draw(&mut self, lines: &[String]) {
        let mut out = self.erased();
        out.push_str(&lines.join("\n"));
        self.drawn = lines.iter().map(|line| columns(&without_escapes(line))).collect();
        self.last = Some(Instant::now());
        // Progress that cannot be shown is no reason to stop measuring.
        let _ = stderr().write_all(out.as_bytes());
    }

    /// A line that stays, above those that are drawn.
    pub fn line(&mut self, text: &str) {
        let out = format!("{}{text}\n", self.erased());
        self.drawn.clear();
        self.last = None;
        let _ = stderr().write_all(out.as_bytes());
    }

    /// Takes the drawn lines away. Lines that a narrower terminal has wrapped take more rows than they were.
    fn erased(&self) -> String {
        let width = terminal_width().max(1);
        let rows: usize = self.drawn.iter().map(|columns| columns.div_ceil(width).max(1)).sum();
        match rows {
            0 => String::new(),
            1 => "\r\u{1b}[J".to_owned(),
            n => format!("\r\u{1b}[{}A\u{1b}[J", n - 1),
        }
    }

    /// True when the user has typed `q` since the last question.
    pub fn wants_stop(&self) -> bool {
        if self.keys.is_none() {
            return false;
        }
        let mut typed = [0_u8; 32];
        // SAFETY: reads at most as many bytes as the buffer has; the terminal answers at once (VMIN 0, VTIME 0).
        let read = unsafe { libc::read(libc::STDIN_FILENO, typed.as_mut_ptr().cast(), typed.len()) };
        usize::try_from(read).is_ok_and(|read| typed[..read].iter().any(|key| matches!(key, b'q' | b'Q')))
    }

    /// Takes everything away and puts the terminal back.
    pub fn close(&mut self) {
        let out = format!("{}\u{1b}[?25h", self.erased());
        self.drawn.clear();
        let _ = stderr().write_all(out.as_bytes());
        if let Some(before) = self.keys.take() {
            // SAFETY: the settings are those that tcgetattr gave for the same terminal.
            unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &raw const before) };
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.close();
    }
}

/// Makes the terminal hand over keys at once and unseen; gives its settings as they were. None where standard input
/// is no terminal or belongs to another job. Ctrl-C stays a signal.
fn take_keys() -> Option<libc::termios> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    // SAFETY: zeroed is a valid termios; tcgetattr fills it or fails; the other calls take no pointers.
    unsafe {
        if libc::tcgetpgrp(libc::STDIN_FILENO) != libc::getpgrp() {
            return None;
        }
        let mut before: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(libc::STDIN_FILENO, &raw mut before) != 0 {
            return None;
        }
        let mut now = before;
        now.c_lflag &= !(libc::ICANON | libc::ECHO);
        now.c_cc[libc::VMIN] = 0;
        now.c_cc[libc::VTIME] = 0;
        (libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &raw const now) == 0).then_some(before)
    }
}

/// The text without the colours that the frame put between.
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
    fn colours_take_no_columns() {
        assert_eq!(without_escapes("\u{1b}[1mnfs\u{1b}[0m 8"), "nfs 8");
    }
}
