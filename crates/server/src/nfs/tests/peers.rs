//! The client adapter with servers that answer late, in another order, in fragments, wrongly or not at all.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use sharebench_model::{DataOp, ErrorClass, FileRef, MetaOp, MetaYield, OpenHow, Reply, Slot};
use sharebench_nfs::canned;
use sharebench_nfs::record::{NextRecord, next_record};
use sharebench_nfs::xdr::{Reader, Writer};
use sharebench_target::{Session, SessionSpec, Target, call};

use super::{run, target_at};

pub const READ: u32 = 6;

/// What a peer does with the READs that it has collected.
type Deed = fn(&mut TcpStream, &[Vec<u8>]);

pub fn record(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut mark = [0; 4];
    stream.read_exact(&mut mark).ok()?;
    let mut record = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
    stream.read_exact(&mut record).ok()?;
    Some(record)
}

/// A server that alters the reply to each call.
pub fn altering_peer(alter: impl Fn(&[u8], &mut Vec<u8>) + Clone + Send + 'static) -> u16 {
    peer_of(move |mut stream| {
        while let Some(call) = record(&mut stream) {
            let mut out = Writer::default();
            canned::answer(&call, &mut out).unwrap();
            let mut reply = out.as_slice().to_vec();
            alter(&call, &mut reply);
            if stream.write_all(&reply).is_err() {
                return;
            }
        }
    })
}

/// A server that serves each connection on a thread of its own.
fn peer_of(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream.unwrap()));
        }
    });
    port
}

/// A READ reply of `len` bytes, each the low byte of the call's offset.
pub fn reply(call: &[u8]) -> Vec<u8> {
    let mut out = Writer::default();
    canned::answer(call, &mut out).unwrap();
    let mut bytes = out.as_slice().to_vec();
    // Offset and count are the last 12 bytes of the call.
    let mut tail = Reader::new(&call[call.len() - 12..]);
    let offset = tail.u64().unwrap();
    let count = tail.u32().unwrap() as usize;
    let start = bytes.len() - count.next_multiple_of(4);
    bytes[start..start + count].fill(offset as u8);
    bytes
}

/// A server that answers all calls but READs at once, and performs `deed` once `batch` READs have arrived.
fn peer(batch: usize, deed: Deed) -> u16 {
    peer_of(move |stream| serve(stream, batch, deed))
}

fn serve(mut stream: TcpStream, batch: usize, deed: Deed) {
    let mut reads = Vec::new();
    while let Some(call) = record(&mut stream) {
        if call[20..24] == READ.to_be_bytes() {
            reads.push(call);
            if reads.len() == batch {
                deed(&mut stream, &reads);
                reads.clear();
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

/// Submits `depth` READs of `len` bytes and waits for all replies.
async fn reads(session: &mut dyn Session, file: FileRef, depth: u32, len: u32) -> Vec<Reply> {
    let mut replies = Vec::new();
    for slot in 0..depth {
        session.submit(Slot(slot), DataOp::Read { file, offset: u64::from(slot + 1), len });
    }
    while replies.len() < depth as usize {
        std::future::poll_fn(|cx| session.poll_replies(cx, &mut replies)).await;
    }
    assert_eq!(replies.len(), depth as usize);
    replies
}

pub async fn open(port: u16, slots: u32, slot_bytes: u32) -> (Box<dyn Session>, FileRef) {
    let spec = SessionSpec { slots, slot_bytes, ..SessionSpec::default() };
    let mut session = target_at(port, "/any").connect(&spec).await.unwrap();
    let opened = call(&mut *session, MetaOp::open("f", OpenHow::Read)).await.unwrap();
    let MetaYield::Opened { file, .. } = opened else { panic!("{opened:?}") };
    (session, file)
}

fn delivers(deed: Deed) {
    let depth = 16;
    let port = peer(depth as usize, deed);
    for len in [1, 3, 512, 4096, 16 << 10, (64 << 10) + 1, 1 << 20] {
        run(async {
            let (mut session, file) = open(port, depth, len).await;
            for _ in 0..2 {
                for reply in reads(&mut *session, file, depth, len).await {
                    assert_eq!(reply.result, Ok(len));
                    let expected = (reply.slot.0 + 1) as u8;
                    assert!(session.buffer(reply.slot).iter().all(|byte| *byte == expected));
                }
            }
            let wire = session.wire();
            assert_eq!(wire.payload_received, 2 * u64::from(depth) * u64::from(len));
        });
    }
}

#[test]
fn replies_in_reverse_order_reach_their_slots() {
    delivers(|stream, reads| {
        for call in reads.iter().rev() {
            stream.write_all(&reply(call)).unwrap();
        }
    });
}

#[test]
fn replies_in_fragments_and_pieces_reach_their_slots() {
    delivers(|stream, reads| {
        for call in reads {
            let whole = reply(call);
            let Ok(NextRecord::Whole { start, end }) = next_record(&whole, 2 << 20) else { panic!() };
            let body = &whole[start..end];
            let mut bytes = Vec::new();
            let (first, rest) = body.split_at(body.len() / 3);
            bytes.extend_from_slice(&(first.len() as u32).to_be_bytes());
            bytes.extend_from_slice(first);
            bytes.extend_from_slice(&(rest.len() as u32 | 0x8000_0000).to_be_bytes());
            bytes.extend_from_slice(rest);
            for piece in bytes.chunks(bytes.len() / 5 + 1) {
                stream.write_all(piece).unwrap();
                thread::yield_now();
            }
        }
    });
}

fn fails(deed: Deed, class: ErrorClass) {
    let depth = 8;
    let port = peer(depth as usize, deed);
    run(async {
        let (mut session, file) = open(port, depth, 64 << 10).await;
        let mut slots: Vec<u32> = Vec::new();
        for reply in reads(&mut *session, file, depth, 64 << 10).await {
            assert_eq!(reply.result.unwrap_err().class, class);
            slots.push(reply.slot.0);
        }
        slots.sort_unstable();
        assert_eq!(slots, (0..depth).collect::<Vec<_>>());
        for reply in reads(&mut *session, file, depth, 4096).await {
            assert_eq!(reply.result.unwrap_err().class, ErrorClass::Disconnected);
            assert_eq!(reply.requests, 0);
        }
        let space = call(&mut *session, MetaOp::Space).await;
        assert_eq!(space.unwrap_err().class, ErrorClass::Disconnected);
        session.close().await;
    });
}

#[test]
fn a_server_that_dies_disconnects_every_slot() {
    fails(|stream, _| stream.shutdown(std::net::Shutdown::Both).unwrap(), ErrorClass::Disconnected);
}

#[test]
fn a_server_that_dies_within_the_data_disconnects_every_slot() {
    let deed: Deed = |stream, reads| {
        stream.write_all(&reply(&reads[3])[..40_000]).unwrap();
        stream.shutdown(std::net::Shutdown::Both).unwrap();
    };
    fails(deed, ErrorClass::Disconnected);
}

#[test]
fn an_unsolicited_reply_ends_the_connection() {
    let deed: Deed = |stream, reads| {
        let mut bytes = reply(&reads[0]);
        bytes[4] ^= 0x55;
        stream.write_all(&bytes).unwrap();
    };
    fails(deed, ErrorClass::Protocol);
}

#[test]
fn an_announced_length_of_two_gigabytes_ends_the_connection() {
    fails(|stream, _| stream.write_all(&[0xff; 8]).unwrap(), ErrorClass::Protocol);
}

#[test]
fn more_data_than_requested_ends_the_connection() {
    let deed: Deed = |stream, reads| {
        // Requests one page more from the canned responder than the client did.
        let mut call = reads[0].clone();
        let at = call.len() - 4;
        call[at..].copy_from_slice(&((64u32 << 10) + 4096).to_be_bytes());
        stream.write_all(&reply(&call)).unwrap();
    };
    fails(deed, ErrorClass::Protocol);
}
