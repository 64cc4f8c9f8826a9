//! The analysis as sheets of a workbook: findings, then a sheet per test.

use sharebench_analysis::{Analysis, Status};

use super::csv::{fields, header};

/// A sheet: its name, and rows of texts; those that are numbers are to be written as numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetRows {
    /// Such as `random-read`; not unique.
    pub name: String,
    /// The rows, headings first.
    pub rows: Vec<Vec<String>>,
}

/// Findings and statuses, then the columns of the CSV for each test.
pub fn sheets(analysis: &Analysis) -> Vec<SheetRows> {
    let mut rows = vec![vec!["part".to_owned(), "finding".to_owned()]];
    let parts = [
        ("answer", &analysis.answer),
        ("contradiction", &analysis.contradictions),
        ("finding", &analysis.findings),
        ("not resolved", &analysis.not_resolved),
    ];
    for (part, sentences) in parts {
        rows.extend(sentences.iter().map(|sentence| vec![part.to_owned(), sentence.text.clone()]));
    }
    rows.extend(analysis.trust.iter().map(|line| {
        let part = match line.status {
            Status::Ok => "trust: ok",
            Status::Warning => "trust: warning",
            Status::Failed => "trust: failed",
        };
        vec![part.to_owned(), format!("{}: {}", line.subject, line.text)]
    }));
    rows.extend(analysis.methods.iter().map(|method| vec!["repeat with".to_owned(), method.command.clone()]));
    let mut sheets = vec![SheetRows { name: "findings".to_owned(), rows }];
    sheets.extend(analysis.sections.iter().map(|section| SheetRows {
        name: section.title.clone(),
        rows: std::iter::once(header(analysis)).chain(fields(analysis, section)).collect(),
    }));
    sheets
}
