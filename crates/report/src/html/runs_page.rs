//! The list of runs as a page: filter, choose, compare, open. It has no script.

use maud::{Markup, html};

use super::document::{Document, document_text};
use crate::show::instant;

/// A run in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    /// Number in its results database.
    pub id: i64,
    /// What the user calls it.
    pub title: String,
    /// Start, milliseconds since 1970 (UTC); 0 where it is unknown.
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

/// The runs whose number, title, state or targets contain every word of `filter`, newest first. Links are relative to the
/// page: `report?run=N`, with several `run` for a comparison.
pub fn runs_page(store: &str, runs: &[RunLine], filter: &str) -> String {
    let words: Vec<String> = filter.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let found: Vec<&RunLine> = runs.iter().rev().filter(|run| run.matches(&words)).collect();
    let title = format!("Runs in {store}");
    let body = html! {
        header {
            p.brand { "sharebench" }
            h1 { (title) }
        }
        main {
            form.filter action="./" {
                label { "Filter " input type="search" name="q" value=(filter); }
                " " button { "Show" }
                " " output { (found.len()) " of " (runs.len()) }
            }
            form action="report" {
                (table(&found))
                p {
                    button { "Compare the chosen runs" }
                    " The run with the lower number is the baseline."
                }
            }
        }
    };
    document_text(&Document { title: &title, policy: None }, |out| out.markup(&body))
}

fn table(runs: &[&RunLine]) -> Markup {
    html! {
        div.panel.scroll tabindex="0" role="group" aria-label="runs" {
            table {
                thead {
                    tr {
                        th scope="col" { "choose" }
                        th scope="col" { "run" }
                        th.left scope="col" { "title" }
                        th scope="col" { "started" }
                        th scope="col" { "state" }
                        th scope="col" { "steps" }
                        th.left scope="col" { "targets" }
                    }
                }
                tbody {
                    @for run in runs { (row(run)) "\n" }
                }
            }
        }
    }
}

fn row(run: &RunLine) -> Markup {
    let title = if run.title.is_empty() { "without title" } else { &run.title };
    html! {
        tr {
            td {
                input type="checkbox" name="run" value=(run.id) aria-label=(format!("choose run {}", run.id));
            }
            td { (run.id) }
            th.left scope="row" { a href=(format!("report?run={}", run.id)) { (title) } }
            td { (instant(run.started_unix_ms)) }
            td { (run.state) }
            td { (run.steps) }
            td.wrap { (run.targets.join(", ")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_filters_runs_and_escapes_their_names() {
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
        assert!(!all.contains("=\"/"), "links are relative, below the path of the page: {all}");
        assert!(!all.contains("<script") && all.contains("2 of 2"), "{all}");
        assert!(all.find("friday") < all.find("alert"), "newest first");
        let some = runs_page("a.db", &runs, "NFS complete");
        assert!(some.contains("1 of 2") && some.contains("run=2") && !some.contains("run=1"), "{some}");
    }
}
