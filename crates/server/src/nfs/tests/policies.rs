//! How the client adapter requests durability, byte by byte, and how it treats a server that provides less.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use sharebench_model::{
    CachePolicy, DataOp, ErrorClass, IoPolicy, MetaOp, MetaYield, OpStep, OpenHow, Reply, Slot, Stability,
    SyncPolicy,
};
use sharebench_nfs::canned;
use sharebench_nfs::xdr::Writer;
use sharebench_target::{SessionSpec, Target, call, reply_for};

use super::peers::record;
use super::{run, target_at};

const WRITE: u32 = 7;
const LEN: u32 = 64;

// RFC 1813, 3.3.7: stable_how.
const UNSTABLE: u32 = 0;
const DATA_SYNC: u32 = 1;
const FILE_SYNC: u32 = 2;

/// A server that reports the stability that every WRITE requests, and answers with `committed`, or with what was
/// requested.
fn peer(committed: Option<u32>) -> (u16, mpsc::Receiver<u32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, requested) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let sender = sender.clone();
            thread::spawn(move || {
                while let Some(call) = record(&mut stream) {
                    let mut out = Writer::default();
                    canned::answer(&call, &mut out).unwrap();
                    let mut reply = out.as_slice().to_vec();
                    if call[20..24] == WRITE.to_be_bytes() {
                        // Arguments end with stable_how, the length of the data and the data.
                        let at = call.len() - LEN as usize - 8;
                        let stable = u32::from_be_bytes(call[at..at + 4].try_into().unwrap());
                        let _ = sender.send(stable);
                        // Results end with the stability and the verifier.
                        let at = reply.len() - 12;
                        reply[at..at + 4].copy_from_slice(&committed.unwrap_or(stable).to_be_bytes());
                    }
                    if stream.write_all(&reply).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (port, requested)
}

/// One WRITE to a file opened with a policy: its reply, the adapter's count, and the stability on the wire.
fn one_write(
    sync: SyncPolicy,
    stability: Stability,
    committed: Option<u32>,
) -> (Reply, sharebench_model::PolicyCount, u32) {
    let (port, requested) = peer(committed);
    run(async {
        let spec = SessionSpec { slots: 1, slot_bytes: LEN, ..SessionSpec::default() };
        let mut session = target_at(port, "/any").connect(&spec).await.unwrap();
        let policy = IoPolicy { sync, ..IoPolicy::default() };
        let open = MetaOp::Open { path: "f".into(), how: OpenHow::ReadWrite, policy };
        let opened = call(&mut *session, open).await.unwrap();
        let MetaYield::Opened { file, .. } = opened else { panic!("{opened:?}") };
        let write = DataOp::Write { file, offset: 0, len: LEN, stability };
        let reply = reply_for(&mut *session, Slot(0), write).await;
        (reply, session.policy_count(), requested.recv().unwrap())
    })
}

#[test]
fn a_file_opened_for_write_through_requests_file_sync_with_every_write() {
    let plain = SyncPolicy::Normal;
    let through = SyncPolicy::WriteThrough;
    for (sync, stability, wanted) in [
        (plain, Stability::Unstable, UNSTABLE),
        (plain, Stability::Durable, FILE_SYNC),
        (through, Stability::Unstable, FILE_SYNC),
        (through, Stability::Durable, FILE_SYNC),
    ] {
        let (reply, counted, requested) = one_write(sync, stability, None);
        assert_eq!((reply.result, requested), (Ok(LEN), wanted), "{sync} {stability:?}");
        let durable = u64::from(wanted == FILE_SYNC);
        assert_eq!((counted.through, counted.stable, counted.unbuffered), (durable, durable, 0));
    }
}

#[test]
fn a_server_that_commits_less_than_requested_is_an_error_that_names_its_stability() {
    for (given, name) in [(UNSTABLE, "UNSTABLE"), (DATA_SYNC, "DATA_SYNC")] {
        let (reply, counted, _) = one_write(SyncPolicy::WriteThrough, Stability::Unstable, Some(given));
        let error = reply.result.unwrap_err();
        let expected = (ErrorClass::Protocol, OpStep::Request("WRITE"), 0);
        assert_eq!((error.class, error.step, counted.stable), expected, "{error}");
        assert!(error.detail.contains("FILE_SYNC was requested") && error.detail.contains(name), "{error}");
    }
    // More than requested is no error.
    let (reply, counted, _) = one_write(SyncPolicy::Normal, Stability::Unstable, Some(FILE_SYNC));
    assert_eq!((reply.result, counted.through, counted.stable), (Ok(LEN), 0, 1));
}

#[test]
fn unbuffered_is_rejected_before_any_request_to_the_server() {
    let (port, _asked) = peer(None);
    let target = target_at(port, "/any");
    let policy = IoPolicy { cache: CachePolicy::Unbuffered, ..IoPolicy::default() };
    let error = target.policy(policy).unwrap_err().to_string();
    assert!(error.starts_with("cache=unbuffered: NFS has no request"), "{error}");
    run(async {
        let mut session = target.connect(&SessionSpec::default()).await.unwrap();
        let before = session.wire().requests;
        let open = MetaOp::Open { path: "f".into(), how: OpenHow::ReadWrite, policy };
        let error = call(&mut *session, open).await.unwrap_err();
        assert_eq!((error.class, session.wire().requests), (ErrorClass::Unsupported, before), "{error}");
    });
    assert!(target.policy(IoPolicy { cache: CachePolicy::NoLocal, ..policy }).is_ok());
}
