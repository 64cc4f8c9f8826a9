//! Bars of rates, one line per system.

use std::fmt::Write;

use super::layout::{pad, width};
use super::style::{BLUE, DIM, Style};
use crate::escape::terminal as safe;
use crate::first_screen::BarChart;

/// Eighths of a column.
const EIGHTHS: [char; 8] =
    [' ', '\u{258f}', '\u{258e}', '\u{258d}', '\u{258c}', '\u{258b}', '\u{258a}', '\u{2589}'];
/// Columns of the longest bar.
const LONGEST: usize = 40;

/// Writes bars from zero, so that lengths compare as the values do; nothing for fewer than two.
pub(super) fn write_bars(out: &mut String, style: Style, BarChart { caption, bars, .. }: &BarChart) {
    let most = bars.iter().map(|bar| bar.value).fold(0.0_f64, f64::max);
    if bars.len() < 2 || !most.is_finite() || most <= 0.0 {
        return;
    }
    let _ = writeln!(out, "  {}", style.paint(DIM, caption));
    let names = bars.iter().map(|bar| width(&safe(&bar.name))).max().unwrap_or(0);
    let texts = bars.iter().map(|bar| width(&bar.text)).max().unwrap_or(0);
    let columns = style.limit().saturating_sub(names + texts + 6).clamp(8, LONGEST);
    for bar in bars {
        let line = drawn(style, bar.value / most, columns);
        let _ = writeln!(
            out,
            "  {}  {}  {}",
            pad(&safe(&bar.name), names, true),
            style.paint(BLUE, &pad(&line, columns, false)),
            pad(&bar.text, texts, true)
        );
    }
    out.push('\n');
}

/// A bar of that share of the columns.
fn drawn(style: Style, share: f64, columns: usize) -> String {
    if !style.unicode {
        return "#".repeat(((share * columns as f64).round() as usize).max(1));
    }
    let eighths = ((share * columns as f64 * 8.0).round() as usize).max(1);
    let mut line = "\u{2588}".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        line.push(EIGHTHS[eighths % 8]);
    }
    line
}

#[cfg(test)]
mod tests {
    use sharebench_analysis::RateUnit;

    use super::{drawn, write_bars};
    use crate::Style;
    use crate::first_screen::{Bar, BarChart};

    #[test]
    fn lengths_are_in_proportion() {
        let style = Style::terminal(80);
        assert_eq!(drawn(style, 1.0, 4), "\u{2588}".repeat(4));
        assert_eq!(drawn(style, 0.5, 4), "\u{2588}".repeat(2));
        assert_eq!(drawn(style, 0.125, 4), "\u{258c}");
        assert_eq!(drawn(style, 0.0, 4), "\u{258f}");
        assert_eq!(drawn(Style::piped(), 0.5, 4), "##");
    }

    #[test]
    fn one_system_has_no_bar() {
        let mut out = String::new();
        let bar = Bar { system: 0, name: "smb".into(), value: 1.0, text: "1 B/s".into(), interval: None };
        let bars = BarChart { caption: "rate".into(), unit: RateUnit::BytesPerSecond, bars: vec![bar] };
        write_bars(&mut out, Style::piped(), &bars);
        assert_eq!(out, "");
    }
}
