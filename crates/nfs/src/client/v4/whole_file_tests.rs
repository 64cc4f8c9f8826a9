//! Whole files by one call: lost connections, and a server that postpones the READ in the middle of a call.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use sharebench_model::{ErrorClass, Fact, MetaOp, MetaYield, OpenHow, Slot, WireCount};
use sharebench_target::{CallReply, Session, SessionSpec, Target, TargetUrl, call};

use super::tests::server;
use crate::canned::answer;
use crate::client::NfsTarget;
use crate::record::{NextRecord, next_record};
use crate::v4::compound::ReplyHead;
use crate::v4::item::Item;
use crate::v4::operation::Operation;
use crate::v4::status::Nfs4Status;
use crate::xdr::{Reader, Writer};

/// Bytes of the file that is read.
const LEN: u32 = 512;
/// Bytes of a reply in front of the COMPOUND: the fragment header and the head of RPC.
pub(super) const RPC_HEAD: usize = 28;
/// Results of SEQUENCE, PUTFH, OPEN, READ and CLOSE.
const WHOLE: u32 = 5;

async fn connect(address: SocketAddr) -> Box<dyn Session> {
    let text = format!("nfs://{address}/export?vers=4.1&compound=on");
    let target = NfsTarget::from_url(TargetUrl::parse(&text).unwrap()).unwrap();
    let spec = SessionSpec { slots: 1, slot_bytes: 4096, ..SessionSpec::default() };
    target.connect(&spec).await.unwrap()
}

#[tokio::test]
async fn a_whole_file_is_one_call_of_five_operations() {
    let (address, seen) = server(0, u64::MAX);
    let mut session = connect(address).await;
    assert!(session.reads_whole_files());
    assert_eq!(session.facts()[Fact::Compound], "on");
    let before = (session.wire(), seen.lock().unwrap().performed);
    let reply = session.read_file("data", LEN).await;
    assert_eq!((reply.slot, reply.result, reply.requests), (Slot(0), Ok(LEN), 1));
    let WireCount { requests, operations, payload_received, .. } = session.wire().since(before.0);
    assert_eq!((requests, operations, payload_received), (1, u64::from(WHOLE), u64::from(LEN)));
    assert_eq!(seen.lock().unwrap().performed - before.1, 1);
    let reply = session.read_file("data", 8192).await;
    assert_eq!(reply.requests, 0, "{reply:?}");
    assert!(reply.result.unwrap_err().detail.contains("8192"));
}

#[tokio::test]
async fn several_whole_files_are_in_flight_each_in_the_buffer_of_its_slot() {
    let (address, seen) = server(9, 20);
    let text = format!("nfs://{address}/export?vers=4.1&compound=on");
    let target = NfsTarget::from_url(TargetUrl::parse(&text).unwrap()).unwrap();
    let spec = SessionSpec { slots: 4, slot_bytes: 4096, ..SessionSpec::default() };
    let mut session = target.connect(&spec).await.unwrap();
    let before = seen.lock().unwrap().performed;
    let mut read = 0;
    let mut requests = 0;
    for slot in 0..4 {
        session.submit_read_file(Slot(slot), "data".into(), LEN).unwrap();
    }
    assert!(session.submit_read_file(Slot(0), "data".into(), LEN).is_err(), "the slot is in use");
    let mut in_flight = 4;
    let mut replies = Vec::new();
    while in_flight > 0 {
        let arrived = std::future::poll_fn(|cx| session.poll_calls(cx, &mut replies));
        tokio::time::timeout(std::time::Duration::from_secs(60), arrived).await.unwrap();
        for CallReply { slot, reply } in replies.drain(..) {
            in_flight -= 1;
            read += 1;
            requests += u64::from(reply.requests);
            assert_eq!(reply.result, Ok(MetaYield::Bytes(LEN.into())));
            assert_eq!(session.buffer(slot).len(), 4096);
            if read + in_flight < 200 {
                session.submit_read_file(slot, "data".into(), LEN).unwrap();
                in_flight += 1;
            }
        }
    }
    assert_eq!(seen.lock().unwrap().performed - before, 200);
    assert!(requests > 200, "no call was sent again");
    session.close().await;
}

#[tokio::test]
async fn whole_files_survive_the_loss_of_connections() {
    let (address, seen) = server(5, 5);
    let mut session = connect(address).await;
    let before = seen.lock().unwrap().performed;
    for _ in 0..50 {
        assert_eq!(session.read_file("data", LEN).await.result, Ok(LEN));
    }
    let seen = seen.lock().unwrap();
    assert_eq!(seen.performed - before, 50, "{seen:?}");
    assert!(seen.connections > 2, "no connection was lost");
}

/// Replaces the result of READ in a reply, and what follows it, by a failure.
fn fail_read(reply: &mut Vec<u8>, status: Nfs4Status) {
    let closed = 8 + 16;
    let read = 8 + 8 + LEN as usize;
    reply.truncate(reply.len() - closed - read);
    reply.extend((Operation::Read as u32).to_be_bytes());
    reply.extend(status.code().to_be_bytes());
    // The status of the COMPOUND, an empty tag, and the number of results.
    reply[RPC_HEAD..RPC_HEAD + 4].copy_from_slice(&status.code().to_be_bytes());
    reply[RPC_HEAD + 8..RPC_HEAD + 12].copy_from_slice(&(WHOLE - 1).to_be_bytes());
    let length = (reply.len() - 4) as u32 | 0x8000_0000;
    reply[..4].copy_from_slice(&length.to_be_bytes());
}

/// A server that changes the replies of one connection, given the call. It reports the number of results of each reply.
pub(super) fn changing_by_call(
    mut change: impl FnMut(&[u8], &mut Vec<u8>) + Send + 'static,
) -> (SocketAddr, Arc<Mutex<Vec<u32>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let counts = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&counts);
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut received = Vec::new();
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            received.extend_from_slice(&piece[..count]);
            while let NextRecord::Whole { start, end } = next_record(&received, 1 << 20).unwrap() {
                let record: Vec<u8> = received.drain(..end).skip(start).collect();
                let mut out = Writer::default();
                answer(&record, &mut out).unwrap();
                let mut reply = out.as_slice().to_vec();
                change(&record, &mut reply);
                shared.lock().unwrap().push(results_of(&reply));
                stream.write_all(&reply).unwrap();
            }
        }
    });
    (address, counts)
}

/// The same, whatever the call is.
pub(super) fn changing(
    mut change: impl FnMut(&mut Vec<u8>) + Send + 'static,
) -> (SocketAddr, Arc<Mutex<Vec<u32>>>) {
    changing_by_call(move |_, reply| change(reply))
}

fn results_of(reply: &[u8]) -> u32 {
    ReplyHead::get(&mut Reader::new(&reply[RPC_HEAD..])).unwrap().count
}

/// A server whose first READ of a whole file fails.
fn failing(status: Nfs4Status) -> (SocketAddr, Arc<Mutex<Vec<u32>>>) {
    let mut failed = false;
    changing(move |reply| {
        if results_of(reply) == WHOLE && !failed && reply.len() > LEN as usize {
            failed = true;
            fail_read(reply, status);
        }
    })
}

#[tokio::test]
async fn a_postponed_read_is_closed_and_repeated() {
    let (address, counts) = failing(Nfs4Status::Delay);
    let mut session = connect(address).await;
    let before = counts.lock().unwrap().len();
    assert_eq!(session.read_file("data", LEN).await.result, Ok(LEN));
    // The call up to READ; SEQUENCE, PUTFH, LOOKUP and CLOSE; the whole call.
    assert_eq!(counts.lock().unwrap()[before..], [WHOLE - 1, 4, WHOLE]);
}

#[tokio::test]
async fn a_failed_read_leaves_no_open_file() {
    let (address, counts) = failing(Nfs4Status::Io);
    let mut session = connect(address).await;
    let before = counts.lock().unwrap().len();
    let error = session.read_file("data", LEN).await.result.unwrap_err();
    assert_eq!(error.class, ErrorClass::Io, "{error:?}");
    assert_eq!(counts.lock().unwrap()[before..], [WHOLE - 1, 4]);
    assert_eq!(session.read_file("data", LEN).await.result, Ok(LEN));
}

/// Replaces a reply by one whose SEQUENCE fails.
fn fail_sequence(reply: &mut Vec<u8>, status: Nfs4Status) {
    reply.truncate(RPC_HEAD);
    for word in [status.code(), 0, 1, Operation::Sequence as u32, status.code()] {
        reply.extend(word.to_be_bytes());
    }
    let length = (reply.len() - 4) as u32 | 0x8000_0000;
    reply[..4].copy_from_slice(&length.to_be_bytes());
}

#[tokio::test]
async fn a_server_that_forgot_an_idle_client_gets_a_new_one() {
    let forget = Arc::new(Mutex::new(false));
    let forgets = Arc::clone(&forget);
    let (address, counts) = changing(move |reply| {
        if std::mem::take(&mut *forgets.lock().unwrap()) {
            fail_sequence(reply, Nfs4Status::Badsession);
        }
    });
    let mut session = connect(address).await;
    *forget.lock().unwrap() = true;
    let before = counts.lock().unwrap().len();
    assert_eq!(session.read_file("data", LEN).await.result, Ok(LEN));
    // The rejected call, EXCHANGE_ID, CREATE_SESSION, RECLAIM_COMPLETE after SEQUENCE, and the call in the new session.
    assert_eq!(counts.lock().unwrap()[before..], [1, 1, 1, 2, WHOLE]);
    assert_eq!(session.facts()[Fact::ClientsReplaced], "1");
    // With an open file something is lost.
    call(&mut *session, MetaOp::open("data", OpenHow::Read)).await.unwrap();
    *forget.lock().unwrap() = true;
    let error = call(&mut *session, MetaOp::Stat { path: "data".into() }).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Disconnected, "{error:?}");
}
