//! Client adapter and server over loopback.

use std::sync::Arc;

use sharebench_doubles::conformance::Suite;
use sharebench_model::{DataOp, ErrorClass, Fact, FileRef, MetaOp, MetaYield, OpenHow, Slot, Stability};
use sharebench_nfs::NfsTarget;
use sharebench_nfs::protocol::Procedure;
use sharebench_nfs::v4::operation::Operation;
use sharebench_target::{Session, SessionSpec, Target, TargetUrl, UrlPart, call, reply_for};

use super::{memory, run, start, target_at};
use crate::{DirectoryOptions, DirectoryVolume, NfsServer, NfsServerOptions};

fn conforms(server: &NfsServer) {
    conforms_as(server, &target_at(server.addr().port(), "/export"));
}

/// Runs the suite over NFSv4 with these options of the URL.
fn conforms_over_v4(server: &NfsServer, options: &str) {
    let url = format!("nfs://127.0.0.1:{}/export?{options}", server.addr().port());
    conforms_as(server, &NfsTarget::from_url(TargetUrl::parse(&url).unwrap()).unwrap());
}

fn conforms_as(server: &NfsServer, target: &NfsTarget) {
    conforms_at_depth(server, target, 64);
}

/// Runs the suite with at most `max_depth` operations in flight.
pub fn conforms_at_depth(server: &NfsServer, target: &NfsTarget, max_depth: u32) {
    let before = server.counts();
    let suite = Suite { max_depth, ..Suite::default() };
    let summary = run(suite.run(target)).unwrap_or_else(|failures| panic!("{failures}"));
    assert_eq!(summary.passed.len(), Suite::step_names().count());
    let counts = server.counts();
    assert_eq!(counts.bytes_read - before.bytes_read, summary.counted.payload_received);
    assert_eq!(counts.bytes_written - before.bytes_written, summary.counted.payload_sent);
}

#[test]
fn the_adapter_conforms_over_every_minor_version() {
    let server = start(memory());
    for options in ["vers=4.0", "vers=4.1", "vers=4.2", "vers=4.1&nconnect=4"] {
        conforms_over_v4(&server, options);
    }
    assert!(server.counts().operations[Operation::Sequence as usize] > 0);
    server.stop();
}

#[test]
fn the_facts_of_sessions_with_one_and_with_four_connections_differ_in_their_number_alone() {
    let server = start(memory());
    let port = server.addr().port();
    for version in ["vers=3", "vers=4.0", "vers=4.1", "vers=4.2"] {
        let facts = |connections: u32| {
            let mount = if version == "vers=3" { format!("&mountport={port}") } else { String::new() };
            let url = format!("nfs://127.0.0.1:{port}/export?{version}{mount}&nconnect={connections}");
            let target = NfsTarget::from_url(TargetUrl::parse(&url).unwrap()).unwrap();
            run(async {
                let session = target.connect(&SessionSpec::default()).await.unwrap();
                let facts = session.facts();
                session.close().await;
                facts
            })
        };
        let one = facts(1);
        let four = facts(4);
        assert!(one.iter().map(|(fact, _)| fact).eq(four.iter().map(|(fact, _)| fact)), "{one:?} {four:?}");
        // The report names one connection as the limit only where nothing else differs.
        let differ: Vec<_> =
            one.iter().filter(|(fact, value)| four[*fact] != **value).map(|(fact, _)| fact).collect();
        assert_eq!(differ, [Fact::Nconnect, Fact::LocalAddress], "{version}");
    }
    server.stop();
}

#[test]
fn the_adapter_conforms_with_a_volume_in_memory() {
    let server = start(memory());
    conforms(&server);
    server.stop();
}

#[test]
fn the_adapter_conforms_with_a_volume_that_blocks() {
    let directory = std::env::temp_dir().join(format!("sharebench-nfs-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let volume = DirectoryVolume::open(&directory, &DirectoryOptions::default()).unwrap();
    let server = start(Arc::new(volume));
    conforms(&server);
    conforms_over_v4(&server, "vers=4.2&nconnect=2");
    server.stop();
    std::fs::remove_dir_all(&directory).unwrap();
}

pub async fn create(session: &mut dyn Session, path: &str) -> FileRef {
    match call(session, MetaOp::open(path, OpenHow::CreateNew)).await.unwrap() {
        MetaYield::Opened { file, .. } => file,
        other => panic!("{other:?}"),
    }
}

#[test]
fn wire_counts_are_exact_to_the_byte() {
    let server = start(memory());
    let target = target_at(server.addr().port(), "/export");
    run(async {
        let mut session = target.connect(&SessionSpec::default()).await.unwrap();
        let file = create(&mut *session, "f").await;
        let before = (session.wire(), server.counts());
        session.buffer(Slot(0))[..5].copy_from_slice(b"hello");
        let write = DataOp::Write { file, offset: 0, len: 5, stability: Stability::Durable };
        assert_eq!(reply_for(&mut *session, Slot(0), write).await.result, Ok(5));
        session.buffer(Slot(0)).fill(0);
        let read = reply_for(&mut *session, Slot(0), DataOp::Read { file, offset: 1, len: 100 }).await;
        assert_eq!((read.result, read.requests), (Ok(4), 1));
        assert_eq!(&session.buffer(Slot(0))[..4], b"ello");
        let wire = session.wire().since(before.0);
        assert_eq!((wire.requests, wire.payload_sent, wire.payload_received), (2, 5, 4));
        // Call: fragment header, xid and five words, AUTH_SYS of "sharebench", verifier; handle of 28 bytes,
        // offset, count; for the WRITE stable_how, length, 5 bytes and their padding.
        let head = 4 + 24 + (8 + 4 + 16 + 8 + 4) + 8 + 32 + 12;
        assert_eq!(wire.sent, 2 * head + 4 + 4 + 8);
        // Reply: fragment header, 24 bytes, status; attributes and the fields of RFC 1813, 3.3.6 and 3.3.7.
        assert_eq!(wire.received, 2 * (4 + 24 + 4) + (4 + 4 + 84 + 4 + 4 + 8) + (4 + 84 + 12 + 4));
        let counts = server.counts();
        for procedure in [Procedure::Read, Procedure::Write] {
            assert_eq!(counts.calls[procedure as usize] - before.1.calls[procedure as usize], 1);
        }
        session.close().await;
    });
}

#[test]
fn a_kept_directory_handle_that_became_stale_is_looked_up_again() {
    let server = start(memory());
    let target = target_at(server.addr().port(), "/export");
    run(async {
        let mut one = target.connect(&SessionSpec::default()).await.unwrap();
        let mut two = target.connect(&SessionSpec::default()).await.unwrap();
        let make = MetaOp::MakeDir { path: "d".into() };
        call(&mut *one, make.clone()).await.unwrap();
        call(&mut *two, MetaOp::RemoveDir { path: "d".into() }).await.unwrap();
        call(&mut *two, make).await.unwrap();
        let open = MetaOp::open("d/f", OpenHow::CreateNew);
        let reply = one.call(open).await;
        assert!(reply.result.is_ok(), "{reply:?}");
        // CREATE (stale), LOOKUP of the directory, CREATE.
        assert_eq!(reply.requests, 3);
    });
}

#[test]
fn every_part_of_a_url_is_blamed_for_its_own_failure() {
    let server = start(memory());
    let port = server.addr().port();
    let spec = SessionSpec::default();
    let fails = |port, path: &str, spec: &SessionSpec| {
        let target = target_at(port, path);
        let error = run(target.connect(spec)).err().unwrap();
        (error.part, error.class, error.to_string())
    };
    let (blamed, class, _) = fails(port, "/elsewhere", &spec);
    assert_eq!((blamed, class), (UrlPart::Share, ErrorClass::NotFound));
    let (blamed, class, _) = fails(port, "/export/no/such", &spec);
    assert_eq!((blamed, class), (UrlPart::Path, ErrorClass::NotFound));
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (blamed, class, _) = fails(free, "/export", &spec);
    assert_eq!((blamed, class), (UrlPart::Port, ErrorClass::Disconnected));
    let large = SessionSpec { slot_bytes: 4 << 20, ..spec };
    let (_, class, text) = fails(port, "/export", &large);
    assert_eq!(class, ErrorClass::Unsupported);
    assert!(text.contains("record size 4MiB exceeds the server's rtmax 1MiB"), "{text}");
}

#[test]
fn an_address_that_others_can_reach_is_rejected() {
    let addr = "0.0.0.0:0".parse().unwrap();
    assert!(NfsServer::start(addr, memory(), NfsServerOptions::default()).is_err());
}
