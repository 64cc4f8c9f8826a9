//! `probe` at our servers, Samba, NFS-Ganesha and ports of other protocols, and the same words in failed runs.

#[path = "../../crates/report/tests/validator/mod.rs"]
pub(crate) mod validator;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use serde_json::Value;
use sharebench_tests::need::Need;
use sharebench_tests::{Ganesha, GaneshaOptions, Served, Sharebench, Signing, Smbd, SmbdOptions, needs};

const SCHEMA: &str = include_str!("../../docs/schemas/probe-1.json");
// Exit codes as `sharebench --help` documents them.
const USABLE: i32 = 0;
const TARGET: i32 = 3;

/// A printed report.
struct Report(Value);

impl Report {
    /// Value and usability of a row.
    fn row(&self, section: &str, name: &str) -> (&str, &str) {
        let named = |list: &'_ Value, name: &str| -> Option<usize> {
            list.as_array()?.iter().position(|item| item["name"] == name)
        };
        let sections = &self.0["sections"];
        let section = named(sections, section).map(|at| &sections[at]["rows"]);
        let row = section.and_then(|rows| named(rows, name).map(|at| &rows[at]));
        let row = row.unwrap_or_else(|| panic!("no row {name} in {:#}", self.0));
        (row["value"].as_str().unwrap(), row["usability"].as_str().unwrap())
    }

    fn has(&self, section: &str, name: &str) -> bool {
        let sections = self.0["sections"].as_array().unwrap();
        let rows = sections.iter().filter(|found| found["name"] == section).map(|found| &found["rows"]);
        rows.flat_map(|rows| rows.as_array().unwrap()).any(|row| row["name"] == name)
    }

    fn incompatibilities(&self) -> String {
        self.0["incompatibilities"].to_string()
    }
}

/// Enough time for a busy machine. Servers that stay silent take a part of it.
const TIMEOUT: &str = "--timeout=60s";

/// Probes a URL.
fn probe(sharebench: &Sharebench, url: &str, code: i32) -> Report {
    let ended = sharebench.run(&["probe", url, "--json", TIMEOUT]).unwrap();
    assert_eq!(ended.code, Some(code), "{}", ended.text());
    assert!(!ended.text().contains(Smbd::PASSWORD), "{}", ended.text());
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let schema = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(validator::mistakes(&schema, &report), Vec::<String>::new());
    assert_eq!(report["usable"], code == USABLE);
    Report(report)
}

/// A sweep that fails before it measures.
fn failed_sweep(sharebench: &Sharebench, url: &str) -> String {
    let line =
        ["sweep", url, "--file-sizes", "64KiB", "--record-sizes", "4KiB", "--repetitions", "1", TIMEOUT];
    let ended = sharebench.run(&line).unwrap();
    assert_eq!(ended.code, Some(TARGET), "{}", ended.text());
    ended.stderr
}

/// Probe and sweep state the same reason.
fn both_state(sharebench: &Sharebench, url: &str, words: &str) {
    let report = probe(sharebench, url, TARGET);
    assert!(report.incompatibilities().contains(words), "no '{words}' in {}", report.incompatibilities());
    let message = failed_sweep(sharebench, url);
    assert!(message.contains(words), "no '{words}' in {message}");
}

#[test]
fn our_servers_and_a_directory_are_usable() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let smb = probe(&sharebench, &served.smb_url(""), USABLE);
    assert_eq!(smb.row("versions", "SMB 3.1.1"), ("offered", "used"));
    assert_eq!(smb.row("login", "session").0, format!("account {}", Served::USER));
    assert!(smb.has("space", "free"));
    let nfs = probe(&sharebench, &served.nfs_url(""), USABLE);
    assert_eq!(nfs.row("versions", "NFSv3"), ("offered", "used"));
    assert_eq!(nfs.row("versions", "NFSv4.2"), ("offered", "with option"));
    assert!(nfs.has("exports", Served::EXPORT));
    let ncp = probe(&sharebench, &served.ncp_url(""), USABLE);
    assert_eq!(ncp.row("login", "bindery"), ("answered", "used"));
    assert_eq!(ncp.row("host", "udp"), ("answered", "with option"));
    assert_eq!(ncp.row("volumes", "SHARE").1, "used");
    let local = probe(&sharebench, served.directory().to_str().unwrap(), USABLE);
    assert!(local.has("mount", "file system") && local.has("space", "free"));
    // A probe leaves nothing.
    assert_eq!(std::fs::read_dir(served.directory()).unwrap().count(), 0);
}

#[test]
fn a_probe_without_a_version_follows_what_a_run_does() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let auto = probe(&sharebench, &format!("{}&vers=auto", served.nfs_url("")), USABLE);
    assert_eq!(auto.row("versions", "NFSv4.2"), ("offered", "used"));
    assert_eq!(auto.row("versions", "NFSv3"), ("offered", "with option"));
}

#[test]
fn a_share_that_cannot_be_written_to_is_not_usable() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions { read_only: true, ..SmbdOptions::default() }).unwrap();
    let report = probe(&sharebench, &smbd.url("", ""), TARGET);
    assert_eq!(report.row("shares", "access to the share").0, "read only");
    assert!(report.incompatibilities().contains("share: read only"), "{}", report.incompatibilities());
    needs!(Ganesha::NEEDS);
    let ganesha = Ganesha::start(&GaneshaOptions { read_only: true, ..GaneshaOptions::default() }).unwrap();
    let four = format!("nfs://127.0.0.1:{}/export?vers=4.1", ganesha.port());
    for (version, url) in [("3", ganesha.url("", "vers=3")), ("4.1", four)] {
        let report = probe(&sharebench, &url, TARGET);
        assert_eq!(report.row("security", "access to the directory").0, "read only", "{version}");
        assert!(report.incompatibilities().contains("share: read only"), "{}", report.incompatibilities());
    }
}

#[test]
fn a_directory_that_is_mounted_read_only_is_not_usable() {
    needs!([Need::Root, Need::Program("mount"), Need::Program("unshare")]);
    let sharebench = Sharebench::new().unwrap();
    std::fs::create_dir(sharebench.home().join("mounted")).unwrap();
    for (options, code, words) in
        [("rw", USABLE, "usable: yes"), ("ro", TARGET, "the file system is mounted read-only")]
    {
        let script =
            format!("mount -t tmpfs -o {options} tmpfs mounted && exec \"$0\" probe ./mounted {TIMEOUT}");
        let ended = sharebench.run_by(&["unshare", "--mount", "sh", "-c", &script]).unwrap();
        assert_eq!(ended.code, Some(code), "{options}: {}", ended.text());
        assert!(ended.stdout.contains(words), "{options}: {}", ended.stdout);
    }
}

#[test]
fn a_share_that_hides_names_with_a_dot_is_reported_and_nothing_is_left() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let names = ("directory of a run", "names with a leading dot");
    assert_eq!(
        probe(&sharebench, &smbd.url("", ""), USABLE).row(names.0, names.1),
        ("accepted", "used"),
        "a share that hides nothing"
    );
    assert_eq!(std::fs::read_dir(smbd.share()).unwrap().count(), 0);

    let hiding = SmbdOptions { lines: "veto files = /.*/\n", ..SmbdOptions::default() };
    let smbd = Smbd::start(&hiding).unwrap();
    let url = smbd.url("", "");
    let report = probe(&sharebench, &url, TARGET);
    assert_eq!(report.row(names.0, names.1), ("rejected", "with option"));
    assert!(report.incompatibilities().contains("use --work-dir NAME"), "{}", report.incompatibilities());
    let named = sharebench.run(&["probe", &url, "--work-dir=bench", TIMEOUT]).unwrap().expect_success();
    assert!(!named.stdout.contains("--work-dir"), "{}", named.stdout);
    assert_eq!(std::fs::read_dir(smbd.share()).unwrap().count(), 0);
}

#[test]
fn text_has_the_reasons_and_the_rows() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let ended = sharebench.run(&["probe", &served.nfs_url(""), TIMEOUT]).unwrap().expect_success();
    assert!(ended.stdout.contains("\nusable: yes\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("\nversions\n"), "{}", ended.stdout);
    let missing = sharebench.run(&["probe", "./nowhere"]).unwrap();
    assert_eq!(missing.code, Some(TARGET));
    assert!(
        missing.stdout.contains("usable: no\n  directory: there is no such directory"),
        "{}",
        missing.stdout
    );
    let unknown = sharebench.run(&["probe", "gopher://host/x"]).unwrap();
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(2), ""));
}

#[test]
fn security_settings_of_smbd_are_reported() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let report = probe(&sharebench, &smbd.url("", ""), USABLE);
    assert_eq!(report.row("versions", "SMB1").1, "not offered");
    assert_eq!(report.row("versions", "SMB 2.0.2"), ("offered", "with option"));
    assert_eq!(report.row("security", "signing"), ("offered", "with option"));
    assert_eq!(report.row("login", "NTLM"), ("offered", "used"));
    assert!(report.row("security", "ciphers").0.contains("AES-128-GCM"));
    let offset = report.row("clock", "offset to this machine").0.to_owned();
    assert!(offset.contains(" s (+- "), "{offset}");
    let without_share = format!("smb://{}@127.0.0.1:{}", smbd.user(), smbd.port());
    probe(&sharebench, &without_share, USABLE);

    let signs = SmbdOptions { signing: Signing::Mandatory, ..SmbdOptions::default() };
    let smbd = Smbd::start(&signs).unwrap();
    assert_eq!(
        probe(&sharebench, &smbd.url("", ""), USABLE).row("security", "signing"),
        ("required", "used")
    );
    let unsigned = probe(&sharebench, &smbd.url("", "sign=off"), TARGET);
    assert!(unsigned.incompatibilities().contains("the server requires signing"));

    let encrypts = SmbdOptions { encrypted: true, ..SmbdOptions::default() };
    let smbd = Smbd::start(&encrypts).unwrap();
    let report = probe(&sharebench, &smbd.url("", ""), USABLE);
    assert_eq!(report.row("security", "encryption"), ("required by the server", "used"));
}

#[test]
fn dialects_of_smbd_are_reported() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let newer = SmbdOptions { dialects: Some(("SMB3_00", "SMB3_11")), ..SmbdOptions::default() };
    let smbd = Smbd::start(&newer).unwrap();
    let report = probe(&sharebench, &smbd.url("", ""), USABLE);
    assert_eq!(report.row("versions", "SMB 2.1").1, "not offered");
    both_state(
        &sharebench,
        &smbd.url("", "dialect=2.1"),
        "the server offers SMB 3.0, 3.0.2, 3.1.1, but the URL",
    );

    let oldest = SmbdOptions { dialects: Some(("NT1", "NT1")), ..SmbdOptions::default() };
    let smbd = Smbd::start(&oldest).unwrap();
    let report = probe(&sharebench, &smbd.url("", ""), TARGET);
    assert_eq!(report.row("versions", "SMB1"), ("offered", "with option"));
    both_state(&sharebench, &smbd.url("", ""), "the server offers SMB1 only");
}

#[test]
fn logins_that_smbd_rejects_are_explained() {
    needs!(Smbd::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let blocks = SmbdOptions { blocks_ntlm: true, ..SmbdOptions::default() };
    let smbd = Smbd::start(&blocks).unwrap();
    both_state(&sharebench, &smbd.url("", ""), "Kerberos only");

    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    let url = smbd.url("", "");
    let line = ["probe", &url, "--json", TIMEOUT];
    let wrong = sharebench.run_with(&line, &[("SHAREBENCH_PASSWORD", "hunter2")]).unwrap();
    assert_eq!(wrong.code, Some(TARGET));
    assert!(wrong.stdout.contains("user or password: SESSION_SETUP"), "{}", wrong.stdout);
    assert!(!wrong.text().contains("hunter2"));
    let guest = format!("smb://127.0.0.1:{}/share", smbd.port());
    probe(&sharebench, &guest, TARGET);
}

#[test]
fn versions_and_flavors_of_ganesha_are_reported() {
    needs!(Ganesha::NEEDS);
    let sharebench = Sharebench::new().unwrap();
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let report = probe(&sharebench, &ganesha.url("", ""), USABLE);
    assert_eq!(report.row("versions", "NFSv3"), ("offered", "used"));
    assert_eq!(report.row("versions", "NFSv4.2"), ("offered", "with option"));
    assert_eq!(report.row("security", "sec=sys").1, "used");
    assert_eq!(report.row("exports", &ganesha.export()).1, "used");
    assert_eq!(report.row("limits", "largest read (rtmax)").0, "1MiB");

    let three = GaneshaOptions { versions: Some("3"), ..GaneshaOptions::default() };
    let ganesha = Ganesha::start(&three).unwrap();
    let report = probe(&sharebench, &ganesha.url("", ""), USABLE);
    assert_eq!(report.row("versions", "NFSv4").1, "not offered");
    assert!(!report.has("versions", "NFSv4.0"));

    let four = GaneshaOptions { versions: Some("4"), ..GaneshaOptions::default() };
    let ganesha = Ganesha::start(&four).unwrap();
    both_state(&sharebench, &ganesha.url("", ""), "the server offers NFSv4 only");
    let auto = format!("nfs://127.0.0.1:{}/export?vers=auto", ganesha.port());
    let report = probe(&sharebench, &auto, USABLE);
    assert_eq!(report.row("versions", "NFSv4.2"), ("offered", "used"));
    assert_eq!(report.row("versions", "NFSv4.1"), ("offered", "with option"));

    let kerberos = GaneshaOptions { flavor: Some("krb5"), ..GaneshaOptions::default() };
    let ganesha = Ganesha::start(&kerberos).unwrap();
    both_state(&sharebench, &ganesha.url("", ""), "Kerberos only");
}

/// A server that passes each connection to `serve`, on a thread of its own, until the test ends.
fn listen(serve: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Answers complete requests only, as web servers do.
fn serve_http(mut stream: TcpStream) {
    let mut request = Vec::new();
    let mut piece = [0; 512];
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(count) => request.extend_from_slice(&piece[..count]),
        }
    }
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

/// Reads until the client gives up.
fn serve_nothing(mut stream: TcpStream) {
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

#[test]
fn ports_of_other_protocols_are_named() {
    let sharebench = Sharebench::new().unwrap();
    let served = sharebench.serve("served").unwrap();
    let http = listen(serve_http).port();
    let user = Served::USER;
    let smb = |port: u16| format!("smb://{user}@127.0.0.1:{port}/share");
    let nfs = |port: u16| format!("nfs://127.0.0.1:{port}/share?mountport={port}");
    let ncp = |port: u16| format!("ncp://{user}@127.0.0.1:{port}/SHARE");
    let expected = [
        (nfs(http), "the server speaks HTTP, not NFS"),
        (nfs(served.smb_port), "the server speaks SMB, not NFS"),
        (nfs(served.ncp_port), "the server speaks NCP, not NFS"),
        (smb(http), "the server speaks HTTP, not SMB"),
        (smb(served.nfs_port), "the server speaks ONC RPC (as NFS does), not SMB"),
        (smb(served.ncp_port), "the server speaks NCP, not SMB"),
        (ncp(http), "the server speaks HTTP, not NCP"),
        (ncp(served.smb_port), "the server speaks SMB, not NCP"),
        (ncp(served.nfs_port), "the server speaks ONC RPC (as NFS does), not NCP"),
    ];
    // All at a time: some servers wait for the rest of the request, for a part of the timeout.
    thread::scope(|scope| {
        for (url, words) in &expected {
            let sharebench = &sharebench;
            scope.spawn(move || {
                let found = probe(sharebench, url, TARGET).incompatibilities();
                assert!(found.contains(words), "{url}: no '{words}' in {found}");
            });
        }
    });
    // Servers that reject the request at once, so that the run does not wait for its timeout.
    for (url, words) in [
        (nfs(served.smb_port), "the server speaks SMB, not NFS"),
        (smb(served.ncp_port), "the server speaks NCP, not SMB"),
        (ncp(served.smb_port), "the server speaks SMB, not NCP"),
    ] {
        let message = failed_sweep(&sharebench, &url);
        assert!(message.contains(words), "no '{words}' in {message}");
    }
}

#[test]
fn ports_that_close_or_stay_silent_end_the_probe() {
    let sharebench = Sharebench::new().unwrap();
    let closing = listen(drop).port();
    let silent = listen(serve_nothing).port();
    for port in [closing, silent] {
        for url in [
            format!("smb://{}@127.0.0.1:{port}/share", Served::USER),
            format!("nfs://127.0.0.1:{port}/share?mountport={port}"),
            format!("ncp://{}@127.0.0.1:{port}/SHARE", Served::USER),
        ] {
            let ended = sharebench.run(&["probe", &url, "--json", "--timeout", "1s"]).unwrap();
            assert_eq!(ended.code, Some(TARGET), "{}", ended.text());
            let report: Value = serde_json::from_str(&ended.stdout).unwrap();
            assert_eq!(report["incompatibilities"].as_array().unwrap().len(), 1, "{report:#}");
        }
    }
}
