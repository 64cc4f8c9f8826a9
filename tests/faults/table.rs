//! Writes the outcomes to the table of `docs/results/faults.md`, or compares them.

use sharebench_tests::Outcomes;

use crate::case::{Case, Outcome, Row};

const HEADER: [&str; 7] = [
    "fault in the middle of a run",
    "target",
    "exit",
    "the user reads",
    "results database",
    "left on the target",
    "afterwards",
];

/// Compares the rows, which are `all` there are or some of them, with the documentation, or writes them.
///
/// # Panics
/// On every difference, and on cases that did not complete.
pub fn write_or_compare(cases: &[&Case], rows: &[Row], all: bool) {
    let mut table = Outcomes::new("faults.md", &HEADER);
    let mut broken = Vec::new();
    for (case, row) in cases.iter().zip(rows) {
        match row {
            Row::Ran(outcome) => table.add(cells(case, outcome)),
            Row::Skipped => table.skip(),
            Row::Broken(why) => {
                table.skip();
                broken.push(format!("{}: {why}", case.name()));
            }
        }
    }
    if !all {
        table.skip();
    }
    let settled = table.settle();
    assert!(broken.is_empty(), "{}\n{settled:?}", broken.join("\n"));
    settled.unwrap_or_else(|difference| panic!("{difference}"));
}

fn cells(case: &Case, outcome: &Outcome) -> Vec<String> {
    let Outcome { exit, message, kept, left, then } = outcome.clone();
    vec![case.fault.to_owned(), case.target(), exit, message, kept, left, then]
}
