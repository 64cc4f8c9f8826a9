//! Server-side tests on every kind of target: copies, clones and holes without their data on the wire, verified, and nothing
//! left.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use sharebench_tests::program::poll;
use sharebench_tests::{
    Ended, Ganesha, GaneshaOptions, Served, Sharebench, Signal, Smbd, SmbdOptions, needs,
};

use crate::plans::left_in;
use crate::stored::{Stored, reason_of_skip, sections, test_of};

const SIZE: u64 = 1 << 20;
const TESTS: [&str; 4] = ["server-copy", "clone", "punch-hole", "sparse-read"];

/// Measures all tests on targets of these names, and checks what each of them stored.
fn swept(sharebench: &Sharebench, targets: &[(&str, String)]) -> (Ended, Stored) {
    let sections = sections(targets);
    let plan = format!(
        "seed = 7\nrepetitions = 1\nmin_sample_time = '2ms'\nverify = 'full'\n{sections}[sweep]\n\
         tests = ['server-side']\ncopy_sizes = ['1MiB']\njobs = [2]\n"
    );
    sharebench.write("plan.toml", &plan).unwrap();
    let ended = sharebench.run(&["run", "plan.toml"]).unwrap().expect_success();
    let stored = Stored::read(sharebench, 1);
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
        assert_ne!(step["verdict"], "invalid", "{step}");
    }
    for (number, (name, _)) in targets.iter().enumerate() {
        for test in TESTS {
            let of_test = |step: &&Value| step["target"] == number && test_of(step) == test;
            let Some(step) = stored.steps.iter().find(of_test) else {
                println!("{name} {test}: skipped: {}", reason_of_skip(&ended, name, test));
                continue;
            };
            let count = |name: &str| step["wire"][name].as_u64().unwrap_or(0);
            let operations = step["operations"].as_u64().unwrap();
            let bytes = (count("sent") + count("received")) / operations;
            println!(
                "{name} {test}: {bytes} B and {} requests per operation",
                count("requests") / operations
            );
            // What a reply of READ_PLUS leaves out is the choice of the server.
            if test != "sparse-read" {
                assert!(bytes < SIZE / 100, "{name} {test}: {bytes}");
            }
        }
    }
    (ended, stored)
}

#[test]
fn copies_and_holes_cross_no_wire_of_the_embedded_servers() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let served = sharebench.serve("served").unwrap();
    for name in ["smb", "nfs3", "nfs4", "ncp"] {
        fs::create_dir(served.directory().join(name)).unwrap();
    }
    let targets = [
        ("local", "./local".to_owned()),
        ("smb", served.smb_url("smb")),
        ("nfs4", served.nfs4_url("nfs4", "vers=4.2")),
        ("ncp", served.ncp_url("ncp")),
        ("nfs3", served.nfs_url("nfs3")),
    ];
    let (ended, stored) = swept(&sharebench, &targets);
    // The file system that is served may have no clones.
    let without_clone = |target| stored.measured(target, &TESTS).into_iter().filter(|test| *test != "clone");
    for target in [0, 1, 2] {
        let wanted = ["server-copy", "punch-hole", "sparse-read"];
        assert_eq!(without_clone(target).collect::<Vec<_>>(), wanted, "{}", ended.text());
    }
    assert_eq!(stored.measured(3, &TESTS), ["server-copy", "sparse-read"]);
    assert_eq!(stored.measured(4, &TESTS), ["sparse-read"]);
    assert!(ended.text().contains("NFS 3 has no request that copies a file"), "{}", ended.text());
    for directory in ["smb", "nfs3", "nfs4", "ncp"].map(|name| served.directory().join(name)) {
        assert_eq!(left_in(&directory), Vec::<String>::new());
    }
    assert_eq!(left_in(&sharebench.home().join("local")), Vec::<String>::new());
}

#[test]
fn volumes_in_memory_clone_without_data_on_the_wire() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve_by(&[], "served", &[]).unwrap();
    let ports = [served.smb_port, served.nfs_port];
    drop(served);
    let [smb, nfs] = ports.map(|port| format!("127.0.0.1:{port}"));
    let line = ["serve", "--memory", "256MiB", "--smb", &smb, "--nfs", &nfs, "--account", Served::USER];
    let mut server = sharebench.start(&line, "memory.log").unwrap();
    server.wait_for_output("serving", Duration::from_secs(120)).unwrap();
    let user = Served::USER;
    let targets =
        [("smb", format!("smb://{user}@{smb}/share")), ("nfs4", format!("nfs://{nfs}/share?vers=4.2"))];
    let (_, stored) = swept(&sharebench, &targets);
    assert_eq!(stored.measured(0, &TESTS), TESTS);
    assert_eq!(stored.measured(1, &TESTS), TESTS);
}

#[test]
fn other_servers_copy_or_state_why_not() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let targets =
        [("smb", smbd.url("", "")), ("ganesha", format!("{}&uid=0&gid=0", ganesha.url4("", "4.2")))];
    let (_, stored) = swept(&sharebench, &targets);
    assert!(stored.measured(0, &TESTS).contains(&"server-copy"));
    for directory in [smbd.share(), ganesha.directory()] {
        assert_eq!(left_in(&directory), Vec::<String>::new());
    }
}

#[test]
fn an_interrupted_run_leaves_no_copies() {
    let sharebench = Sharebench::new().unwrap();
    let local = sharebench.home().join("local");
    fs::create_dir(&local).unwrap();
    let arguments =
        ["sweep", "./local", "--tests", "server-copy", "--copy-sizes", "64MiB", "--repetitions", "1000"];
    let mut running = sharebench.start(&arguments, "run.log").unwrap();
    let copying = || {
        let of_run = fs::read_dir(&local).into_iter().flatten().flatten();
        of_run.into_iter().any(|run| run.path().join("srv1/d0/b0000001").exists())
    };
    assert!(poll(Duration::from_secs(120), copying), "{}", running.output());
    running.signal_group(Signal::INT);
    let _ = running.wait(Duration::from_secs(120)).unwrap();
    assert_eq!(left_in(&local), Vec::<String>::new());
}
