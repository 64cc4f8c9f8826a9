//! Notifications and semaphores as steps of loads, and the errors of targets that have none.

use std::fs;
use std::time::Duration;

use sharebench_tests::{Sharebench, Smbd, SmbdOptions, needs, widen_window};

use crate::plans::left_in;
use crate::stored::{Stored, count};

const USERS: u64 = 4;

/// Users who change a directory of their own, and users who change one that all of them watch.
const SAVE: &str = "[load]\nworkload = 'save'\nusers = [4]\nthink = '5ms'\nwarm_up = '200ms'\nmeasure = '2s'\n\
     [workload]\nname = 'save'\n[[workload.files]]\nname = 'shared'\nsize = '16KiB'\n\
     [[workload.files]]\nname = 'own'\nsize = '16KiB'\ncount = 3\nfan_out = 1\ndepth = 1\nowner = 'user'\n\
     [[workload.transactions]]\nname = 'save-shared'\nfiles = 'shared'\n\
     operations = ['watch', 'create', 'notify', 'write 4KiB', 'close', 'watch', 'delete', 'notify']\n\
     [[workload.transactions]]\nname = 'replace-own'\nfiles = 'own'\n\
     operations = ['watch', 'create', 'notify', 'write 4KiB', 'close', 'watch', 'rename', 'notify']\n\
     [[workload.transactions]]\nname = 'rename-own'\nfiles = 'own'\noperations = ['watch', 'rename', 'notify']\n";

/// Runs the load on a target: each change that a transaction awaits is reported once.
fn notified(sharebench: &Sharebench, url: &str) {
    sharebench.write("save.toml", SAVE).unwrap();
    let measure = |window: &str| {
        let line = ["load", url, "--preset", "save.toml", "--measure", window];
        let _ = sharebench.run(&line).unwrap().expect_success();
        Stored::last(sharebench)
    };
    let stored = widen_window(Duration::from_secs(2), measure, |stored| {
        stored.all_have("transactions", &["save-shared", "replace-own", "rename-own"])
    });
    let step = &stored.steps[0];
    assert_eq!(step["errors"], serde_json::json!({}), "{step}");
    let [watches, reports] = ["watch", "notify"].map(|kind| count(step, "operations", kind));
    let [shared, replaced, renamed] =
        ["save-shared", "replace-own", "rename-own"].map(|name| count(step, "transactions", name));
    println!("{watches} requests, {reports} reports, {shared} {replaced} {renamed} transactions");
    assert!(shared > 0 && replaced > 0 && renamed > 0, "{step}");
    let wanted = 2 * (shared + replaced) + renamed;
    // One transaction of each user may have begun before the window, or end after it.
    assert!(reports.abs_diff(wanted) <= 2 * USERS && watches.abs_diff(reports) <= USERS, "{step}");
}

#[test]
fn changes_are_notified_by_the_embedded_server() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    notified(&sharebench, &served.smb_url(""));
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}

#[test]
fn changes_are_notified_by_samba() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    notified(&sharebench, &smbd.url("", ""));
    assert_eq!(left_in(&smbd.share()), Vec::<String>::new());
}

const EXCLUSIVE: &str = "[load]\nworkload = 'exclusive'\nusers = [4]\nthink = '0s'\nwarm_up = '200ms'\nmeasure = '2s'\n\
     [workload]\nname = 'exclusive'\n[[workload.transactions]]\nname = 'exclusive'\n\
     operations = ['wait', 'think 1ms', 'signal']\n";

#[test]
fn the_unit_of_a_semaphore_goes_from_user_to_user() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    sharebench.write("exclusive.toml", EXCLUSIVE).unwrap();
    let url = served.ncp_url("");
    let measure = |window: &str| {
        let line = ["load", &url, "--preset", "exclusive.toml", "--measure", window];
        let _ = sharebench.run(&line).unwrap().expect_success();
        Stored::last(&sharebench)
    };
    let stored = widen_window(Duration::from_secs(2), measure, |stored| {
        stored.all_have("transactions", &["exclusive"])
    });
    let step = &stored.steps[0];
    assert_eq!(step["errors"], serde_json::json!({}), "{step}");
    let transactions = step["transactions"].as_u64().unwrap();
    let [waits, signals] = ["wait", "signal"].map(|kind| count(step, "operations", kind));
    println!("{transactions} transactions, {waits} units taken, {signals} returned");
    // One user at a time has the unit, for a millisecond at least.
    let window_ms = step["window_ns"].as_u64().unwrap() / 1_000_000;
    assert!(transactions > 0 && transactions <= window_ms + USERS, "{step}");
    assert!(waits.abs_diff(transactions) <= USERS && signals.abs_diff(transactions) <= USERS, "{step}");
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}

#[test]
fn targets_without_notifications_or_semaphores_are_rejected_with_the_operation_by_name() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    sharebench.write("save.toml", SAVE).unwrap();
    sharebench.write("exclusive.toml", EXCLUSIVE).unwrap();
    let watch = "'watch' of the transaction 'save-shared'";
    let wait = "'wait' of the transaction 'exclusive'";
    for (url, preset, operation) in [
        (served.nfs4_url("", "vers=4.1"), "save.toml", watch),
        (served.nfs_url("") + "&vers=3", "save.toml", watch),
        (served.ncp_url(""), "save.toml", watch),
        ("./local".to_owned(), "save.toml", watch),
        (served.smb_url(""), "exclusive.toml", wait),
        (served.nfs4_url("", "vers=4.1"), "exclusive.toml", wait),
        ("./local".to_owned(), "exclusive.toml", wait),
    ] {
        let ended = sharebench.run(&["load", &url, "--preset", preset, "--measure", "1s"]).unwrap();
        assert_ne!(ended.code, Some(0), "{}", ended.text());
        assert!(ended.text().contains(operation) && ended.text().contains("unsupported"), "{}", ended.text());
    }
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}
