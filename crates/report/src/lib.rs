//! An analysis as terminal tables, Markdown, JSON, CSV and one self-contained HTML page.
//!
//! The crate renders and computes nothing: each number and each sentence comes from [`Analysis`](sharebench_analysis::Analysis).
//! Names, titles and messages come from users and from servers, so every format escapes them by its own rules.
//!
//! `show` turns quantities into texts, and `tables` puts them into rows; `terminal`, `html` and `export` render sentences
//! and tables as one format each. `first_screen` is what terminal and page show first. `charts` is the data that the script of the HTML page draws.
//!
//! ```
//! use sharebench_analysis::{Options, analyse};
//! use sharebench_report::{Style, markdown, terminal};
//! let analysis = analyse(&[], &Options::default());
//! assert!(terminal(&analysis, Style::piped()).contains("ANSWER"));
//! assert!(markdown(&analysis).starts_with("# "));
//! ```

mod charts;
mod escape;
mod export;
mod first_screen;
mod html;
mod show;
mod tables;
mod terminal;

pub use escape::{coloured_lines, lines as plain_lines, markdown as markdown_text, terminal as plain};
pub use export::{
    SheetRows, csv, json, markdown, series_csv, series_json, series_markdown, series_text, sheets,
};
pub use html::{IMAGES_BETWEEN, RunLine, dashboard_page, html, images_page, runs_page, write_html};
pub use terminal::{Screen, Style, ranks, summary, terminal, width as columns, wrap};
