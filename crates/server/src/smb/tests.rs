//! The share as the protocol layer calls it, and the life cycle of the server.

use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use smb_server::{FileTimes, Handle, OpenAction, OpenIntent, OpenOptions, ShareBackend, SmbError, SmbPath};

use sharebench_model::{ErrorClass, MetaOp, OpStep};
use sharebench_smb::SmbTarget;
use sharebench_target::{ConnectError, Secret, SessionSpec, Target, TargetUrl, UrlPart, call};

use crate::read_only::ReadOnlyVolume;
use crate::smb::share::VolumeShare;
use crate::{
    DeviceOptions, DeviceVolume, EventLog, MemoryVolume, Protection, ROOT, ServeError, SmbServer,
    SmbServerOptions, Volume,
};

fn path(path: &str) -> SmbPath {
    SmbPath::from_utf16(&path.encode_utf16().collect::<Vec<_>>()).unwrap()
}

fn options(intent: OpenIntent) -> OpenOptions {
    OpenOptions { write: true, intent, ..OpenOptions::default() }
}

/// Runs a test with a volume that is called in place, and with one that is called on the blocking pool.
fn on_both<F: Future<Output = ()>>(test: impl Fn(VolumeShare, Arc<dyn Volume>) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let direct: Arc<dyn Volume> = Arc::new(MemoryVolume::new(16 << 20));
    let device = DeviceVolume::new(MemoryVolume::new(16 << 20), DeviceOptions::default());
    for volume in [direct, Arc::new(device)] {
        runtime.block_on(test(VolumeShare::new(Arc::clone(&volume), false), volume));
    }
}

async fn open(share: &VolumeShare, name: &str, intent: OpenIntent) -> (Box<dyn Handle>, OpenAction) {
    share.open(&path(name), options(intent)).await.unwrap()
}

async fn open_error(share: &VolumeShare, name: &str, options: OpenOptions) -> SmbError {
    match share.open(&path(name), options).await {
        Ok((_, action)) => panic!("{name} opened: {action:?}"),
        Err(error) => error,
    }
}

#[test]
fn dispositions_have_their_specified_effects() {
    on_both(|share, volume| async move {
        let (file, action) = open(&share, "file", OpenIntent::Create).await;
        assert_eq!(action, OpenAction::Created);
        assert_eq!(file.write(3, b"bytes").await.unwrap(), 5);
        file.flush().await.unwrap();
        assert_eq!(&file.read(0, 100).await.unwrap()[..], b"\0\0\0bytes");
        assert_eq!(&file.read(8, 100).await.unwrap()[..], b"");
        assert!(matches!(open_error(&share, "file", options(OpenIntent::Create)).await, SmbError::Exists));
        assert_eq!(open(&share, "file", OpenIntent::OpenOrCreate).await.1, OpenAction::Opened);
        assert_eq!(open(&share, "file", OpenIntent::OverwriteOrCreate).await.1, OpenAction::Overwritten);
        assert_eq!(file.stat().await.unwrap().end_of_file, 0);
        assert!(matches!(open_error(&share, "no", options(OpenIntent::Truncate)).await, SmbError::NotFound));
        assert!(matches!(
            open_error(&share, "no\\file", options(OpenIntent::Create)).await,
            SmbError::PathNotFound
        ));
        assert!(matches!(
            open_error(&share, "file\\x", options(OpenIntent::Create)).await,
            SmbError::PathNotFound
        ));
        let directory = OpenOptions { directory: true, ..options(OpenIntent::Open) };
        assert!(matches!(open_error(&share, "file", directory).await, SmbError::NotADirectory));
        assert_eq!(volume.list(ROOT, 0, 10).unwrap().len(), 1);
    });
}

#[test]
fn lookup_ignores_case_and_preserves_it() {
    on_both(|share, volume| async move {
        let directory = volume.make_directory(ROOT, "Dir", 0o755).unwrap().node;
        volume.create(directory, "File", 0o644).unwrap();
        let (file, _) = open(&share, "DIR\\fILE", OpenIntent::Open).await;
        assert_eq!(file.stat().await.unwrap().name, "File");
        share.rename(&path("dir\\file"), &path("dir\\FILE"), false).await.unwrap();
        assert_eq!(volume.list(directory, 0, 10).unwrap()[0].name, "FILE");
        volume.create(directory, "other", 0o644).unwrap();
        let taken = share.rename(&path("dir\\file"), &path("dir\\Other"), false).await;
        assert!(matches!(taken, Err(SmbError::Exists)));
        share.rename(&path("dir\\file"), &path("dir\\Other"), true).await.unwrap();
        let names: Vec<_> =
            volume.list(directory, 0, 10).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["Other"]);
        assert!(matches!(share.unlink(&path("dir")).await, Err(SmbError::NotEmpty)));
        share.unlink(&path("dir\\OTHER")).await.unwrap();
        share.unlink(&path("dir")).await.unwrap();
        assert_eq!(volume.list(ROOT, 0, 10).unwrap(), []);
    });
}

#[test]
fn listings_match_patterns_and_omit_names_that_are_invalid_in_smb() {
    on_both(|share, volume| async move {
        for name in ["a.txt", "B.TXT", "c.bin", "with:colon", "back\\slash"] {
            volume.create(ROOT, name, 0o644).unwrap();
        }
        let (root, _) = share.open(&SmbPath::root(), OpenOptions::default()).await.unwrap();
        for (pattern, expected) in [
            (None, &["B.TXT", "a.txt", "c.bin"][..]),
            (Some("*.txt"), &["B.TXT", "a.txt"]),
            (Some("b.txt"), &["B.TXT"]),
            (Some("none"), &[]),
        ] {
            let entries = root.list_dir(pattern).await.unwrap();
            let mut names: Vec<_> = entries.iter().map(|entry| entry.info.name.as_str()).collect();
            names.sort_unstable();
            assert_eq!(names, expected, "{pattern:?}");
        }
        assert!(!root.dir_is_empty().await.unwrap());
    });
}

#[test]
fn the_read_only_attribute_and_times_are_stored() {
    on_both(|share, _| async move {
        let (file, _) = open(&share, "file", OpenIntent::Create).await;
        file.set_attributes(0x1 | 0x2).await.unwrap();
        assert!(file.stat().await.unwrap().read_only);
        assert!(matches!(
            open_error(&share, "file", options(OpenIntent::Open)).await,
            SmbError::AccessDenied
        ));
        file.set_attributes(0x80).await.unwrap();
        assert!(!file.stat().await.unwrap().read_only);
        let ticks = 126_256_131_060_000_000;
        let times = FileTimes { last_write_time: Some(ticks), ..FileTimes::default() };
        file.set_times(times).await.unwrap();
        assert_eq!(file.stat().await.unwrap().last_write_time, ticks);
        file.truncate(1 << 40).await.unwrap();
        assert_eq!(file.stat().await.unwrap().end_of_file, 1 << 40);
        share.unlink(&path("file")).await.unwrap();
        assert_eq!(file.link_count().await.unwrap(), 0);
    });
}

#[test]
fn a_removal_that_would_fail_at_the_close_is_rejected_before_it() {
    let memory = MemoryVolume::new(1 << 20);
    memory.create(ROOT, "file", 0o644).unwrap();
    memory.make_directory(ROOT, "directory", 0o755).unwrap();
    // The protocol layer does not know that removals fail.
    let volume = Arc::new(ReadOnlyVolume::new(Arc::new(memory)));
    let server =
        SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, SmbServerOptions::default()).unwrap();
    let url = TargetUrl::parse(&format!("smb://{}/share", server.addr())).unwrap();
    let target = SmbTarget::from_url(url, Secret::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut session = target.connect(&SessionSpec::default()).await.unwrap();
        let file = MetaOp::Remove { path: "file".into() };
        for op in [file, MetaOp::RemoveDir { path: "directory".into() }] {
            let error = call(&mut *session, op).await.unwrap_err();
            assert_eq!(
                (error.step, error.class),
                (OpStep::Request("SET_INFO"), ErrorClass::Refused),
                "{error}"
            );
        }
        session.close().await;
    });
}

#[test]
fn a_server_listens_until_it_is_stopped_or_dropped() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(1 << 20));
    let any = "127.0.0.1:0".parse().unwrap();
    for drops in [true, false] {
        let server = SmbServer::start(any, Arc::clone(&volume), SmbServerOptions::default()).unwrap();
        let addr = server.addr();
        let connection = TcpStream::connect(addr).unwrap();
        if drops {
            drop(server);
        } else {
            server.stop();
        }
        assert!(TcpStream::connect(addr).is_err());
        drop(connection);
    }
    assert_eq!(Arc::strong_count(&volume), 1);
}

#[test]
fn unsafe_and_contradictory_options_are_rejected() {
    let start = |addr: &str, options| {
        let volume = Arc::new(MemoryVolume::new(1 << 20));
        SmbServer::start(addr.parse().unwrap(), volume, options).err().unwrap()
    };
    assert!(matches!(start("0.0.0.0:0", SmbServerOptions::default()), ServeError::Exposed { .. }));
    let sign = SmbServerOptions { protection: Protection::Signed, ..SmbServerOptions::default() };
    assert!(matches!(start("127.0.0.1:0", sign), ServeError::KeysNeedAccounts { .. }));
    let unnamed = SmbServerOptions { share: String::new(), ..SmbServerOptions::default() };
    assert!(matches!(start("127.0.0.1:0", unnamed), ServeError::Options { .. }));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = start(&listener.local_addr().unwrap().to_string(), SmbServerOptions::default());
    assert!(matches!(taken, ServeError::Bind { .. }));
}

/// A log that collects its lines.
fn collecting() -> (EventLog, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let collected = Arc::clone(&lines);
    (EventLog::new(move |line| collected.lock().unwrap().push(line.to_owned())), lines)
}

fn connect(server: &SmbServer, password: &str) -> Result<(), ConnectError> {
    let url = TargetUrl::parse(&format!("smb://alice@{}/share", server.addr())).unwrap();
    let target = SmbTarget::from_url(url, Secret::new(password)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let session = target.connect(&SessionSpec::default()).await?;
        session.close().await;
        Ok(())
    })
}

#[test]
fn failed_logins_are_logged_with_their_address() {
    let (log, lines) = collecting();
    let accounts = vec![("alice".to_owned(), Secret::new("right"))];
    let options = SmbServerOptions { accounts, log, ..SmbServerOptions::default() };
    let volume = Arc::new(MemoryVolume::new(1 << 20));
    let server = SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap();
    connect(&server, "right").unwrap();
    assert!(lines.lock().unwrap().is_empty());
    for _ in 0..11 {
        assert_eq!(connect(&server, "wrong").unwrap_err().part, UrlPart::Credentials);
    }
    let lines = lines.lock().unwrap();
    assert_eq!(lines.len(), 11, "{lines:?}");
    assert!(lines[..10].iter().all(|line| line == "smb: failed login from 127.0.0.1"), "{lines:?}");
    assert!(lines[10].contains("rejected"), "{lines:?}");
}

#[test]
fn a_server_at_its_limit_logs_refused_connections_and_the_client_names_the_limit() {
    let (log, lines) = collecting();
    let options = SmbServerOptions { max_connections: 1, log, ..SmbServerOptions::default() };
    let volume = Arc::new(MemoryVolume::new(1 << 20));
    let server = SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap();
    let _held = TcpStream::connect(server.addr()).unwrap();
    let error = connect(&server, "").unwrap_err();
    assert_eq!((error.part, error.class), (UrlPart::Port, ErrorClass::Disconnected), "{error}");
    assert!(error.detail.contains("limit of connections"), "{error}");
    let expected = "smb: refused 1 client: the server is at its limit of 1 clients, --max-clients";
    assert_eq!(*lines.lock().unwrap(), [expected]);
}
