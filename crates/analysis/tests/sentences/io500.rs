//! The score of IO500, with and without an interval, and a system with a phase that has no rate.

use sharebench_model::{Coordinates, Io500Phase, IoBytes, Value, axis};

use crate::sentences::{check, quick};
use crate::synthetic::Synthetic;

/// All phases on each system: 2 GiB/s, and 8000 operations per second.
fn phases(systems: &[&str], repetitions: u32) -> Synthetic {
    let mut run = Synthetic::new("io500", systems, 5);
    run.drift = 0.01;
    for phase in Io500Phase::ALL {
        let test = if phase.is_bandwidth() { "read" } else { "stat" };
        let position = Coordinates::new()
            .with(axis::TEST, Value::text(test))
            .with(axis::PHASE, Value::text(phase.name()));
        // A step without a record size has operations of 100 KiB.
        let rate = if phase.is_bandwidth() { f64::from(2_u32 << 30) } else { 8_000.0 * 102_400.0 };
        run.sweep(&[position], repetitions, |_, _| rate);
    }
    for step in &mut run.run.steps {
        if !Io500Phase::ALL.iter().any(|phase| phase.is_bandwidth() && is(&step.coordinates, *phase)) {
            step.measure.bytes = IoBytes::default();
        }
    }
    run
}

fn is(coordinates: &Coordinates, phase: Io500Phase) -> bool {
    coordinates.text(axis::PHASE) == Some(phase.name())
}

#[test]
fn io500() {
    let mut run = phases(&["nfs", "smb"], 8);
    run.run.steps.retain(|step| step.target == 0 || !is(&step.coordinates, Io500Phase::Find));
    check("io500", &[run.run], &quick());
}

#[test]
fn io500_once() {
    check("io500_once", &[phases(&["nfs"], 1).run], &quick());
}
