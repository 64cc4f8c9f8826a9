//! Known answers K5 and K5b (docs/measure/measurement-rules.md K5, K5b): closed networks of thinking users, against exact
//! mean value analysis.

use sharebench_model::Verdict;
use sharebench_simulated::{Device, Service};

use crate::known_answers::lab::{close, load, mean_ms, millis, verdict, window_start};

/// Operations per step.
const OPERATIONS: f64 = 1e5;

/// Users, transactions per second and mean response in milliseconds.
type Expected = (u32, f64, f64);

fn measure(name: &str, answers: &[Expected], think: &str, demands_ms: &[u64]) {
    for &(users, rate, response) in answers {
        let service = |ms: &u64| Service::Exponential(millis(*ms));
        let device = demands_ms
            .iter()
            .fold(Device::new(u64::from(users)), |device, ms| device.service_center(1, service(ms)));
        let seconds = OPERATIONS / rate;
        let pace = format!("users = [{users}]\nthink = '{think}'\nwarm_up = '5s'\nmeasure = '{seconds:.0}s'");
        let (step, _) = load(u64::from(users), &pace, device);
        let measure = &step.measure;
        close(&format!("{name} N = {users}: X/s"), measure.transaction_rate().unwrap(), rate, 0.01);
        close(&format!("{name} N = {users}: R ms"), mean_ms(&measure.response), response, 0.02);
        for check in ["little", "lag", "participation"] {
            assert_eq!(verdict(&step, check), Verdict::Valid, "{:?}", step.checks);
        }
    }
}

const ONE_SERVICE_CENTER: [Expected; 8] = [
    (1, 45.45, 2.000),
    (2, 90.16, 2.182),
    (5, 218.02, 2.933),
    (8, 330.84, 4.181),
    (11, 418.38, 6.292),
    (15, 481.75, 11.136),
    (20, 499.07, 20.075),
    (30, 500.00, 40.000),
];

#[test]
fn k5_users_of_one_service_center_below_the_knee() {
    measure("K5", &ONE_SERVICE_CENTER[..4], "exp 20ms", &[2]);
}

#[test]
fn k5_users_of_one_service_center_above_the_knee() {
    measure("K5", &ONE_SERVICE_CENTER[4..], "exp 20ms", &[2]);
}

#[test]
fn k5b_users_of_two_service_centers() {
    let answers = [
        (5, 88.49, 6.502),
        (10, 166.65, 10.007),
        (14, 213.77, 15.492),
        (20, 245.84, 31.355),
        (40, 250.0, 110.0),
    ];
    measure("K5b", &answers, "exp 50ms", &[1, 4]);
}

#[test]
fn the_measured_part_begins_with_what_the_warm_up_left_under_way() {
    const SECOND: u64 = 1_000_000_000;
    let device = Device::new(5).service_center(1, Service::Fixed(millis(2)));
    let pace = "users = [30]\nthink = 'exp 20ms'\nwarm_up = '5s'\nmeasure = '10s'";
    let (step, log) = load(5, pace, device);
    let begins = window_start(&log) + 5 * SECOND;
    let reads = || log.iter().filter(|served| !served.write);
    let ended = |from: u64, to: u64| reads().filter(|read| (from..to).contains(&read.end)).count() as u64;
    let in_flight = reads().filter(|read| read.arrival < begins && read.end >= begins).count();
    assert!((10..=30).contains(&in_flight), "{in_flight} in flight between warm-up and measuring");
    // A service center that is never idle ends 50 in a tenth of a second, on either side of that instant.
    let tenth = SECOND / 10;
    assert_eq!((ended(begins - tenth, begins), ended(begins, begins + tenth)), (50, 50));
    let counted = step.measure.transactions;
    assert_eq!(
        counted,
        ended(begins, begins + 10 * SECOND),
        "what began in the warm-up counts where it ends"
    );
}
