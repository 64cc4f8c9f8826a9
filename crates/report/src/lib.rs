//! An analysis as terminal tables, Markdown, JSON, CSV and one self-contained HTML page.
//!
//! Everything here renders and nothing computes: each number and each sentence is taken from
//! [`Analysis`] as it is. Names, titles and messages come from users and from servers, so every format
//! escapes them its own way.
//!
//! ```
//! use sharebench_analysis::{Options, analyse};
//! use sharebench_report::{Style, markdown, terminal};
//! let analysis = analyse(&[], &Options::default());
//! assert!(terminal(&analysis, Style::piped()).contains("ANSWER"));
//! assert!(markdown(&analysis).starts_with("# "));
//! ```

mod articles;
mod chart_data;
mod chart_rows;
mod csv;
mod escape;
mod evidence;
mod evidence_table;
mod html;
mod images;
mod layout;
mod load_table;
mod markdown;
mod method;
mod page;
mod rank_table;
mod runs_page;
mod series;
mod sheets;
mod show;
mod study;
mod summary;
mod table;
mod terminal;

use sharebench_analysis::Analysis;

pub use csv::csv;
pub use escape::terminal as plain;
pub use html::{html, html_with_surfaces};
pub use images::{IMAGES_BETWEEN, images_page};
pub use layout::width as columns;
pub use markdown::markdown;
pub use rank_table::ranks;
pub use runs_page::{RunLine, runs_page};
pub use series::{series_csv, series_json, series_markdown, series_text};
pub use sheets::{SheetRows, sheets};
pub use summary::summary;
pub use terminal::{Style, terminal};

/// The analysis as it is, indented.
///
/// # Errors
/// Never in practice: the analysis holds nothing that JSON cannot say.
pub fn json(analysis: &Analysis) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(analysis)
}
