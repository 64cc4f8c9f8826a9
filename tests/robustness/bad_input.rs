//! The table of bad inputs: each ends with its documented exit code and a message that names the culprit,
//! and leaves nothing on the target.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use sharebench_tests::program::free_port;
use sharebench_tests::{
    Disk, Ended, Ganesha, GaneshaOptions, Sharebench, Smbd, SmbdOptions, expect_listed, needs,
};

use crate::plans::left_in;

// Exit codes as `sharebench --help` documents them.
const USAGE: i32 = 2;
const TARGET: i32 = 3;

const SMALL: [&str; 6] = ["--file-sizes", "64KiB", "--record-sizes", "4KiB", "--repetitions", "1"];

fn sweep(sharebench: &Sharebench, url: &str) -> Ended {
    sharebench.run(&[&["sweep", url], &SMALL[..]].concat()).unwrap()
}

/// One message, on standard error, with these words, without password, panic or debug output, and listed for users.
pub(crate) fn expect(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, Some(code), "{}", ended.text());
    expect_listed(&ended.stderr);
    let message = ended.stderr.to_lowercase();
    for word in words {
        assert!(message.contains(&word.to_lowercase()), "no '{word}' in: {}", ended.stderr);
    }
    for wrong in [Smbd::PASSWORD, "hunter2", "panicked", "RUST_BACKTRACE", "Err(", "Some("] {
        assert!(!ended.text().contains(wrong), "'{wrong}' in: {}", ended.text());
    }
}

/// Arguments, and the exit code and words that they lead to.
type Row<'a> = (&'a [&'a str], i32, &'a [&'a str]);

/// Runs each row, which leaves nothing in the directory `here`.
fn expect_each(sharebench: &Sharebench, table: &[Row<'_>]) {
    for (arguments, code, words) in table {
        println!("{arguments:?}");
        expect(&sharebench.run(arguments).unwrap(), *code, words);
        assert_eq!(left_in(&sharebench.home().join("here")), Vec::<String>::new());
    }
}

#[test]
fn mistakes_are_reported_without_a_server() {
    let sharebench = Sharebench::new().unwrap();
    let closed = free_port().unwrap();
    fs::create_dir(sharebench.home().join("here")).unwrap();
    let refused_smb = format!("smb://lab@127.0.0.1:{closed}/share");
    let refused_nfs = format!("nfs://127.0.0.1:{closed}/export?mountport={closed}");
    let port = closed.to_string();
    let table: [Row; 50] = [
        (&["sweep"], USAGE, &["target"]),
        (&["sweep", "gopher://host/x"], USAGE, &["gopher", "smb", "nfs"]),
        (&["sweep", "smb://lab@host:99999/share"], USAGE, &["port"]),
        (&["sweep", "smb://lab@127.0.0.1/share?dialekt=3"], USAGE, &["dialekt", "dialect"]),
        (&["sweep", "smb://lab@no-such-host.invalid/share"], TARGET, &["no-such-host.invalid", "host"]),
        (&["sweep", &refused_smb], TARGET, &["port", &port]),
        (&["sweep", &refused_nfs], TARGET, &["port", &port]),
        (&["sweep", "./nowhere"], TARGET, &["nowhere", "not found"]),
        (
            &["sweep", "./here", "--file-sizes", "4KiB", "--record-sizes", "64KiB"],
            USAGE,
            &["record", "64KiB", "4KiB"],
        ),
        (&["sweep", "./here", "--record-sizes", "0"], USAGE, &["record", "0"]),
        (&["sweep", "./here", "--file-sizes", "99999999999T"], USAGE, &["file-sizes", "99999999999T"]),
        (&["sweep", "./here", "--cache", "direct"], USAGE, &["--cache", "'direct'", "unbuffered"]),
        (&["depth", "./here", "--sync", "always"], USAGE, &["--sync", "'always'", "write-through"]),
        (&["sweep", "./here", "--cache", "normal,normal"], USAGE, &["--cache", "normal is listed twice"]),
        (&["sweep", "./here", "--cache", "no-local"], USAGE, &["here: cache=no-local", "use unbuffered"]),
        (&["sweep", "/dev/shm", "--cache", "unbuffered"], USAGE, &["shm: cache=unbuffered", "tmpfs"]),
        (&["sweep", "/dev/shm", "--sync", "write-through"], USAGE, &["shm: sync=write-through", "tmpfs"]),
        (&["sweep", "./here", "--pre-step-cmd", " "], USAGE, &["--pre-step-cmd", "empty"]),
        (
            &["sweep", "./here", "--pre-step-cmd", "echo in use >&2; exit 7"],
            USAGE,
            &["--pre-step-cmd 'echo in use", "exit code 7", "in use", "finished steps are kept"],
        ),
        (&["load", "./here", "--users", "0"], USAGE, &["users", "0"]),
        (&["load", "./here", "--workload", "no-such"], USAGE, &["workload", "no-such"]),
        (&["show", "12345"], USAGE, &["12345"]),
        (&["run", "no-such-plan.toml"], USAGE, &["no-such-plan.toml"]),
        (&["sweep", "nas"], TARGET, &["nas", "smb://nas/SHARE", "nfs://nas/EXPORT"]),
        (&["sweep", "192.0.2.1"], TARGET, &["smb://192.0.2.1/SHARE"]),
        (&["sweep", "nfs4://no-such-host.invalid/export"], TARGET, &["no-such-host.invalid", "host"]),
        (&["load", "alice@nas:/export"], USAGE, &["NFS has no user names", "nfs://nas/export"]),
        (&["depth", "smb:/nas/share"], USAGE, &["two slashes", "smb://nas/share"]),
        (
            &["sweep", "smb://alice@LAB.EXAMPLE@no-such-host.invalid/s"],
            TARGET,
            &["no-such-host.invalid", "host"],
        ),
        (&["sweep", "alice@LAB.EXAMPLE@nas:/export"], USAGE, &["NFS has no user names"]),
        (&["depth", "\\\\nas"], USAGE, &["no share", "smb://host/share"]),
        (&["sweep", "C:\\data"], USAGE, &["path of Windows"]),
        (&["clean", "LAB;alice@nas:/share"], USAGE, &["NFS has no user names"]),
        (&["learn", "smb://LAB;alice@nas/share?domain=LAB"], USAGE, &["domain is given twice"]),
        (&["sweep", "smb://nas"], USAGE, &["no share", "smb://host/share"]),
        (&["sweep", "./here", "here/../here"], USAGE, &["the same directory", "a second directory"]),
        (&["sweep", "./here", "--time-budget", "10"], USAGE, &["--time-budget", "has no unit", "10s"]),
        (&["sweep", "./here", "--precision", "2"], USAGE, &["--precision", "has no unit", "2%"]),
        (&["show", "1", "--db", "none.db"], USAGE, &["none.db", "no results database", "--db"]),
        (
            &["show", "1", "--db", "nowhere/a.db"],
            USAGE,
            &["nowhere/a.db", "directory nowhere does not exist"],
        ),
        (&["runs", "--db", "here"], USAGE, &["here", "is a directory"]),
        (&["sweep", "./here", "--db", "nowhere/a.db"], USAGE, &["directory nowhere does not exist"]),
        (&["import", "fio.txt"], USAGE, &["fio.txt", "--output-format=json+"]),
        (&["sweep", "smb://nas/x?far=1h"], USAGE, &["1h", "the longest round trip is 10s"]),
        (&["sweep", "nfs://nas/x?far=1ms&resvport=1"], USAGE, &["resvport=1", "use one of the two"]),
        (
            &["sweep", "ncp://nas/SYS?transport=udp&far=1ms"],
            USAGE,
            &["far=", "transport=tcp", "no datagrams"],
        ),
        (&["relay", "nas:445", "nas:445"], USAGE, &["LISTEN", "a port"]),
        (&["relay", "0", "nas"], USAGE, &["TARGET", "host and a port"]),
        (&["relay", "0", "nas:445", "--rate", "1bit"], USAGE, &["--rate", "lowest rate"]),
        (&["run", "--check", "misplaced.toml"], USAGE, &["line 4", "repetitions", "top of the plan"]),
    ];
    sharebench.write("fio.txt", "a: (g=0): rw=read, bs=(R) 4096B-4096B\nfio-3.33\n").unwrap();
    let misplaced = "[[target]]\nurl = './here'\n[sweep]\nrepetitions = 3\n";
    sharebench.write("misplaced.toml", misplaced).unwrap();
    expect_each(&sharebench, &table);
}

#[test]
fn mistakes_in_varied_options_and_reports_are_named() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("here")).unwrap();
    let table: [Row; 8] = [
        (
            &["sweep", "./here", "--vary", "far=20ms"],
            USAGE,
            &["--vary far=", "no target has this option", "smb://"],
        ),
        (
            &["load", "nfs://nas/x", "--vary", "far=20"],
            USAGE,
            &["--vary far=", "'20' is not a distance", "20ms/100Mbit"],
        ),
        (
            &["depth", "nfs://nas/x", "--vary", "far=100Mbit"],
            USAGE,
            &["--vary far=", "'100Mbit' is not a distance"],
        ),
        (&["sweep", "nfs://nas/x", "--vary", "far=1ms,2ms,1ms"], USAGE, &["--vary", "1ms is listed twice"]),
        (
            &["sweep", "nfs://nas/x?far=1ms", "--vary", "far=2ms"],
            USAGE,
            &["nfs://nas/x?far=1ms", "far= already"],
        ),
        (&["sweep", "smb://nas/x", "--vary", "sing=off"], USAGE, &["--vary sing=", "did you mean sign=?"]),
        (
            &["sweep", "smb://nas/x", "--vary", "sign=of"],
            USAGE,
            &["'of' is not a value", "did you mean 'off'?"],
        ),
        (&["report", "1", "-o", "x.docx"], USAGE, &["--output x.docx", "workbook (.xlsx)"]),
    ];
    expect_each(&sharebench, &table);
}

#[test]
fn secrets_on_the_command_line_are_rejected_and_not_repeated() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("here")).unwrap();
    let table: [Row; 12] = [
        (&["sweep", "smb://lab:hunter2@host/share"], USAGE, &["password", "SHAREBENCH_PASSWORD"]),
        (&["sweep", "alice:hunter2@nas:/export"], USAGE, &["password", "SHAREBENCH_PASSWORD"]),
        (&["sweep", "//LAB;alice:hunter2@nas/share"], USAGE, &["password", "SHAREBENCH_PASSWORD"]),
        (&["sweep", "nfs4://alice:hunter2@nas/x"], USAGE, &["password", "SHAREBENCH_PASSWORD"]),
        (&["sweep", "smb:/alice:hunter2@nas/share"], USAGE, &["password", "SHAREBENCH_PASSWORD"]),
        (&["probe", "nfs://h/x?password=hunter2"], USAGE, &["password=***", "SHAREBENCH_PASSWORD"]),
        (&["sweep", "smb://lab:hunt/hunter2@nas/share"], USAGE, &["lab:***@nas", "SHAREBENCH_PASSWORD"]),
        (&["load", "a!=smb://lab:hunter2@nas/share"], USAGE, &["name consists of"]),
        (&["sweep", "./here", "--server-metrics", "http://me:hunter2@nas/m"], USAGE, &["me:***@nas"]),
        (
            &["serve", "--memory", "1MiB", "--nfs", "127.0.0.1:0", "--identity", "server.toml"],
            USAGE,
            &["other users can read or change keytab keys", "chmod 600"],
        ),
        (
            &["sweep", "smb://a@no-such-host.invalid/s?auth=kerberos", "--identity=a.toml"],
            TARGET,
            &["other users can read or change keytab keys"],
        ),
        (&["run", "--check", "secret.toml"], USAGE, &["secret.toml", "line 2", "bob:***@nas", "password"]),
    ];
    let secret = "[[target]]\nurl = 'smb://bob:hunter2@nas/share'\n[sweep]\n";
    sharebench.write("secret.toml", secret).unwrap();
    sharebench.write("keys", "no keys").unwrap();
    sharebench.write("server.toml", "keytab = 'keys'\n").unwrap();
    sharebench.write("a.toml", "keytab = 'keys'\nprincipal = 'a'\n").unwrap();
    fs::set_permissions(sharebench.home().join("keys"), fs::Permissions::from_mode(0o644)).unwrap();
    expect_each(&sharebench, &table);
}

#[test]
fn plan_with_several_mistakes_reports_all_of_them() {
    let sharebench = Sharebench::new().unwrap();
    let plan = "repetitons = 3\nmin_sample_time = 5\n[[target]]\nurl = '/tmp'\n[sweep]\ntests = ['raed']\n";
    sharebench.write("plan.toml", plan).unwrap();
    for command in [&["run", "--check", "plan.toml"][..], &["run", "plan.toml"]] {
        let ended = sharebench.run(command).unwrap();
        expect(
            &ended,
            USAGE,
            &["plan.toml", "line 1", "repetitions", "line 2", "sample", "line 6", "'read'"],
        );
    }
}

#[test]
fn command_in_a_plan_is_shown_and_runs_only_when_allowed() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("here")).unwrap();
    let plan = "repetitions = 1\nmin_sample_time = '1ms'\npre_step_cmd = 'echo ran >> ran'\n[[target]]\nurl = './here'\n\
                [sweep]\nfile_sizes = ['64KiB']\nrecord_sizes = ['64KiB']\ntests = ['write', 'rewrite']\n";
    sharebench.write("plan.toml", plan).unwrap();
    let shown = sharebench.run(&["run", "--check", "plan.toml"]).unwrap().expect_success();
    assert!(shown.stdout.contains("before each step this machine runs: echo ran >> ran"), "{}", shown.stdout);
    let words = ["plan.toml", "pre_step_cmd", "echo ran >> ran", "--allow-pre-step-cmd"];
    expect(&sharebench.run(&["run", "plan.toml"]).unwrap(), USAGE, &words);
    assert!(!sharebench.home().join("ran").exists());
    let _ = sharebench.run(&["run", "plan.toml", "--allow-pre-step-cmd"]).unwrap().expect_success();
    assert_eq!(fs::read_to_string(sharebench.home().join("ran")).unwrap(), "ran\nran\n");
}

#[test]
fn unusable_databases_are_rejected() {
    let other = Sharebench::new().unwrap();
    other.write("sharebench.db", "this is no database, however long it may be").unwrap();
    expect(&other.run(&["runs"]).unwrap(), USAGE, &["sharebench.db", "database"]);
    assert!(fs::read_to_string(other.home().join("sharebench.db")).unwrap().starts_with("this is no"));

    let directory = Sharebench::new().unwrap();
    fs::create_dir(directory.home().join("sharebench.db")).unwrap();
    expect(&directory.run(&["runs"]).unwrap(), USAGE, &["sharebench.db"]);

    let newer = Sharebench::new().unwrap();
    fs::create_dir(newer.home().join("here")).unwrap();
    let _ = sweep(&newer, "./here").expect_success();
    let path = newer.home().join("sharebench.db");
    let mut bytes = fs::read(&path).unwrap();
    // The user version in the header of an SQLite file: 4 bytes at offset 60.
    bytes[60..64].copy_from_slice(&[0, 1, 0, 0]);
    fs::write(&path, &bytes).unwrap();
    expect(&newer.run(&["runs"]).unwrap(), USAGE, &["sharebench.db", "newer"]);
    expect(&sweep(&newer, "./here"), USAGE, &["sharebench.db", "newer"]);
    assert!(fs::read(&path).unwrap() == bytes, "it was written to");
}

#[test]
fn mistakes_at_smbd() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let missing_share = smbd.url("", "").replace("/share/", "/nothing/");
    expect(&sweep(&sharebench, &missing_share), TARGET, &["nothing", "share"]);
    let url = smbd.url("", "");
    let unc = url.replace("smb:", "");
    let windows = unc.replace('/', "\\").replace("lab@", "WORKGROUP;lab@");
    for spelling in [unc, windows, url.replace("smb://lab@", "cifs://WORKGROUP\\lab@")] {
        println!("{spelling}");
        let _ = sweep(&sharebench, &spelling).expect_success();
    }
    let line = [&["sweep", url.as_str()], &SMALL[..]].concat();
    let wrong = sharebench.run_with(&line, &[("SHAREBENCH_PASSWORD", "hunter2")]).unwrap();
    expect(&wrong, TARGET, &["user or password", "the password is from SHAREBENCH_PASSWORD"]);
    expect(&sweep(&sharebench, &smbd.url("nowhere", "")), TARGET, &["nowhere", "directory"]);
    let elsewhere = url.replace("/share", "/elsewhere");
    expect(&sweep(&sharebench, &elsewhere), TARGET, &["share or export", "the server has the shares share"]);
    assert_eq!(left_in(&smbd.share()), Vec::<String>::new());

    let read_only = Smbd::start(&SmbdOptions { read_only: true, ..SmbdOptions::default() }).unwrap();
    expect(&sweep(&sharebench, &read_only.url("", "")), TARGET, &["refused"]);
}

#[test]
fn mistakes_at_ganesha() {
    needs!(Ganesha::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let missing = ganesha.url("", "").replace("/export/", "/nothing/");
    let exports = format!("the server has the exports {}", ganesha.export());
    expect(&sweep(&sharebench, &missing), TARGET, &["nothing", "share or export", &exports]);
    let read_only = Ganesha::start(&GaneshaOptions { read_only: true, ..GaneshaOptions::default() }).unwrap();
    expect(&sweep(&sharebench, &read_only.url("", "")), TARGET, &["read-only"]);
}

#[test]
fn missing_space_is_reported_before_the_run() {
    needs!(Smbd::NEEDS, Ganesha::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let disk = Some(Disk::Memory(4 << 20));
    let smbd = Smbd::start(&SmbdOptions { disk: disk.clone(), ..SmbdOptions::default() }).unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions { disk, ..GaneshaOptions::default() }).unwrap();
    for (url, directory) in [(smbd.url("", ""), smbd.share()), (ganesha.url("", ""), ganesha.directory())] {
        let line = ["sweep", &url, "--file-sizes", "64MiB", "--record-sizes", "1MiB", "--repetitions", "1"];
        expect(&sharebench.run(&line).unwrap(), TARGET, &["space", "needs 128 MiB", "MiB are free"]);
        assert_eq!(left_in(&directory), Vec::<String>::new());
    }
}

#[test]
fn a_reader_of_the_output_that_has_gone_is_no_failure() {
    let sharebench = Sharebench::new().unwrap();
    for line in [&["presets"][..], &["--help"], &["completions", "bash"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(sharebench.binary());
        let ended = command.args(line).current_dir(sharebench.home()).stdout(writer).output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && !stderr.contains("panicked"), "{line:?}: {stderr}");
    }
}

#[test]
fn a_key_table_that_others_can_read_gives_a_warning() {
    let sharebench = Sharebench::new().unwrap();
    fs::create_dir(sharebench.home().join("served")).unwrap();
    let table = sharebench.home().join("keys");
    fs::write(&table, "no keys").unwrap();
    sharebench.write("who.toml", "keytab = 'keys'\n").unwrap();
    for (mode, warns) in [(0o644, true), (0o640, true), (0o600, false)] {
        fs::set_permissions(&table, fs::Permissions::from_mode(mode)).unwrap();
        for line in [
            &["sweep", "smb://localhost/share?auth=kerberos", "--identity", "who.toml"][..],
            &["serve", "served", "--smb", "127.0.0.1:0", "--identity", "who.toml"],
        ] {
            let ended = sharebench.run(line).unwrap();
            assert_eq!(ended.code, Some(2), "{}", ended.text());
            let warning = "warning: other users can read or change keytab keys";
            assert_eq!(ended.stderr.contains(warning), warns, "{mode:o}: {}", ended.text());
        }
    }
}
