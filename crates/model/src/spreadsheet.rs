//! Texts of others in tables that a spreadsheet opens.

/// True for a text that a spreadsheet runs as a formula: it begins with one of the characters that start one, and is no
/// number.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && text.parse::<f64>().is_err()
}

/// Text for a CSV field. A text that a spreadsheet would run as a formula gets an apostrophe in front, so that it remains
/// text. So does one that has an apostrophe already, so that [`spreadsheet_text_read`] returns the same text.
pub fn spreadsheet_text(text: String) -> String {
    if is_formula(text.trim_start_matches('\'')) { format!("'{text}") } else { text }
}

/// The text that [`spreadsheet_text`] wrote.
pub fn spreadsheet_text_read(field: &str) -> &str {
    match field.strip_prefix('\'') {
        Some(text) if is_formula(text.trim_start_matches('\'')) => text,
        _ => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_remain_text_and_are_read_back() {
        for formula in ["=cmd|' /C calc'!A0", "@SUM(1)", "+x", "-x", "\t=1", "\r", "\n=1", "'=1", "-"] {
            let written = spreadsheet_text(formula.to_owned());
            assert_eq!(written, format!("'{formula}"));
            assert_eq!(spreadsheet_text_read(&written), formula);
        }
        for text in ["", "-1.5", "+7", "read", "'tis", "'", "''"] {
            assert_eq!(spreadsheet_text(text.to_owned()), text);
            assert_eq!(spreadsheet_text_read(text), text);
        }
    }
}
