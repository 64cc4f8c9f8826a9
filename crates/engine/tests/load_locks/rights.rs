//! Rights to cache as steps of transactions: what is granted, and that no other user waits longer than the return takes.

use std::time::Duration;

use sharebench_doubles::MemoryTarget;
use sharebench_model::{ErrorClass, LoadDetail, RunOutcome};
use sharebench_plan::Plan;
use sharebench_simulated::{Device, Service};

use crate::load_locks::{USERS, count, execute, failing, measured_at, plan};

const TAKE_BACK: &str = "'open write', 'close'";

/// Transactions of the kind at this place of the plan.
fn transactions(detail: &LoadDetail, place: usize) -> u64 {
    detail.transactions[place].count
}

#[test]
fn each_open_that_requests_a_right_is_counted_by_what_the_server_granted() {
    for (hold, kind) in [
        ("'open leased', 'think 2ms', 'read 4KiB', 'close'", "open-leased"),
        ("'open delegated', 'think 2ms', 'read 4KiB', 'close'", "open-delegated"),
    ] {
        for keep in [false, true] {
            let target = MemoryTarget::new();
            // Users who are away in between, so that some find the file closed.
            let text = plan(keep, &[hold, TAKE_BACK]).replace("think = '0ms'", "think = 'exp 5ms'");
            let ran = execute(&text, target.clone());
            assert_eq!(ran.outcome, RunOutcome::Complete);
            let measure = &ran.steps[0].measure;
            assert!(measure.errors.is_empty(), "{kind}: {:?}", measure.errors);
            let granted = count(&measure.load, kind);
            let opened = granted + count(&measure.load, "open-not-granted");
            assert!(granted > 0 && opened.abs_diff(transactions(&measure.load, 0)) <= USERS, "{granted}");
            let taken_back = transactions(&measure.load, 1);
            assert!(taken_back > 0 && count(&measure.load, "open").abs_diff(taken_back) <= USERS);
            assert_eq!(measure.verified, measure.bytes.read);
            assert_eq!(target.names(), Vec::<String>::new());
        }
    }
}

#[test]
fn a_transaction_that_fails_while_it_holds_a_right_gives_it_back() {
    let target = MemoryTarget::new();
    let faulty = failing(target.clone(), ErrorClass::Io);
    let hold = "'open leased', 'read 4KiB', 'close'";
    let ran = execute(&plan(false, &[hold, TAKE_BACK]), faulty);
    assert_eq!(ran.outcome, RunOutcome::Complete);
    let measure = &ran.steps[0].measure;
    assert_eq!(measure.errors.keys().collect::<Vec<_>>(), [&ErrorClass::Io]);
    assert!(transactions(&measure.load, 1) > 0);
    assert_eq!(target.names(), Vec::<String>::new());
}

/// In virtual time operations on names take no time, so that an open lasts as long as another user keeps its right.
#[test]
fn a_user_in_its_pause_gives_its_right_back_at_once() {
    let device = Device::new(1).service_center(64, Service::Fixed(Duration::from_micros(100)));
    let preset = Plan::from_preset("leases:case=handover").unwrap().to_toml();
    let (_, workload) = preset.split_once("[workload]").unwrap();
    let text = format!(
        "seed = 7\n[[target]]\nurl = '/a'\n[load]\nworkload = 'lease-handover'\nusers = [{USERS}]\nthink = 'exp 2ms'\n\
         warm_up = '1s'\nmeasure = '20s'\n[workload]{workload}"
    );
    let (measure, memory) = measured_at(&text, device);
    let granted = count(&measure.load, "open-leased");
    let [hold, take_back] = [0, 1].map(|place| &measure.load.transactions[place]);
    assert!(granted > 0 && hold.count > granted, "{granted} of {}", hold.count);
    // The pause is kept, with and without a right.
    let held = hold.service.mean() as u64;
    assert!((4_900_000..=5_100_000).contains(&held), "{held}");
    let open = measure.load.operations.iter().find(|part| part.name == "open").unwrap();
    assert_eq!(open.count, take_back.count);
    // The smallest time of a histogram, where a kept right would cost milliseconds.
    assert!(open.service.mean() < 1_000.0, "{}", open.service.mean());
    assert_eq!(memory.names(), Vec::<String>::new());
}
