//! Locks and denied files as steps of loads on every kind of target that has them, and the error of those that have not.

use std::fs;
use std::time::Duration;

use sharebench_tests::{Sharebench, Smbd, SmbdOptions, needs, widen_window};

use crate::plans::left_in;
use crate::stored::{Stored, count, sections};

const USERS: u64 = 4;
/// Runs a load on targets of these names: no step has an error, and each lock is one of a transaction.
fn loaded(sharebench: &Sharebench, targets: &[(&str, String)]) {
    let load = "seed = 7\nverify = 'full'\n[load]\nworkload = 'locks'\nusers = [4]\nthink = '0s'\n\
                warm_up = '200ms'\n";
    // The sections of targets follow the fields of the plan.
    let (fields, rest) = load.split_once("[load]").unwrap();
    let measure = |window: &str| {
        let plan = format!("{fields}{}[load]{rest}measure = '{window}'\n", sections(targets));
        sharebench.write("plan.toml", &plan).unwrap();
        let _ = sharebench.run(&["run", "plan.toml"]).unwrap().expect_success();
        Stored::last(sharebench)
    };
    let stored = widen_window(Duration::from_secs(2), measure, |stored| {
        stored.all_have("transactions", &["edit-contended", "edit-neighbours"])
    });
    assert_eq!(stored.steps.len(), targets.len());
    for step in &stored.steps {
        let name = targets[step["target"].as_u64().unwrap() as usize].0;
        assert_eq!(step["errors"], serde_json::json!({}), "{name}: {step}");
        let transactions = step["transactions"].as_u64().unwrap();
        let requests = step["wire"]["requests"].as_u64().unwrap_or(0);
        let locks = count(step, "operations", "lock");
        println!("{name}: {transactions} transactions, {locks} locks, {requests} requests");
        for list in ["edit-contended", "edit-neighbours"] {
            assert!(count(step, "transactions", list) > 0, "{name}: {step}");
        }
        // A user holds the range for a millisecond at least, and one user at a time has it.
        let contended = count(step, "transactions", "edit-contended");
        let window_ms = step["window_ns"].as_u64().unwrap() / 1_000_000;
        assert!(contended <= window_ms + USERS, "{name}: {contended}");
        // One of each user may have begun before the window, or end after it.
        for kind in ["open", "lock", "write", "unlock", "close"] {
            let counted = count(step, "operations", kind);
            assert!(counted.abs_diff(transactions) <= USERS, "{name} {kind}: {counted} of {transactions}");
        }
        assert_eq!(step["bytes"]["written"], 4096 * count(step, "operations", "write"), "{name}");
    }
}

#[test]
fn the_preset_locks_runs_on_the_embedded_servers_and_on_local_paths() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let served = sharebench.serve("served").unwrap();
    let names = ["smb", "nfs41", "ncp"];
    for name in names {
        fs::create_dir(served.directory().join(name)).unwrap();
    }
    let targets = [
        ("smb", served.smb_url("smb")),
        ("nfs41", served.nfs4_url("nfs41", "vers=4.1")),
        ("ncp", served.ncp_url("ncp")),
        ("local", "./local".to_owned()),
    ];
    loaded(&sharebench, &targets);
    for directory in names.map(|name| served.directory().join(name)) {
        assert_eq!(left_in(&directory), Vec::<String>::new());
    }
    assert_eq!(left_in(&sharebench.home().join("local")), Vec::<String>::new());
}

#[test]
fn the_preset_locks_runs_on_samba() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    loaded(&sharebench, &[("smbd", smbd.url("", ""))]);
    assert_eq!(left_in(&smbd.share()), Vec::<String>::new());
}

const DENY: &str = "[load]\nworkload = 'deny'\nusers = [3]\nthink = '0s'\nwarm_up = '200ms'\nmeasure = '1s'\n\
                    [workload]\nname = 'deny'\n[[workload.files]]\nname = 'shared'\nsize = '64KiB'\n\
                    [[workload.transactions]]\nname = 'edit'\noperations = ['open deny', 'write 4KiB', 'close']\n";

#[test]
fn users_wait_for_a_file_that_another_user_denies() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    sharebench.write("deny.toml", DENY).unwrap();
    let urls = [served.smb_url(""), served.nfs4_url("", "vers=4.1"), served.ncp_url("")];
    for url in &urls {
        let measure = |window: &str| {
            let line = ["load", url, "--preset", "deny.toml", "--measure", window];
            let _ = sharebench.run(&line).unwrap().expect_success();
            Stored::last(&sharebench)
        };
        let stored = widen_window(Duration::from_secs(1), measure, |stored| {
            stored.all_have("transactions", &["edit"])
        });
        let step = &stored.steps[0];
        assert_eq!(step["errors"], serde_json::json!({}), "{url}: {step}");
        let transactions = step["transactions"].as_u64().unwrap();
        println!("{url}: {transactions} transactions");
        assert!(transactions > 0 && count(step, "operations", "open").abs_diff(transactions) <= 3, "{step}");
    }
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}

#[test]
fn a_target_without_locks_is_rejected_with_the_step_by_name() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    sharebench.write("deny.toml", DENY).unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let locks = "'lock' of the transaction 'edit-contended'";
    for (url, preset, step) in [
        (served.nfs_url("") + "&vers=3", "locks", locks),
        ("./local".to_owned(), "deny.toml", "'open deny' of the transaction 'edit'"),
    ] {
        let ended = sharebench.run(&["load", &url, "--preset", preset, "--measure", "1s"]).unwrap();
        assert_ne!(ended.code, Some(0), "{}", ended.text());
        assert!(ended.text().contains(step) && ended.text().contains("unsupported"), "{}", ended.text());
    }
    assert_eq!(left_in(served.directory()), Vec::<String>::new());
}
