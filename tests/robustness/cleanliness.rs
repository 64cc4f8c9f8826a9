//! What is left on the targets when the user stops a run.

use std::fs::{self, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, mkdirat, openat};

use sharebench_ncp::client::{self, Access, Client, Login, Modification, TcpTransport, block_on};
use sharebench_ncp::wire::dos::attribute;
use sharebench_ncp::wire::name_space::space;
use sharebench_tests::program::{PATIENCE, poll};
use sharebench_tests::{Served, Sharebench, Signal, Smbd, SmbdOptions, needs};

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
fn a_share_that_hides_names_with_a_dot_needs_another_name() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions { lines: "veto files = /.*/\n", ..SmbdOptions::default() }).unwrap();
    let url = smbd.url("", "");
    let sweep = ["sweep", &url, "--file-sizes=64KiB", "--record-sizes=4KiB", "--repetitions=1"];
    let hidden = sharebench.run(&sweep).unwrap();
    assert_eq!(hidden.code, Some(3), "{}", hidden.text());
    assert!(hidden.stderr.contains("--work-dir"), "{}", hidden.text());
    let left = || fs::read_dir(smbd.share()).unwrap().count();
    assert_eq!(left(), 0);
    let diagnose = ["diagnose", &url, "--for=5s"];
    for command in [&sweep[..], &diagnose] {
        let _ = sharebench.run(&[command, &["--work-dir", "bench"]].concat()).unwrap().expect_success();
        assert_eq!(left(), 0, "{command:?}");
    }
    // What another process left is recognised by its marker, and nothing else is removed.
    for (name, marker) in
        [("bench.sharebench-00000001-0", "MADEBY.SBN"), ("bench.sharebench-00000002-0", "file")]
    {
        fs::create_dir(smbd.share().join(name)).unwrap();
        fs::write(smbd.share().join(name).join(marker), "").unwrap();
    }
    let cleaned = sharebench.run(&["clean", &url]).unwrap();
    assert_eq!(cleaned.code, Some(3), "{}", cleaned.text());
    assert!(cleaned.stdout.contains("removed bench.sharebench-00000001-0"), "{}", cleaned.text());
    assert_eq!(left(), 1);
}

#[test]
fn a_directory_that_is_refused_for_another_reason_does_not_blame_the_dot() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let read_only = Smbd::start(&SmbdOptions { read_only: true, ..SmbdOptions::default() }).unwrap();
    // Nobody but root may make names in it, and the login is that of another user.
    let rights =
        Smbd::start(&SmbdOptions { lines: "force user = nobody\n", ..SmbdOptions::default() }).unwrap();
    fs::set_permissions(rights.share(), Permissions::from_mode(0o755)).unwrap();
    let urls = [
        read_only.url("", ""),
        rights.url("", ""),
        smbd.url("missing", ""),
        served.nfs_url("missing"),
        served.ncp_url("missing"),
        format!("{}/missing", served.directory().display()),
    ];
    for url in urls {
        let sweep = ["sweep", &url, "--file-sizes=64KiB", "--record-sizes=4KiB", "--repetitions=1"];
        let refused = sharebench.run(&sweep).unwrap();
        assert_eq!(refused.code, Some(3), "{url}: {}", refused.text());
        assert!(!refused.stderr.contains("--work-dir"), "{url}: {}", refused.text());
    }
}

/// Makes directories in each other, the last of which has a path of more than 4,096 bytes.
fn make_deep_directories(top: &Path) {
    const LEVELS: usize = 1200;
    let mut directory: OwnedFd = fs::File::open(top).unwrap().into();
    for _ in 0..LEVELS {
        mkdirat(&directory, "level", Mode::RWXU).unwrap();
        directory = openat(&directory, "level", OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    openat(&directory, "file", OFlags::CREATE, Mode::RUSR | Mode::WUSR).unwrap();
}

#[test]
fn clean_removes_directories_whose_paths_are_too_long_for_a_call() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let local = served.directory().display().to_string();
    for url in
        [local, served.smb_url(""), served.nfs_url(""), served.nfs4_url("", "vers=4.2"), served.ncp_url("")]
    {
        let left = served.directory().join(".sharebench-00000001-0");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(".made-by-sharebench"), "").unwrap();
        make_deep_directories(&left);
        let cleaned = sharebench.run(&["clean", &url]).unwrap().expect_success();
        assert_eq!(cleaned.stdout, "removed .sharebench-00000001-0\n", "{url}");
        assert_eq!(fs::read_dir(served.directory()).unwrap().count(), 0, "{url}");
    }
}

/// Other servers answer "no rights to delete" (8A) for open files too, as this one does for protected ones.
#[test]
fn clean_reports_a_file_that_is_still_open_at_an_ncp_server() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let left = served.directory().join(".sharebench-00000001-0");
    fs::create_dir(&left).unwrap();
    for name in [".made-by-sharebench", "data"] {
        fs::write(left.join(name), "").unwrap();
    }
    let clean = || sharebench.run(&["clean", &served.ncp_url("")]).unwrap();
    block_on(async {
        let addr = format!("127.0.0.1:{}", served.ncp_port).parse().unwrap();
        let transport = TcpTransport::connect(addr, PATIENCE).unwrap();
        let mut other = Client::connect(transport, client::Options::default()).await.unwrap();
        other.login(Login { user: Served::USER, password: Smbd::PASSWORD }).await.unwrap();
        let names = [&b"SHARE"[..], b".sharebench-00000001-0", b"data"];
        let path = client::Path::new(space::LONG, names).unwrap();
        let (file, _) = other.open(&path, Access::Read, false).await.unwrap();
        let with = |bits| Modification { attributes: Some(bits), ..Modification::default() };
        other.modify(&path, &with(attribute::DELETE_INHIBIT)).await.unwrap();
        let kept = clean();
        assert_eq!(kept.code, Some(3), "{}", kept.text());
        let open =
            "not removed .sharebench-00000001-0: delete: busy ('.sharebench-00000001-0/data' is still open";
        assert!(kept.stdout.starts_with(open), "{}", kept.text());
        assert!(left.join("data").exists());
        other.close(file).await.unwrap();
        let kept = clean();
        assert!(kept.code == Some(3) && !kept.stdout.contains("open"), "{}", kept.text());
        other.modify(&path, &with(0)).await.unwrap();
        other.disconnect().await.unwrap();
    });
    assert_eq!(clean().expect_success().stdout, "removed .sharebench-00000001-0\n");
    assert_eq!(fs::read_dir(served.directory()).unwrap().count(), 0);
}

#[test]
fn a_run_that_needs_more_space_than_there_is_is_not_stored() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    // Its largest record exceeds a request of NCP, which is a warning before the first step.
    for url in [served.ncp_url(""), served.smb_url("")] {
        let sweep = ["sweep", &url, "--file-sizes=8TiB", "--record-sizes=4KiB,1MiB", "--repetitions=1"];
        let refused = sharebench.run(&sweep).unwrap();
        assert!(refused.stderr.contains("not enough space"), "{}", refused.text());
    }
    let runs = sharebench.run(&["runs"]).unwrap();
    assert!(!runs.stdout.contains("interrupted"), "{}", runs.text());
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
    smbd.signal(Signal::STOP);
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
