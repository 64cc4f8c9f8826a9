//! The frame of every page, and the files of script and style that pages contain.
//!
//! `maud` escapes whatever a page shows. What is left to this module is text that HTML cannot contain (control
//! characters), and JSON within a script, which has other rules.

use maud::{Markup, PreEscaped, html};

const STYLE: &str = include_str!("../../assets/report.css");
const ECHARTS: &str = include_str!("../../assets/echarts/echarts-6.1.0.custom.min.js");
/// The same library with the parts that draw surfaces; BSD-3-Clause (the README of its folder lists its sources).
const ECHARTS_GL: &str = include_str!("../../assets/echarts/echarts-6.1.0-gl-2.1.0.custom.min.js");
const CHARTS: [&str; 3] = [
    include_str!("../../assets/charts.js"),
    include_str!("../../assets/charts-evidence.js"),
    include_str!("../../assets/charts-data.js"),
];

/// A page without its frame.
pub struct Document<'a> {
    pub title: &'a str,
    /// Content-Security-Policy of a page that is opened from a file; a server sends its own as a header.
    pub policy: Option<&'a str>,
    pub body: Markup,
    /// Scripts at the end of the body, from [`script`], [`library`] and [`data`].
    pub scripts: Markup,
}

/// The whole page.
pub fn document(page: &Document<'_>) -> String {
    let title = visible(page.title);
    let body = visible(&page.body.0);
    let markup = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                @if let Some(policy) = page.policy {
                    meta http-equiv="Content-Security-Policy" content=(policy);
                }
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            "\n"
            body {
                (PreEscaped(body))
                (page.scripts)
            }
        }
        "\n"
    };
    markup.into_string()
}

/// The text with a visible character for each control character, which HTML cannot contain and a terminal obeys.
fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// A script of ours.
pub fn script(source: &str) -> Markup {
    html! { script { "\n" (PreEscaped(source)) } "\n" }
}

/// The library of charts.
pub fn library(surfaces: bool) -> Markup {
    script(if surfaces { ECHARTS_GL } else { ECHARTS })
}

/// The script of the charts, followed by scripts that use it.
pub fn charts(users: &[&str]) -> Markup {
    script(&(CHARTS.concat() + &users.concat()))
}

/// JSON that the scripts read.
pub fn data(json: &str) -> Markup {
    html! { script type="application/json" id="data" { (PreEscaped(json_in_script(json))) } "\n" }
}

/// JSON without `</script`, `<!--` and line separators: a script element ends at the first of them.
fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_text_in_markup_and_in_scripts() {
        let name = "</script><img src=x onerror=alert(1)>\u{1b}[31m\"&";
        let page = document(&Document {
            title: name,
            policy: None,
            body: html! { p title=(name) { (name) } },
            scripts: data(&format!("[{name:?}]")),
        });
        assert!(!page.contains("<img") && !page.contains('\u{1b}'), "{page}");
        assert!(page.contains("title=\"&lt;/script&gt;") && page.contains("&quot;&amp;"), "{page}");
        assert_eq!(page.matches("</script>").count(), 1);
    }
}
