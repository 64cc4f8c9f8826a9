//! The requester's cache against a server: requests saved, times of write-back, and reporting of every failure.

use std::sync::Arc;
use std::time::Duration;

use sharebench_model::{
    CachePolicy, DataOp, ErrorClass, FileRef, IoPolicy, MetaOp, MetaYield, OpError, OpStep, OpenHow, Slot,
    Stability,
};
use sharebench_server::{
    DeviceOptions, DeviceVolume, MemoryVolume, NcpServer, NcpServerOptions, ServiceTime, Volume,
};
use sharebench_target::{Secret, Session, SessionSpec, Target, TargetUrl, call, reply_for};

use crate::NcpTarget;

fn server(volume: Arc<dyn Volume>) -> NcpServer {
    let options = NcpServerOptions { threads: 1, ..NcpServerOptions::default() };
    NcpServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

fn target(server: &NcpServer, options: &str) -> NcpTarget {
    let text = format!("ncp://{}/SHARE?{options}", server.addr());
    NcpTarget::from_url(TargetUrl::parse(&text).unwrap(), Secret::default()).unwrap()
}

async fn connect(target: &NcpTarget) -> Box<dyn Session> {
    let spec = SessionSpec { slot_bytes: 8192, ..SessionSpec::default() };
    target.connect(&spec).await.unwrap()
}

async fn create(session: &mut dyn Session, path: &str) -> FileRef {
    let MetaYield::Opened { file, .. } = call(session, MetaOp::open(path, OpenHow::CreateNew)).await.unwrap()
    else {
        panic!()
    };
    file
}

/// Writes `len` bytes of the offset's low byte; returns the number of requests.
async fn write(session: &mut dyn Session, file: FileRef, offset: u64, len: u32) -> Result<u32, OpError> {
    session.buffer(Slot(0))[..len as usize].fill(offset as u8 | 1);
    let op = DataOp::Write { file, offset, len, stability: Stability::Unstable };
    let reply = reply_for(session, Slot(0), op).await;
    reply.result.map(|written| {
        assert_eq!(written, len);
        reply.requests
    })
}

#[tokio::test]
async fn cache_merges_small_records_and_counts_wire_bytes() {
    let server = server(Arc::new(MemoryVolume::new(1 << 20)));
    let target = target(&server, "cache=4&buffer=4096");
    assert!(target.caches() && target.capabilities().drop_cache);
    let mut session = connect(&target).await;
    let file = create(&mut *session, "file").await;
    let before = session.wire();
    let mut requests = 0;
    for at in 0..16 {
        requests += write(&mut *session, file, at * 512, 512).await.unwrap();
    }
    let wire = session.wire().since(before);
    assert_eq!((requests, wire.requests, wire.payload_sent), (2, 2, 8192));
    // After a commit the cache is empty, and the first of eight reads fetches a whole buffer.
    let before = session.wire();
    assert_eq!(reply_for(&mut *session, Slot(0), DataOp::Flush { file }).await.requests, 1);
    for at in 0..16 {
        let read = DataOp::Read { file, offset: at * 512, len: 512 };
        let reply = reply_for(&mut *session, Slot(0), read).await;
        assert_eq!((reply.result, reply.requests), (Ok(512), u32::from(at % 8 == 0)));
        assert!(session.buffer(Slot(0))[..512].iter().all(|byte| *byte == (at * 512) as u8 | 1));
    }
    let wire = session.wire().since(before);
    assert_eq!((wire.requests, wire.payload_received), (3, 8192));
    // A record of at least a buffer bypasses the cache, after dirty data has been written.
    write(&mut *session, file, 100, 10).await.unwrap();
    assert_eq!(write(&mut *session, file, 0, 4096).await, Ok(2));
    let read = DataOp::Read { file, offset: 95, len: 20 };
    assert_eq!(reply_for(&mut *session, Slot(0), read).await.result, Ok(20));
    assert!(session.buffer(Slot(0))[..20].iter().all(|byte| *byte == 1), "the later write counts");
    // The file size includes dirty data.
    write(&mut *session, file, 9000, 10).await.unwrap();
    let stat = call(&mut *session, MetaOp::Stat { path: "file".into() }).await.unwrap();
    assert!(matches!(stat, MetaYield::Stat(stat) if stat.size == 9010), "{stat:?}");
    session.close().await;
    let keeps_nothing = IoPolicy { cache: CachePolicy::NoLocal, ..IoPolicy::default() };
    assert!(target.policy(keeps_nothing).is_err());
}

#[tokio::test]
async fn failed_write_back_is_reported_by_the_next_operation_or_close() {
    let server = server(Arc::new(MemoryVolume::new(64 << 10)));
    let mut session = connect(&target(&server, "cache=2&buffer=4096")).await;
    let full = create(&mut *session, "full").await;
    let late = create(&mut *session, "late").await;
    assert_eq!(write(&mut *session, late, 0, 100).await, Ok(0));
    let failed = loop_until_full(&mut *session, full).await;
    let not_written = (ErrorClass::NoSpace, OpStep::ClientCache);
    assert_eq!((failed.class, failed.step), not_written, "{failed}");
    // Some data may still fit: it is on the server, or the close reports that it is not.
    match call(&mut *session, MetaOp::Close { file: late }).await {
        Ok(_) => {
            let stat = call(&mut *session, MetaOp::Stat { path: "late".into() }).await.unwrap();
            assert!(matches!(stat, MetaYield::Stat(stat) if stat.size == 100), "{stat:?}");
        }
        Err(error) => assert_eq!((error.class, error.step), not_written, "{error}"),
    }
    let _ = call(&mut *session, MetaOp::Close { file: full }).await;
    session.close().await;
}

#[tokio::test]
async fn close_reports_dirty_data_of_a_lost_server() {
    let server = server(Arc::new(MemoryVolume::new(1 << 20)));
    let mut session = connect(&target(&server, "cache=2&buffer=4096")).await;
    let file = create(&mut *session, "file").await;
    assert_eq!(write(&mut *session, file, 0, 100).await, Ok(0));
    server.stop();
    assert!(call(&mut *session, MetaOp::Close { file }).await.is_err());
}

/// Fills the volume with records of 512 bytes; returns the first failure.
async fn loop_until_full(session: &mut dyn Session, file: FileRef) -> OpError {
    for at in 0..1000 {
        if let Err(error) = write(session, file, at * 512, 512).await {
            assert!(at * 512 > 16_000, "{at}: {error}");
            return error;
        }
    }
    panic!("a volume of 64 KiB takes 500 KiB");
}

#[tokio::test]
async fn true_commit_commits_writable_files_on_close() {
    let service = ServiceTime::Fixed(Duration::ZERO);
    for (options, commits) in [("commit=on", 1), ("cache=4&commit=on", 1), ("cache=4", 0), ("commit=off", 0)]
    {
        let device = DeviceOptions { service, ..DeviceOptions::default() };
        let device = Arc::new(DeviceVolume::new(MemoryVolume::new(1 << 20), device));
        let server = server(Arc::<DeviceVolume<MemoryVolume>>::clone(&device));
        let mut session = connect(&target(&server, options)).await;
        let file = create(&mut *session, "file").await;
        write(&mut *session, file, 0, 512).await.unwrap();
        call(&mut *session, MetaOp::Close { file }).await.unwrap();
        let open = call(&mut *session, MetaOp::open("file", OpenHow::Read)).await.unwrap();
        let MetaYield::Opened { file, size: 512 } = open else { panic!("{open:?}") };
        call(&mut *session, MetaOp::Close { file }).await.unwrap();
        session.close().await;
        drop(server);
        assert_eq!(device.log().counters.commits, commits, "{options}");
    }
}
