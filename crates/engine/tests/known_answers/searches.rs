//! Searches on servers whose answer theory knows: the knee of an objective, a pace that cannot be kept.

use sharebench_engine::Clock;
use sharebench_model::{StepResult, Verdict, axis};
use sharebench_simulated::{Device, Service, SimulatedTarget};
use sharebench_target::NullTarget;

use crate::known_answers::lab::{load, millis, report_figure, steps, verdict};

/// One service center of 2 ms, exponential: 500/s. Of M/M/1, p95 is 2.9957 / (500 - rate), so that 20 ms are kept up to
/// 350.2 starts per second.
const KNEE: f64 = 350.2;
/// The search ends when kept and missed are 2 % of the ceiling apart.
const STEP: f64 = 10.0;

fn search(slo: &str, measure: &str) -> Vec<StepResult> {
    let plan = format!(
        "seed = 5\nverify = 'off'\ntimeout = '1000s'\n[[target]]\nurl = '/simulated'\n[load]\nworkload = 'single'\n\
         block = 512\nscale = '8KiB'\nusers = [1, 2, 4]\nfind_knee = true\nslo = '{slo}'\nwarm_up = '1s'\nmeasure = '{measure}'\n"
    );
    let clock = Clock::virtual_at(0);
    let device = Device::new(8).service_center(1, Service::Exponential(millis(2)));
    steps(&plan, SimulatedTarget::new(NullTarget, &clock, device), &clock)
}

#[test]
fn the_knee_of_an_objective_is_found_within_one_step() {
    let found = search("p95<20ms", "120s");
    let judged: Vec<(f64, bool)> = found
        .iter()
        .filter_map(|step| {
            let rate = step.coordinates.number(axis::RATE)? as f64;
            Some((rate, step.measure.load.objective.as_ref().unwrap().kept))
        })
        .collect();
    let kept = judged.iter().filter(|(_, kept)| *kept).map(|(rate, _)| *rate).fold(0.0, f64::max);
    let missed = judged.iter().filter(|(_, kept)| !kept).map(|(rate, _)| *rate).fold(f64::MAX, f64::min);
    report_figure("knee of p95 < 20 ms at M/M/1 of 500/s", format!("{kept} to {missed} ({KNEE})"));
    assert!(missed - kept <= STEP, "{judged:?}");
    assert!(kept <= KNEE + STEP && missed >= KNEE - STEP, "{judged:?}");
    assert!(found.len() <= 3 + 12);
}

#[test]
fn an_objective_missed_by_one_user_has_no_knee() {
    let found = search("p95<1ms", "10s");
    assert_eq!(found.len(), 3, "only the closed steps");
    assert!(!found[0].measure.load.objective.as_ref().unwrap().kept);
}

#[test]
fn users_at_a_pace_are_carried_or_overload_the_server() {
    let device = || Device::new(3).service_center(1, Service::Fixed(millis(10)));
    let step = |users: u32| {
        let pace = format!("users = [{users}]\nthink = 'every 1s'\nwarm_up = '5s'\nmeasure = '60s'");
        load(3, &pace, device()).0
    };
    assert_eq!(verdict(&step(90), "pace"), Verdict::Valid);
    let over = step(120);
    assert_eq!(verdict(&over, "pace"), Verdict::Warning, "{:?}", over.checks);
    let rate = over.measure.transaction_rate().unwrap();
    assert!((rate - 100.0).abs() < 1.0, "{rate}");
}

/// Steps of a load that is measured three times, by repetition.
fn repeated(load: &str) -> Vec<Vec<(u64, f64)>> {
    let plan = format!(
        "seed = 5\nrepetitions = 3\nverify = 'off'\ntimeout = '1000s'\n[[target]]\nurl = '/simulated'\n[load]\n\
         workload = 'single'\nblock = 512\nscale = '8KiB'\nwarm_up = '1s'\nmeasure = '10s'\nthink = 'exp 20ms'\n{load}\n"
    );
    let clock = Clock::virtual_at(0);
    let device = Device::new(8).service_center(1, Service::Exponential(millis(2)));
    let found = steps(&plan, SimulatedTarget::new(NullTarget, &clock, device), &clock);
    assert!(found.iter().map(|step| step.index).eq(0..found.len() as u32));
    assert!(found.is_sorted_by_key(|step| step.repetition));
    let figure = |step: &StepResult| {
        (step.coordinates.number(axis::USERS).unwrap(), step.measure.transaction_rate().unwrap())
    };
    found
        .chunk_by(|one, next| one.repetition == next.repetition)
        .map(|of| of.iter().map(figure).collect())
        .collect()
}

#[test]
fn each_repetition_has_the_steps_that_the_first_one_added() {
    let found = repeated("users = [4, 8]\nuntil_stress = true");
    assert_eq!(found.len(), 3);
    let users = |of: &Vec<(u64, f64)>| of.iter().map(|(users, _)| *users).collect::<Vec<_>>();
    assert!(found[0].len() > 2, "the search added steps: {found:?}");
    assert!(found.iter().all(|of| users(of) == users(&found[0])), "{found:?}");
    // A repetition is measured, and not copied.
    let rates: Vec<u64> = found.iter().map(|of| of[0].1.to_bits()).collect();
    assert!(rates[0] != rates[1] && rates[1] != rates[2], "{found:?}");
}

#[test]
fn users_that_stay_logged_on_are_repeated_as_whole_series() {
    let found = repeated("users = [5, 20, 8]\nkeep_users = true");
    assert_eq!(found.len(), 3);
    for of in &found {
        assert_eq!(of.iter().map(|(users, _)| *users).collect::<Vec<_>>(), [5, 20, 8]);
        // 218/s, 499/s and 331/s by mean value analysis.
        for ((_, rate), truth) in of.iter().zip([218.0, 499.0, 331.0]) {
            assert!((rate / truth - 1.0).abs() < 0.06, "{found:?}");
        }
    }
}
