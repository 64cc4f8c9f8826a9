//! Pieces of the HTML page: sentences, lights, tables.

use std::fmt::Write;

use sharebench_analysis::{Analysis, RatioVerdict, Sentence, Status, Tone};

use crate::chart_data::{region_id, region_number};
use crate::escape::html as safe;
use crate::show;
use crate::table::Table;

/// Sentences as a list, each with the mark of its tone; those of a region lead to the sentence below its map.
pub fn sentences<'a>(all: impl Iterator<Item = &'a Sentence>) -> String {
    written(all, "", |comparison, region| {
        let (id, number) = (region_id(comparison, region), region_number(region));
        (
            String::new(),
            format!(" <a class=\"region\" href=\"#{id}\" title=\"region {number} on its map\">{number}</a>"),
        )
    })
}

/// Sentences below a heading that says `prefix` already; those of a region have its number and id.
///
/// Where there is no map, they keep their ids alone.
pub fn listed<'a>(all: impl Iterator<Item = &'a Sentence>, prefix: &str, map: bool) -> String {
    written(all, prefix, |comparison, region| {
        let (id, number) = (region_id(comparison, region), region_number(region));
        let badge = format!(
            "<a class=\"region\" href=\"#{id}\" data-comparison=\"{comparison}\" title=\"show region {number} on the map\">{number}</a> "
        );
        (format!(" id=\"{id}\""), if map { badge } else { String::new() })
    })
}

/// What a region adds to its sentence: attributes of the item, and its badge.
fn written<'a>(
    all: impl Iterator<Item = &'a Sentence>,
    prefix: &str,
    region: impl Fn(usize, usize) -> (String, String),
) -> String {
    let mut out = String::from("<ul class=\"sentences\">");
    for sentence in all {
        let class = match sentence.tone {
            Tone::Alarm => "alarm",
            Tone::Difference => "difference",
            Tone::Same => "same",
            Tone::NotResolved => "not-resolved",
            Tone::Note => "note",
        };
        let text = sentence.text.strip_prefix(prefix).unwrap_or(&sentence.text);
        let (attributes, badge) =
            sentence.region.map_or_else(Default::default, |at| region(at.comparison, at.region));
        // In its own list the number stands first, as on the map.
        let (before, after) = if attributes.is_empty() { ("", badge.as_str()) } else { (badge.as_str(), "") };
        let _ = write!(out, "<li class=\"{class}\"{attributes}>{before}{}{after}</li>", safe(text));
    }
    out + "</ul>"
}

/// The strip of lights.
pub fn trust(analysis: &Analysis) -> String {
    let mut out = String::from("<ul class=\"trust\">");
    for line in &analysis.trust {
        let class = match line.status {
            Status::Ok => "green",
            Status::Warning => "amber",
            Status::Failed => "red",
        };
        let _ = write!(out, "<li class=\"{class}\"><b>{}</b>{}</li>", safe(&line.subject), safe(&line.text));
    }
    out + "</ul>\n" + &self_checks(analysis)
}

/// Every self-check with its counts and its arithmetic.
fn self_checks(analysis: &Analysis) -> String {
    if analysis.self_checks.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<details><summary>Self-checks</summary><div class=\"scroll\" tabindex=\"0\"><table><thead><tr>\
         <th scope=\"col\">check</th><th scope=\"col\" class=\"left\">steps</th>\
         <th scope=\"col\" class=\"left\">such as</th></tr></thead><tbody>\n",
    );
    for check in &analysis.self_checks {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"wrap\">{}</td><td class=\"wrap\">{}</td></tr>",
            safe(&check.name),
            show::counts(check),
            safe(&check.example)
        );
    }
    out + "</tbody></table></div></details>\n"
}

/// A table behind its summary line; where `section` is given, each row has an id and leads to its cell.
pub fn table(id: &str, summary: &str, table: &Table, section: Option<usize>) -> String {
    let summary = safe(summary);
    let mut out = format!(
        "<details id=\"{id}\"><summary>{summary}</summary><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{summary}\">\
         <table><caption>{}</caption><thead><tr>",
        safe(&table.caption)
    );
    for name in &table.header {
        let _ = write!(out, "<th scope=\"col\">{}</th>", safe(name));
    }
    out.push_str("</tr></thead><tbody>\n");
    for (number, row) in table.rows.iter().enumerate() {
        match section {
            Some(section) => write!(out, "<tr id=\"r{section}-{number}\">"),
            None => write!(out, "<tr>"),
        }
        .unwrap_or_default();
        for (column, cell) in row.iter().enumerate() {
            let text = safe(&cell.text);
            let _ = match (column < table.keys, cell.standing) {
                (true, _) => match section.filter(|_| column == 0) {
                    Some(section) => {
                        write!(out, "<th scope=\"row\"><a href=\"#cell-{section}-{number}\">{text}</a></th>")
                    }
                    None => write!(out, "<th scope=\"row\">{text}</th>"),
                },
                (_, None) => write!(out, "<td>{text}</td>"),
                (_, Some(standing)) => {
                    let class = standing.word().replace(' ', "-");
                    write!(out, "<td class=\"{class}\">{text} {}</td>", mark(standing))
                }
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>");
    for note in &table.notes {
        let _ = write!(out, "<p>{}</p>", safe(note));
    }
    out + "</details>\n"
}

fn mark(standing: RatioVerdict) -> &'static str {
    match standing {
        RatioVerdict::Faster => "▲",
        RatioVerdict::Slower => "▼",
        RatioVerdict::AboutTheSame => "=",
        RatioVerdict::NotResolved => "?",
    }
}
