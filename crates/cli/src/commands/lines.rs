//! Text for the terminal, built line by line.

use sharebench_report::{Style, wrap};

/// A text and the width to which its sentences are wrapped.
pub(super) struct Lines {
    pub text: String,
    width: usize,
}

impl Lines {
    /// An empty text; `width` is that of a piped report.
    pub(super) fn new(style: Style, width: usize) -> Self {
        Self { text: String::new(), width: style.width.unwrap_or(width).clamp(60, 120) }
    }

    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// A text after a label, with later lines below its start.
    pub(super) fn labelled(&mut self, label: &str, text: &str) {
        self.wrapped(label, label.chars().count(), text);
    }

    /// A sentence with an indentation.
    pub(super) fn sentence(&mut self, indent: usize, text: &str) {
        self.wrapped(&" ".repeat(indent), indent + 2, text);
    }

    fn wrapped(&mut self, first: &str, later: usize, text: &str) {
        for (number, line) in wrap(text, self.width.saturating_sub(later), 0).into_iter().enumerate() {
            let start = if number == 0 { first.to_owned() } else { " ".repeat(later) };
            self.line(&format!("{start}{line}"));
        }
    }
}
