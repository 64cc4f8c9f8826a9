//! The analysis as one self-contained HTML page.

use std::fmt::Write;

use sharebench_analysis::{Analysis, Sentence, View};

use crate::articles::article;
use crate::chart_data::chart_data;
use crate::escape::{html as safe, json_in_script};
use crate::evidence::{cost, tails, why};
use crate::method::method;
use crate::page::{sentences, table, trust};
use crate::rank_table::rank_tables;
use crate::table::Table;

pub(crate) const STYLE: &str = include_str!("../assets/report.css");
pub(crate) const ECHARTS: &str = include_str!("../assets/echarts/echarts-6.1.0.custom.min.js");
pub(crate) const CHARTS: [&str; 3] = [
    include_str!("../assets/charts.js"),
    include_str!("../assets/charts-evidence.js"),
    include_str!("../assets/charts-data.js"),
];
/// The same library with what draws surfaces; BSD-3-Clause besides (assets/echarts/README.md).
const ECHARTS_GL: &str = include_str!("../assets/echarts/echarts-6.1.0-gl-2.1.0.custom.min.js");
const SURFACE: &str = include_str!("../assets/charts-surface.js");
const PAGE: &str = include_str!("../assets/page.js");

/// The page may run its own inline style and script, and reach nothing.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
/// ECharts GL writes sizes as expressions, which it makes functions of.
const POLICY_GL: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data:";

/// Answer, trust, users, differences, requests in flight, caches, tails, cost, what was not resolved, method: one
/// file that needs no network, follows light and dark, and prints.
pub fn html(analysis: &Analysis) -> String {
    page(analysis, false)
}

/// The same with a surface in three dimensions beside each map, for browsers that have WebGL; larger by the library
/// that draws it.
pub fn html_with_surfaces(analysis: &Analysis) -> String {
    page(analysis, true)
}

fn page(analysis: &Analysis, surfaces: bool) -> String {
    let title = if analysis.title.is_empty() { "sharebench report" } else { &analysis.title };
    let (library, surface, policy) =
        if surfaces { (ECHARTS_GL, SURFACE, POLICY_GL) } else { (ECHARTS, "", POLICY) };
    let mut out = String::with_capacity(library.len() + 500_000);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        safe(title)
    );
    header(&mut out, analysis, title);
    let parts = parts(analysis, surfaces);
    out.push_str("<nav aria-label=\"Parts of the report\"><ul>");
    for (id, title, _) in &parts {
        let _ = write!(out, "<li><a href=\"#{id}\">{title}</a></li>");
    }
    out.push_str("</ul></nav>\n<main>\n");
    for (id, title, body) in &parts {
        let _ = write!(
            out,
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{title}</h2>\n{body}</section>\n"
        );
    }
    out.push_str("</main>\n");
    footer(&mut out, analysis, surfaces);
    let _ = write!(
        out,
        "<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n{library}</script>\n\
         <script>\n{}{surface}{PAGE}</script>\n</body>\n</html>\n",
        json_in_script(&chart_data(analysis)),
        CHARTS.concat()
    );
    out
}

fn header(out: &mut String, analysis: &Analysis, title: &str) {
    let told = analysis.methods.iter().map(|method| method.started_unix_ms).filter(|start| *start > 0);
    let starts: Vec<String> = told.map(crate::show::instant).collect();
    let _ = write!(
        out,
        "<header><p class=\"brand\">sharebench report{}</p>\n<h1>{}</h1>\n<ul class=\"systems\">",
        if starts.is_empty() { String::new() } else { format!(" &middot; measured {}", starts.join(", ")) },
        safe(title)
    );
    for (index, system) in analysis.systems.iter().enumerate() {
        let _ = write!(
            out,
            "<li><span class=\"dot\" style=\"background: var(--s{})\"></span><b>{}</b> {}</li>",
            index % 6,
            safe(&system.name),
            safe(&system.url)
        );
    }
    out.push_str("</ul></header>\n");
}

fn footer(out: &mut String, analysis: &Analysis, surfaces: bool) {
    let versions: Vec<&str> = analysis.methods.iter().map(|method| method.version.as_str()).collect();
    let _ = writeln!(
        out,
        "<footer>Made by sharebench {}. Charts by Apache ECharts 6.1.0 (Apache-2.0){}. \
         This page loads nothing from anywhere.</footer>",
        safe(versions.first().copied().unwrap_or_default()),
        if surfaces { ", surfaces by ECharts GL 2.1.0 (BSD-3-Clause)" } else { "" }
    );
}

/// Id, heading and content of each part that has any.
fn parts(analysis: &Analysis, surfaces: bool) -> Vec<(&'static str, &'static str, String)> {
    let answer = format!("<div class=\"card answer\">{}</div>\n", sentences(analysis.answer.iter()));
    let mut parts = vec![("answer", "Answer", answer), ("trust", "Can I trust it?", trust(analysis))];
    if !analysis.contradictions.is_empty() {
        let card = format!("<div class=\"card\">{}</div>\n", sentences(analysis.contradictions.iter()));
        parts.push(("contradictions", "Contradictions", card));
    }
    let alone = analysis.comparisons.is_empty();
    let differ = if alone { "Each test" } else { "Where they differ" };
    let mut told = vec![
        ("users", "Users it carries", view_part(analysis, View::Load, surfaces)),
        ("differ", differ, view_part(analysis, View::Sweep, surfaces)),
        ("depth", "Requests in flight", view_part(analysis, View::Depth, surfaces)),
        ("why", "Why: caches and settings", why(analysis)),
        ("tails", "Tails", tails(analysis)),
        ("cost", "What it costs", cost(analysis)),
        ("ranks", "The machines that measured", ranks(analysis)),
    ];
    told.retain(|(.., body)| !body.is_empty());
    parts.extend(told);
    if !analysis.not_resolved.is_empty() || !analysis.left_out.is_empty() {
        parts.push(("open", "What was not resolved", open(analysis)));
    }
    parts.push(("method", "Method and raw data", method(analysis)));
    parts
}

fn view_part(analysis: &Analysis, view: View, surfaces: bool) -> String {
    let sections: Vec<_> =
        analysis.sections.iter().enumerate().filter(|(_, section)| section.view == view).collect();
    let mut out = String::new();
    if !sections.is_empty() && view != View::Load && !analysis.comparisons.is_empty() {
        out.push_str(KEY);
    }
    if sections.len() >= FILTERED_FROM {
        out.push_str(FILTER);
    }
    for (index, section) in sections {
        out.push_str(&article(analysis, index, section, surfaces));
    }
    out
}

/// So many tests are worth a filter.
const FILTERED_FROM: usize = 3;

/// Hides tests; the script fills in how many are left, and without script it stays hidden itself.
const FILTER: &str = "<form class=\"filter\" hidden><label>Tests <input type=\"search\" placeholder=\"part of a name\"></label> \
    <label>Show <select><option value=\"\">all</option><option value=\"difference\">with a difference</option>\
    <option value=\"same\">about the same</option><option value=\"not-resolved\">not resolved</option></select></label> \
    <output></output></form>\n";

/// How to read the heatmaps.
const KEY: &str = "<div class=\"key\"><span>slower</span><span class=\"ramp\"></span><span>faster</span>\
    <span>numbers in percent</span><span>pale: wide interval</span><span class=\"swatch\"></span>\
    <span>? not resolved</span><span>= about the same</span><span class=\"frame\">1</span><span>region, with its sentence</span></div>\n";

/// Each rank's part, of runs of several; who is unlike the others stands above the table.
fn ranks(analysis: &Analysis) -> String {
    let mut out = String::new();
    for (index, (title, ranks)) in rank_tables(analysis, None).into_iter().enumerate() {
        let _ = write!(out, "<article class=\"card\"><h3>{}</h3>", safe(&title));
        for note in &ranks.notes {
            let _ = write!(out, "<p>{}</p>", safe(note));
        }
        let behind = Table { notes: Vec::new(), ..ranks };
        out.push_str(&table(&format!("ranks{index}"), "Each rank", &behind, None));
        out.push_str("</article>\n");
    }
    out
}

fn open(analysis: &Analysis) -> String {
    let all: Vec<&Sentence> = analysis.not_resolved.iter().collect();
    let mut out = format!("<div class=\"card\">{}", sentences(all.into_iter()));
    if !analysis.left_out.is_empty() {
        out.push_str("<details><summary>Steps left out</summary><div class=\"scroll\" tabindex=\"0\"><table><thead><tr>\
            <th scope=\"col\">system</th><th scope=\"col\" class=\"left\">where</th><th scope=\"col\">repetition</th>\
            <th scope=\"col\" class=\"left\">why</th></tr></thead><tbody>\n");
        for step in &analysis.left_out {
            let _ = writeln!(
                out,
                "<tr><th scope=\"row\">{}</th><td class=\"wrap\">{}</td><td>{}</td><td class=\"wrap\">{}</td></tr>",
                safe(&analysis.systems[step.system].name),
                safe(&step.coordinates.to_string()),
                step.repetition,
                safe(&step.reason)
            );
        }
        out.push_str("</tbody></table></div></details>");
    }
    if !analysis.unmatched.is_empty() {
        out.push_str("<details><summary>Positions without counterpart</summary><ul>\n");
        for unmatched in &analysis.unmatched {
            let _ = writeln!(out, "<li>{}</li>", safe(&unmatched.words(analysis)));
        }
        out.push_str("</ul></details>");
    }
    out + "</div>\n"
}
