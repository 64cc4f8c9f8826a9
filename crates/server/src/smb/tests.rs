//! The server with this project's client, and with messages that no client of it sends.

mod client_leases;
mod expiry;
mod raw;

use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use sharebench_model::{ErrorClass, MetaOp, OpStep};
use sharebench_smb::SmbTarget;
use sharebench_target::{ConnectError, Secret, SessionSpec, Target, TargetUrl, UrlPart, call};

use crate::volume::view::VolumeView;
use crate::{EventLog, MemoryVolume, Protection, ROOT, ServeError, SmbServer, SmbServerOptions, Volume};

#[test]
fn a_removal_that_would_fail_at_the_close_is_rejected_before_it() {
    let memory = MemoryVolume::new(1 << 20);
    memory.create(ROOT, "file", 0o644).unwrap();
    memory.make_directory(ROOT, "directory", 0o755).unwrap();
    // The server does not know from its options that removals fail.
    let volume = Arc::new(VolumeView::read_only(Arc::new(memory)));
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
fn failed_logins_are_logged_with_address_and_name_and_delay_further_ones() {
    let (log, lines) = collecting();
    let accounts = vec![("alice".to_owned(), Secret::new("right"))];
    let options = SmbServerOptions { accounts, log, ..SmbServerOptions::default() };
    let volume = Arc::new(MemoryVolume::new(1 << 20));
    let server = SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap();
    connect(&server, "right").unwrap();
    assert!(lines.lock().unwrap().is_empty());
    for _ in 0..4 {
        assert_eq!(connect(&server, "wrong").unwrap_err().part, UrlPart::Credentials);
    }
    let lines = lines.lock().unwrap();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(
        lines[..3].iter().all(|line| line == "smb: failed login of \"alice\" from 127.0.0.1"),
        "{lines:?}"
    );
    assert!(lines[3].contains("rejected login of \"alice\" from 127.0.0.1"), "{lines:?}");
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
