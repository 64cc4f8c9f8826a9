//! NFS version 3 over UDP: client adapter and server, also where datagrams are lost.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sharebench_model::{DataOp, ErrorClass, Fact, MetaOp, MetaYield, OpenHow, Slot, Stability};
use sharebench_nfs::NfsTarget;
use sharebench_nfs::protocol::{MOUNT_PROGRAM, NFS_PROGRAM, Procedure};
use sharebench_nfs::rpc::{CallTemplate, Rejection, get_reply};
use sharebench_nfs::xdr::{Reader, Writer};
use sharebench_target::{Session, SessionSpec, Target, TargetUrl, UrlPart, call};

use super::end_to_end::{conforms_at_depth, create};
use super::lossy_relay::LossyRelay;
use super::{memory, run, start};
use crate::{DirectoryOptions, DirectoryVolume, NfsServer, NfsServerCounts, NfsServerOptions, Volume};

/// Deadline of events that a broken program would never cause.
const DEADLINE: Duration = Duration::from_secs(60);

fn serve(volume: Arc<dyn Volume>) -> NfsServer {
    let options = NfsServerOptions { udp: true, ..NfsServerOptions::default() };
    NfsServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

fn target(port: u16, options: &str) -> NfsTarget {
    let url = format!("nfs://127.0.0.1:{port}/export?mountport={port}&proto=udp{options}");
    NfsTarget::from_url(TargetUrl::parse(&url).unwrap()).unwrap()
}

/// Without retransmissions, because the suite counts requests: the replies fit into the receive buffer.
fn conforms(server: &NfsServer) {
    conforms_at_depth(server, &target(server.addr().port(), "&timeo=600"), 16);
}

#[test]
fn the_adapter_conforms_over_udp() {
    let server = serve(memory());
    conforms(&server);
    assert!(server.counts().datagrams > 0);
    server.stop();
    let directory = std::env::temp_dir().join(format!("sharebench-nfs-udp-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let volume = DirectoryVolume::open(&directory, &DirectoryOptions::default()).unwrap();
    let server = serve(Arc::new(volume));
    conforms(&server);
    server.stop();
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Calls of a procedure that a server performed.
fn performed(counts: &NfsServerCounts, procedure: Procedure) -> u64 {
    counts.calls[procedure as usize]
}

/// Performs an operation, which must succeed, and adds the requests that it took.
async fn meta(session: &mut dyn Session, op: MetaOp, requests: &mut u64) -> MetaYield {
    let text = format!("{op:?}");
    let reply = session.call(op).await;
    *requests += u64::from(reply.requests);
    reply.result.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Performs data operations at the same time, one per slot, which must succeed.
async fn data(session: &mut dyn Session, ops: &[DataOp], requests: &mut u64) {
    let mut replies = Vec::new();
    for (slot, op) in ops.iter().enumerate() {
        session.submit(Slot(slot as u32), *op);
    }
    while replies.len() < ops.len() {
        std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    }
    for reply in replies {
        *requests += u64::from(reply.requests);
        assert_eq!(reply.result, Ok(BLOCK), "{:?}", ops[reply.slot.0 as usize]);
    }
}

const FILES: u64 = 20;
const BLOCKS: u64 = 4;
const BLOCK: u32 = 3000;

async fn use_files(session: &mut dyn Session, requests: &mut u64) {
    meta(session, MetaOp::MakeDir { path: "d".into() }, requests).await;
    for file in 0..FILES {
        let path = format!("d/f{file}");
        let opened = meta(session, MetaOp::open(path.clone(), OpenHow::CreateNew), requests).await;
        let MetaYield::Opened { file: open, .. } = opened else { panic!("{opened:?}") };
        for block in 0..BLOCKS {
            session.buffer(Slot(block as u32))[..BLOCK as usize].fill((file * BLOCKS + block) as u8);
        }
        let at = |block: u64| block * u64::from(BLOCK);
        let write = |block| DataOp::Write {
            file: open,
            offset: at(block),
            len: BLOCK,
            stability: Stability::Durable,
        };
        data(session, &(0..BLOCKS).map(write).collect::<Vec<_>>(), requests).await;
        for block in 0..BLOCKS {
            session.buffer(Slot(block as u32)).fill(0xff);
        }
        let read = |block| DataOp::Read { file: open, offset: at(block), len: BLOCK };
        data(session, &(0..BLOCKS).map(read).collect::<Vec<_>>(), requests).await;
        for block in 0..BLOCKS {
            let expected = (file * BLOCKS + block) as u8;
            let buffer = &session.buffer(Slot(block as u32))[..BLOCK as usize];
            assert!(buffer.iter().all(|byte| *byte == expected), "{path}, block {block}");
        }
        meta(session, MetaOp::Close { file: open }, requests).await;
        let to = format!("d/g{file}");
        meta(session, MetaOp::Rename { from: path, to: to.clone() }, requests).await;
        if file % 2 == 1 {
            meta(session, MetaOp::Remove { path: to }, requests).await;
        }
    }
    let listed = meta(session, MetaOp::List { path: "d".into() }, requests).await;
    let MetaYield::Entries(entries) = listed else { panic!("{listed:?}") };
    assert_eq!(entries.len() as u64, FILES / 2);
}

#[test]
fn where_datagrams_are_lost_no_operation_is_lost_or_performed_twice() {
    let server = serve(memory());
    let relay = LossyRelay::start(server.addr().port(), 42, 6, 12);
    run(async {
        let spec = SessionSpec {
            slots: BLOCKS as u32,
            slot_bytes: 4096,
            connect_timeout: DEADLINE,
            ..SessionSpec::default()
        };
        let mut session = target(relay.port, "&timeo=1").connect(&spec).await.unwrap();
        let facts = session.facts();
        assert_eq!((facts[Fact::Transport].as_str(), facts[Fact::Timeo].as_str()), ("udp", "1"));
        let fact = |session: &dyn Session, fact: Fact| session.facts()[fact].parse::<u64>().unwrap();
        let before = (session.wire(), server.counts(), fact(&*session, Fact::Retransmissions));
        let mut requests = 0;
        use_files(&mut *session, &mut requests).await;
        let wire = session.wire().since(before.0);
        let retransmissions = fact(&*session, Fact::Retransmissions) - before.2;
        // Each datagram is a request of the operation that it belongs to.
        assert_eq!(requests, wire.requests);
        assert!(retransmissions > 0 && fact(&*session, Fact::DuplicateReplies) > 0);
        assert_eq!(wire.payload_sent, FILES * BLOCKS * u64::from(BLOCK));
        assert_eq!(wire.payload_received, FILES * BLOCKS * u64::from(BLOCK));
        let counts = server.counts();
        let done = |procedure| performed(&counts, procedure) - performed(&before.1, procedure);
        assert_eq!(done(Procedure::MkDir), 1);
        assert_eq!(done(Procedure::Create), FILES);
        assert_eq!(done(Procedure::Write), FILES * BLOCKS);
        assert_eq!(done(Procedure::Rename), FILES);
        assert_eq!(done(Procedure::Remove), FILES / 2);
        assert_eq!(counts.bytes_written, FILES * BLOCKS * u64::from(BLOCK));
        assert!(counts.repeated_calls > 0);
        // Without the retransmissions: MKDIR, CREATE, WRITE, READ, RENAME, REMOVE and READDIRPLUS. A READ may be performed again.
        assert!(done(Procedure::Read) >= FILES * BLOCKS);
        let calls = 1 + FILES + 2 * FILES * BLOCKS + FILES + FILES / 2 + 1;
        assert_eq!(wire.requests - retransmissions, calls);
        let lost = [&relay.calls, &relay.replies].map(|fates| fates.lost.load(Ordering::SeqCst));
        assert!(lost.iter().all(|lost| *lost > 0), "{lost:?}");
        session.close().await;
    });
    server.stop();
}

/// A call as a datagram.
fn encoded(
    program: u32,
    version: u32,
    procedure: u32,
    xid: u32,
    arguments: impl FnOnce(&mut Writer),
) -> Vec<u8> {
    let mut writer = Writer::default();
    CallTemplate::new(program, version, None).put(&mut writer, xid, procedure);
    arguments(&mut writer);
    writer.as_slice().to_vec()
}

fn exchange(socket: &UdpSocket, call: &[u8]) -> Vec<u8> {
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.send(call).unwrap();
    let mut buffer = vec![0; 1 << 16];
    let len = socket.recv(&mut buffer).unwrap();
    buffer.truncate(len);
    buffer
}

fn client(server: &NfsServer) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server.addr()).unwrap();
    socket
}

/// The root's handle, encoded.
fn root(socket: &UdpSocket) -> Vec<u8> {
    let reply = exchange(socket, &encoded(MOUNT_PROGRAM, 3, 1, 1, |writer| writer.opaque(b"/export")));
    let mut reader = Reader::new(&reply);
    get_reply(&mut reader).unwrap().1.unwrap();
    assert_eq!(reader.u32(), Ok(0));
    let mut writer = Writer::default();
    writer.opaque(reader.opaque("handle", 64).unwrap());
    writer.as_slice().to_vec()
}

#[test]
fn a_repeated_call_gets_the_reply_of_the_first_time() {
    let server = serve(memory());
    let one = client(&server);
    let two = client(&server);
    let root = root(&one);
    let make = |xid| {
        encoded(NFS_PROGRAM, 3, Procedure::MkDir as u32, xid, |writer| {
            writer.raw(&root);
            writer.opaque(b"d");
            // No attributes are set (RFC 1813, 2.6: sattr3).
            writer.raw(&[0; 24]);
        })
    };
    let status = |reply: &[u8]| u32::from_be_bytes(reply[24..28].try_into().unwrap());
    let first = exchange(&one, &make(7));
    assert_eq!(status(&first), 0);
    assert_eq!(exchange(&one, &make(7)), first);
    let counts = server.counts();
    assert_eq!((performed(&counts, Procedure::MkDir), counts.repeated_calls), (1, 1));
    // Another xid, or another client, makes another call: the name exists.
    assert_eq!(status(&exchange(&one, &make(8))), 17);
    assert_eq!(status(&exchange(&two, &make(7))), 17);
    assert_eq!(performed(&server.counts(), Procedure::MkDir), 3);
    server.stop();
}

#[test]
fn replies_fit_a_datagram_and_version_4_is_not_served_over_udp() {
    let server = serve(memory());
    let socket = client(&server);
    let root = root(&socket);
    let info =
        exchange(&socket, &encoded(NFS_PROGRAM, 3, Procedure::FsInfo as u32, 2, |writer| writer.raw(&root)));
    // After the header, the status and the attributes: rtmax.
    assert_eq!(info[24 + 4 + 88..][..4], (32u32 << 10).to_be_bytes());
    let reply = exchange(&socket, &encoded(NFS_PROGRAM, 4, 0, 3, |_| {}));
    let mismatch = Rejection::ProgramMismatch { low: 3, high: 3 };
    assert_eq!(get_reply(&mut Reader::new(&reply)), Ok((3, Err(mismatch))));
    // Garbage is discarded: the next reply is that to the next call.
    for garbage in [&b""[..], b"x", &[0xff; 2000]] {
        socket.send(garbage).unwrap();
    }
    let reply = exchange(&socket, &encoded(NFS_PROGRAM, 3, 0, 4, |_| {}));
    assert_eq!(get_reply(&mut Reader::new(&reply)), Ok((4, Ok(()))));
    // The largest READ over UDP, of a file that has more.
    run(async {
        let spec = SessionSpec { slots: 1, slot_bytes: 32 << 10, ..SessionSpec::default() };
        let mut session = target(server.addr().port(), "").connect(&spec).await.unwrap();
        let file = create(&mut *session, "f").await;
        call(&mut *session, MetaOp::SetSize { file, size: 1 << 20 }).await.unwrap();
        let read = DataOp::Read { file, offset: 0, len: 32 << 10 };
        let reply = sharebench_target::reply_for(&mut *session, Slot(0), read).await;
        assert_eq!((reply.result, reply.requests), (Ok(32 << 10), 1));
        session.close().await;
    });
    server.stop();
}

#[test]
fn what_udp_cannot_do_is_an_error_that_names_the_option() {
    let server = start(memory());
    let port = server.addr().port();
    let large = SessionSpec { slot_bytes: 1 << 20, ..SessionSpec::default() };
    let error = run(target(port, "").connect(&large)).err().unwrap();
    assert_eq!((error.part, error.class), (UrlPart::Option("proto"), ErrorClass::Unsupported));
    assert!(error.to_string().contains("record size 1MiB exceeds 32KiB, the largest over UDP"), "{error}");
    // The server answers over TCP only.
    let target = target(port, "");
    let error = run(async {
        let small = SessionSpec { slot_bytes: 4096, ..SessionSpec::default() };
        let error = target.connect(&small).await.err().unwrap();
        target.explain(error, DEADLINE).await
    });
    assert_eq!(error.part, UrlPart::Option("proto"));
    assert!(error.to_string().contains("answers over TCP, but not over UDP; use proto=tcp"), "{error}");
    server.stop();
}
