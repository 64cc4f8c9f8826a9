//! The client adapter with a server that ends a connection after it has answered some of its calls.

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use sharebench_model::{DataOp, ErrorClass, FileRef, Reply, Slot};
use sharebench_nfs::canned;
use sharebench_nfs::xdr::Writer;
use sharebench_target::{Session, SessionSpec, Target};

use super::peers::{READ, open, record, reply};
use super::run;

/// Calls that the server answers before it ends the connection.
const ANSWERED: usize = 3;

/// A server that answers [`ANSWERED`] READs of its first connection with READs, ends that connection with `end`, and reports
/// it. It answers all READs of later connections.
fn peer(end: fn(TcpStream)) -> (u16, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (ended, wait) = channel();
    let first = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let ended = ended.clone();
            let first = first.clone();
            thread::spawn(move || serve(stream.unwrap(), end, &ended, &first));
        }
    });
    (port, wait)
}

fn serve(
    mut stream: TcpStream,
    end: fn(TcpStream),
    ended: &Sender<()>,
    first: &std::sync::atomic::AtomicBool,
) {
    let mut reads = Vec::new();
    let mut is_first = None;
    while let Some(call) = record(&mut stream) {
        if call[20..24] == READ.to_be_bytes() {
            if *is_first.get_or_insert_with(|| first.swap(false, std::sync::atomic::Ordering::SeqCst)) {
                reads.push(call);
                if reads.len() == ANSWERED {
                    let answers: Vec<u8> = reads.iter().flat_map(|call| reply(call)).collect();
                    stream.write_all(&answers).unwrap();
                    end(stream);
                    ended.send(()).unwrap();
                    return;
                }
            } else {
                stream.write_all(&reply(&call)).unwrap();
            }
            continue;
        }
        let mut out = Writer::default();
        canned::answer(&call, &mut out).unwrap();
        if stream.write_all(out.as_slice()).is_err() {
            return;
        }
    }
}

/// Ends the sending direction, and receives until the client has closed the connection.
fn half_close(mut stream: TcpStream) {
    stream.shutdown(Shutdown::Write).unwrap();
    thread::spawn(move || while record(&mut stream).is_some() {});
}

fn submit(session: &mut dyn Session, file: FileRef, slots: std::ops::Range<u32>) {
    for slot in slots {
        session.submit(Slot(slot), DataOp::Read { file, offset: u64::from(slot + 1), len: 512 });
    }
}

/// Four READs, the end of the connection, and four more READs, which the client sends before it has received anything.
async fn eight_reads(session: &mut dyn Session, file: FileRef, ended: &Receiver<()>) -> Vec<Reply> {
    let mut replies = Vec::new();
    submit(session, file, 0..4);
    std::future::poll_fn(|cx| {
        let _ = session.poll_replies(cx, &mut replies);
        std::task::Poll::Ready(())
    })
    .await;
    ended.recv().unwrap();
    submit(session, file, 4..8);
    while replies.len() < 8 {
        std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    }
    replies
}

fn answered_calls_count(end: fn(TcpStream)) {
    let (port, ended) = peer(end);
    run(async {
        let (mut session, file) = open(port, 8, 512).await;
        let replies = eight_reads(&mut *session, file, &ended).await;
        let mut slots = Vec::new();
        for reply in &replies {
            match &reply.result {
                Ok(512) => slots.push(reply.slot.0),
                result => assert_eq!(result.as_ref().unwrap_err().class, ErrorClass::Disconnected),
            }
            assert_eq!(reply.requests, 1);
        }
        slots.sort_unstable();
        assert_eq!((replies.len(), slots), (8, vec![0, 1, 2]));
        session.close().await;
    });
}

#[test]
fn calls_that_a_server_answered_before_a_half_close_count() {
    answered_calls_count(half_close);
}

#[test]
fn calls_that_a_server_answered_before_it_reset_the_connection_count() {
    // The fourth READ is in the socket, so that its end is a reset, and the client cannot send any longer.
    answered_calls_count(|stream| {
        let mut one = [0];
        stream.peek(&mut one).unwrap();
        drop(stream);
    });
}

#[test]
fn another_connection_takes_the_calls_that_were_not_answered() {
    let (port, ended) = peer(half_close);
    let url = format!("nfs://127.0.0.1:{port}/any?mountport={port}&nconnect=2");
    let target =
        sharebench_nfs::NfsTarget::from_url(sharebench_target::TargetUrl::parse(&url).unwrap()).unwrap();
    run(async {
        let spec = SessionSpec { slots: 16, slot_bytes: 512, ..SessionSpec::default() };
        let mut session = target.connect(&spec).await.unwrap();
        let how = sharebench_model::MetaOp::open("f", sharebench_model::OpenHow::Read);
        let opened = sharebench_target::call(&mut *session, how).await.unwrap();
        let sharebench_model::MetaYield::Opened { file, .. } = opened else { panic!("{opened:?}") };
        let mut replies = Vec::new();
        submit(&mut *session, file, 0..16);
        while replies.len() < 16 {
            std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
        }
        ended.recv().unwrap();
        assert!(replies.iter().all(|reply| reply.result == Ok(512)), "{replies:?}");
        // Eight calls were on the connection that ended.
        let sent: u32 = replies.iter().map(|reply| reply.requests).sum();
        assert_eq!(sent as usize, 16 + 8 - ANSWERED);
        session.close().await;
    });
}
