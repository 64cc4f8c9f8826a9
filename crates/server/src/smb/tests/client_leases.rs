//! Leases of directories that this project's client requests (`lease=dir`).

use sharebench_model::Fact;

use super::*;

#[test]
fn the_client_is_granted_leases_of_directories_and_acknowledges_their_breaks() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new(1 << 20));
    let directory = volume.make_directory(ROOT, "directory", 0o755).unwrap().node;
    volume.create(directory, "file", 0o644).unwrap();
    let options = SmbServerOptions { leases: true, ..SmbServerOptions::default() };
    let server = SmbServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap();
    let target = |options: &str| {
        let url = TargetUrl::parse(&format!("smb://{}/share{options}", server.addr())).unwrap();
        SmbTarget::from_url(url, Secret::default()).unwrap()
    };
    let leased = target("?lease=dir");
    let plain = target("");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut lister = leased.connect(&SessionSpec::default()).await.unwrap();
        let mut other = plain.connect(&SessionSpec::default()).await.unwrap();
        call(&mut *lister, MetaOp::List { path: "directory".into() }).await.unwrap();
        // A listing in pages keeps the directory open.
        let page = |restart| MetaOp::ListPage { path: "directory".into(), restart };
        call(&mut *lister, page(true)).await.unwrap();
        call(&mut *other, MetaOp::MakeDir { path: "directory/new".into() }).await.unwrap();
        // The break arrives with the replies to these requests, which are no requests of a listing.
        for _ in 0..2 {
            call(&mut *lister, MetaOp::Stat { path: "directory".into() }).await.unwrap();
        }
        call(&mut *other, MetaOp::MakeDir { path: "directory/newer".into() }).await.unwrap();
        lister.close().await;
        other.close().await;
    });
    let facts = leased.final_facts();
    assert_eq!(facts[Fact::LeasesGranted], "RH 2");
    assert_eq!((&*facts[Fact::LeasesBroken], &*facts[Fact::LeaseBreaksAcknowledged]), ("1", "1"));
}
