//! Escaping for the terminal, Markdown and CSV: names and messages come from users and servers, and must stay text.
//!
//! HTML is escaped by `maud`.

/// Text for a terminal: no control characters, so no escape sequences of others.
pub fn terminal(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

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

/// Text for a CSV field: what a spreadsheet would take for a formula gets an apostrophe, so that it stays text.
///
/// The `csv` crate adds the quotes.
pub fn formula(text: String) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if formula { format!("'{text}") } else { text }
}

/// Rows as comma-separated values (RFC 4180), with formulas made harmless.
pub fn csv(rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).flexible(true).from_writer(Vec::new());
    for row in rows {
        // Writing to memory cannot fail, and flexible rows may have any length.
        let _ = writer.write_record(row.into_iter().map(formula));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_text_everywhere() {
        let name = "</script><img src=x onerror=alert(1)>\u{1b}[31m|`*";
        assert!(!terminal(name).contains('\u{1b}'));
        assert!(markdown(name).contains("\\|") && !markdown(name).contains('<'));
        let row = ["=HYPERLINK(\"x\")", "-1.5", ""].map(str::to_owned).to_vec();
        assert_eq!(csv(std::iter::once(row)), "\"'=HYPERLINK(\"\"x\"\")\",-1.5,\r\n");
    }
}
