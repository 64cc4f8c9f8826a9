//! A volume with DOS names only, as on NetWare 3.x: sweeps with every test, loads, kept data sets and cleaning up.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sharebench_doubles::conformance::Suite;
use sharebench_ncp::target::NcpTarget;
use sharebench_target::Secret;
use sharebench_tests::program::poll;
use sharebench_tests::{Capture, Served, Sharebench, Signal, Smbd, needs, widen_window};

use crate::adapters::{conform, url};
use crate::plans::left_in;
use crate::stored::Stored;

fn serve(sharebench: &Sharebench) -> Served {
    sharebench.serve_by(&[], "served", &["--ncp-options", "names=dos"]).unwrap()
}

/// The names in a directory of the served volume, as the server stored them.
fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Every step of a run is without errors, and every byte that was read was verified.
fn is_clean(stored: &Stored, steps: usize) {
    assert_eq!(stored.steps.len(), steps);
    for step in &stored.steps {
        assert_eq!(step["errors"], serde_json::json!({}), "{step}");
        assert_eq!(step["verified_bytes"], step["bytes"]["read"], "{step}");
        assert_ne!(step["verdict"], "invalid", "{step}");
    }
}

#[test]
fn ncp_conforms_over_a_directory_with_dos_names_only() {
    let sharebench = Sharebench::new().unwrap();
    let served = serve(&sharebench);
    // Durable writes to files opened without write-through do not exist in this protocol.
    let skip = &["flush and durable write"][..];
    let datagrams = served.ncp_url("?transport=udp&retry=5s");
    for text in [served.ncp_url("?names=dos"), datagrams, served.ipx_url("?transport=ipx&retry=5s&sign=3")] {
        let target = NcpTarget::from_url(url(&text), Secret::new(Smbd::PASSWORD)).unwrap();
        conform(&target, &Suite { skip, max_depth: 4, ..Suite::default() });
    }
    assert_eq!(names_in(served.directory()), Vec::<String>::new(), "the suite left something");
}

#[test]
fn every_test_of_a_sweep_is_verified_on_a_volume_with_dos_names_only() {
    needs!(Capture::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = serve(&sharebench);
    let capture = Capture::start_with_datagrams(served.ncp_port).unwrap();
    let run = sharebench
        .run(&[
            "sweep",
            &served.ncp_url("?connections=4&split=on&names=dos"),
            "--file-sizes=128KiB",
            "--record-sizes=4KiB,16KiB",
            "--tests=requests,streams",
            "plan:stride=5",
            "--jobs=1,2",
            "--repetitions=1",
            "plan:min_sample_time=5ms",
        ])
        .unwrap()
        .expect_success();
    let captured = capture.stop().unwrap().one_request_at_a_time();
    assert_eq!(captured.ncp_oddities().unwrap(), (0, 0), "malformed, replies without request");
    let planned = Stored::read(&sharebench, 1).planned;
    assert!(planned > 20, "{planned} steps: {}", run.text());
    is_clean(&Stored::read(&sharebench, 1), planned);
    // The results state which file was which.
    let json = sharebench.run(&["export", "1", "--format", "json"]).unwrap().expect_success().stdout;
    for part in ["MADEBY.SBN = .made-by-sharebench", ".S00 = .sharebench-", " = job-0-131072", "\"dos\""] {
        assert!(json.contains(part), "{part}: {json}");
    }
    assert_eq!(names_in(served.directory()), Vec::<String>::new());
    // Without the option the volume decides.
    let auto = sharebench.run(&[
        "sweep",
        &served.ncp_url(""),
        "--file-sizes=64KiB",
        "--record-sizes=4KiB",
        "--tests=write,read",
        "--repetitions=1",
        "plan:min_sample_time=5ms",
    ]);
    let _ = auto.unwrap().expect_success();
    is_clean(&Stored::read(&sharebench, 2), 2);
    let long = sharebench
        .run(&["sweep", &served.ncp_url("?names=long"), "--tests=read", "--repetitions=1"])
        .unwrap();
    assert!(
        long.code == Some(3) && long.stderr.contains("has no long names; use names=dos"),
        "{}",
        long.text()
    );
}

#[test]
fn loads_loadfiles_and_kept_sets_are_verified_on_a_volume_with_dos_names_only() {
    let sharebench = Sharebench::new().unwrap();
    let served = serve(&sharebench);
    let target = served.ncp_url("?names=dos");
    let measured = |load: &[&str]| {
        let measure = |window: &str| {
            let times = ["--warm-up", "100ms", "--measure", window, "--verify", "full"];
            let _ = sharebench.run(&[load, &times].concat()).unwrap().expect_success();
            Stored::last(&sharebench)
        };
        widen_window(Duration::from_millis(1500), measure, Stored::all_users_reported)
    };
    // The last one replays a loadfile.
    let presets = ["office", "fsct-homefolders", "copy", "build-tree", "dbench"];
    for preset in presets {
        let mut line = vec!["load", &target, "--preset", preset, "--users", "3", "--think", "exp:5ms"];
        line.extend(["--scale", "600KB"].iter().filter(|_| preset != "dbench"));
        line.extend(["--block", "32KiB"]);
        is_clean(&measured(&line), 1);
    }
    assert_eq!(names_in(served.directory()), Vec::<String>::new());
    // Names of all kinds, also those that differ in case only.
    let script = "0.00 NTCreateX \"\\clients\\a client with a name\" 0x1 0x2 1 NT_STATUS_OK\n\
        0.00 Close 1 NT_STATUS_OK\n\
        0.01 NTCreateX \"\\clients\\a client with a name\\A.Long.Document.docx\" 0x40 0x2 2 NT_STATUS_OK\n\
        0.01 WriteX 2 0 65536 65536 NT_STATUS_OK\n\
        0.02 Close 2 NT_STATUS_OK\n\
        0.02 NTCreateX \"\\clients\\A CLIENT WITH A NAME\\a.long.document.DOCX\" 0x40 0x1 3 NT_STATUS_OK\n\
        0.03 ReadX 3 0 65536 65536 NT_STATUS_OK\n\
        0.03 Close 3 NT_STATUS_OK\n\
        0.04 FIND_FIRST \"\\clients\\a client with a name\\*.docx\" 260 1366 1 NT_STATUS_OK\n\
        0.04 FIND_FIRST \"\\clients\\a client with a name\\*.tmp\" 260 1366 0 NT_STATUS_NO_SUCH_FILE\n\
        0.05 Rename \"\\clients\\a client with a name\\A.Long.Document.docx\" \"\\clients\\b.doc\" NT_STATUS_OK\n\
        0.06 Deltree \"\\clients\\a client with a name\" NT_STATUS_OK\n";
    sharebench.write("client.txt", script).unwrap();
    is_clean(&measured(&["load", &target, "--loadfile", "client.txt", "--users", "2"]), 1);
    assert_eq!(names_in(served.directory()), Vec::<String>::new());
    kept_set_is_used_again_and_removed(&sharebench, &served);
}

/// A kept set stays under its 8.3 name, another run finds it, and `clean` removes it.
fn kept_set_is_used_again_and_removed(sharebench: &Sharebench, served: &Served) {
    let target = served.ncp_url("");
    let line = ["load", &target, "--preset", "copy:direction=from-server", "--scale", "300KB", "--keep-data"];
    let quick = ["--users", "1", "--warm-up", "50ms", "--measure", "200ms", "--think", "1ms"];
    let line = [&line[..], &quick].concat();
    let first = sharebench.run(&line).unwrap().expect_success();
    assert!(first.text().contains("the data set stays in"), "{}", first.text());
    let kept = names_in(served.directory());
    assert!(kept.len() == 1 && kept[0].starts_with('~') && kept[0].contains(".SBK"), "{kept:?}");
    let again = sharebench.run(&line).unwrap().expect_success();
    assert!(again.text().contains("is unchanged and used again"), "{}", again.text());
    let survey = sharebench.run(&["learn", &target]).unwrap();
    assert!(!survey.text().contains("SBK"), "a survey passes over it: {}", survey.text());
    let cleaned = sharebench.run(&["clean", &target]).unwrap().expect_success();
    assert_eq!(cleaned.stdout, format!("removed {}\n", kept[0].to_lowercase()));
    assert_eq!(names_in(served.directory()), Vec::<String>::new());
}

#[test]
fn leftovers_with_8_3_names_are_removed_over_every_path_to_the_volume() {
    let sharebench = Sharebench::new().unwrap();
    let served = serve(&sharebench);
    let directory = served.directory().display().to_string();
    let ncp = served.ncp_url("?names=dos");
    let sweep = [
        "--file-sizes=64KiB",
        "--record-sizes=4KiB",
        "--tests=read,write",
        "plan:min_sample_time=20ms",
        "--repetitions=400",
    ];
    for (number, path) in (1..).zip([ncp.clone(), served.smb_url(""), served.nfs_url(""), directory]) {
        let line = [&["sweep", ncp.as_str()][..], &sweep].concat();
        let running = sharebench.start(&line, "run.log").unwrap();
        let has_begun = || Stored::steps_so_far(&sharebench, number) >= 1;
        assert!(poll(Duration::from_secs(60), has_begun), "{}", running.output());
        running.signal_group(Signal::KILL);
        drop(running);
        let left = names_in(served.directory());
        assert!(
            left.len() == 1 && left[0].contains(".S00") && left_in(served.directory()) == left,
            "{left:?}"
        );
        let inside = names_in(&served.directory().join(&left[0]));
        assert!(inside.contains(&"MADEBY.SBN".to_owned()), "{inside:?}");
        // A directory of somebody else with a name like that has no marker and stays.
        let foreign = served.directory().join("12345678.S00");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("FILE"), "theirs").unwrap();
        let cleaned = sharebench.run(&["clean", &path]).unwrap();
        assert_eq!(cleaned.code, Some(3), "{path}: {}", cleaned.text());
        assert!(
            cleaned.stdout.contains("removed") && cleaned.stdout.contains("MADEBY.SBN"),
            "{}",
            cleaned.text()
        );
        assert_eq!(names_in(served.directory()), ["12345678.S00"], "{path}: {}", cleaned.text());
        fs::remove_dir_all(&foreign).unwrap();
    }
    // Resume finishes a killed run in its own directory.
    let line = [&["sweep", ncp.as_str()][..], &sweep[..4], &["--repetitions=60"]].concat();
    let running = sharebench.start(&line, "run.log").unwrap();
    assert!(
        poll(Duration::from_secs(60), || Stored::steps_so_far(&sharebench, 5) >= 1),
        "{}",
        running.output()
    );
    running.signal_group(Signal::KILL);
    drop(running);
    assert_eq!(left_in(served.directory()).len(), 1);
    let resumed = sharebench.run(&["run", "--resume", "5"]).unwrap().expect_success();
    let stored = Stored::read(&sharebench, 5);
    assert_eq!(stored.steps.len(), stored.planned, "{}", resumed.text());
    assert_eq!(names_in(served.directory()), Vec::<String>::new());
}
