//! Runs with large directories that are interrupted: after Ctrl-C nothing is left, after `kill -9` nothing is left once
//! `sharebench clean` has run. The directories have 100,000 entries with `SHAREBENCH_LONG` (some minutes):
//!
//!     SHAREBENCH_LONG=1 cargo test -p sharebench-tests --test end_to_end metadata_interrupted

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sharebench_tests::program::poll;
use sharebench_tests::{Program, Served, Sharebench, Signal};

use crate::plans::left_in;

/// Stopped by the user: 128 + SIGINT, as shells have it.
const STOPPED: i32 = 130;

fn is_long() -> bool {
    std::env::var_os("SHAREBENCH_LONG").is_some()
}

/// Entries of the directory.
fn size() -> usize {
    if is_long() { 100_000 } else { 2_000 }
}

/// Longest wait for a directory to be filled or removed.
fn patience() -> Duration {
    Duration::from_secs(if is_long() { 1200 } else { 240 })
}

/// Files below a directory.
pub fn entries(directory: &Path) -> usize {
    let Ok(listed) = fs::read_dir(directory) else { return 0 };
    let below = listed.flatten().map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => entries(&entry.path()),
        _ => 1,
    });
    below.sum()
}

/// A target of every kind, over directories of this machine.
struct Targets {
    sharebench: Sharebench,
    served: Served,
}

impl Targets {
    fn start() -> Self {
        let sharebench = Sharebench::new().unwrap();
        let served = sharebench.serve("served").unwrap();
        for name in ["smb", "nfs", "ncp"] {
            fs::create_dir(served.directory().join(name)).unwrap();
        }
        fs::create_dir(sharebench.home().join("local")).unwrap();
        Self { sharebench, served }
    }

    /// Each URL with the directory of its files.
    fn urls(&self) -> [(String, PathBuf); 4] {
        let of = |name: &str| self.served.directory().join(name);
        [
            ("./local".to_owned(), self.sharebench.home().join("local")),
            (self.served.smb_url("smb"), of("smb")),
            (self.served.nfs_url("nfs"), of("nfs")),
            (self.served.ncp_url("ncp"), of("ncp")),
        ]
    }

    /// Starts a run that fills a directory and then measures for longer than the test lasts, and waits until the directory
    /// has this share of its entries.
    fn filled(&self, url: &str, directory: &Path, share: f64) -> Program {
        let entries_flag = size().to_string();
        let tests = ["sweep", url, "--tests", "stat", "--entries", &entries_flag];
        let line = [&tests[..], &["--repetitions", "1", "plan:min_sample_time=30m"]].concat();
        let running = self.sharebench.start(&line, "run.log").unwrap();
        let wanted = (size() as f64 * share) as usize;
        assert!(poll(patience(), || entries(directory) >= wanted), "{}", running.output());
        running
    }

    /// Removes what a killed run has left, and checks that nothing remains.
    fn clean(&self, url: &str, directory: &Path) {
        let cleaned = self.sharebench.run(&["clean", url]).unwrap().expect_success();
        assert!(cleaned.stdout.contains("removed .sharebench-"), "{url}: {}", cleaned.text());
        assert_eq!(left_in(directory), Vec::<String>::new(), "{url}: {}", cleaned.text());
    }
}

#[test]
fn nothing_is_left_of_a_large_directory_after_ctrl_c() {
    let targets = Targets::start();
    for (url, directory) in targets.urls() {
        for share in [0.5, 1.0] {
            let mut running = targets.filled(&url, &directory, share);
            running.signal(Signal::INT);
            let status = running.wait(patience()).unwrap();
            assert_eq!(status.code(), Some(STOPPED), "{url}: {}", running.output());
            assert_eq!(left_in(&directory), Vec::<String>::new(), "{url}: {}", running.output());
        }
    }
}

#[test]
fn clean_removes_what_kill_9_has_left_of_a_large_directory() {
    let targets = Targets::start();
    for (url, directory) in targets.urls() {
        for share in [0.5, 1.0] {
            let mut running = targets.filled(&url, &directory, share);
            running.signal_group(Signal::KILL);
            let _ = running.wait(patience()).unwrap();
            assert!(entries(&directory) >= size() / 2, "{url}");
            targets.clean(&url, &directory);
        }
    }
}

#[test]
fn clean_continues_a_removal_that_was_killed() {
    let targets = Targets::start();
    for (url, directory) in targets.urls() {
        let mut running = targets.filled(&url, &directory, 1.0);
        let before = entries(&directory);
        running.signal(Signal::INT);
        // The removal of few entries may be over before the kill; then there is nothing to continue.
        assert!(poll(patience(), || running.has_ended() || entries(&directory) < before), "{url}");
        running.signal_group(Signal::KILL);
        let _ = running.wait(patience()).unwrap();
        if left_in(&directory).is_empty() {
            continue;
        }
        println!("{url}: {} of {before} entries left", entries(&directory));
        targets.clean(&url, &directory);
    }
}
