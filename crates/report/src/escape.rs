//! Escaping for the terminal, Markdown and CSV: names and messages come from users and servers, and must stay text.
//!
//! HTML is escaped by `maud`.

use std::fmt::Write;

use sharebench_model::spreadsheet_text;

/// What a character of somebody else's text becomes where a terminal or a page shows it.
///
/// Control characters start escape sequences, and bidirectional controls and line separators make text appear in another
/// place than where it is: all of them become U+FFFD. The private characters that stand for the bytes of file names that
/// are not UTF-8 become these bytes in hexadecimal.
fn push_visible(safe: &mut String, c: char) {
    match c {
        '\u{10ff80}'..='\u{10ffff}' => {
            // Writing to a string cannot fail.
            let _ = write!(safe, "\\x{:02x}", u32::from(c) - 0x10_FF00);
        }
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            safe.push('\u{fffd}');
        }
        c if c.is_control() => safe.push('\u{fffd}'),
        c => safe.push(c),
    }
}

/// One line of text for a terminal: no control characters, so no escape sequences of others and no lines of others.
pub fn terminal(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    text.chars().for_each(|c| push_visible(&mut safe, c));
    safe
}

/// Lines of text for a terminal or a code block: as [`terminal`], but line feeds and tabs stay.
pub fn lines(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => safe.push(c),
            c => push_visible(&mut safe, c),
        }
    }
    safe
}

/// Rendered output for a terminal: as [`lines`], but the colours of [`Style`](crate::Style) stay. Renderers have
/// removed them from the text of others before; this is the last line of defence.
pub fn coloured_lines(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        safe.push_str(&lines(&rest[..at]));
        rest = &rest[at..];
        let len = COLOURS.iter().find(|colour| rest.starts_with(**colour)).map_or(0, |colour| colour.len());
        if len == 0 {
            push_visible(&mut safe, '\u{1b}');
        }
        safe.push_str(&rest[..len]);
        rest = &rest[len.max(1)..];
    }
    safe.push_str(&lines(rest));
    safe
}

/// The escape sequences that [`Style`](crate::Style) writes.
const COLOURS: [&str; 7] =
    ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[1;31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[34m"];

/// Text for a Markdown paragraph or table cell.
pub fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in terminal(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => safe.extend(['\\', c]),
            c => safe.push(c),
        }
    }
    safe
}

/// Rows as comma-separated values (RFC 4180), with formulas made harmless.
pub fn csv(rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).flexible(true).from_writer(Vec::new());
    for row in rows {
        // Writing to memory cannot fail, and flexible rows may have any length.
        let _ = writer.write_record(row.into_iter().map(spreadsheet_text));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_neither_moves_the_cursor_nor_makes_lines() {
        let name = "a\u{1b}[2Jb\u{9b}31mc\u{202e}d\u{2028}e\nf\tg\u{7f}h\u{2066}";
        let mark = '\u{fffd}';
        assert_eq!(terminal(name).matches(mark).count(), 8, "{}", terminal(name));
        assert!(terminal(name).chars().all(|c| !c.is_control()));
        assert_eq!(lines(name).matches(mark).count(), 6);
        assert!(lines(name).contains("e\nf\tg"));
        assert_eq!(terminal("\u{10ffff}\u{10ff80}"), "\\xff\\x80");
        assert!(!markdown(name).contains('\n') && !markdown(name).contains('\u{202e}'));
    }

    #[test]
    fn rendered_output_keeps_its_colours_and_no_other_escape_sequence() {
        let own = "\u{1b}[1;31mslower\u{1b}[0m\n";
        assert_eq!(coloured_lines(own), own);
        for hostile in ["\u{1b}[2J", "\u{1b}]0;title\u{7}", "\u{1b}[8m", "\u{1b}", "\u{1b}[31", "x\u{1b}ä"] {
            assert!(!coloured_lines(hostile).contains('\u{1b}'), "{hostile:?}");
        }
    }

    #[test]
    fn hostile_names_stay_text_everywhere() {
        let name = "</script><img src=x onerror=alert(1)>\u{1b}[31m|`*";
        assert!(!terminal(name).contains('\u{1b}'));
        assert!(markdown(name).contains("\\|") && !markdown(name).contains('<'));
        let row = ["=HYPERLINK(\"x\")", "-1.5", ""].map(str::to_owned).to_vec();
        assert_eq!(csv(std::iter::once(row)), "\"'=HYPERLINK(\"\"x\"\")\",-1.5,\r\n");
    }
}
