//! Known answer K12 (docs/measure/measurement-rules.md K12): a generator that cannot keep its schedule is found out, one that
//! can is not accused.

use sharebench_model::{StepResult, Verdict};
use sharebench_simulated::{Device, Service};

use crate::known_answers::lab::{load, millis, quantile_ms, report_figure, verdict};

/// A client that needs 100 us of its one thread for each operation, so 10,000 per second at most.
fn client(rate: u32, users: u32, device: Device) -> StepResult {
    let pace =
        format!("users = [{users}]\narrivals = 'poisson'\nrates = [{rate}]\nwarm_up = '1s'\nmeasure = '10s'");
    load(12, &pace, device.client_cost(std::time::Duration::from_micros(100))).0
}

fn report_lag(what: &str, step: &StepResult) {
    let late = quantile_ms(&step.measure.lag, 0.99);
    report_figure(what, format!("{} (p99 of lag {late:.3} ms)", verdict(step, "lag")));
}

#[test]
fn k12_a_saturated_generator_is_flagged_and_one_at_a_tenth_of_its_ceiling_is_not() {
    let null = || Device::new(1);
    let idle = client(1_000, 16, null());
    report_lag("K12 null target, 10 % of the ceiling", &idle);
    assert_eq!(verdict(&idle, "lag"), Verdict::Valid);
    let saturated = client(12_000, 16, null());
    report_lag("K12 null target, 120 % of the ceiling", &saturated);
    assert_eq!(verdict(&saturated, "lag"), Verdict::Invalid);
    assert_eq!(verdict(&saturated, "offered"), Verdict::Warning);
}

#[test]
fn k12_users_that_all_wait_for_the_target_do_not_indicate_a_slow_generator() {
    let slow = Device::new(1).service_center(1, Service::Fixed(millis(2)));
    let step = client(600, 2, slow);
    report_lag("K12 2 users, target at 120 % of its capacity", &step);
    assert_eq!(verdict(&step, "lag"), Verdict::Warning);
    let quick = Device::new(1).service_center(4, Service::Fixed(millis(2)));
    let step = client(600, 16, quick);
    report_lag("K12 16 users, target at 30 % of its capacity", &step);
    assert_eq!(verdict(&step, "lag"), Verdict::Valid);
}
