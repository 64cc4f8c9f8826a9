//! Cells of locks on every kind of target: what is measured, what is skipped with which reason, and that nothing is left.

use std::fs;
use std::time::Duration;

use sharebench_tests::program::{free_port, poll};
use sharebench_tests::{
    Ended, Ganesha, GaneshaOptions, Served, Sharebench, Signal, Signing, Smbd, SmbdOptions, needs,
};

use crate::plans::left_in;
use crate::stored::{Stored, sections, test_of};

/// The tests of the group in the order of reports. Every server with locks has the first four.
const TESTS: [&str; 10] = [
    "lock",
    "lock-neighbours",
    "lock-contended",
    "share-conflict",
    "notify",
    "lease-grant",
    "lease-break",
    "delegation-grant",
    "delegation-recall",
    "semaphore",
];

/// Measures all tests on targets of these names, and checks what each of them stored.
fn swept(sharebench: &Sharebench, targets: &[(&str, String)]) -> (Ended, Stored) {
    swept_as(sharebench, targets, 1)
}

/// The same as the run of this number.
fn swept_as(sharebench: &Sharebench, targets: &[(&str, String)], run: u32) -> (Ended, Stored) {
    let sections = sections(targets);
    let plan = format!(
        "seed = 7\nrepetitions = 1\nmin_sample_time = '2ms'\n{sections}[sweep]\ntests = ['locks', 'stat']\njobs = [3]\n         entries = [3]\n"
    );
    sharebench.write("plan.toml", &plan).unwrap();
    let ended = sharebench.run(&["run", "plan.toml"]).unwrap().expect_success();
    let stored = Stored::read(sharebench, run);
    for step in &stored.steps {
        // It is measured everywhere, so that a target without locks takes part.
        if test_of(step) == "stat" {
            continue;
        }
        let name = targets[step["target"].as_u64().unwrap() as usize].0;
        let test = test_of(step);
        assert_eq!(step["errors"], serde_json::json!({}), "{name} {test}: {step}");
        assert_ne!(step["verdict"], "invalid", "{name} {test}: {step}");
        let operations = step["operations"].as_u64().unwrap();
        assert!(operations >= 100, "{name} {test}: {operations}");
        let requests = step["wire"]["requests"].as_u64().unwrap_or(0);
        let [p50, p99] = ["p50_ns", "p99_ns"].map(|time| step["service"][time].as_u64().unwrap());
        assert!(p50 > 0 && p50 <= p99, "{name} {test}: {p50} {p99}");
        println!("{name} {test}: {operations} operations, {requests} requests, p50 {p50} ns, p99 {p99} ns");
        // A lock and its unlock are a request each; an open that is rejected is one. A notification is requested for a creation
        // (open and close) and for a removal (open, change and close).
        if requests > 0 {
            let least = match test {
                "share-conflict" => operations,
                "notify" => 7 * operations,
                // Two sessions open and close; a delegation is returned.
                "lease-break" => 4 * operations,
                "delegation-grant" => 3 * operations,
                // The file is made for it, the open is repeated, and the file is removed.
                "delegation-recall" => 9 * operations,
                _ => 2 * operations,
            };
            assert!(requests >= least, "{name} {test}: {requests} requests of {operations} operations");
        }
    }
    for (number, (name, _)) in targets.iter().enumerate() {
        let missing = TESTS.into_iter().filter(|test| !stored.measured(number, &TESTS).contains(test));
        for test in missing {
            println!("{name} {test}: skipped: {}", stored.reason_of_skip(number, test));
        }
    }
    (ended, stored)
}

/// The leases that the server has granted are facts of the run.
fn assert_grants_are_facts(sharebench: &Sharebench) {
    let run = sharebench.run(&["export", "1", "--format", "json"]).unwrap().expect_success().stdout;
    let granted = run.split_once("leases_granted").map_or("", |(_, rest)| rest);
    assert!(granted.starts_with("\":\"RWH ") || granted.starts_with("\": \"RWH "), "{run}");
}

#[test]
fn locks_of_the_embedded_servers_and_of_local_paths_are_measured() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let served = sharebench.serve("served").unwrap();
    let names = ["smb", "nfs40", "nfs41", "ncp", "nfs3"];
    for name in names {
        fs::create_dir(served.directory().join(name)).unwrap();
    }
    let targets = [
        ("smb", served.smb_url("smb")),
        ("nfs40", served.nfs4_url("nfs40", "vers=4.0")),
        ("nfs41", served.nfs4_url("nfs41", "vers=4.1")),
        ("ncp", served.ncp_url("ncp")),
        ("local", "./local".to_owned()),
        ("nfs3", served.nfs_url("nfs3")),
    ];
    let (ended, stored) = swept(&sharebench, &targets);
    for (number, (name, _)) in targets.iter().enumerate().take(4) {
        let further: &[&str] = match *name {
            // NFS and NCP serve the same directory, so that writes are not cached.
            "smb" => &TESTS[4..6],
            "nfs41" => &TESTS[7..9],
            "ncp" => &TESTS[9..],
            _ => &[],
        };
        let wanted = [&TESTS[..4], further].concat();
        assert_eq!(stored.measured(number, &TESTS), wanted, "{name}: {}", ended.text());
    }
    let no_break = stored.reason_of_skip(0, "lease-break");
    assert!(no_break.contains("no lease or oplock on writes"), "{no_break}");
    assert_eq!(stored.measured(4, &TESTS), TESTS[..3], "{}", ended.text());
    assert_eq!(stored.measured(5, &TESTS), Vec::<&str>::new());
    let report = sharebench.run(&["show", "1", "--format", "md"]).unwrap().expect_success().stdout;
    for part in [
        "An operation is a lock and its unlock.",
        "An operation is a hand-over",
        "| jobs | smb mean | smb p50 |",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    for directory in names.map(|name| served.directory().join(name)) {
        assert_eq!(left_in(&directory), Vec::<String>::new());
    }
    assert_eq!(left_in(&sharebench.home().join("local")), Vec::<String>::new());
}

#[test]
fn leases_of_a_server_of_smb_alone_are_broken() {
    let sharebench = Sharebench::new().unwrap();
    let port = free_port().unwrap();
    let _served = sharebench.serve_smb(&[], &format!("127.0.0.1:{port}")).unwrap();
    let targets = [("smb", format!("smb://{}@127.0.0.1:{port}/share", Served::USER))];
    let (ended, stored) = swept(&sharebench, &targets);
    assert_eq!(stored.measured(0, &TESTS), TESTS[..7], "{}", ended.text());
    assert_grants_are_facts(&sharebench);
    assert_eq!(left_in(&sharebench.home().join("served")), Vec::<String>::new());
}

/// The oplocks that the server has granted are facts of the run, and each break was acknowledged.
fn assert_oplocks_are_facts(sharebench: &Sharebench, dialect: &str) {
    let run = sharebench.run(&["export", "1", "--format", "json"]).unwrap().expect_success().stdout;
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    let facts = &run["targets"][0]["facts"];
    println!("{facts}");
    let fact = |name: &str| facts[name].as_str().unwrap_or_else(|| panic!("no {name}: {facts}"));
    assert_eq!(fact("dialect"), dialect);
    let granted = fact("oplocks_granted");
    assert!(granted.starts_with("batch "), "{granted}");
    assert_ne!(fact("oplock_breaks_acknowledged"), "0");
    assert_eq!(fact("oplock_breaks_acknowledged"), fact("oplocks_broken"));
    assert_eq!(facts["leases_granted"], serde_json::Value::Null);
}

#[test]
fn oplocks_are_measured_where_the_dialect_has_no_leases() {
    let sharebench = Sharebench::new().unwrap();
    let port = free_port().unwrap();
    let _served = sharebench.serve_smb(&[], &format!("127.0.0.1:{port}")).unwrap();
    let url = format!("smb://{}@127.0.0.1:{port}/share?dialect=2.0.2", Served::USER);
    let (ended, stored) = swept(&sharebench, &[("smb", url)]);
    assert_eq!(stored.measured(0, &TESTS), TESTS[..7], "{}", ended.text());
    assert_oplocks_are_facts(&sharebench, "2.0.2");
    assert_eq!(left_in(&sharebench.home().join("served")), Vec::<String>::new());
}

#[test]
fn oplocks_of_samba_are_measured_where_the_dialect_has_no_leases() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let (ended, stored) = swept(&sharebench, &[("smbd", smbd.url("", "dialect=2.0.2"))]);
    assert_eq!(stored.measured(0, &TESTS), TESTS[..7], "{}", ended.text());
    assert_oplocks_are_facts(&sharebench, "2.0.2");
    assert_eq!(left_in(&smbd.share()), Vec::<String>::new());
}

/// The tests that a target over SMB1 has: those of locks, and those of leases, by oplocks.
fn tests_of_smb1() -> Vec<&'static str> {
    [&TESTS[..4], &TESTS[5..7]].concat()
}

#[test]
fn oplocks_of_smb1_are_measured_at_the_embedded_server() {
    let sharebench = Sharebench::new().unwrap();
    let port = free_port().unwrap();
    let _served = sharebench.serve_smb_with(&[], &format!("127.0.0.1:{port}"), &["--smb1"]).unwrap();
    let url = format!("smb://{}@127.0.0.1:{port}/share?dialect=nt1", Served::USER);
    for (run, options) in [(1, ""), (2, "&sign=required")] {
        let (ended, stored) = swept_as(&sharebench, &[("smb1", format!("{url}{options}"))], run);
        assert_eq!(stored.measured(0, &TESTS), tests_of_smb1(), "{}", ended.text());
    }
    assert_oplocks_are_facts(&sharebench, "NT LM 0.12");
    assert_eq!(left_in(&sharebench.home().join("served")), Vec::<String>::new());
}

#[test]
fn oplocks_of_smb1_are_measured_at_samba_signed_and_unsigned() {
    needs!(Smbd::NEEDS);
    // A standalone smbd signs SMB1 only if that is mandatory.
    for signing in [Signing::Offered, Signing::Mandatory] {
        let sharebench = Sharebench::new().unwrap();
        let dialects = Some(("NT1", "SMB3_11"));
        let smbd = Smbd::start(&SmbdOptions { dialects, signing, ..SmbdOptions::default() }).unwrap();
        // Without the other tests of locks: over SMB1, smbd delays the rejection of each open by a second.
        let line =
            ["sweep", &smbd.url("", "dialect=nt1"), "--tests", "lease-grant,lease-break", "--jobs", "3"];
        let times = ["--repetitions", "1", "plan:min_sample_time=2ms"];
        let ended = sharebench.run(&[&line[..], &times].concat()).unwrap().expect_success();
        let stored = Stored::read(&sharebench, 1);
        assert_eq!(stored.measured(0, &TESTS), TESTS[5..7], "{}", ended.text());
        assert!(stored.steps.iter().all(|step| step["errors"] == serde_json::json!({})), "{}", ended.text());
        assert_oplocks_are_facts(&sharebench, "NT LM 0.12");
        assert_eq!(left_in(&smbd.share()), Vec::<String>::new());
    }
}

#[test]
fn locks_of_other_servers_are_measured() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let targets =
        [("smbd", smbd.url("", "")), ("ganesha", format!("{}&uid=0&gid=0", ganesha.url4("", "4.1")))];
    let (_, stored) = swept(&sharebench, &targets);
    assert_eq!(stored.measured(0, &TESTS), TESTS[..7]);
    assert_eq!(stored.measured(1, &TESTS), TESTS[..4]);
    assert_grants_are_facts(&sharebench);
    for directory in [smbd.share(), ganesha.directory()] {
        assert_eq!(left_in(&directory), Vec::<String>::new());
    }
}

#[test]
fn an_interrupted_run_leaves_no_locked_file_and_no_watched_directory() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    for name in ["smb", "local"] {
        fs::create_dir(served.directory().join(name)).unwrap();
    }
    let local = served.directory().join("local");
    let smb = served.directory().join("smb");
    let targets = [
        ("lock-contended", served.smb_url("smb"), smb.clone()),
        ("lock-contended", local.to_str().unwrap().to_owned(), local.clone()),
        ("notify", served.smb_url("smb"), smb),
    ];
    for (run, (test, url, directory)) in (1..).zip(targets) {
        let arguments = ["sweep", &url, "--tests", test, "--jobs", "4", "--repetitions", "10000"];
        let mut running = sharebench.start(&arguments, "run.log").unwrap();
        let is_locking = || Stored::steps_so_far(&sharebench, run) > 0;
        assert!(poll(Duration::from_secs(120), is_locking), "{}", running.output());
        running.signal_group(Signal::INT);
        let _ = running.wait(Duration::from_secs(120)).unwrap();
        assert_eq!(left_in(&directory), Vec::<String>::new(), "{url}");
    }
}
