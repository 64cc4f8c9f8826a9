//! The requester's cache against a server: requests saved, times of write-back, and reporting of every failure.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use sharebench_model::{
    CachePolicy, DataOp, ErrorClass, FileRef, IoPolicy, MetaOp, MetaYield, OpError, OpStep, OpenHow, Reply,
    SessionOp, Slot, Stability,
};
use sharebench_ncp::target::NcpTarget;
use sharebench_server::{
    DeviceOptions, DeviceVolume, MemoryVolume, NcpServer, NcpServerOptions, ServiceTime, Volume,
};
use sharebench_target::{Secret, Session, SessionSpec, Target, TargetUrl, call, reply_for};

fn server(volume: Arc<dyn Volume>) -> NcpServer {
    let options = NcpServerOptions { threads: 1, ..NcpServerOptions::default() };
    NcpServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

fn target(server: &NcpServer, options: &str) -> NcpTarget {
    let text = format!("ncp://{}/SHARE?{options}", server.addr());
    NcpTarget::from_url(TargetUrl::parse(&text).unwrap(), Secret::default()).unwrap()
}

async fn connect(target: &NcpTarget) -> Box<dyn Session> {
    connect_slots(target, 1).await
}

async fn connect_slots(target: &NcpTarget, slots: u32) -> Box<dyn Session> {
    let spec = SessionSpec { slots, slot_bytes: 8192, ..SessionSpec::default() };
    target.connect(&spec).await.unwrap()
}

/// Submits one operation per slot and waits for all replies, in the order of the slots.
async fn replies_for(session: &mut dyn Session, ops: &[DataOp]) -> Vec<Reply> {
    for (slot, op) in (0..).zip(ops) {
        session.submit(Slot(slot), *op);
    }
    let mut replies = Vec::new();
    while replies.len() < ops.len() {
        poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    }
    replies.sort_by_key(|reply| reply.slot.0);
    replies
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

/// The known answers of one connection hold for several: a buffer is fetched once, whatever connection needs it.
#[tokio::test]
async fn connections_of_a_session_share_the_cache_of_a_file() {
    let server = server(Arc::new(MemoryVolume::new(1 << 20)));
    let target = target(&server, "cache=4&buffer=4096&connections=4");
    let mut session = connect_slots(&target, 4).await;
    let file = create(&mut *session, "file").await;
    for slot in 0..4 {
        session.buffer(Slot(slot))[..512].fill(slot as u8 + 1);
    }
    let write = |at: u64| DataOp::Write { file, offset: at, len: 512, stability: Stability::Unstable };
    let read = |at: u64| DataOp::Read { file, offset: at, len: 512 };
    let before = session.wire();
    // Two buffers of eight records, written by all connections at once.
    for round in 0..4 {
        let ops: Vec<_> = (0..4).map(|slot| write((round * 4 + slot) * 512)).collect();
        for reply in replies_for(&mut *session, &ops).await {
            assert_eq!(reply.result, Ok(512));
        }
    }
    let wire = session.wire().since(before);
    assert_eq!((wire.requests, wire.payload_sent), (2, 8192));
    call(&mut *session, SessionOp::DropCache { file }).await.unwrap();
    let before = session.wire();
    for round in 0..4 {
        let ops: Vec<_> = (0..4).map(|slot| read((round * 4 + slot) * 512)).collect();
        let replies = replies_for(&mut *session, &ops).await;
        let requests: u32 = replies.iter().map(|reply| reply.requests).sum();
        assert_eq!(requests, u32::from(round % 2 == 0), "the others wait for one fetch");
        for (slot, reply) in (0..4).zip(replies) {
            assert_eq!(reply.result, Ok(512));
            assert!(session.buffer(Slot(slot))[..512].iter().all(|byte| *byte == slot as u8 + 1));
        }
    }
    let wire = session.wire().since(before);
    assert_eq!((wire.requests, wire.payload_received), (2, 8192));
    session.close().await;
}

#[tokio::test]
async fn large_write_of_one_connection_invalidates_what_another_has_cached() {
    let server = server(Arc::new(MemoryVolume::new(1 << 20)));
    let mut session = connect_slots(&target(&server, "cache=4&buffer=4096&connections=2"), 2).await;
    let file = create(&mut *session, "file").await;
    let small = DataOp::Write { file, offset: 100, len: 10, stability: Stability::Unstable };
    session.buffer(Slot(0)).fill(1);
    assert_eq!(reply_for(&mut *session, Slot(0), small).await.requests, 0);
    let large = DataOp::Write { file, offset: 0, len: 4096, stability: Stability::Unstable };
    session.buffer(Slot(1)).fill(2);
    assert_eq!(reply_for(&mut *session, Slot(1), large).await.requests, 2, "after the dirty data");
    let read = DataOp::Read { file, offset: 95, len: 20 };
    assert_eq!(reply_for(&mut *session, Slot(0), read).await.result, Ok(20));
    assert!(session.buffer(Slot(0))[..20].iter().all(|byte| *byte == 2), "the later write counts");
    // Both at once: whatever the order, the bytes of the large write around the small one stay.
    session.buffer(Slot(0)).fill(3);
    session.buffer(Slot(1)).fill(4);
    let replies = replies_for(&mut *session, &[small, large]).await;
    assert!(replies.iter().all(|reply| reply.result.is_ok()));
    call(&mut *session, SessionOp::DropCache { file }).await.unwrap();
    let whole = DataOp::Read { file, offset: 0, len: 200 };
    assert_eq!(reply_for(&mut *session, Slot(0), whole).await.result, Ok(200));
    let data = &session.buffer(Slot(0))[..200];
    assert!(data[..100].iter().chain(&data[110..]).all(|byte| *byte == 4), "{data:?}");
    assert!(data[100..110].iter().all(|byte| *byte == data[100]) && [3, 4].contains(&data[100]));
    session.close().await;
}

#[tokio::test]
async fn file_that_is_open_twice_is_read_from_the_server() {
    let server = server(Arc::new(MemoryVolume::new(1 << 20)));
    let mut session = connect(&target(&server, "cache=4&buffer=4096")).await;
    let first = create(&mut *session, "file").await;
    assert_eq!(write(&mut *session, first, 0, 100).await, Ok(0));
    let open = call(&mut *session, MetaOp::open("file", OpenHow::Read)).await.unwrap();
    let MetaYield::Opened { file: second, size: 100 } = open else { panic!("{open:?}") };
    assert_eq!(write(&mut *session, first, 0, 100).await, Ok(1), "no longer cached");
    let read = DataOp::Read { file: second, offset: 0, len: 100 };
    assert_eq!(reply_for(&mut *session, Slot(0), read).await.requests, 1);
    assert_eq!(reply_for(&mut *session, Slot(0), read).await.requests, 1);
    for file in [first, second] {
        call(&mut *session, MetaOp::Close { file }).await.unwrap();
    }
    let open = call(&mut *session, MetaOp::open("file", OpenHow::Read)).await.unwrap();
    let MetaYield::Opened { file, .. } = open else { panic!("{open:?}") };
    let read = DataOp::Read { file, offset: 0, len: 100 };
    let requests = [
        reply_for(&mut *session, Slot(0), read).await.requests,
        reply_for(&mut *session, Slot(0), read).await.requests,
    ];
    assert_eq!(requests, [1, 0], "cached again");
    session.close().await;
}

/// Four connections write and read interleaved parts of a file at once; no write is lost and no read is stale.
#[tokio::test]
async fn concurrent_connections_keep_the_contents_of_a_file() {
    const PART: u64 = 100;
    const PARTS: u64 = 80;
    let server = server(Arc::new(MemoryVolume::new(1 << 20)));
    for (options, commits) in
        [("cache=1&buffer=512", false), ("cache=3&buffer=1000", false), ("cache=2&buffer=512", true)]
    {
        let target = target(&server, &format!("{options}&connections=5"));
        let mut session = connect_slots(&target, 5).await;
        let name = options.replace('&', " ");
        let file = create(&mut *session, &name).await;
        let mut expected = vec![0_u8; (PART * PARTS) as usize];
        let mut random = 0x2545_F491_4F6C_DD1D_u64;
        call(&mut *session, MetaOp::SetSize { file, size: PART * PARTS }).await.unwrap();
        for round in 0..400_u64 {
            let mut ops = Vec::new();
            for slot in 0..4_u64 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let offset = (random % (PARTS / 4) * 4 + slot) * PART;
                let start = offset as usize;
                let value = (random >> 32) as u8;
                if random & 0x100 == 0 {
                    ops.push(DataOp::Read { file, offset, len: PART as u32 });
                } else {
                    session.buffer(Slot(slot as u32))[..PART as usize].fill(value);
                    expected[start..start + PART as usize].fill(value);
                    ops.push(DataOp::Write {
                        file,
                        offset,
                        len: PART as u32,
                        stability: Stability::Unstable,
                    });
                }
            }
            // A commit bypasses the cache, and the others wait for it.
            if commits && round % 3 == 0 {
                ops.push(DataOp::Flush { file });
            }
            let replies = replies_for(&mut *session, &ops).await;
            for (op, reply) in ops.iter().zip(replies) {
                if let DataOp::Read { offset, len, .. } = op {
                    assert_eq!(reply.result, Ok(*len), "{options}, round {round}");
                    let data = &session.buffer(reply.slot)[..*len as usize];
                    let start = *offset as usize;
                    assert!(data == &expected[start..start + data.len()], "{options}, round {round}");
                }
            }
        }
        call(&mut *session, SessionOp::DropCache { file }).await.unwrap();
        session.close().await;
        let mut plain = connect(&self::target(&server, "")).await;
        let MetaYield::Opened { file, .. } =
            call(&mut *plain, MetaOp::open(name, OpenHow::Read)).await.unwrap()
        else {
            panic!()
        };
        let len = (PART * PARTS) as u32;
        assert_eq!(
            reply_for(&mut *plain, Slot(0), DataOp::Read { file, offset: 0, len }).await.result,
            Ok(len)
        );
        assert!(plain.buffer(Slot(0))[..len as usize] == expected, "{options}");
        plain.close().await;
    }
}
