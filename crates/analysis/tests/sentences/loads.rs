//! Loads: stress points, objectives, forecasts, and steps that support no conclusion.

use sharebench_model::{
    Check, Coordinates, Fact, Fairness, Histogram, ObjectiveReport, USERS_STAY, Value, Verdict, axis,
};
use sharebench_stats::mean_value_analysis;

use crate::sentences::{check, quick};
use crate::synthetic::loads::{Gaps, counted, thinking, users};
use crate::synthetic::repeated::{LIMITED, Noise, QUIET, SLOWER, STEPS, Truth, by_rate, repeated};
use crate::synthetic::streams::{BUSY, LATE, PACE, units};
use crate::synthetic::{Synthetic, load as steps_of, plausible_load};

fn objective(run: &mut Synthetic, kept: &[bool]) {
    for (step, kept) in run.run.steps.iter_mut().zip(kept) {
        let detail = format!("p95 {} ms of at most 20 ms", if *kept { 8 } else { 31 });
        step.measure.load.objective =
            Some(ObjectiveReport { wanted: "p95<20ms".into(), kept: *kept, detail });
    }
}

#[test]
fn stress_points_and_users_that_did_not_report() {
    let mut run = Synthetic::new("load", &["nt", "netware"], 8);
    run.sweep(&steps_of(&[10, 20, 30, 40, 50]), 8, plausible_load);
    for step in run.run.steps.iter_mut().filter(|step| step.target == 1 && step.measure.users_assigned == 50)
    {
        step.measure.users_reported = 33;
    }
    check("stress_points", &[run.run], &quick());
    let mut all = Synthetic::new("load", &["nt"], 8);
    all.sweep(&steps_of(&[10, 20]), 2, plausible_load);
    check("users_reported", &[all.run], &quick());
    let mut survivors = Synthetic::new("users", &["nas"], 5);
    survivors.sweep(&steps_of(&[25, 50]), 1, |_, _| 1e6);
    for step in &mut survivors.run.steps {
        let assigned = step.coordinates.number(axis::USERS).unwrap() as u32;
        let (reported, seconds) = if assigned == 50 { (33, 90) } else { (25, 120) };
        step.measure.users_assigned = assigned;
        step.measure.users_reported = reported;
        step.measure.response = Histogram::new();
        (0..reported).for_each(|_| step.measure.response.record(seconds * 1_000_000_000));
    }
    check("survivors", &[survivors.run], &quick());
}

#[test]
fn forecasts() {
    let law = |n: u64| mean_value_analysis(&[0.002], 0.020, n as u32).0;
    check("forecast", &[thinking(&[1, 2, 5, 8, 11, 15, 20, 30], 0.020, law).run], &quick());
    check("forecast_straight", &[thinking(&[1, 2, 4, 6, 8], 1.0, |n| n as f64 * 10.0).run], &quick());
    check("forecast_too_few", &[thinking(&[1, 2, 4], 1.0, |n| n as f64).run], &quick());
}

#[test]
fn objectives_paces_and_uneven_service() {
    for (name, kept) in
        [("objective", [true, true, false]), ("objective_met", [true; 3]), ("objective_missed", [false; 3])]
    {
        let mut run = thinking(&[10, 20, 40], 1.0, |n| n as f64);
        objective(&mut run, &kept);
        check(name, &[run.run], &quick());
    }
    let mut open = thinking(&[10, 20, 40], 1.0, |n| n as f64);
    objective(&mut open, &[true, true, false]);
    for step in &mut open.run.steps {
        let rate = step.coordinates.number(axis::USERS).unwrap();
        step.coordinates = Coordinates::new()
            .with(axis::WORKLOAD, Value::text("office"))
            .with(axis::RATE, Value::Count(rate));
    }
    check("objective_of_an_open_load", &[open.run], &quick());
    for (name, overloaded) in [("pace", 1), ("pace_missed", 0)] {
        let mut run = thinking(&[10, 20], 1.0, |n| n as f64);
        let detail = "12 of 20 transactions/s that 20 users request ended: overloaded".to_owned();
        run.run.steps[overloaded].checks.push(Check::new("pace", Verdict::Warning, detail));
        let mut fairness = Fairness::default();
        (0..10).for_each(|user| fairness.add(if user < 5 { 900 } else { 20 }));
        run.run.steps[0].measure.load.fairness = fairness;
        check(name, &[run.run], &quick());
    }
}

#[test]
fn steps_that_support_no_conclusion() {
    let mut few = counted(&[("a", 0.13, 50.0), ("b", 0.08, 50.0)], &[3, 6], 5, 8000, Gaps::Equal);
    check("too_few_transactions", &[few.run.clone()], &quick());
    objective(&mut few, &[true; 4]);
    check("too_few_transactions_for_an_objective", &[few.run], &quick());
    let none = counted(&[("a", 0.001, 50.0), ("b", 0.001, 50.0)], &[3, 6], 5, 8000, Gaps::Equal);
    check("no_transaction", &[none.run], &quick());
    let mut bursts = counted(&[("nas", 20.0, 40.0)], &[4, 8], 10, 10, Gaps::Equal);
    let timeline = &mut bursts.run.steps[0].measure.load.timeline;
    for series in [&mut timeline.transactions, &mut timeline.bytes] {
        (0..series.len()).filter(|at| at % 50 >= 20).for_each(|at| series[at] = 0);
    }
    check("transactions_in_bursts", &[bursts.run], &quick());
    check(
        "bound_by_think_time",
        &[counted(&[("smb", 9.9, 1.0), ("nfs", 9.95, 0.5)], &[2, 8], 20, 100, Gaps::Equal).run],
        &quick(),
    );
    let pace = counted(&[("smb", 10.0, 30.0), ("nfs", 10.0, 40.0)], &[2, 8], 60, 1000, Gaps::Equal);
    check("bound_by_a_pace", &[pace.run], &quick());
    check(
        "ratio_of_a_load",
        &[counted(&[("a", 8.0, 25.0), ("b", 5.0, 100.0)], &[8], 30, 100, Gaps::Equal).run],
        &quick(),
    );
}

#[test]
fn users_that_stay_logged_on_between_steps() {
    let mut run = Synthetic::new("users between steps", &["a", "b"], 3);
    run.sweep(&[users(5), users(10)], 1, |_, _| 1e8);
    run.run.facts[0].insert(Fact::UsersBetweenSteps.name().to_owned(), USERS_STAY.to_owned());
    check("users_between_steps", &[run.run], &quick());
}

#[test]
fn units_that_are_sustained_or_not_and_those_without_a_verdict() {
    let late = units(LATE, true, &[(2, &|_| 4, 0), (4, &|_| 8, 1), (8, &|_| 16, 900)]);
    check("units_sustained_up_to", &[late.run], &quick());
    check("units_sustained", &[units(LATE, true, &[(2, &|_| 4, 0)]).run], &quick());
    let pace = units(PACE, true, &[(8, &|_| 12, 0)]);
    check("units_not_sustained", &[pace.run], &quick());
    let few = units(LATE, false, &[(1, &|_| 1, 0)]);
    check("units_within_the_interval", &[few.run], &quick());
    check("units_of_nothing", &[units(LATE, false, &[(1, &|_| 0, 0)]).run], &quick());
    let mut short = units(PACE, true, &[(10, &|_| 1, 0)]);
    short.run.steps[0].measure.load.think_ns = 1_000_000_000;
    check("units_in_a_short_window", &[short.run], &quick());
    check("units_without_a_pace", &[units(PACE, false, &[(1, &|_| 2, 0), (2, &|_| 4, 0)]).run], &quick());
    let mut busy = units(BUSY, true, &[(1, &|_| 2, 0)]);
    busy.run.steps[0].measure.load.think_ns = 0;
    check("units_without_computation", &[busy.run], &quick());
    let mut open = units(LATE, true, &[(2, &|_| 4, 0)]);
    let at = open.run.steps[0].coordinates.clone();
    open.run.steps[0].coordinates = at.with(axis::RATE, Value::Count(48));
    check("units_of_a_schedule", &[open.run], &quick());
}

#[test]
fn loads_that_were_repeated() {
    const RISING: fn(u64) -> f64 = |n| 10.0 * n as f64;
    let few = Truth { rate: RISING, response_ms: |n| 1.0 + 0.1 * n as f64 };
    let many = Truth { rate: RISING, response_ms: |n| 2.0 + 0.03 * n as f64 };
    let flat = Truth { rate: RISING, response_ms: |_| 4.0 };
    let one = Truth { rate: RISING, response_ms: |n| if n == 40 { 8.0 } else { 4.0 } };
    let little = Truth { rate: RISING, response_ms: |_| 3.88 };
    let edge = Truth { rate: RISING, response_ms: |n| if n < 20 { 5.0 } else { 19.9 + (n - 20) as f64 } };
    let slow = Truth { rate: RISING, response_ms: |_| 30.0 };
    let loud = Noise { own: 0.3, shared: 0.0 };
    let medium = Noise { own: 0.018, shared: 0.0 };
    let fixtures = [
        ("repeated_load", repeated(&[("smb", SLOWER), ("nfs", LIMITED)], &STEPS, 8, &QUIET, 1)),
        ("repeated_load_alone", repeated(&[("nas", SLOWER)], &STEPS, 6, &QUIET, 2)),
        ("response_depends_on_users", repeated(&[("smb", many), ("nfs", few)], &STEPS, 8, &QUIET, 2)),
        ("response_depends_on_rate", by_rate(repeated(&[("smb", many), ("nfs", few)], &STEPS, 8, &QUIET, 2))),
        ("response_at_one_step", repeated(&[("a", flat), ("b", one)], &STEPS, 8, &QUIET, 3)),
        ("response_on_average", repeated(&[("a", flat), ("b", little)], &STEPS, 10, &medium, 3)),
        (
            "equal_repeated_loads",
            repeated(&[("a", LIMITED), ("b", LIMITED)], &STEPS, 10, &Noise { own: 0.005, shared: 0.03 }, 4),
        ),
        ("unresolved_repeated_loads", repeated(&[("a", LIMITED), ("b", LIMITED)], &STEPS, 6, &loud, 4)),
        (
            "objective_at_the_edge",
            repeated(&[("nas", edge)], &STEPS, 8, &Noise { own: 0.03, shared: 0.0 }, 5),
        ),
        (
            "objective_at_the_first_step",
            repeated(&[("nas", edge)], &[20, 40], 8, &Noise { own: 0.03, shared: 0.0 }, 5),
        ),
        ("objective_never_met_by_one", repeated(&[("a", slow), ("b", edge)], &STEPS, 6, &QUIET, 5)),
        ("objective_never_met", repeated(&[("nas", slow)], &STEPS, 6, &QUIET, 5)),
        ("objective_always_met", repeated(&[("nas", LIMITED)], &[5, 10], 8, &QUIET, 6)),
    ];
    for (name, run) in fixtures {
        check(name, &[run.run], &quick());
    }
    let dip = |n: u64| if n == 16 { 350.0 } else { (100.0 * n as f64).min(500.0) };
    check("forecast_that_misses_a_step", &[thinking(&[1, 2, 4, 8, 16, 32, 64], 0.001, dip).run], &quick());
}
