//! The frame of every page, and the files of script and style that pages contain.
//!
//! `maud` escapes whatever a page shows. What is left to this module is text that HTML cannot contain (control
//! characters), and JSON within a script, which has other rules.

use std::io::{self, Write};

use maud::{Markup, PreEscaped, html};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

const STYLE: &str = include_str!("../../assets/report.css");
const ECHARTS: &str = include_str!("../../assets/echarts/echarts-6.1.0.custom.min.js");
const CHARTS: [&str; 3] = [
    include_str!("../../assets/charts.js"),
    include_str!("../../assets/charts-evidence.js"),
    include_str!("../../assets/charts-data.js"),
];

/// Place in a frame where [`PageWriter::within`] writes the content. Text of users cannot contain it, because `maud`
/// escapes its angle brackets.
pub const CONTENT: PreEscaped<&str> = PreEscaped("<content>");

/// What a page has besides its body.
pub struct Document<'a> {
    pub title: &'a str,
    /// Content-Security-Policy of a page that is opened from a file; a server sends its own as a header.
    pub policy: Option<&'a str>,
}

/// Writes a whole page; `fill` writes its body, with the scripts at the end.
pub fn document(
    out: &mut dyn Write,
    page: &Document<'_>,
    fill: impl FnOnce(&mut PageWriter<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let frame = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                @if let Some(policy) = page.policy {
                    meta http-equiv="Content-Security-Policy" content=(policy);
                }
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (page.title) }
                style { (PreEscaped(STYLE)) }
            }
            "\n"
            body { (CONTENT) }
        }
        "\n"
    };
    PageWriter { out }.within(&frame, fill)
}

/// As [`document()`], but in memory: for small pages, and for a server that sends a page more than once.
pub fn document_text(
    page: &Document<'_>,
    fill: impl FnOnce(&mut PageWriter<'_>) -> io::Result<()>,
) -> String {
    let mut bytes = Vec::new();
    // Writing to memory cannot fail, and every piece is text.
    let _ = document(&mut bytes, page, fill);
    String::from_utf8(bytes).unwrap_or_default()
}

/// Writes a part of a page.
pub type Body<'a> = Box<dyn FnOnce(&mut PageWriter<'_>) -> io::Result<()> + 'a>;

/// The body of a page while it is written.
///
/// A report of 100,000 steps takes 50 MB as text, which is more than the analysis itself. So it is written in pieces as
/// they are made, and no piece is larger than a row of a table, except for text that users wrote. A piece is markup that
/// `maud` made; the writer replaces control characters in it. A part that contains others is a frame, which has a
/// [`CONTENT`] where the others are written.
pub struct PageWriter<'w> {
    out: &'w mut dyn Write,
}

impl PageWriter<'_> {
    /// Writes a piece, with a visible character for each control character, which HTML cannot contain and a terminal obeys.
    pub fn markup(&mut self, piece: &Markup) -> io::Result<()> {
        self.visible(&piece.0)
    }

    /// Writes a frame, and in it what `fill` writes.
    pub fn within(
        &mut self,
        frame: &Markup,
        fill: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        let (before, after) = frame.0.split_once(CONTENT.0).unwrap_or((&frame.0, ""));
        self.visible(before)?;
        fill(self)?;
        self.visible(after)
    }

    fn visible(&mut self, text: &str) -> io::Result<()> {
        let is_hidden = |c: char| c.is_control() && c != '\n' && c != '\t';
        for (index, part) in text.split(is_hidden).enumerate() {
            if index > 0 {
                self.text("\u{fffd}")?;
            }
            self.text(part)?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// A script of ours.
    pub fn script(&mut self, sources: &[&str]) -> io::Result<()> {
        self.text("<script>\n")?;
        sources.iter().try_for_each(|source| self.text(source))?;
        self.text("</script>\n")
    }

    /// The library of charts.
    pub fn library(&mut self) -> io::Result<()> {
        self.script(&[ECHARTS])
    }

    /// The script of the charts, followed by scripts that use it.
    pub fn charts(&mut self, users: &[&str]) -> io::Result<()> {
        self.script(&[&CHARTS, users].concat())
    }

    /// JSON that the scripts read.
    pub fn data(&mut self, data: &impl Serialize) -> io::Result<()> {
        self.text("<script type=\"application/json\" id=\"data\">")?;
        data.serialize(&mut Serializer::with_formatter(&mut *self.out, JsonInScript))?;
        self.text("</script>\n")
    }
}

/// JSON without `</script`, `<!--` and line separators: a script element ends at the first of them. These characters
/// appear in strings alone, where JSON has another form for each.
struct JsonInScript;

impl Formatter for JsonInScript {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let is_unsafe = |c: char| matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
        let mut rest = fragment;
        while let Some(at) = rest.find(is_unsafe) {
            let (before, from) = rest.split_at(at);
            let mut after = from.chars();
            let code = after.next().map_or(0, u32::from);
            write!(out, "{before}\\u{code:04x}")?;
            rest = after.as_str();
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_text_in_markup_and_in_scripts() {
        let name = "</script><img src=x onerror=alert(1)><content>\u{1b}[31m\"&\u{2028}";
        let page = document_text(&Document { title: name, policy: None }, |out| {
            out.within(&html! { p title=(name) { (name) (CONTENT) } }, |out| {
                out.markup(&html! { b { (name) } })
            })?;
            out.data(&[name])
        });
        assert!(!page.contains("<img") && !page.contains('\u{1b}'), "{page}");
        assert!(page.contains("title=\"&lt;/script&gt;") && page.contains("&quot;&amp;"), "{page}");
        assert!(page.contains("</b></p><script") && !page.contains("<content>"), "{page}");
        assert!(
            page.contains("\\u003c/script\\u003e\\u003cimg") && page.contains("\\u0026\\u2028\"]"),
            "{page}"
        );
        assert_eq!(page.matches("</script>").count(), 1);
    }
}
