//! Directories of metadata tests: a fall of the rate, what a shared directory costs, and what a missing name costs.

use sharebench_model::{Coordinates, IoBytes, Value, axis};

use crate::synthetic::Synthetic;
use crate::{check, quick};

/// Operations per second of a test, by the number of entries. Without a layout, each job has its own directory.
fn curve(run: &mut Synthetic, test: &str, layout: Option<&str>, rate: impl Fn(u64) -> f64) {
    for entries in [100, 1_000, 10_000, 100_000] {
        let mut position = Coordinates::new().with(axis::TEST, Value::text(test));
        if let Some(layout) = layout {
            position = position.with(axis::LAYOUT, Value::text(layout));
        }
        let position = position.with(axis::ENTRIES, Value::Count(entries));
        // A step without a record size has operations of 100 KiB.
        run.sweep(&[position], 8, |_, _| rate(entries) * 102_400.0);
    }
}

#[test]
fn directories() {
    let mut run = Synthetic::new("directories", &["smb"], 5);
    run.drift = 0.01;
    curve(&mut run, "create", None, |entries| 1e6 / (100.0 + entries as f64 / 50.0));
    curve(&mut run, "create", Some("shared"), |_| 4_000.0);
    curve(&mut run, "stat", None, |_| 9_000.0);
    curve(&mut run, "stat", Some("shared"), |_| 9_000.0);
    curve(&mut run, "stat-miss", None, |_| 3_000.0);
    curve(&mut run, "stat-miss", Some("shared"), |_| 9_000.0);
    for step in &mut run.run.steps {
        step.measure.bytes = IoBytes::default();
    }
    check("directories", &[run.run], &quick());
}
