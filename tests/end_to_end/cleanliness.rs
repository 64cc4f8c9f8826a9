//! What is left on the targets when the user stops a run.

use std::fs;
use std::time::Duration;

use sharebench_tests::program::{PATIENCE, poll};
use sharebench_tests::{Sharebench, Signal, Smbd, SmbdOptions, needs};

use crate::plans::{left_in, sweep};
use crate::stored::Stored;

/// Stopped by the user: 128 + SIGINT, as shells have it.
const STOPPED: i32 = 130;

#[test]
fn first_ctrl_c_ends_the_run_keeps_its_steps_and_removes_its_files() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let targets = [("local", "./local"), ("smb", &served.smb_url("")), ("nfs", &served.nfs_url(""))];
    sharebench.write("plan.toml", &sweep(&targets, "200ms", 5)).unwrap();

    let mut running = sharebench.start(&["run", "plan.toml"], "run.log").unwrap();
    assert!(
        poll(Duration::from_secs(60), || Stored::steps_so_far(&sharebench, 1) >= 4),
        "{}",
        running.output()
    );
    assert_eq!(left_in(served.directory()).len(), 2, "one directory for each protocol");
    running.signal(Signal::INT);
    let status = running.wait(PATIENCE).unwrap();
    assert_eq!(status.code(), Some(STOPPED), "{}", running.output());
    assert!(left_in(&sharebench.home().join("local")).is_empty(), "{}", running.output());
    assert!(left_in(served.directory()).is_empty(), "{}", running.output());
    assert!(Stored::read(&sharebench, 1).steps.len() >= 4);
    let runs = sharebench.run(&["runs"]).unwrap().expect_success().stdout;
    assert!(runs.contains("stopped"), "{runs}");
}

#[test]
fn second_ctrl_c_exits_at_once_and_lists_leftovers() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let plan = sweep(&[("smb", &smbd.url("", ""))], "200ms", 5);
    // Whoever waited for the server would wait for ten minutes.
    sharebench.write("plan.toml", &format!("timeout = '10m'\n{plan}")).unwrap();
    let mut running = sharebench.start(&["run", "plan.toml"], "run.log").unwrap();
    assert!(
        poll(Duration::from_secs(60), || Stored::steps_so_far(&sharebench, 1) >= 2),
        "{}",
        running.output()
    );
    // A server that no longer answers keeps the clean-up waiting.
    smbd.freeze();
    running.signal(Signal::INT);
    running.wait_for_output("stopping: ", PATIENCE).unwrap();
    // Signals within a second of the first one are the same request: this repeats it until it is another one.
    poll(PATIENCE, || {
        running.signal(Signal::INT);
        running.has_ended()
    });
    let status = running.wait(PATIENCE).unwrap();
    assert_eq!(status.code(), Some(STOPPED), "{}", running.output());
    let [left] = &left_in(&smbd.share())[..] else { panic!("{}", running.output()) };
    assert!(running.output().contains(left.as_str()), "{left} is not named:\n{}", running.output());
    let command = format!("sharebench clean '{}' --directory {left}", smbd.url("", ""));
    assert!(running.output().contains(&command), "no command that removes it:\n{}", running.output());
}
