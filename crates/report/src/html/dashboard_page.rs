//! The page that shows a run while it measures. Its script draws the state that the program sends.

use maud::{Markup, html};

use super::document::{Document, document_text};

const DASHBOARD: &str = include_str!("../../assets/dashboard.js");

/// The dashboard of a run with this title, by this version of the program.
///
/// The page loads `events`, relative to its own address: server-sent events with the whole state of the run and with
/// each finished step. At the event `end` it loads its own address again, where the server then has the report. All text
/// of the state becomes text nodes, so names from users and servers are never markup.
pub fn dashboard_page(title: &str, version: &str) -> String {
    let title = if title.is_empty() { "sharebench run" } else { title };
    let body = html! {
        header {
            p.brand { "sharebench dashboard" }
            h1 { (title) }
            p #phase role="status" { "connecting" }
            noscript { p { "This page needs JavaScript. The terminal shows the same." } }
        }
        "\n"
        main { (progress()) (targets()) (figures()) (messages()) }
        "\n"
        footer {
            "Made by sharebench " (version) ". Charts by Apache ECharts 6.1.0 (Apache-2.0). \
             This page loads nothing but the state of the run from this machine."
        }
        "\n"
    };
    document_text(&Document { title: &format!("{title}: sharebench dashboard"), policy: None }, |out| {
        out.markup(&body)?;
        out.library()?;
        out.charts(&[DASHBOARD])
    })
}

/// The current step, and how much of the run is done.
fn progress() -> Markup {
    html! {
        section.panel aria-label="Progress" {
            p #step { "waiting for the first step" }
            progress #share max="1" value="0" aria-label="finished share of the run" {}
            p #left {}
            p #users hidden {}
        }
        "\n"
    }
}

fn targets() -> Markup {
    html! {
        section.panel aria-label="Targets" {
            div.scroll tabindex="0" role="group" aria-label="targets" {
                table {
                    thead {
                        tr {
                            th scope="col" { "target" }
                            th scope="col" { "rate" }
                            th scope="col" { "p50" }
                            th scope="col" { "p99" }
                            th scope="col" { "steps" }
                        }
                    }
                    tbody #targets {}
                }
            }
            p #checks {}
            p #failures hidden {}
        }
        "\n"
    }
}

/// The charts; each is hidden until it has data.
fn figures() -> Markup {
    html! {
        section.panel #charts aria-label="Charts" {
            div.charts {
                (figure("users-chart", "Rate against users"))
                (figure("cells-chart", "Rate of each cell"))
                (figure("history-chart", "Last 60 rates in the order of time"))
            }
        }
        "\n"
    }
}

fn figure(id: &str, what: &str) -> Markup {
    html! {
        figure id=(id) hidden {
            figcaption { span.what { (what) } }
            div.plot role="img" aria-label=(what) {}
        }
    }
}

fn messages() -> Markup {
    html! {
        section.panel #messages hidden aria-label="Messages" {
            ul {}
        }
        "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_escapes_the_title_and_loads_nothing_from_elsewhere() {
        let page = dashboard_page("<img src=x onerror=alert(1)>", "0.1.0");
        assert!(page.contains("&lt;img src=x") && !page.contains("<img"), "the title is text");
        assert!(!page.contains("src=\"") && !page.contains("<link"), "everything is in the page");
        assert!(page.contains("new EventSource('events')"));
    }
}
