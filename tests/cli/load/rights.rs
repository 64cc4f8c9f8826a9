//! Leases, oplocks and delegations as steps of loads, and the errors of targets that have none.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use sharebench_tests::program::free_port;
use sharebench_tests::{Served, Sharebench, Smbd, SmbdOptions, needs, widen_window};

use crate::plans::left_in;
use crate::stored::{Stored, count};

const USERS: u64 = 4;

/// Runs the preset `leases:case=handover` on a target: no operation fails, and each open is one of a transaction.
fn handed_over(sharebench: &Sharebench, url: &str) -> Stored {
    let load =
        ["load", url, "--preset", "leases:case=handover", "--users", "4", "--warm-up", "200ms", "--measure"];
    let measure = |window: &str| {
        let _ = sharebench.run(&[&load[..], &[window]].concat()).unwrap().expect_success();
        Stored::last(sharebench)
    };
    let stored = widen_window(Duration::from_secs(2), measure, |stored| {
        stored.all_have("operations", &["open-leased"]) && stored.all_have("transactions", &["take-back"])
    });
    let step = &stored.steps[0];
    assert_eq!(step["errors"], serde_json::json!({}), "{step}");
    let [granted, refused, taken_back] =
        ["open-leased", "open-not-granted", "open"].map(|kind| count(step, "operations", kind));
    println!("{granted} opens granted, {refused} not granted, {taken_back} opens for writing");
    assert!(granted > 0, "{step}");
    // One transaction of each user may have begun before the window, or end after it.
    let holds = count(step, "transactions", "hold");
    let wanted = count(step, "transactions", "take-back");
    assert!((granted + refused).abs_diff(holds) <= USERS, "{step}");
    assert!(wanted > 0 && taken_back.abs_diff(wanted) <= USERS, "{step}");
    stored
}

/// The numbers of a fact such as `RWH 10, none 1`, added up.
fn sum_of(fact: &str) -> u64 {
    fact.split(", ").filter_map(|part| part.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
}

#[test]
fn leases_are_handed_over_and_each_break_is_a_fact() {
    let sharebench = Sharebench::new().unwrap();
    let port = free_port().unwrap();
    let _served = sharebench.serve_smb(&[], &format!("127.0.0.1:{port}")).unwrap();
    let stored = handed_over(&sharebench, &format!("smb://{}@127.0.0.1:{port}/share", Served::USER));
    let fact = |name: &str| stored.fact(0, name).unwrap_or_else(|| panic!("no {name}"));
    println!("{} broken, granted {}", fact("leases_broken"), fact("leases_granted"));
    assert_eq!(fact("dialect"), "3.1.1");
    assert_ne!(fact("leases_broken"), "0");
    assert!(fact("leases_granted").starts_with("RWH "), "{}", fact("leases_granted"));
    // Those of the warm-up and of the trial are among them.
    let step = &stored.steps[0];
    let opened = count(step, "operations", "open-leased") + count(step, "operations", "open-not-granted");
    assert!(sum_of(fact("leases_granted")) > opened);
    assert_eq!(left_in(&sharebench.home().join("served")), Vec::<String>::new());
}

#[test]
fn oplocks_are_handed_over_where_the_dialect_has_no_leases() {
    let sharebench = Sharebench::new().unwrap();
    let port = free_port().unwrap();
    let _served = sharebench.serve_smb(&[], &format!("127.0.0.1:{port}")).unwrap();
    let url = format!("smb://{}@127.0.0.1:{port}/share?dialect=2.0.2", Served::USER);
    let stored = handed_over(&sharebench, &url);
    let fact = |name: &str| stored.fact(0, name).unwrap_or_else(|| panic!("no {name}"));
    println!("{} broken, granted {}", fact("oplocks_broken"), fact("oplocks_granted"));
    assert_eq!((fact("dialect"), stored.fact(0, "leases_granted")), ("2.0.2", None));
    assert!(fact("oplocks_granted").starts_with("batch "), "{}", fact("oplocks_granted"));
    assert_ne!(fact("oplock_breaks_acknowledged"), "0");
    assert_eq!(left_in(&sharebench.home().join("served")), Vec::<String>::new());
}

#[test]
fn leases_of_samba_are_handed_over() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let stored = handed_over(&sharebench, &smbd.url("", ""));
    let fact = |name: &str| stored.fact(0, name).unwrap_or_else(|| panic!("no {name}"));
    println!("{} broken, granted {}", fact("leases_broken"), fact("leases_granted"));
    assert_ne!(fact("leases_broken"), "0");
    assert_eq!(left_in(&smbd.share()), Vec::<String>::new());
}

const DELEGATED: &str = "[load]\nworkload = 'delegated'\nusers = [4]\nthink = '0s'\nwarm_up = '200ms'\nmeasure = '2s'\n\
     [workload]\nname = 'delegated'\n[[workload.files]]\nname = 'shared'\nsize = '64KiB'\n\
     [[workload.files]]\nname = 'own'\nsize = '64KiB'\ncount = 4\nowner = 'user'\n\
     [[workload.transactions]]\nname = 'read-own'\nfiles = 'own'\n\
     operations = ['open delegated', 'read 4KiB', 'think 1ms', 'close']\n\
     [[workload.transactions]]\nname = 'read-shared'\nfiles = 'shared'\nweight = 2\n\
     operations = ['open delegated', 'read 4KiB', 'think 5ms', 'close']\n\
     [[workload.transactions]]\nname = 'take-back'\nfiles = 'shared'\noperations = ['open write', 'close']\n";

#[test]
fn delegations_are_granted_and_returned_within_the_pause() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    sharebench.write("delegated.toml", DELEGATED).unwrap();
    let url = served.nfs4_url("", "vers=4.1");
    let load = ["load", &url, "--preset", "delegated.toml", "--measure"];
    let measure = |window: &str| {
        let _ = sharebench.run(&[&load[..], &[window]].concat()).unwrap().expect_success();
        Stored::last(&sharebench)
    };
    let stored = widen_window(Duration::from_secs(2), measure, |stored| {
        stored.all_have("operations", &["open-delegated"])
            && stored.all_have("transactions", &["read-own", "read-shared", "take-back"])
    });
    let step = &stored.steps[0];
    assert_eq!(step["errors"], serde_json::json!({}), "{step}");
    let kinds = |step: &Value| {
        ["open-delegated", "open-not-granted", "open", "close"].map(|kind| count(step, "operations", kind))
    };
    let [granted, refused, opened, closed] = kinds(step);
    let [own, shared, taken_back] =
        ["read-own", "read-shared", "take-back"].map(|name| count(step, "transactions", name));
    println!("{granted} opens granted, {refused} not granted, {own} {shared} {taken_back} transactions");
    assert!(granted > 0 && own > 0 && shared > 0 && taken_back > 0, "{step}");
    assert!((granted + refused).abs_diff(own + shared) <= USERS, "{step}");
    assert!(opened.abs_diff(taken_back) <= USERS && closed.abs_diff(own + shared + taken_back) <= USERS);
    let fact = |name: &str| stored.fact(0, name).unwrap_or_else(|| panic!("no {name}"));
    println!("granted {}, recalled {}", fact("delegations_granted"), fact("delegations_recalled"));
    let (all_granted, wanted) = fact("delegations_granted").split_once(" of ").unwrap();
    let number = |text: &str| text.parse::<u64>().unwrap();
    assert!(number(all_granted) >= granted && number(wanted) >= granted + refused);
    assert_ne!(fact("delegations_recalled"), "0");
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}

#[test]
fn targets_without_such_rights_are_rejected_with_the_operation_by_name() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    sharebench.write("delegated.toml", DELEGATED).unwrap();
    let leased = "'open leased' of the transaction 'hold'";
    let delegated = "'open delegated' of the transaction 'read-own'";
    for (url, preset, operation) in [
        (served.ncp_url(""), "leases:case=handover", leased),
        (served.nfs_url("") + "&vers=3", "leases:case=handover", leased),
        (served.nfs4_url("", "vers=4.1"), "leases:case=handover", leased),
        ("./local".to_owned(), "leases:case=handover", leased),
        (served.smb_url(""), "delegated.toml", delegated),
        (served.ncp_url(""), "delegated.toml", delegated),
        (served.nfs_url("") + "&vers=3", "delegated.toml", delegated),
        ("./local".to_owned(), "delegated.toml", delegated),
    ] {
        let ended = sharebench.run(&["load", &url, "--preset", preset, "--measure", "1s"]).unwrap();
        assert_ne!(ended.code, Some(0), "{}", ended.text());
        assert!(ended.text().contains(operation) && ended.text().contains("unsupported"), "{}", ended.text());
    }
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}
