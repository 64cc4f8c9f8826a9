//! Directories of metadata tests: a fall of the rate, what a shared directory costs, and what a missing name costs.

use sharebench_model::{Coordinates, IoBytes, Value, WireCount, axis};

use crate::sentences::{check, quick};
use crate::synthetic::Synthetic;

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

/// Steps of a test on a mount, with the requests per operation of each repetition.
fn on_mount(run: &mut Synthetic, test: &str, entries: u64, requests: &[f64]) {
    let position =
        Coordinates::new().with(axis::TEST, Value::text(test)).with(axis::ENTRIES, Value::Count(entries));
    for (repetition, requests) in (0..).zip(requests) {
        run.step(0, repetition, position.clone(), 9_000.0 * 102_400.0);
        let Some(step) = run.run.steps.last_mut() else { continue };
        step.measure.bytes = IoBytes::default();
        let requests = (step.measure.operations as f64 * requests).round() as u64;
        step.measure.wire = Some(WireCount { requests, ..WireCount::default() }).into();
    }
}

#[test]
fn caches_of_names_on_a_mount() {
    let mut run = Synthetic::new("caches of names", &["nas"], 5);
    run.run.facts[0].insert("access".to_owned(), "mounted".to_owned());
    on_mount(&mut run, "stat", 1_000, &[0.02, 0.03, 0.025]);
    on_mount(&mut run, "stat", 100_000, &[1.0, 1.2, 1.1]);
    on_mount(&mut run, "stat-miss", 1_000, &[0.0, 0.005, 0.0]);
    on_mount(&mut run, "open-close", 1_000, &[1.0, 1.0, 1.0]);
    on_mount(&mut run, "readdir", 1_000, &[0.0, 0.0, 0.0]);
    // A reply with many entries takes few requests as well.
    on_mount(&mut run, "readdir-attributes", 1_000, &[0.01, 0.01, 0.01]);
    // Nothing answers these but the server.
    on_mount(&mut run, "create", 1_000, &[0.5, 0.5, 0.5]);
    check("caches_of_names", &[run.run], &quick());
}
