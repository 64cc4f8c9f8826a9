//! The peers themselves: they start, behave as configured, and leave no files.

use std::fs;
use std::path::PathBuf;

use sharebench_tests::program::{PATIENCE, poll, run};
use sharebench_tests::{
    Browser, Capture, Disk, Ganesha, GaneshaOptions, KernelGuest, Need, Scratch, Signing, Smbd, SmbdOptions,
    needs,
};

const SMBCLIENT: [Need; 1] = [Need::Program("smbclient")];

fn smbclient(smbd: &Smbd, options: &[&str], commands: &str) -> std::io::Result<String> {
    let port = smbd.port().to_string();
    let credentials = format!("{}%{}", smbd.user(), Smbd::PASSWORD);
    let mut line = vec!["smbclient", "//127.0.0.1/share", "-p", &port, "-U", &credentials];
    line.extend(options);
    line.extend(["-c", commands]);
    run(&line, &[])
}

#[test]
fn smbd_serves_its_user_and_leaves_no_files() {
    needs!(Smbd::NEEDS, SMBCLIENT);
    let options = SmbdOptions { signing: Signing::Mandatory, ..SmbdOptions::default() };
    let smbd = Smbd::start(&options).unwrap();
    let listed = smbclient(&smbd, &[], "mkdir here; ls").unwrap();
    assert!(listed.contains("here"), "{listed}");
    assert!(smbd.share().join("here").is_dir());
    let home = smbd.share();
    let port = smbd.port();
    drop(smbd);
    assert!(!home.exists());
    // What it had started was killed with it, and ends a moment later.
    assert!(poll(PATIENCE, || std::net::TcpStream::connect(("127.0.0.1", port)).is_err()));
}

#[test]
fn smbd_with_required_encryption_rejects_plain_clients() {
    needs!(Smbd::NEEDS, SMBCLIENT);
    let smbd = Smbd::start(&SmbdOptions { encrypted: true, ..SmbdOptions::default() }).unwrap();
    assert!(smbclient(&smbd, &["--client-protection=encrypt"], "ls").unwrap().contains("blocks"));
    let refused = smbclient(&smbd, &["-m", "SMB2"], "ls").unwrap_err().to_string();
    assert!(refused.contains("NT_STATUS_ACCESS_DENIED"), "{refused}");
}

#[test]
fn smbd_accepts_only_the_configured_dialects() {
    needs!(Smbd::NEEDS, SMBCLIENT);
    let smbd = Smbd::start(&SmbdOptions { dialects: Some(("SMB2_02", "SMB2_10")), ..SmbdOptions::default() })
        .unwrap();
    assert!(smbclient(&smbd, &["-m", "SMB2"], "ls").is_ok());
    assert!(smbclient(&smbd, &["--option=client min protocol=SMB3"], "ls").is_err());
}

#[test]
fn small_share_becomes_full() {
    needs!([Need::Root], Smbd::NEEDS, SMBCLIENT);
    let smbd =
        Smbd::start(&SmbdOptions { disk: Some(Disk::Memory(4 << 20)), ..SmbdOptions::default() }).unwrap();
    let refused = smbclient(&smbd, &[], "put /proc/kallsyms big").unwrap_or_else(|error| error.to_string());
    assert!(refused.contains("NT_STATUS_DISK_FULL"), "{refused}");
    let left = fs::metadata(smbd.share().join("big")).map_or(0, |data| data.len());
    assert!(left <= 4 << 20, "{left}");
}

#[test]
fn ganesha_exports_its_directory_and_leaves_no_files() {
    needs!(Ganesha::NEEDS, [Need::Program("nfs-cp"), Need::Program("nfs-ls")]);
    let ganesha = Ganesha::start(&GaneshaOptions::default()).unwrap();
    let content = vec![7; 3 << 20];
    let source = ganesha.directory().join("source");
    fs::write(&source, &content).unwrap();
    let url = |file: &str| {
        let options = format!("?version=3&nfsport={}&mountport={}", ganesha.port(), ganesha.mount_port());
        format!("nfs://127.0.0.1{}/{file}{options}", ganesha.export())
    };
    run(&["nfs-cp", source.to_str().unwrap(), &url("copy")], &[]).unwrap();
    assert_eq!(fs::read(ganesha.directory().join("copy")).unwrap(), content);
    let home: PathBuf = ganesha.directory();
    let port = ganesha.port();
    drop(ganesha);
    assert!(!home.exists());
    assert!(poll(PATIENCE, || std::net::TcpStream::connect(("127.0.0.1", port)).is_err()));
}

#[test]
fn capture_counts_the_requests_of_smbclient() {
    needs!(Smbd::NEEDS, SMBCLIENT, Capture::NEEDS);
    let smbd = Smbd::start(&SmbdOptions::default()).unwrap();
    fs::write(smbd.share().join("file"), vec![1; 300_000]).unwrap();
    let capture = Capture::start(smbd.port()).unwrap();
    smbclient(&smbd, &[], "get file /dev/null").unwrap();
    let captured = capture.stop().unwrap();
    let requests = captured.smb_requests().unwrap();
    // MS-SMB2 2.2.1.2: NEGOTIATE 0, SESSION_SETUP 1, CREATE 5, READ 8.
    assert_eq!((requests[&0], requests[&1]), (1, 2), "{requests:?}");
    assert!(requests[&5] >= 1 && requests[&8] >= 1, "{requests:?}");
    let payload = captured.payload().unwrap();
    assert!((300_000..330_000).contains(&payload.received), "{payload:?}");
    assert!((500..30_000).contains(&payload.sent), "{payload:?}");
}

#[test]
fn browser_reports_console_messages_and_requests_of_a_page() {
    needs!(Browser::NEEDS);
    let scratch = Scratch::new("page").unwrap();
    let page = scratch.path().join("loud.html");
    let script =
        "document.body.append('it ran'); fetch('http://report.invalid/x').catch(() => 0); missing();";
    fs::write(&page, format!("<!doctype html><html><body><script>{script}</script></body></html>")).unwrap();
    let loud = Browser::open(&page).unwrap();
    assert!(loud.document.contains("it ran"), "{loud:?}");
    assert!(loud.console.iter().any(|message| message.contains("missing is not defined")), "{loud:?}");
    assert_eq!(loud.requests, ["http://report.invalid/x"]);

    fs::write(&page, "<!doctype html><html><body>silent</body></html>").unwrap();
    let silent = Browser::open(&page).unwrap();
    assert!(silent.document.contains("silent") && silent.console.is_empty() && silent.requests.is_empty());
}

#[test]
fn kernel_guest_runs_a_script_and_returns_its_exit_code() {
    needs!(KernelGuest::NEEDS);
    let guest = KernelGuest::prepare(&[]).unwrap();
    let script = "uname -r; echo $WORD; mkdir /mnt/here && ls /mnt";
    let printed = guest.run(script, &[("WORD", "two words")], KernelGuest::LONG).unwrap();
    assert!(
        printed.contains("6.1") && printed.contains("two words") && printed.contains("here"),
        "{printed}"
    );
    let failed = guest.run("echo no; exit 7", &[], KernelGuest::LONG).unwrap_err().to_string();
    assert!(failed.contains("exit status: 7") && failed.contains("no"), "{failed}");
}
