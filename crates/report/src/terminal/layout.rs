//! Monospaced layout: wrapped text and column blocks that fit a width.

use unicode_width::UnicodeWidthStr;

/// Columns a text takes on a terminal.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Lines of at most `limit` columns, broken at blanks; later lines start with `indent` blanks.
pub fn wrap(text: &str, limit: usize, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let empty = line.trim().is_empty();
        if !empty && width(&line) + 1 + width(word) > limit {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            line.push_str(word);
        } else {
            line.push_str(if empty { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.push(line);
    lines
}

/// `text` padded with blanks to `columns`, to the left or to the right of it.
pub fn pad(text: &str, columns: usize, left: bool) -> String {
    let blanks = " ".repeat(columns.saturating_sub(width(text)));
    if left { blanks + text } else { text.to_owned() + &blanks }
}

/// Splits columns of the given widths into blocks that fit `limit`, each repeating the `keys` first ones.
///
/// A block has at least one column besides the keys, even where that is too wide.
pub fn blocks(widths: &[usize], keys: usize, gap: usize, limit: usize) -> Vec<Vec<usize>> {
    let span = |column: usize| widths[column] + gap;
    let key_span: usize = (0..keys).map(span).sum();
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut used = usize::MAX;
    for column in keys..widths.len() {
        if used.saturating_add(span(column)) > limit + gap {
            blocks.push((0..keys).collect());
            used = key_span;
        }
        if let Some(block) = blocks.last_mut() {
            block.push(column);
        }
        used += span(column);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_wraps_at_blanks_and_keeps_its_indent() {
        let lines = wrap("nfs is 12 % faster than smb", 12, 2);
        assert_eq!(lines, ["nfs is 12 %", "  faster", "  than smb"]);
        assert_eq!(wrap("", 10, 2), [""]);
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(pad("服务", 6, true), "  服务");
    }

    #[test]
    fn columns_that_do_not_fit_move_to_a_second_block() {
        assert_eq!(blocks(&[6, 6, 10, 10, 10], 2, 2, 40), [vec![0, 1, 2, 3], vec![0, 1, 4]]);
        assert_eq!(blocks(&[6, 99], 1, 2, 40), [vec![0, 1]]);
        assert!(blocks(&[6], 1, 2, 40).is_empty());
    }
}
