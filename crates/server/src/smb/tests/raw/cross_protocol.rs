//! Changes over the other protocols of a volume end what SMB clients cache.

use sharebench_model::{DataOp, FileRef, MetaOp, MetaYield, OpenHow, Slot, Stability};
use sharebench_nfs::NfsTarget;
use sharebench_target::{Session, SessionSpec, Target, TargetUrl, call, reply_for};

use super::leases::{EVERYTHING, KEY, acknowledge, broken, open_leased};
use super::*;
use crate::{EmbeddedServers, ServeOptions};

/// Servers for SMB and NFS over one volume.
fn serve() -> EmbeddedServers {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(16 << 20));
    let any_port = Some("127.0.0.1:0".parse().unwrap());
    let options = ServeOptions { smb: any_port, nfs: any_port, ..ServeOptions::default() };
    EmbeddedServers::start(&volume, &options).unwrap()
}

fn nfs(servers: &EmbeddedServers, version: &str) -> NfsTarget {
    let addr = servers.addr("nfs").unwrap();
    let mount = if version == "3" { format!("&mountport={}", addr.port()) } else { String::new() };
    let url = format!("nfs://{addr}/share?vers={version}{mount}");
    NfsTarget::from_url(TargetUrl::parse(&url).unwrap()).unwrap()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

async fn open(session: &mut dyn Session, path: &str) -> FileRef {
    match call(session, MetaOp::open(path, OpenHow::ReadWrite)).await.unwrap() {
        MetaYield::Opened { file, .. } => file,
        other => panic!("{other:?}"),
    }
}

async fn write(session: &mut dyn Session, path: &str) {
    let file = open(session, path).await;
    let write = DataOp::Write { file, offset: 0, len: 5, stability: Stability::Durable };
    session.buffer(Slot(0))[..5].copy_from_slice(b"hello");
    assert_eq!(reply_for(session, Slot(0), write).await.result, Ok(5));
}

#[test]
fn a_change_over_nfs_of_each_version_ends_a_lease() {
    for version in ["3", "4.0", "4.1", "4.2"] {
        let servers = serve();
        let mut reader = Raw::log_in(servers.addr("smb").unwrap(), "share");
        // Reading and handles, because nobody waits for data that a client would have to write back.
        let (file, lease) = open_leased(&mut reader, "file", KEY, EVERYTHING);
        assert_eq!(lease.unwrap().state, 3, "{version}");
        let target = nfs(&servers, version);
        run(async {
            let mut session = target.connect(&SessionSpec::default()).await.unwrap();
            write(&mut *session, "file").await;
            session.close().await;
        });
        let ended = broken(&mut reader);
        assert_eq!((ended.flags, ended.current, ended.new), (1, 3, 0), "{version}");
        assert_eq!(acknowledge(&mut reader, KEY, 0), NtStatus::SUCCESS);
        assert_eq!(reader.read(file, 0, 5), Ok(b"hello".to_vec()));
    }
}

#[test]
fn a_removal_over_nfs_ends_a_lease() {
    for version in ["3", "4.1"] {
        let servers = serve();
        let mut reader = Raw::log_in(servers.addr("smb").unwrap(), "share");
        open_leased(&mut reader, "file", KEY, EVERYTHING);
        let target = nfs(&servers, version);
        run(async {
            let mut session = target.connect(&SessionSpec::default()).await.unwrap();
            call(&mut *session, MetaOp::Remove { path: "file".into() }).await.unwrap();
            session.close().await;
        });
        assert_eq!(broken(&mut reader).new, 0, "{version}");
    }
}
