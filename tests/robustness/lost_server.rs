//! One of several targets is lost in the middle of a run: the others are left clean. Other outcomes of such a run are listed in
//! `docs/results/faults.md`.

use std::fs;
use std::time::Duration;

use sharebench_tests::program::poll;
use sharebench_tests::{Sharebench, Signal};

use crate::plans::{left_in, sweep};
use crate::stored::Stored;

/// A target that could not be used, as `sharebench --help` documents it.
const TARGET: i32 = 3;

#[test]
fn lost_server_is_named_and_the_other_target_is_left_clean() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let local = sharebench.home().join("local");
    fs::create_dir(&local).unwrap();
    let plan = sweep(&[("local", "./local"), ("server", &served.smb_url(""))], "200ms", 5);
    sharebench.write("plan.toml", &plan).unwrap();
    let mut running = sharebench.start(&["run", "plan.toml"], "run.log").unwrap();
    let begun = poll(Duration::from_secs(60), || Stored::steps_so_far(&sharebench, 1) >= 4);
    assert!(begun, "{}", running.output());
    served.program().signal_group(Signal::KILL);
    let status = running.wait(Duration::from_secs(60)).unwrap();
    let output = running.output();
    assert_eq!(status.code(), Some(TARGET), "{output}");
    assert!(output.contains("target lost: server") && output.contains("disconnected"), "{output}");
    assert_eq!(left_in(&local), Vec::<String>::new(), "{output}");
}

#[test]
fn a_load_in_which_every_operation_of_a_step_failed_is_a_failure() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let url = served.nfs_url("");
    let users = ["--preset=single", "--users=1,2", "--scale=64KiB", "--warm-up=0s", "--measure=2s"];
    let line = [&["load", url.as_str()], &users[..], &["--timeout=5s"]].concat();
    let mut running = sharebench.start(&line, "run.log").unwrap();
    let begun = poll(Duration::from_secs(60), || Stored::steps_so_far(&sharebench, 1) >= 1);
    assert!(begun, "{}", running.output());
    served.program().signal_group(Signal::KILL);
    let status = running.wait(Duration::from_secs(60)).unwrap();
    assert_eq!(status.code(), Some(TARGET), "{}", running.output());
}
