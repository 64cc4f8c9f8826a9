//! Partly open loads, ramps and bursts: who comes when, how long they stay, and what they do there.

use std::collections::BTreeMap;

use sharebench_model::Verdict;
use sharebench_simulated::{Device, Service};

use crate::known_answers::lab::{close, load, millis, verdict};

fn device() -> Device {
    Device::new(1).service_center(64, Service::Fixed(millis(1)))
}

#[test]
fn visitors_come_by_a_schedule_log_on_stay_for_some_transactions_and_go() {
    let pace = "users = [64]\narrivals = 'visits'\nrates = [4]\nvisit = 5\nthink = 'exp 200ms'\nwarm_up = '10s'\nmeasure = '1000s'";
    let (step, log) = load(3, pace, device());
    let measure = &step.measure;
    close("visits: transactions/s", measure.transaction_rate().unwrap(), 4.0 * 5.0, 0.05);
    let logins = measure.load.operations.iter().find(|part| part.name == "connect").unwrap().count;
    close("visits: logins/s", logins as f64 / 1000.0, 4.0, 0.07);
    let mut lengths: BTreeMap<u32, u64> = BTreeMap::new();
    for served in log.iter().filter(|served| !served.write) {
        *lengths.entry(served.session).or_default() += 1;
    }
    let mean = lengths.values().sum::<u64>() as f64 / lengths.len() as f64;
    close("visits: transactions of one", mean, 5.0, 0.05);
    let one = lengths.values().filter(|length| **length == 1).count();
    close("visits: share that leaves after one", one as f64 / lengths.len() as f64, 0.2, 0.1);
    for check in ["visits", "lag"] {
        assert_eq!(verdict(&step, check), Verdict::Valid, "{:?}", step.checks);
    }
}

#[test]
fn waiting_visitors_are_reported() {
    // Four visits of 5 s each second are 20 users at once, and there is room for 4.
    let pace = "users = [4]\narrivals = 'visits'\nrates = [4]\nvisit = 5\nthink = 'exp 1s'\nwarm_up = '10s'\nmeasure = '200s'";
    let (step, _) = load(3, pace, device());
    assert_eq!(verdict(&step, "visits"), Verdict::Warning, "{:?}", step.checks);
    assert_eq!(verdict(&step, "lag"), Verdict::Warning, "{:?}", step.checks);
}

#[test]
fn users_of_a_ramp_begin_one_after_another() {
    let pace = "users = [10]\nthink = '100s'\nramp = '20s'\nwarm_up = '20s'\nmeasure = '100s'";
    let (step, log) = load(3, pace, device());
    let first: Vec<u64> =
        log.iter().filter(|served| !served.write).map(|served| served.arrival).take(10).collect();
    let gaps: Vec<u64> = first.windows(2).map(|pair| (pair[1] - pair[0]) / 1_000_000).collect();
    assert_eq!(gaps, [2_000; 9]);
    assert_eq!((step.measure.transactions, verdict(&step, "participation")), (10, Verdict::Valid));
}

#[test]
fn bursts_are_short_pauses_and_now_and_then_a_long_one() {
    let pace = "users = [1]\nthink = 'burst 10 10ms 5s'\nwarm_up = '0s'\nmeasure = '5000s'";
    let (_, log) = load(3, pace, device());
    let asked: Vec<u64> = log.iter().filter(|served| !served.write).map(|served| served.arrival).collect();
    let gaps: Vec<u64> = asked.windows(2).map(|pair| (pair[1] - pair[0]) / 1_000_000).collect();
    let long = gaps.iter().filter(|gap| **gap == 5_001).count();
    assert_eq!(gaps.iter().filter(|gap| **gap == 11).count() + long, gaps.len(), "{gaps:?}");
    close("bursts: share of long pauses", long as f64 / gaps.len() as f64, 0.1, 0.05);
}
