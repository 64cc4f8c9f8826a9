//! What the terminal can do.

/// What the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns; tables are split into blocks and sentences wrapped to fit. None: as wide as need be.
    pub width: Option<usize>,
    /// ANSI colours.
    pub colour: bool,
    /// Lines and marks beyond ASCII.
    pub unicode: bool,
}

impl Style {
    /// For a pipe or a file: unlimited, plain.
    pub fn piped() -> Self {
        Self { width: None, colour: false, unicode: false }
    }

    /// For a terminal of `width` columns.
    pub fn terminal(width: usize) -> Self {
        Self { width: Some(width.max(40)), colour: true, unicode: true }
    }

    pub(super) fn limit(self) -> usize {
        self.width.unwrap_or(usize::MAX / 2)
    }

    pub(super) fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(super) fn mark(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }
}

pub(super) const BOLD: &str = "1";
pub(super) const DIM: &str = "2";
pub(super) const RED: &str = "1;31";
pub(super) const GREEN: &str = "32";
pub(super) const YELLOW: &str = "33";
pub(super) const BLUE: &str = "34";
