//! The score of IO500, and a system with a phase that has no rate.

use sharebench_model::{Coordinates, Io500Phase, IoBytes, Value, axis};

use crate::synthetic::Synthetic;
use crate::{check, quick};

#[test]
fn io500() {
    let mut run = Synthetic::new("io500", &["nfs", "smb"], 5);
    run.drift = 0.01;
    for phase in Io500Phase::ALL {
        let test = if phase.is_bandwidth() { "read" } else { "stat" };
        let position = Coordinates::new()
            .with(axis::TEST, Value::text(test))
            .with(axis::PHASE, Value::text(phase.name()));
        // A step without a record size has operations of 100 KiB: 2 GiB/s, or 8000 operations per second.
        let rate = if phase.is_bandwidth() { f64::from(2_u32 << 30) } else { 8_000.0 * 102_400.0 };
        run.sweep(&[position], 8, |_, _| rate);
    }
    let is =
        |coordinates: &Coordinates, phase: Io500Phase| coordinates.text(axis::PHASE) == Some(phase.name());
    run.run.steps.retain(|step| step.target == 0 || !is(&step.coordinates, Io500Phase::Find));
    for step in &mut run.run.steps {
        if !Io500Phase::ALL.iter().any(|phase| phase.is_bandwidth() && is(&step.coordinates, *phase)) {
            step.measure.bytes = IoBytes::default();
        }
    }
    check("io500", &[run.run], &quick());
}
