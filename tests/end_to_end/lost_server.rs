//! A server that dies or falls silent in the middle of a run: what was measured stays, and the end is told.

use std::fs;
use std::time::Duration;

use sharebench_tests::program::poll;
use sharebench_tests::{Ganesha, GaneshaOptions, Program, Sharebench, Smbd, SmbdOptions, needs};

use crate::plans::{left_in, sweep};
use crate::stored::Stored;

/// A target that could not be used, as `sharebench --help` documents it.
const TARGET: i32 = 3;

fn start(sharebench: &Sharebench, url: &str) -> Program {
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let plan = sweep(&[("local", "./local"), ("server", url)], "200ms", 5);
    // Top level fields stand before the first section.
    sharebench.write("plan.toml", &format!("timeout = '2s'\n{plan}")).unwrap();
    let running = sharebench.start(&["run", "plan.toml"], "run.log").unwrap();
    assert!(
        poll(Duration::from_secs(60), || Stored::steps_so_far(sharebench, 1) >= 4),
        "{}",
        running.output()
    );
    running
}

fn expect_lost(sharebench: &Sharebench, mut running: Program, words: &[&str]) {
    let status = running.wait(Duration::from_secs(30)).unwrap();
    let output = running.output();
    assert_eq!(status.code(), Some(TARGET), "{output}");
    for word in words {
        assert!(output.to_lowercase().contains(word), "no '{word}' in:\n{output}");
    }
    assert!(Stored::read(sharebench, 1).steps.len() >= 4, "{output}");
    // What can be cleaned is clean; what cannot is named with the command that removes it.
    assert_eq!(left_in(&sharebench.home().join("local")), Vec::<String>::new(), "{output}");
    assert!(output.contains(".sharebench-"), "{output}");
}

#[test]
fn smbd_dies() {
    needs!(Smbd::NEEDS);
    let (sharebench, smbd) = (Sharebench::new().unwrap(), Smbd::start(&SmbdOptions::default()).unwrap());
    let running = start(&sharebench, &smbd.url("", ""));
    smbd.kill();
    expect_lost(&sharebench, running, &["server", "disconnected"]);
}

#[test]
fn smbd_falls_silent() {
    needs!(Smbd::NEEDS);
    let (sharebench, smbd) = (Sharebench::new().unwrap(), Smbd::start(&SmbdOptions::default()).unwrap());
    let running = start(&sharebench, &smbd.url("", ""));
    smbd.freeze();
    expect_lost(&sharebench, running, &["server", "timeout"]);
}

#[test]
fn ganesha_dies() {
    needs!(Ganesha::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let running = start(&sharebench, &ganesha.url("", ""));
    ganesha.kill();
    expect_lost(&sharebench, running, &["server", "disconnected"]);
}

#[test]
fn ganesha_falls_silent() {
    needs!(Ganesha::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let running = start(&sharebench, &ganesha.url("", ""));
    ganesha.freeze();
    expect_lost(&sharebench, running, &["server", "timeout"]);
}
