//! Operations on names in flight, at a server that answers none of them before all have arrived.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sharebench_model::{DataOp, ErrorClass, MetaOp, MetaYield, OpenHow, Slot};
use sharebench_target::{Session, SessionSpec, Target, TargetUrl, call};

use crate::canned::answer;
use crate::client::NfsTarget;
use crate::record::{NextRecord, next_record};
use crate::xdr::Writer;

const DEPTH: u32 = 8;
const VERSIONS: [&str; 3] = ["vers=3", "vers=4.0", "vers=4.1"];

/// A server that waits for as many calls as the number says, on all of its connections, before it answers them in reverse order. At
/// 0 it answers each call at once.
fn server() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let held = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&held);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let held = Arc::clone(&shared);
            std::thread::spawn(move || serve(stream.unwrap(), &held));
        }
    });
    (address, held)
}

fn serve(mut stream: TcpStream, held: &AtomicUsize) {
    let mut received = Vec::new();
    let mut piece = [0; 4096];
    let mut waiting: Vec<Vec<u8>> = Vec::new();
    loop {
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => received.extend_from_slice(&piece[..count]),
            _ => return,
        }
        while let NextRecord::Whole { start, end } = next_record(&received, 1 << 20).unwrap() {
            waiting.push(received.drain(..end).skip(start).collect());
        }
        if waiting.len() < held.load(Ordering::SeqCst) {
            continue;
        }
        let mut out = Writer::default();
        for record in waiting.drain(..).rev() {
            answer(&record, &mut out).unwrap();
        }
        if stream.write_all(out.as_slice()).is_err() {
            return;
        }
    }
}

async fn connect(address: SocketAddr, options: &str) -> Box<dyn Session> {
    // Version 4 has no mount service.
    let mount = if options == "vers=3" { format!("&mountport={}", address.port()) } else { String::new() };
    let text = format!("nfs://{address}/export?{options}{mount}");
    let target = NfsTarget::from_url(TargetUrl::parse(&text).unwrap()).unwrap();
    let spec = SessionSpec { slots: DEPTH, slot_bytes: 4096, ..SessionSpec::default() };
    target.connect(&spec).await.unwrap()
}

/// Waits for the replies to operations in all slots, and returns the results with the requests of each, in the order of the slots.
async fn replies(session: &mut dyn Session) -> Vec<(Result<MetaYield, ErrorClass>, u32)> {
    let mut replies = Vec::new();
    while replies.len() < DEPTH as usize {
        let arrived = poll_fn(|cx| session.poll_calls(cx, &mut replies));
        tokio::time::timeout(Duration::from_secs(60), arrived).await.unwrap();
    }
    replies.sort_by_key(|reply| reply.slot);
    let slots: Vec<u32> = replies.iter().map(|reply| reply.slot.0).collect();
    assert_eq!(slots, (0..DEPTH).collect::<Vec<_>>());
    let shown = replies.into_iter().map(|reply| reply.reply);
    shown.map(|reply| (reply.result.map_err(|error| error.class), reply.requests)).collect()
}

#[tokio::test]
async fn a_queue_of_operations_is_on_the_wire_at_once() {
    for version in VERSIONS {
        let (address, held) = server();
        let mut session = connect(address, version).await;
        let before = session.wire();
        held.store(DEPTH as usize, Ordering::SeqCst);
        for slot in 0..DEPTH {
            session.submit_call(Slot(slot), MetaOp::Stat { path: format!("file{slot}") }).unwrap();
        }
        let replies = replies(&mut *session).await;
        assert!(replies.iter().all(|(result, requests)| result.is_ok() && *requests == 1), "{replies:?}");
        assert_eq!(session.wire().since(before).requests, u64::from(DEPTH), "{version}");
        held.store(0, Ordering::SeqCst);
        session.close().await;
    }
}

#[tokio::test]
async fn data_and_names_are_in_flight_together() {
    for version in VERSIONS {
        let (address, held) = server();
        let mut session = connect(address, version).await;
        let opened = call(&mut *session, MetaOp::open("data", OpenHow::Read)).await.unwrap();
        let (file, _) = opened.into_opened().unwrap();
        held.store(DEPTH as usize, Ordering::SeqCst);
        for slot in 0..DEPTH / 2 {
            session.submit(Slot(slot), DataOp::Read { file, offset: 0, len: 4096 });
        }
        for slot in DEPTH / 2..DEPTH {
            session.submit_call(Slot(slot), MetaOp::Stat { path: "data".into() }).unwrap();
        }
        let mut calls = Vec::new();
        let mut data = Vec::new();
        while calls.len() + data.len() < DEPTH as usize {
            let arrived = poll_fn(|cx| {
                let called = session.poll_calls(cx, &mut calls);
                if called.is_ready() { called } else { session.poll_replies(cx, &mut data) }
            });
            tokio::time::timeout(Duration::from_secs(60), arrived).await.unwrap();
        }
        assert!(calls.iter().all(|call| call.reply.result.is_ok()), "{calls:?}");
        assert!(data.iter().all(|reply| reply.result == Ok(4096) && reply.requests == 1), "{data:?}");
        assert_eq!((calls.len(), data.len()), (4, 4), "{version}");
        held.store(0, Ordering::SeqCst);
        session.close().await;
    }
}

#[tokio::test]
async fn a_slot_in_use_and_an_operation_that_cannot_overlap_are_rejected() {
    for version in VERSIONS {
        let (address, _) = server();
        let mut session = connect(address, version).await;
        let stat = || MetaOp::Stat { path: "file".into() };
        let mut class = |slot, op| session.submit_call(Slot(slot), op).map_err(|error| error.class);
        assert_eq!(class(0, stat()), Ok(()));
        assert_eq!(class(0, stat()), Err(ErrorClass::Busy), "{version}");
        assert_eq!(class(DEPTH, stat()), Err(ErrorClass::Busy), "{version}");
        assert_eq!(class(1, MetaOp::List { path: String::new() }), Err(ErrorClass::Unsupported), "{version}");
        for slot in 1..DEPTH {
            assert_eq!(class(slot, stat()), Ok(()));
        }
        replies(&mut *session).await;
        session.close().await;
    }
}
