//! Bad input to metadata tests: names that are too long, no free inodes, read-only targets, permission that is revoked
//! halfway, and directories that others fill during the run.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use sharebench_tests::program::{PATIENCE, poll};
use sharebench_tests::{Disk, Ganesha, GaneshaOptions, Need, Program, Served, Sharebench, Signal, needs};

use crate::plans::left_in;
use crate::robustness::bad_input::expect;
use crate::robustness::metadata_interrupted::entries;
use crate::stored::Stored;

// Exit codes as `sharebench --help` documents them.
const USAGE: i32 = 2;
const TARGET: i32 = 3;
const INVALID: i32 = 4;

/// A mount namespace of its own, in which the test may mount.
const MOUNTING: &[Need] = &[Need::Root, Need::Program("unshare")];
/// Command that runs a program as an unprivileged user.
const NOBODY: [&str; 5] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];

/// Time between two names that others create, so that they do not fill the disk.
const BETWEEN_NAMES: Duration = Duration::from_millis(1);

/// A sweep that needs more inodes than small file systems have.
const CREATE: [&str; 6] = ["--tests", "create", "--entries", "1000", "--repetitions", "1"];

fn urls(served: &Served) -> [String; 3] {
    [served.smb_url(""), served.nfs_url(""), served.ncp_url("")]
}

/// The directory of a server, as the mount namespace of the server has it.
fn inside(served: &Served) -> PathBuf {
    let root = PathBuf::from(format!("/proc/{}/root", served.program().pid()));
    root.join(served.directory().strip_prefix("/").unwrap())
}

/// Runs a sweep of a local directory on which a file system is mounted with these options, and lists what is left.
fn on_mount(sharebench: &Sharebench, options: &str) -> (sharebench_tests::Ended, String) {
    let script = format!(
        "mount -t tmpfs -o {options} tmpfs local && \"$0\" sweep ./local {}; code=$?; ls -A local; exit $code",
        CREATE.join(" ")
    );
    let ended = sharebench.run_by(&["unshare", "--mount", "sh", "-c", &script]).unwrap();
    let left = ended.stdout.lines().filter(|line| line.starts_with(".sharebench-")).collect();
    (ended, left)
}

#[test]
fn names_that_are_too_long_are_rejected() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let sweep = |url: &str, length: &str| {
        let line = ["sweep", url, "--tests", "create,rename", "--entries", "20", "--repetitions", "1"];
        let length = format!("plan:name_lengths={length}");
        sharebench.run(&[&line[..], &["plan:min_sample_time=1ms", &length]].concat()).unwrap()
    };
    for length in ["256", "7", "4294967296"] {
        expect(&sweep("./local", length), USAGE, &["name_lengths", length]);
    }
    // The longest names of the common file systems.
    let served = sharebench.serve("served").unwrap();
    for url in [served.smb_url(""), served.nfs_url(""), "./local".to_owned()] {
        let _ = sweep(&url, "255").expect_success();
    }
    assert_eq!(left_in(served.directory()), Vec::<String>::new());

    let dos = sharebench.serve_by(&[], "dos", &["--ncp-options", "names=dos"]).unwrap();
    let _ = sweep(&dos.ncp_url(""), "8").expect_success();
    assert_eq!(left_in(dos.directory()), Vec::<String>::new());
}

#[test]
fn a_target_without_free_inodes_ends_the_run_and_is_left_clean() {
    needs!(MOUNTING);
    let sharebench = Sharebench::new().unwrap();
    let mount = Disk::Inodes(300).mount("served") + " && exec \"$@\"";
    let words = ["unshare", "--mount", "sh", "-c", &mount, "sh"];
    let served = sharebench.serve_by(&words, "served", &[]).unwrap();
    for url in urls(&served) {
        let ended = sharebench.run(&[&["sweep", &url], &CREATE[..]].concat()).unwrap();
        expect(&ended, TARGET, &["volume full", "no space"]);
        assert_eq!(left_in(&inside(&served)), Vec::<String>::new(), "{}", ended.text());
    }
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let (ended, left) = on_mount(&sharebench, "nr_inodes=300");
    expect(&ended, TARGET, &["volume full", "no space"]);
    assert_eq!(left, "", "{}", ended.text());
}

#[test]
fn ganesha_without_free_inodes_or_permission_is_reported() {
    needs!(Ganesha::NEEDS, [Need::Root]);
    let sharebench = Sharebench::new().unwrap();
    let disk = Some(Disk::Inodes(300));
    let full = Ganesha::start(&GaneshaOptions { disk, ..GaneshaOptions::default() }).unwrap();
    let url = full.url("", "");
    let ended = sharebench.run(&[&["sweep", &url], &CREATE[..]].concat()).unwrap();
    expect(&ended, TARGET, &["no space"]);
    assert_eq!(left_in(&full.directory()), Vec::<String>::new());

    let read_only = Ganesha::start(&GaneshaOptions { read_only: true, ..GaneshaOptions::default() }).unwrap();
    let url = read_only.url("", "");
    let ended = sharebench.run(&[&["sweep", &url], &CREATE[..]].concat()).unwrap();
    expect(&ended, TARGET, &["read-only"]);
}

#[test]
fn read_only_targets_are_reported_before_anything_is_measured() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve_by(&[], "served", &["--read-only"]).unwrap();
    for url in urls(&served) {
        let ended = sharebench.run(&[&["sweep", &url], &CREATE[..]].concat()).unwrap();
        let word = if url.starts_with("smb") { "refused" } else { "read-only" };
        expect(&ended, TARGET, &[word]);
        assert_eq!(left_in(served.directory()), Vec::<String>::new());
    }
    needs!(MOUNTING);
    fs::create_dir(sharebench.home().join("local")).unwrap();
    let (ended, left) = on_mount(&sharebench, "ro");
    expect(&ended, TARGET, &["local", "read-only"]);
    assert_eq!(left, "", "{}", ended.text());
}

/// The directory with the entries of a run that has begun to fill it, once it has this number of them.
fn filling(share: &Path, running: &Program, count: usize) -> PathBuf {
    let mut found = None;
    let filled = poll(2 * PATIENCE, || {
        let [ours] = &left_in(share)[..] else { return false };
        let tops = fs::read_dir(share.join(ours)).into_iter().flatten().flatten();
        found = tops.map(|top| top.path().join("d0")).find(|directory| directory.is_dir());
        found.as_ref().is_some_and(|directory| entries(directory) >= count)
    });
    assert!(filled, "{}", running.output());
    found.unwrap()
}

#[test]
fn permission_that_is_revoked_halfway_is_reported_with_the_command_that_cleans_up() {
    needs!([Need::Root]);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve_by(&NOBODY, "served", &[]).unwrap();
    let local = sharebench.home().join("local");
    fs::create_dir(&local).unwrap();
    let databases = sharebench.home().join("databases");
    fs::create_dir(&databases).unwrap();
    for directory in [served.directory(), &local, &databases] {
        fs::set_permissions(directory, Permissions::from_mode(0o777)).unwrap();
    }
    let [smb, nfs, ncp] = urls(&served);
    let share = served.directory().to_owned();
    let targets = [(smb, &share), (nfs, &share), (ncp, &share), (local.display().to_string(), &local)];
    for (url, share) in targets {
        // Longer than the test takes, so that permission is gone within the step.
        let tests = ["--tests", "create", "--entries", "20000", "plan:min_sample_time=30m"];
        let line = [&["sweep", &url, "--repetitions", "1"], &tests[..]].concat();
        // The program itself is unprivileged only where it is the one that opens the files.
        let words: &[&str] = if url.contains("://") { &[] } else { &NOBODY };
        let db = ["--db", if words.is_empty() { "root.db" } else { "databases/nobody.db" }];
        let mut running = sharebench.start_by(words, &[&line[..], &db].concat(), &[], "run.log").unwrap();
        let directory = filling(share, &running, 100);
        fs::set_permissions(&directory, Permissions::from_mode(0o555)).unwrap();
        let status = running.wait(2 * PATIENCE).unwrap();
        let output = running.output();
        assert_eq!(status.code(), Some(TARGET), "{url}: {output}");
        assert!(output.contains("target lost: ") && output.contains("refused"), "{url}: {output}");
        let [left] = &left_in(share)[..] else { panic!("{url}: {output}") };
        let command = format!("sharebench clean '{url}' --directory {left}");
        assert!(output.contains(&command), "{url}: no '{command}' in {output}");
        fs::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
        // On a local path, clean removes only what belongs to the calling user.
        let script = format!("exec \"$0\" clean '{url}' --directory {left}");
        let shell = [words, &["sh", "-c", &script]].concat();
        let _ = sharebench.run_by(&shell).unwrap().expect_success();
        assert_eq!(left_in(share), Vec::<String>::new(), "{url}");
    }
}

#[test]
fn names_of_others_in_a_directory_make_its_steps_invalid() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let local = sharebench.home().join("local");
    fs::create_dir(&local).unwrap();
    let share = served.directory().to_owned();
    for (run, (url, share)) in (1..).zip([(served.nfs_url(""), &share), ("./local".to_owned(), &local)]) {
        let tests = ["--tests", "stat", "--entries", "50", "plan:min_sample_time=200ms"];
        let line = [&["sweep", &url, "--repetitions", "20"], &tests[..]].concat();
        let mut running = sharebench.start(&line, "run.log").unwrap();
        let directory = filling(share, &running, 50);
        assert!(poll(PATIENCE, || Stored::steps_so_far(&sharebench, run) >= 1), "{}", running.output());
        for number in 0..3 {
            File::create(directory.join(format!("foreign-{number}"))).unwrap();
        }
        let status = running.wait(2 * PATIENCE).unwrap();
        let output = running.output();
        assert_eq!(status.code(), Some(INVALID), "{output}");
        assert!(output.contains("3 foreign (first: 'foreign-"), "{output}");
        let stored = Stored::read(&sharebench, run);
        assert_eq!(stored.steps.len(), 20);
        let last = stored.steps.last().unwrap();
        assert!(last["verdict"] == "invalid" && last["errors"]["data-mismatch"] == 1, "{last}");
        assert_eq!(left_in(share), Vec::<String>::new(), "{output}");
    }
}

#[test]
fn a_run_ends_although_others_keep_filling_its_directory() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let local = sharebench.home().join("local");
    fs::create_dir(&local).unwrap();
    let share = served.directory().to_owned();
    for (url, share) in [(served.smb_url(""), &share), ("./local".to_owned(), &local)] {
        let tests = ["--tests", "stat", "--entries", "50", "plan:min_sample_time=30m"];
        let line = [&["sweep", &url, "--repetitions", "1"], &tests[..]].concat();
        let mut running = sharebench.start(&line, "run.log").unwrap();
        let directory = filling(share, &running, 50);
        let made = AtomicUsize::new(0);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let number = made.load(Ordering::Relaxed);
                    if File::create(directory.join(format!("foreign-{number}"))).is_err() {
                        break;
                    }
                    made.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(BETWEEN_NAMES);
                }
            });
            let filled = poll(PATIENCE, || made.load(Ordering::Relaxed) > 1000);
            running.signal(Signal::INT);
            let ended = running.wait(3 * PATIENCE);
            // Also before a failed assertion, which would wait for the thread.
            is_over.store(true, Ordering::Relaxed);
            assert!(filled && ended.is_ok(), "{}", running.output());
        });
        let output = running.output();
        println!("{url}: {} names of others, left: {:?}", made.load(Ordering::Relaxed), left_in(share));
        for left in left_in(share) {
            assert!(output.contains(&format!("--directory {left}")), "{output}");
            let _ = sharebench.run(&["clean", &url, "--directory", &left]).unwrap().expect_success();
        }
        assert_eq!(left_in(share), Vec::<String>::new(), "{output}");
    }
}
