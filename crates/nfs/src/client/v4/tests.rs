//! Lost replies and lost connections, at a server that performs each call of a session exactly once.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sharebench_model::{DataOp, Fact, FileRef, MetaOp, MetaYield, OpenHow, Random, Slot, Stability};
use sharebench_target::{CallReply, Session, SessionSpec, Target, TargetUrl, call, reply_for};

use crate::canned::answer;
use crate::client::NfsTarget;
use crate::record::{NextRecord, next_record};
use crate::rpc::CallHeader;
use crate::v4::compound::{CallHead, get_operation};
use crate::v4::item::Item;
use crate::v4::operation::Operation;
use crate::v4::session::Sequence;
use crate::xdr::{Reader, Writer};

/// Number of operations that the client performs.
const OPERATIONS: u64 = 200;

/// What the server has seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The last call of each slot, and the reply to it.
    slots: HashMap<u32, (u32, Vec<u8>)>,
    pub(super) performed: u64,
    replayed: u64,
    pub(super) connections: u64,
}

/// How a connection ends around a call.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// Before the server performs it.
    Before,
    /// After the server has performed it, without a reply.
    After,
}

/// A server that closes the connection around some of the calls.
pub(super) fn server(seed: u64, one_in: u64) -> (SocketAddr, Arc<Mutex<Seen>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let shared = Arc::clone(&seen);
    let random = Arc::new(Mutex::new(Random::new(seed, 0)));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let seen = Arc::clone(&shared);
            let random = Arc::clone(&random);
            seen.lock().unwrap().connections += 1;
            std::thread::spawn(move || serve(stream.unwrap(), &seen, &random, one_in));
        }
    });
    (address, seen)
}

fn serve(mut stream: TcpStream, seen: &Mutex<Seen>, random: &Mutex<Random>, one_in: u64) {
    let mut received = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => received.extend_from_slice(&piece[..count]),
            _ => return,
        }
        while let NextRecord::Whole { start, end } = next_record(&received, 1 << 20).unwrap() {
            let record: Vec<u8> = received.drain(..end).skip(start).collect();
            let cut = {
                let mut random = random.lock().unwrap();
                let chosen = random.below(one_in) == 0;
                chosen.then(|| if random.below(2) == 0 { Cut::Before } else { Cut::After })
            };
            // A connection is cut only while the session exists: the calls before it are not protected.
            let Some(reply) = perform(&record, &mut seen.lock().unwrap(), cut) else { return };
            if stream.write_all(&reply).is_err() {
                return;
            }
        }
    }
}

/// Performs a call at most once; none if the connection ends.
fn perform(record: &[u8], seen: &mut Seen, cut: Option<Cut>) -> Option<Vec<u8>> {
    let mut out = Writer::default();
    let Some(Sequence { slot, sequence, .. }) = sequence_of(record) else {
        answer(record, &mut out).unwrap();
        return Some(out.as_slice().to_vec());
    };
    if matches!(cut, Some(Cut::Before)) {
        return None;
    }
    let last = seen.slots.get(&slot);
    let reply = match last {
        Some((last, reply)) if *last == sequence => {
            seen.replayed += 1;
            let mut reply = reply.clone();
            // The reply belongs to the repeated call.
            reply[4..8].copy_from_slice(&record[..4]);
            reply
        }
        _ => {
            assert_eq!(sequence, last.map_or(1, |(last, _)| last + 1), "slot {slot}");
            seen.performed += 1;
            answer(record, &mut out).unwrap();
            seen.slots.insert(slot, (sequence, out.as_slice().to_vec()));
            out.as_slice().to_vec()
        }
    };
    (!matches!(cut, Some(Cut::After))).then_some(reply)
}

fn sequence_of(record: &[u8]) -> Option<Sequence> {
    let mut reader = Reader::new(record);
    CallHeader::get(&mut reader).ok()?;
    CallHead::get(&mut reader).ok()?;
    match get_operation(&mut reader).ok()? {
        Some(Operation::Sequence) => Sequence::get(&mut reader).ok(),
        _ => None,
    }
}

async fn connect(address: SocketAddr, options: &str) -> (Box<dyn Session>, FileRef) {
    let text = format!("nfs://{address}/export?vers=4.1{options}");
    let target = NfsTarget::from_url(TargetUrl::parse(&text).unwrap()).unwrap();
    let spec = SessionSpec { slots: 4, slot_bytes: 4096, ..SessionSpec::default() };
    let mut session = target.connect(&spec).await.unwrap();
    let (file, _) =
        call(&mut *session, MetaOp::open("data", OpenHow::ReadWrite)).await.unwrap().into_opened().unwrap();
    (session, file)
}

#[tokio::test]
async fn a_lost_reply_is_answered_from_the_slot_and_nothing_is_performed_twice() {
    for seed in 0..4 {
        let (address, seen) = server(seed, 10);
        let (mut session, file) = connect(address, "").await;
        let before = seen.lock().unwrap().performed;
        for number in 0..OPERATIONS {
            let offset = number * 512;
            let op = if number % 2 == 0 {
                DataOp::Write { file, offset, len: 512, stability: Stability::Unstable }
            } else {
                DataOp::Read { file, offset, len: 4096 }
            };
            let reply = reply_for(&mut *session, Slot((number % 4) as u32), op).await;
            assert!(reply.result.is_ok(), "{number}: {reply:?}");
        }
        let seen = seen.lock().unwrap();
        assert_eq!(seen.performed - before, OPERATIONS, "{seen:?}");
        assert!(seen.replayed > 0 && seen.connections > 2, "seed {seed} lost no reply");
    }
}

#[tokio::test]
async fn renewals_of_an_idle_session_leave_its_slots_free() {
    let (address, seen) = server(0, u64::MAX);
    let (mut session, file) = connect(address, "").await;
    let before = seen.lock().unwrap().performed;
    // The clock jumps to the next renewal whenever nothing else can happen.
    tokio::time::pause();
    std::future::poll_fn(|cx| {
        session.poll_keepalive(cx);
        let renewed = seen.lock().unwrap().performed - before;
        if renewed < 8 { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    tokio::time::resume();
    // More renewals than the session has slots: each has returned its slot.
    let reply = reply_for(&mut *session, Slot(0), DataOp::Read { file, offset: 0, len: 512 }).await;
    assert_eq!(reply.result, Ok(512));
}

#[tokio::test]
async fn a_call_gets_its_reply_after_that_of_a_renewal_in_flight() {
    let (address, _) = server(0, u64::MAX);
    let (mut session, file) = connect(address, "").await;
    call(&mut *session, MetaOp::Close { file }).await.unwrap();
    for _ in 0..200 {
        let before = session.wire().requests;
        tokio::time::pause();
        std::future::poll_fn(|cx| {
            session.poll_keepalive(cx);
            if session.wire().requests == before {
                std::task::Poll::Pending
            } else {
                std::task::Poll::Ready(())
            }
        })
        .await;
        tokio::time::resume();
        // The server writes the two replies one after the other, so that often only the first one is there to be read.
        let removed = call(&mut *session, MetaOp::Remove { path: "data".into() });
        tokio::time::timeout(Duration::from_secs(60), removed).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn names_and_states_survive_the_loss_of_connections() {
    let (address, seen) = server(7, 5);
    let (mut session, file) = connect(address, "").await;
    call(&mut *session, MetaOp::Close { file }).await.unwrap();
    let before = seen.lock().unwrap().performed;
    for _ in 0..OPERATIONS / 4 {
        let opened = call(&mut *session, MetaOp::open("data", OpenHow::Read)).await.unwrap();
        let (file, _) = opened.into_opened().unwrap();
        call(&mut *session, MetaOp::Close { file }).await.unwrap();
        call(&mut *session, MetaOp::Remove { path: "data".into() }).await.unwrap();
    }
    assert_eq!(seen.lock().unwrap().performed - before, 3 * OPERATIONS / 4);
    session.close().await;
}

#[tokio::test]
async fn operations_in_flight_survive_the_loss_of_connections_and_none_is_performed_twice() {
    for (seed, options) in [(7, ""), (8, "&nconnect=3")] {
        let (address, seen) = server(seed, 40);
        let (mut session, file) = connect(address, options).await;
        call(&mut *session, MetaOp::Close { file }).await.unwrap();
        let before = seen.lock().unwrap().performed;
        let open = || MetaOp::open("data", OpenHow::Read);
        let mut left = OPERATIONS;
        for slot in 0..4 {
            session.submit_call(Slot(slot), open()).unwrap();
        }
        let mut in_flight = 4;
        let mut requests = 0;
        let mut replies = Vec::new();
        while in_flight > 0 {
            let arrived = std::future::poll_fn(|cx| session.poll_calls(cx, &mut replies));
            tokio::time::timeout(Duration::from_secs(60), arrived).await.unwrap();
            for CallReply { slot, reply } in replies.drain(..) {
                in_flight -= 1;
                requests += u64::from(reply.requests);
                let next = match reply.result.unwrap() {
                    MetaYield::Opened { file, .. } => Some(MetaOp::Close { file }),
                    _ if left > 0 => Some(open()),
                    _ => None,
                };
                if let Some(next) = next {
                    left -= u64::from(matches!(next, MetaOp::Open { .. }));
                    session.submit_call(slot, next).unwrap();
                    in_flight += 1;
                }
            }
        }
        let performed = seen.lock().unwrap().performed - before;
        assert_eq!(performed, 2 * (OPERATIONS + 4), "seed {seed}");
        assert!(requests > performed, "seed {seed}: no call was sent again");
        session.close().await;
    }
}

#[tokio::test]
async fn the_loss_of_one_of_several_connections_fails_no_operation() {
    let (address, seen) = server(3, 50);
    let (mut session, file) = connect(address, "&nconnect=4").await;
    assert_eq!(session.facts()[Fact::Nconnect], "4");
    let before = seen.lock().unwrap().performed;
    let mut replies = Vec::new();
    let mut requests = 0;
    for _ in 0..OPERATIONS / 4 {
        for slot in 0..4 {
            session.submit(Slot(slot), DataOp::Read { file, offset: 0, len: 4096 });
        }
        while replies.len() < 4 {
            std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
        }
        for reply in replies.drain(..) {
            assert_eq!(reply.result, Ok(4096));
            requests += u64::from(reply.requests);
        }
    }
    let lost = session.facts()[Fact::ConnectionsLost].parse::<u64>().unwrap();
    assert!(lost > 0 && requests > OPERATIONS, "{lost} lost, {requests} requests");
    assert_eq!(seen.lock().unwrap().performed - before, OPERATIONS);
}
