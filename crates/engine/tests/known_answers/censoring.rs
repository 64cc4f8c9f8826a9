//! Known answer K14 (docs/measure/measurement-rules.md K14): users whose replies never come must not make the step look better.

use sharebench_model::Verdict;
use sharebench_simulated::{Device, Service};

use crate::known_answers::lab::{close, load, mean_ms, millis, quantile_ms, report_figure, verdict};

const PACE: &str = "users = [30]\nthink = 'exp 50ms'\nwarm_up = '5s'\nmeasure = '60s'";

#[test]
fn k14_a_third_of_the_users_without_replies_is_a_censored_step_and_no_better_one() {
    let device = || Device::new(14).service_center(1, Service::Exponential(millis(2)));
    let (whole, _) = load(14, PACE, device());
    let (third, log) = load(14, PACE, device().mute_every(3));
    assert_eq!(whole.verdict(), Verdict::Valid, "{:?}", whole.checks);
    assert_eq!((whole.measure.users_reported, third.measure.users_reported), (30, 20));
    assert_eq!(verdict(&third, "participation"), Verdict::Warning);
    assert_eq!(verdict(&third, "little"), Verdict::Valid, "unfinished transactions are counted in");
    assert!(third.measure.errors.is_empty(), "nothing failed within the window");

    // Ten never came back, and perhaps some others were under way.
    let finished = third.measure.transactions;
    assert!((10..=30).contains(&third.measure.censored), "{}", third.measure.censored);
    assert_eq!(third.measure.response.len(), finished + 10, "at least as long as they had waited");
    close(
        "K14 longest time waited for a reply: s",
        quantile_ms(&third.measure.response, 1.0) / 1e3,
        65.0,
        0.01,
    );
    let survivors = log.iter().filter(|served| !served.write && served.session % 3 != 2);
    let survivors = crate::known_answers::lab::histogram(survivors.map(|served| served.end - served.arrival));
    report_figure("K14 mean ms of all 30 users", format!("{:.3}", mean_ms(&whole.measure.response)));
    report_figure("K14 mean ms of the 20 survivors alone", format!("{:.3}", mean_ms(&survivors)));
    report_figure("K14 mean ms as reported", format!("{:.3}", mean_ms(&third.measure.response)));
    assert!(mean_ms(&survivors) < mean_ms(&whole.measure.response), "the survivors do fare better");
    assert!(mean_ms(&third.measure.response) > mean_ms(&whole.measure.response));
}
