//! Changes over the other protocols of a volume end what SMB clients cache.

use sharebench_model::{DataOp, FileRef, MetaOp, OpenHow, Slot, Stability};
use sharebench_ncp::client::{self as ncp, Access, Client, Login, Path, TcpTransport};
use sharebench_ncp::wire::name_space::space;
use sharebench_nfs::NfsTarget;
use sharebench_smb::SmbTarget;
use sharebench_target::{Secret, Session, SessionSpec, Target, TargetUrl, call, reply_for};

use super::directory_leases::{LISTING, assert_ended, assert_unbroken, client, list_leased};
use super::leases::{EVERYTHING, KEY, acknowledge, broken, open_leased};
use super::*;
use crate::{EmbeddedServers, ServeOptions};

/// Servers for SMB and others over one volume.
fn serve_with(others: impl FnOnce(Option<SocketAddr>) -> ServeOptions) -> EmbeddedServers {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(16 << 20));
    let any_port = Some("127.0.0.1:0".parse().unwrap());
    let options = ServeOptions { smb: any_port, ..others(any_port) };
    EmbeddedServers::start(&volume, &options).unwrap()
}

/// Servers for SMB and NFS.
fn serve() -> EmbeddedServers {
    serve_with(|any_port| ServeOptions { nfs: any_port, ..ServeOptions::default() })
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
    call(session, MetaOp::open(path, OpenHow::ReadWrite)).await.unwrap().into_opened().unwrap().0
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

/// Key of the lease of the root.
const ROOT_LISTING: [u8; 16] = [30; 16];

#[test]
fn a_change_over_nfs_ends_the_listings_that_show_it_and_no_others() {
    for version in ["3", "4.0", "4.1", "4.2"] {
        let servers = serve();
        let mut lister = client(servers.addr("smb").unwrap(), [1; 16]);
        list_leased(&mut lister, "directory", LISTING, 0);
        list_leased(&mut lister, "", ROOT_LISTING, 0);
        let target = nfs(&servers, version);
        run(async {
            let mut session = target.connect(&SessionSpec::default()).await.unwrap();
            let file = "directory/file".to_owned();
            let moved = "moved".to_owned();
            call(&mut *session, MetaOp::open(&file, OpenHow::CreateNew)).await.unwrap();
            assert_ended(&mut lister, LISTING, 2);
            list_leased(&mut lister, "directory", LISTING, 2);
            write(&mut *session, &file).await;
            assert_ended(&mut lister, LISTING, 4);
            list_leased(&mut lister, "directory", LISTING, 4);
            assert_unbroken(&mut lister);
            call(&mut *session, MetaOp::Rename { from: file, to: moved.clone() }).await.unwrap();
            let mut ended = [broken(&mut lister), broken(&mut lister)].map(|lease| lease.key);
            ended.sort_unstable();
            assert_eq!(ended, [LISTING, ROOT_LISTING], "{version}");
            for key in ended {
                assert_eq!(acknowledge(&mut lister, key, 0), NtStatus::SUCCESS);
            }
            list_leased(&mut lister, "directory", LISTING, 6);
            list_leased(&mut lister, "", ROOT_LISTING, 2);
            write(&mut *session, &moved).await;
            assert_ended(&mut lister, ROOT_LISTING, 4);
            list_leased(&mut lister, "", ROOT_LISTING, 4);
            call(&mut *session, MetaOp::Remove { path: moved }).await.unwrap();
            assert_ended(&mut lister, ROOT_LISTING, 6);
            // The directory that does not show the file keeps its lease.
            assert_unbroken(&mut lister);
            session.close().await;
        });
    }
}

#[test]
fn a_directory_that_is_moved_or_removed_over_nfs_ends_what_is_cached_below_it() {
    let servers = serve();
    let mut lister = client(servers.addr("smb").unwrap(), [1; 16]);
    let above = list_leased(&mut lister, "above", ROOT_LISTING, 0);
    assert_eq!(lister.close(above), NtStatus::SUCCESS);
    let below = list_leased(&mut lister, "above\\below", LISTING, 0);
    let target = nfs(&servers, "4.1");
    run(async {
        let mut session = target.connect(&SessionSpec::default()).await.unwrap();
        call(&mut *session, MetaOp::Rename { from: "above".into(), to: "moved".into() }).await.unwrap();
        assert_ended(&mut lister, LISTING, 2);
        assert_eq!(lister.close(below), NtStatus::SUCCESS);
        list_leased(&mut lister, "moved\\below", LISTING, 0);
        call(&mut *session, MetaOp::RemoveDir { path: "moved/below".into() }).await.unwrap();
        assert_ended(&mut lister, LISTING, 2);
        session.close().await;
    });
}

#[test]
fn a_change_over_ncp_and_over_smb1_ends_a_listing() {
    let servers =
        serve_with(|any_port| ServeOptions { ncp: any_port, smb1: true, ..ServeOptions::default() });
    let smb = servers.addr("smb").unwrap();
    let mut lister = client(smb, [1; 16]);
    list_leased(&mut lister, "directory", LISTING, 0);
    let transport = TcpTransport::connect(servers.addr("ncp").unwrap(), Duration::from_secs(60)).unwrap();
    ncp::block_on(async {
        let mut client = Client::connect(transport, ncp::Options::default()).await.unwrap();
        client.login(Login { user: "guest", password: "" }).await.unwrap();
        let path = ["SHARE", "directory", "file"].map(str::as_bytes);
        let path = Path::new(space::LONG, path).unwrap();
        let (file, _) = client.open(&path, Access::CreateNew, true).await.unwrap();
        assert_ended(&mut lister, LISTING, 2);
        list_leased(&mut lister, "directory", LISTING, 2);
        client.write(file, 0, b"data").await.unwrap();
        assert_ended(&mut lister, LISTING, 4);
        list_leased(&mut lister, "directory", LISTING, 4);
        client.close(file).await.unwrap();
        client.disconnect().await.unwrap();
    });
    assert_unbroken(&mut lister);

    let url = TargetUrl::parse(&format!("smb://{smb}/share?dialect=nt1")).unwrap();
    let target = SmbTarget::from_url(url, Secret::default()).unwrap();
    run(async {
        let mut session = target.connect(&SessionSpec::default()).await.unwrap();
        let file = open(&mut *session, "directory/file").await;
        let write = DataOp::Write { file, offset: 0, len: 5, stability: Stability::Unstable };
        assert_eq!(reply_for(&mut *session, Slot(0), write).await.result, Ok(5));
        assert_unbroken(&mut lister);
        call(&mut *session, MetaOp::Close { file }).await.unwrap();
        assert_ended(&mut lister, LISTING, 6);
        list_leased(&mut lister, "directory", LISTING, 6);
        call(&mut *session, MetaOp::Remove { path: "directory/file".into() }).await.unwrap();
        assert_ended(&mut lister, LISTING, 8);
        session.close().await;
    });
}
