//! The list of runs as a page: filter, choose, compare, open. It needs no script.

use std::fmt::Write;

use crate::escape::html as safe;
use crate::html::STYLE;
use crate::show::instant;

/// A run in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    /// Number in its results database.
    pub id: i64,
    /// What the user calls it.
    pub title: String,
    /// Start, milliseconds since 1970 (UTC); 0 where it is not told.
    pub started_unix_ms: u64,
    /// Such as `complete`.
    pub state: String,
    /// Such as `584/584`.
    pub steps: String,
    /// Names of its targets.
    pub targets: Vec<String>,
}

impl RunLine {
    fn matches(&self, words: &[String]) -> bool {
        let text =
            format!("{} {} {} {}", self.id, self.title, self.state, self.targets.join(" ")).to_lowercase();
        words.iter().all(|word| text.contains(word))
    }
}

/// Those of `runs` whose number, title, state or targets hold every word of `filter`, the newest first. Links lead to
/// `/report?run=N`, with several `run` for a comparison, and `surfaces=yes` for surfaces beside the maps.
pub fn runs_page(store: &str, runs: &[RunLine], filter: &str) -> String {
    let words: Vec<String> = filter.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let found: Vec<&RunLine> = runs.iter().rev().filter(|run| run.matches(&words)).collect();
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Runs in {0}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style></head><body>\
         <header><p class=\"brand\">sharebench</p><h1>Runs in {0}</h1></header><main>\n\
         <form class=\"filter\" action=\"/\"><label>Filter <input type=\"search\" name=\"q\" value=\"{1}\"></label> \
         <button>Show</button> <output>{2} of {3}</output></form>\n\
         <form action=\"/report\"><div class=\"card scroll\" tabindex=\"0\" role=\"group\" aria-label=\"runs\"><table><thead><tr>\
         <th scope=\"col\">choose</th><th scope=\"col\">run</th><th scope=\"col\" class=\"left\">title</th><th scope=\"col\">started</th>\
         <th scope=\"col\">state</th><th scope=\"col\">steps</th><th scope=\"col\" class=\"left\">targets</th></tr></thead><tbody>\n",
        safe(store),
        safe(filter),
        found.len(),
        runs.len()
    );
    for run in found {
        let id = run.id;
        let _ = writeln!(
            out,
            "<tr><td><input type=\"checkbox\" name=\"run\" value=\"{id}\" aria-label=\"choose run {id}\"></td>\
             <td>{id}</td><th scope=\"row\" class=\"left\"><a href=\"/report?run={id}\">{}</a></th><td>{}</td><td>{}</td><td>{}</td>\
             <td class=\"wrap\">{}</td></tr>",
            safe(if run.title.is_empty() { "without title" } else { &run.title }),
            safe(&instant(run.started_unix_ms)),
            safe(&run.state),
            safe(&run.steps),
            safe(&run.targets.join(", "))
        );
    }
    out + "</tbody></table></div>\n<p><button>Compare the chosen runs</button> \
           <label><input type=\"checkbox\" name=\"surfaces\" value=\"yes\"> with surfaces</label> Of two runs the later number is held against the \
           earlier one.</p></form></main></body></html>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_filtered_and_their_names_stay_text() {
        let run = |id, title: &str, target: &str| RunLine {
            id,
            title: title.to_owned(),
            started_unix_ms: 0,
            state: "complete".to_owned(),
            steps: "4/4".to_owned(),
            targets: vec![target.to_owned()],
        };
        let runs = [run(1, "<script>alert(1)</script>", "smb"), run(2, "friday", "nfs")];
        let all = runs_page("a.db", &runs, "");
        assert!(!all.contains("<script") && all.contains("2 of 2"), "{all}");
        assert!(all.find("friday") < all.find("alert"), "the newest first");
        let some = runs_page("a.db", &runs, "NFS complete");
        assert!(some.contains("1 of 2") && some.contains("run=2") && !some.contains("run=1"), "{some}");
    }
}
