//! Findings over time: every kind, with what it costs and where it comes from.

use sharebench_analysis::RunData;
use sharebench_model::{Check, Verdict};

use crate::sentences::{check, quick};
use crate::synthetic::{Synthetic, grid};

/// Two systems of the same speed and 12 cells, 240 steps of half a second each.
fn pair() -> RunData {
    let mut run = Synthetic::new("pair", &["smb", "nfs"], 3);
    (run.noise, run.drift) = (0.02, 0.0);
    run.sweep(&grid(&["read", "write"], 3, 2), 20, |_, _| 100e6);
    run.run
}

/// The same, with a speed of the second system that depends on the second of the run.
fn changing(speed: impl Fn(f64) -> f64) -> RunData {
    let mut run = pair();
    change(&mut run, 1, speed);
    run
}

fn change(run: &mut RunData, target: u32, speed: impl Fn(f64) -> f64) {
    for step in run.steps.iter_mut().filter(|step| step.target == target) {
        let second = (step.started_unix_ms - run.header.started_unix_ms) as f64 / 1e3;
        step.measure.busy_ns = (step.measure.busy_ns as f64 / speed(second)) as u64;
        step.measure.window_ns = step.measure.window_ns.max(step.measure.busy_ns);
    }
}

#[test]
fn outages_of_one_system() {
    let mut run = pair();
    let last = run.steps.len() - 1;
    for (at, seconds, verdict) in
        [(101, 8, Verdict::Valid), (202, 4, Verdict::Warning), (last, 3, Verdict::NotKnown)]
    {
        run.steps[at].measure.busy_ns += seconds * 1_000_000_000;
        run.steps[at].measure.window_ns += seconds * 1_000_000_000;
        run.steps[at].checks = vec![Check::new("hiccups", verdict, "worst stall")].into();
        for step in &mut run.steps[at + 1..] {
            step.started_unix_ms += seconds * 1000;
        }
    }
    check("time_outages", &[run], &quick());
    check("time_nearly_out", &[changing(|t| if (100.0..104.5).contains(&t) { 0.25 } else { 1.0 })], &quick());
}

#[test]
fn an_outage_while_nothing_was_measured() {
    let mut run = pair();
    for step in &mut run.steps {
        step.measure.passes = 5;
        step.unmeasured_ms = 40;
    }
    run.steps[201].unmeasured_ms += 8000;
    for step in &mut run.steps[202..] {
        step.started_unix_ms += 8000;
    }
    check("time_unmeasured_outage", &[run], &quick());
}

#[test]
fn periodic_changes_of_speed() {
    check("time_stalls", &[changing(|t| if t % 20.0 < 4.0 { 0.6 } else { 1.0 })], &quick());
    check("time_alternating", &[changing(|t| if t % 30.0 < 15.0 { 0.5 } else { 1.0 })], &quick());
}

#[test]
fn changes_of_level() {
    check("time_burst", &[changing(|t| if t < 100.0 { 1.0 } else { 0.47 })], &quick());
    check("time_warm_up", &[changing(|t| if t < 60.0 { 0.6 } else { 1.0 })], &quick());
    check(
        "time_slow_for_a_time",
        &[changing(|t| if (100.0..200.0).contains(&t) { 0.7 } else { 1.0 })],
        &quick(),
    );
    let mut both = changing(|t| if t < 100.0 { 1.0 } else { 0.8 });
    change(&mut both, 0, |t| if t < 100.0 { 1.0 } else { 0.8 });
    check("time_both", &[both], &quick());
}

#[test]
fn drift_and_steps_that_are_left_out() {
    let mut run = changing(|t| (-t / 1000.0).exp());
    for at in [40, 41, 42, 43, 60, 61, 62, 63, 64, 65, 66, 67, 80, 81, 82, 83, 84, 85] {
        run.steps[at].checks = vec![Check::new("integrity", Verdict::Invalid, "wrong")].into();
    }
    check("time_slower", &[run], &quick());
    check("time_faster", &[changing(|t| (t / 1000.0).exp())], &quick());
}
