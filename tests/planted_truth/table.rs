//! The table of docs/results/planted-truth.md.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::count::Count;
use crate::properties::Property;

/// One row per property, and their sum.
pub fn text(rows: &[(&Property, &Count)]) -> String {
    let mut table = String::from(
        "| planted property | answer right | refused | wrong | findings right | wrong |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    let mut total = Count::default();
    let mut row = |name: &str, count: &Count| {
        let Count { answers, findings } = count;
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| {name} | {} | {} | {} | {} | {} |",
            answers.right, answers.refused, answers.wrong, findings.right, findings.wrong
        );
    };
    for (property, count) in rows {
        row(property.name, count);
        total.merge(count);
    }
    row("all", &total);
    table
}

/// The documentation shows what was measured here; with `SHAREBENCH_WRITE_DOCS` set it is written.
pub fn in_documentation(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/planted-truth.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- table of properties -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- end of the table -->").unwrap();
    if std::env::var_os("SHAREBENCH_WRITE_DOCS").is_some() {
        let text = format!("{before}<!-- table of properties -->\n{table}<!-- end of the table -->{after}");
        fs::write(&path, text).unwrap();
    } else {
        assert_eq!(shown, table, "docs/results/planted-truth.md; SHAREBENCH_WRITE_DOCS=1 writes it");
    }
}
