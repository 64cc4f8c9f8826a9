//! The report: sections of rows, and what makes a run impossible.

use std::fmt::Display;

/// Maximum number of characters of a value. Values come from servers, which may be malicious.
pub const MAX_VALUE_CHARS: usize = 500;
/// Maximum number of rows of a section.
pub const MAX_ROWS: usize = 256;

/// Whether a run can use what a row of a report describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Usability {
    /// A fact about the server that a run neither uses nor needs.
    Fact,
    /// A run against this URL uses it.
    Used,
    /// A run uses it with this option.
    With(String),
    /// The server offers it, but this program does not support it.
    Unsupported,
    /// The server does not offer it, or did not answer.
    NotOffered,
}

/// One property of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferRow {
    /// Name of the property.
    pub name: String,
    /// Its value in words.
    pub value: String,
    /// Whether a run can use it.
    pub usability: Usability,
}

/// Properties that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferSection {
    /// Title of the section.
    pub name: &'static str,
    /// Its rows, in the order in which they were added.
    pub rows: Vec<OfferRow>,
    /// Number of rows beyond [`MAX_ROWS`], which are left out.
    pub omitted: usize,
}

/// What a server offers, and why a run against it would fail.
///
/// A probe adds rows section by section, and a line to [`Self::incompatibilities`] for each reason that prevents a run
/// against the URL. The report is plain text without any knowledge of a protocol, so that one renderer prints the reports of
/// all protocols. Values of servers are cut at [`MAX_VALUE_CHARS`] and sections at [`MAX_ROWS`], because a malicious server
/// must not make the report arbitrarily long. A report never contains a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferReport {
    /// The URL without password.
    pub url: String,
    /// Name of the protocol: `smb`, `nfs`, `ncp` or `local`.
    pub protocol: &'static str,
    /// The sections, in the order in which they were added.
    pub sections: Vec<OfferSection>,
    /// Why a run against the URL would fail; empty if it would not.
    pub incompatibilities: Vec<String>,
}

impl OfferReport {
    /// An empty report.
    pub fn new(url: impl Into<String>, protocol: &'static str) -> Self {
        Self { url: url.into(), protocol, sections: Vec::new(), incompatibilities: Vec::new() }
    }

    /// Adds a row to a section, and the section if it is new.
    pub fn add(
        &mut self,
        section: &'static str,
        name: impl Into<String>,
        value: impl Display,
        usability: Usability,
    ) {
        let index = self.sections.iter().position(|known| known.name == section).unwrap_or_else(|| {
            self.sections.push(OfferSection { name: section, rows: Vec::new(), omitted: 0 });
            self.sections.len() - 1
        });
        let section = &mut self.sections[index];
        if section.rows.len() >= MAX_ROWS {
            section.omitted += 1;
            return;
        }
        let row = OfferRow { name: cut(&name.into()), value: cut(&value.to_string()), usability };
        section.rows.push(row);
    }

    /// Adds a fact.
    pub fn fact(&mut self, section: &'static str, name: impl Into<String>, value: impl Display) {
        self.add(section, name, value, Usability::Fact);
    }

    /// Adds something that the server does not offer.
    pub fn not_offered(&mut self, section: &'static str, name: impl Into<String>) {
        self.add(section, name, "not offered", Usability::NotOffered);
    }

    /// Adds a reason that prevents a run.
    pub fn incompatible(&mut self, reason: impl Display) {
        self.incompatibilities.push(cut(&reason.to_string()));
    }

    /// True if a run against the URL would start.
    pub fn is_usable(&self) -> bool {
        self.incompatibilities.is_empty()
    }

    /// The row of a section with a name.
    pub fn row(&self, section: &str, name: &str) -> Option<&OfferRow> {
        let section = self.sections.iter().find(|known| known.name == section)?;
        section.rows.iter().find(|row| row.name == name)
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_grouped_by_section_in_the_order_of_their_addition() {
        let mut report = OfferReport::new("smb://nas/share", "smb");
        report.fact("host", "address", "192.0.2.1");
        report.add("versions", "2.1", "offered", Usability::With("dialect=2.1".into()));
        report.fact("host", "name", "NAS");
        assert_eq!(
            report.sections.iter().map(|section| section.name).collect::<Vec<_>>(),
            ["host", "versions"]
        );
        assert_eq!(report.row("host", "name").unwrap().value, "NAS");
        assert_eq!(report.row("versions", "3.0"), None);
        assert!(report.is_usable());
        report.incompatible("offers SMB1 only");
        assert!(!report.is_usable());
    }

    #[test]
    fn long_values_and_sections_are_cut() {
        let mut report = OfferReport::new("nfs://nas/", "nfs");
        report.fact("exports", "long", "ä".repeat(10_000));
        for number in 0..1000 {
            report.fact("exports", number.to_string(), "x");
        }
        let section = &report.sections[0];
        assert_eq!(section.rows[0].value.chars().count(), MAX_VALUE_CHARS + 3);
        assert_eq!((section.rows.len(), section.omitted), (MAX_ROWS, 1001 - MAX_ROWS));
    }
}
