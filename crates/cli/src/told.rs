//! What the user is told on standard error, which may have no reader any more: a run goes on and cleans up all the same.

use std::fmt::Display;
use std::io::{Write, stderr};

/// A line with the program's name before it.
pub fn say(text: impl Display) {
    line(format_args!("sharebench: {text}"));
}

/// A line.
pub fn line(text: impl Display) {
    let _ = writeln!(stderr(), "{text}");
}
