//! The adapter against the embedded server: conformance over each transport, and the classes of errors.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use sharebench_doubles::conformance::Suite;
use sharebench_model::{
    DataOp, ErrorClass, Fact, IoPolicy, MetaOp, MetaYield, OpenHow, Slot, Stability, SyncPolicy,
};
use sharebench_ncp::receive_buffer;
use sharebench_ncp::security::level::Level;
use sharebench_ncp::target::NcpTarget;
use sharebench_server::{DosAttributes, MemoryVolume, NcpServer, NcpServerOptions, ROOT, Volume};
use sharebench_target::{
    Capabilities, ConnectError, Secret, Session, SessionSpec, Target, TargetUrl, UrlPart, call, reply_for,
};

const PASSWORD: &str = "Pass word";

/// A server with the volume SHARE and the user lab.
fn server(signatures: Level) -> NcpServer {
    let accounts = vec![("lab".to_owned(), Secret::new(PASSWORD))];
    let options = NcpServerOptions { accounts, signatures, threads: 1, ..NcpServerOptions::default() };
    let volume = Arc::new(MemoryVolume::new(256 << 20));
    NcpServer::start("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

/// The same server on IPX in UDP.
fn ipx_server() -> NcpServer {
    let accounts = vec![("lab".to_owned(), Secret::new(PASSWORD))];
    let options = NcpServerOptions { accounts, threads: 1, ..NcpServerOptions::default() };
    let volume = Arc::new(MemoryVolume::new(256 << 20));
    NcpServer::start_ipx("127.0.0.1:0".parse().unwrap(), volume, options).unwrap()
}

fn target(text: &str, password: &str) -> NcpTarget {
    NcpTarget::from_url(TargetUrl::parse(text).unwrap(), Secret::new(password)).unwrap()
}

fn at(server: &NcpServer, rest: &str) -> NcpTarget {
    target(&format!("ncp://lab@{}/{rest}", server.addr()), PASSWORD)
}

async fn connect(target: &NcpTarget, slots: u32, slot_bytes: u32) -> Result<Box<dyn Session>, ConnectError> {
    let spec =
        SessionSpec { slots, slot_bytes, connect_timeout: Duration::from_secs(10), allow_split: false };
    target.connect(&spec).await
}

fn refused(connected: Result<Box<dyn Session>, ConnectError>) -> ConnectError {
    connected.err().expect("a session that cannot be")
}

/// The largest depth over datagrams: the server's one socket receives those of all connections, and a system may grant a
/// small receive buffer.
fn max_depth() -> u32 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let granted = receive_buffer::grow(&socket, receive_buffer::OF_SERVER).unwrap();
    if granted >= receive_buffer::OF_SERVER { 32 } else { 4 }
}

/// Other servers answer "no rights to delete" for open files too, as this one does for protected ones.
#[tokio::test]
async fn a_file_that_is_still_open_is_distinguished_from_one_that_may_not_be_deleted() {
    let volume = Arc::new(MemoryVolume::new(1 << 20));
    let accounts = vec![("lab".to_owned(), Secret::new(PASSWORD))];
    let options = NcpServerOptions { accounts, threads: 1, ..NcpServerOptions::default() };
    let server = NcpServer::start("127.0.0.1:0".parse().unwrap(), Arc::clone(&volume) as _, options).unwrap();
    let target = at(&server, "SHARE");
    let mut writer = target.connect(&SessionSpec::default()).await.unwrap();
    let mut cleaner = target.connect(&SessionSpec::default()).await.unwrap();
    let opened = call(&mut *writer, MetaOp::open("file".to_owned(), OpenHow::CreateNew)).await.unwrap();
    let MetaYield::Opened { file, .. } = opened else { panic!("{opened:?}") };
    let node = volume.lookup(ROOT, "file").unwrap().node;
    let protected = DosAttributes { bits: 0x40000, created: None };
    volume.set_dos_attributes(node, &protected).unwrap();
    let remove = || MetaOp::Remove { path: "file".to_owned() };
    let error = call(&mut *cleaner, remove()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Busy);
    assert!(error.to_string().contains("still open on the server"), "{error}");
    call(&mut *writer, MetaOp::Close { file }).await.unwrap();
    let error = call(&mut *cleaner, remove()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Refused, "{error}");
    volume.set_dos_attributes(node, &DosAttributes { bits: 0, created: None }).unwrap();
    call(&mut *cleaner, remove()).await.unwrap();
}

#[tokio::test]
async fn target_conforms_over_every_transport_signed_and_unsigned() {
    let server = server(Level::IfRequested);
    let ipx = ipx_server();
    // The protocol has no durable writes to files opened without write-through.
    let skip = &["flush and durable write"][..];
    for options in [
        "",
        "?sign=3",
        "?connections=4",
        "?transport=udp",
        "?transport=udp&sign=2",
        "?transport=udp&buffer=1024&sign=3&connections=2",
        "?transport=udp&burst=on",
        "?transport=udp&burst=on&window=8192&packet=4000",
        "?transport=ipx",
        "?transport=ipx&sign=3&buffer=8192&connections=2",
        "?transport=ipx&burst=on&window=24576",
    ] {
        let server = if options.contains("ipx") { &ipx } else { &server };
        // Requests are counted, so a slow machine must not cause retransmissions.
        let patient = if options.contains("transport") { "&retry=5s" } else { "" };
        let target = at(server, &format!("share{options}{patient}"));
        let max_depth = if options.contains("transport") { max_depth() } else { 32 };
        let suite = Suite { skip, max_depth, secret: Some(PASSWORD.into()), ..Suite::default() };
        let summary = suite.run(&target).await.unwrap_or_else(|failures| panic!("{options}: {failures}"));
        assert!(summary.counted.requests > 1000, "{options}: {summary:?}");
    }
}

#[tokio::test]
async fn target_with_cache_conforms_except_for_coherence() {
    let server = server(Level::IfRequested);
    let skip = &["flush and durable write", "two sessions"][..];
    for options in [
        "?cache=1&connections=1",
        "?cache=5&commit=on",
        "?cache=3&buffer=1000&sign=3&connections=7",
        "?transport=udp&burst=on&cache=4&connections=1",
    ] {
        let target = at(&server, &format!("share{options}"));
        let suite = Suite { skip, secret: Some(PASSWORD.into()), ..Suite::default() };
        let summary = suite.run(&target).await.unwrap_or_else(|failures| panic!("{options}: {failures}"));
        assert!(summary.counted.requests > 500, "{options}: {summary:?}");
    }
}

#[tokio::test]
async fn facts_have_the_negotiated_values() {
    let server = server(Level::Always);
    let target = at(&server, "SHARE?transport=udp&buffer=4096&retry=5s");
    let session = connect(&target, 1, 4096).await.unwrap();
    let facts = session.facts();
    for (fact, value) in [
        (Fact::Transport, "udp"),
        (Fact::Server, "SHAREBENCH 3.11"),
        (Fact::Buffer, "4096"),
        (Fact::Signed, "true"),
        (Fact::Names, "long"),
        (Fact::Connections, "1"),
        (Fact::RequestsPerConnection, "1"),
        (Fact::Resent, "0"),
    ] {
        assert_eq!(facts.get(fact), Some(value), "{fact:?}: {facts:?}");
    }
    session.close().await;
    assert_eq!(server.connections(), 0);
}

/// A record of several windows is transferred in as many bursts.
#[tokio::test]
async fn adaptive_bursts_transfer_records_that_exceed_their_window() {
    let server = server(Level::IfRequested);
    let ipx = ipx_server();
    for (server, transport) in [(&server, "udp"), (&ipx, "ipx")] {
        let options = format!("SHARE?transport={transport}&burst=on&window=auto&gap=auto&retry=5s");
        let target = at(server, &options);
        assert_eq!(target.capabilities().max_record, 61_440);
        let mut session = connect(&target, 1, 61_440).await.unwrap();
        let facts = session.facts();
        for (fact, value) in
            [(Fact::BurstWindow, "auto, at most 61440"), (Fact::BurstGap, "auto"), (Fact::Burst, "on")]
        {
            assert_eq!(facts.get(fact), Some(value), "{facts:?}");
        }
        let open = MetaOp::open("adaptive", OpenHow::CreateNew);
        let MetaYield::Opened { file, .. } = call(&mut *session, open).await.unwrap() else { panic!() };
        let slot = Slot(0);
        let data: Vec<u8> = (0..61_440_usize).map(|at| (at * 31 + at / 251) as u8).collect();
        let mut requests = Vec::new();
        for _ in 0..6 {
            session.buffer(slot).copy_from_slice(&data);
            let write = DataOp::Write { file, offset: 0, len: 61_440, stability: Stability::Unstable };
            let reply = reply_for(&mut *session, slot, write).await;
            assert_eq!(reply.result, Ok(61_440));
            requests.push(reply.requests);
            session.buffer(slot).fill(0);
            let reply = reply_for(&mut *session, slot, DataOp::Read { file, offset: 0, len: 61_440 }).await;
            assert_eq!(reply.result, Ok(61_440));
            assert!(session.buffer(slot) == data);
        }
        assert!(requests[0] > 1, "the first windows are small: {requests:?}");
        session.close().await;
        let facts = target.final_facts();
        assert!(facts[Fact::BurstWindowUsed].starts_with("42"), "{facts:?}");
        assert!(facts[Fact::BurstGapUsed].starts_with("0ns to "), "{facts:?}");
        assert!(facts.get(Fact::BurstFragmentsLost).is_some(), "{facts:?}");
    }
}

#[tokio::test]
async fn rejected_burst_is_among_the_facts() {
    // A signed connection has no bursts.
    let server = server(Level::Always);
    let target = at(&server, "SHARE?transport=udp&burst=on&sign=3&retry=5s");
    let session = connect(&target, 1, 512).await.unwrap();
    let facts = session.facts();
    assert_eq!(facts.get(Fact::Burst), Some("refused"), "{facts:?}");
    let missing = &facts[Fact::NotGranted];
    assert!(missing.starts_with("packet burst (burst=on); one request carries"), "{missing}");
    session.close().await;
}

#[tokio::test]
async fn write_through_applies_to_open_files_and_not_to_single_writes() {
    let server = server(Level::IfRequested);
    let target = at(&server, "SHARE");
    let mut session = connect(&target, 1, 512).await.unwrap();
    let through = IoPolicy { sync: SyncPolicy::WriteThrough, ..IoPolicy::default() };
    for (policy, counted) in [(IoPolicy::default(), 0), (through, 1)] {
        let open = MetaOp::Open { path: format!("file-{counted}"), how: OpenHow::CreateNew, policy };
        let MetaYield::Opened { file, .. } = call(&mut *session, open).await.unwrap() else { panic!() };
        let write = |stability| DataOp::Write { file, offset: 0, len: 512, stability };
        let slot = Slot(0);
        let durable = write(Stability::Durable);
        let reply = reply_for(&mut *session, slot, durable).await;
        assert_eq!(session.policy_count().through, counted);
        match reply.result {
            Ok(512) => assert_eq!(counted, 1),
            Err(error) => assert_eq!((counted, error.class), (0, ErrorClass::Unsupported)),
            other => panic!("{other:?}"),
        }
    }
    session.close().await;
}

#[tokio::test]
async fn connect_errors_name_their_part_of_the_url() {
    let server = server(Level::Never);
    let at = |rest: &str| at(&server, rest);
    let wrong = target(&format!("ncp://lab@{}/SHARE", server.addr()), "wrong");
    let nobody = target(&format!("ncp://nobody@{}/SHARE", server.addr()), PASSWORD);
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = target(&format!("ncp://lab@{port}/SHARE"), PASSWORD);
    let unknown = target("ncp://lab@no.such.host.invalid/SHARE", PASSWORD);
    for (target, part, class) in [
        (wrong, UrlPart::Credentials, ErrorClass::Refused),
        (nobody, UrlPart::Credentials, ErrorClass::Refused),
        (silent, UrlPart::Port, ErrorClass::Disconnected),
        (unknown, UrlPart::Host, ErrorClass::NotFound),
        (at("NONE"), UrlPart::Share, ErrorClass::NotFound),
        (at("SHARE/none"), UrlPart::Path, ErrorClass::NotFound),
        (at("SHARE?sign=3"), UrlPart::Option("sign"), ErrorClass::Refused),
    ] {
        let error = refused(connect(&target, 1, 512).await);
        assert_eq!((error.part, error.class), (part, class), "{error}");
        assert!(!error.to_string().contains(PASSWORD));
    }
    let deep = refused(connect(&at("SHARE?connections=2"), 4, 512).await);
    assert!(deep.to_string().contains("one outstanding request per connection"), "{deep}");
    let session = connect(&at("SHARE"), 4, 512).await.unwrap();
    assert_eq!(session.facts().get(Fact::Connections), Some("4"));
    session.close().await;
    let Capabilities { max_record, max_queue_depth, .. } =
        at("SHARE?buffer=1024&connections=3").capabilities();
    assert_eq!((max_record, max_queue_depth), (1024, 3));
}

#[tokio::test]
async fn records_are_split_only_on_request_and_every_request_counts() {
    let server = server(Level::IfRequested);
    let whole = at(&server, "SHARE?transport=udp&buffer=4096");
    let split = at(&server, "SHARE?buffer=4096&split=on");
    assert_eq!((whole.capabilities().max_record, split.capabilities().max_record), (4096, 16 << 20));
    let slot = Slot(0);
    let data: Vec<u8> = (0..10_000).map(|at| (at * 31 + at / 251) as u8).collect();
    for (target, requests) in [(&whole, 0), (&split, 3)] {
        let mut session = connect(target, 1, 10_000).await.unwrap();
        let open = MetaOp::open(format!("split-{requests}"), OpenHow::CreateNew);
        let MetaYield::Opened { file, .. } = call(&mut *session, open).await.unwrap() else { panic!() };
        session.buffer(slot).copy_from_slice(&data);
        let write = DataOp::Write { file, offset: 1, len: 10_000, stability: Stability::Unstable };
        let before = session.wire();
        let reply = reply_for(&mut *session, slot, write).await;
        assert_eq!(reply.requests, requests);
        if requests == 0 {
            assert!(reply.result.unwrap_err().to_string().contains("split=on"));
            continue;
        }
        session.buffer(slot).fill(0);
        let read = DataOp::Read { file, offset: 0, len: 10_000 };
        let reply = reply_for(&mut *session, slot, read).await;
        assert_eq!((reply.result, reply.requests), (Ok(10_000), 3));
        assert!(session.buffer(slot)[1..] == data[..9_999]);
        let end = DataOp::Read { file, offset: 8192, len: 10_000 };
        let reply = reply_for(&mut *session, slot, end).await;
        assert_eq!((reply.result, reply.requests), (Ok(1809), 1), "a short part is the end of the file");
        let wire = session.wire().since(before);
        assert_eq!((wire.requests, wire.payload_sent, wire.payload_received), (7, 10_000, 11_809));
        let nothing = DataOp::Write { file, offset: 0, len: 0, stability: Stability::Unstable };
        assert!(reply_for(&mut *session, slot, nothing).await.result.is_err());
        session.close().await;
    }
}

/// The clock advances only during waits, so the test takes no time.
#[tokio::test(start_paused = true)]
async fn silent_server_ends_the_wait() {
    for transport in ["udp", "ipx"] {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let text = format!("ncp://lab@{}/SHARE?transport={transport}", silent.local_addr().unwrap());
        let start = tokio::time::Instant::now();
        let error = refused(connect(&target(&text, PASSWORD), 1, 512).await);
        assert_eq!(error.class, ErrorClass::Timeout, "{error}");
        assert_eq!(start.elapsed().as_secs(), 10);
        // Creates or registrations at 0, 0.6, 1.8, 4.2 and 9 seconds.
        silent.set_nonblocking(true).unwrap();
        let mut sent = 0;
        while silent.recv(&mut [0; 64]).is_ok() {
            sent += 1;
        }
        assert_eq!(sent, 5, "{transport}");
    }
}

#[tokio::test]
async fn lost_server_is_reported() {
    for options in ["", "?transport=udp&retry=1ms"] {
        let server = server(Level::IfRequested);
        let target = at(&server, &format!("SHARE{options}"));
        let mut session = connect(&target, 1, 512).await.unwrap();
        server.stop();
        for _ in 0..2 {
            let error = call(&mut *session, MetaOp::Stat { path: String::new() }).await.unwrap_err();
            assert!(
                matches!(error.class, ErrorClass::Disconnected | ErrorClass::Timeout),
                "{options}: {error}"
            );
        }
        session.close().await;
    }
}
