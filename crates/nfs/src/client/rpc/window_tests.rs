//! Calls with Kerberos at a server that leaves the first one unanswered: none is further ahead of it than the server's window.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream as TcpConnection};
use std::task::Poll;
use std::time::Duration;

use sharebench_gss::{Encryption, Protection, Role, TokenKeys};
use sharebench_tls::Stream;
use tokio::net::TcpStream;

use crate::client::rpc::calls::ExpectedReply;
use crate::client::rpc::channel::{Channel, LastLoss};
use crate::client::rpc::link::Link;
use crate::client::rpc::protected_call::EstablishedContext;
use crate::client::rpc::security::ClientSecurity;
use crate::client::v3::V3;
use crate::record::{NextRecord, begin_record, end_record, next_record};
use crate::rpcsec::{GSS_FLAVOR, Service, put_body};
use crate::xdr::Writer;

const WINDOW: u32 = 4;
const CALLS: u32 = 15;

fn side(role: Role) -> Protection {
    Protection::new(TokenKeys::new(Encryption::Aes256Sha1, &[8; 32], role, true, 0).unwrap())
}

/// A call of the client: its xid and its sequence number.
type Call = (u32, u32);

/// Receives calls that are complete. None is further ahead of the first one of `waiting` than the window.
fn receive(stream: &mut TcpConnection, received: &mut Vec<u8>, waiting: &mut Vec<Call>) -> Vec<u32> {
    let mut piece = [0; 4096];
    let count = stream.read(&mut piece).unwrap();
    assert!(count > 0, "the client has gone");
    received.extend_from_slice(&piece[..count]);
    let mut numbers = Vec::new();
    while let NextRecord::Whole { start, end } = next_record(received, 1 << 20).unwrap() {
        let record: Vec<u8> = received.drain(..end).skip(start).collect();
        let word = |at: usize| u32::from_be_bytes(record[4 * at..][..4].try_into().unwrap());
        // The number follows the header of the call, and flavor, length, version and procedure of the credential.
        let number = word(10);
        numbers.push(number);
        waiting.push((word(0), number));
        let oldest = waiting[0].1;
        assert!(number < oldest + WINDOW, "{number} while {oldest} is not answered");
    }
    numbers
}

fn answer(stream: &mut TcpConnection, calls: impl Iterator<Item = Call>) {
    let protection = side(Role::Acceptor);
    let mut out = Writer::default();
    for (xid, number) in calls {
        let mut mic = Vec::new();
        protection.mic(&[&number.to_be_bytes()], &mut mic);
        let at = begin_record(&mut out);
        out.words(&[xid, 1, 0, GSS_FLAVOR]);
        out.opaque(&mic);
        out.u32(0);
        put_body(&mut out, &protection, Service::Integrity, number, |writer| writer.u32(0)).unwrap();
        end_record(&mut out, at, 0);
    }
    stream.write_all(out.as_slice()).unwrap();
}

/// A server that answers the calls in the reverse order, once as many have arrived as its window has numbers, or all that are left.
/// With `loses` it closes its first connection instead of the first answer. Returns the numbers in the order of arrival.
fn serve(listener: &TcpListener, loses: bool) -> Vec<u32> {
    let mut all = Vec::new();
    let mut waiting = Vec::new();
    if loses {
        let (mut stream, _) = listener.accept().unwrap();
        let mut received = Vec::new();
        while waiting.len() < WINDOW as usize {
            all.extend(receive(&mut stream, &mut received, &mut waiting));
        }
        waiting.clear();
    }
    let (mut stream, _) = listener.accept().unwrap();
    let expected = all.len() + CALLS as usize;
    let mut received = Vec::new();
    while all.len() < expected || !waiting.is_empty() {
        all.extend(receive(&mut stream, &mut received, &mut waiting));
        if waiting.len() == WINDOW as usize || all.len() == expected {
            answer(&mut stream, waiting.drain(..).rev());
        }
    }
    all
}

async fn connect(address: SocketAddr) -> Link {
    Link::Stream(Stream::Plain(TcpStream::connect(address).await.unwrap()))
}

async fn channel(address: SocketAddr) -> Channel<V3> {
    let mut channel = Channel::new(connect(address).await, None, CALLS as usize, 4096, 7);
    channel.on_last_loss(LastLoss::HoldsCalls);
    let context = EstablishedContext {
        protection: side(Role::Initiator),
        handle: b"context".to_vec(),
        window: WINDOW,
        lifetime: Duration::from_secs(100_000),
    };
    let indexes = channel.metadata_index() + 1;
    channel.secure(ClientSecurity::new(Service::Integrity, vec![context], indexes, Box::new(|_| ())));
    channel
}

fn arguments(index: usize) -> impl Fn(&mut Writer) {
    move |writer| writer.words(&[index as u32; 9])
}

/// Performs all calls at a server; returns the numbers in the order of their arrival.
async fn perform(loses: bool) -> Vec<u32> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || serve(&listener, loses));
    let mut channel = channel(address).await;
    for index in 0..CALLS as usize {
        channel.call(index, ExpectedReply::Metadata, 1, &[], arguments(index));
    }
    assert_eq!(channel.wire().requests, u64::from(CALLS), "calls that wait are in flight");
    let mut completions = Vec::new();
    while completions.len() < CALLS as usize {
        let arrived = poll_fn(|cx| {
            let mut more = Vec::new();
            let polled = channel.poll(cx, &mut [], &mut more);
            completions.append(&mut more);
            if channel.severed().is_some() { Poll::Ready(()) } else { polled }
        });
        tokio::time::timeout(Duration::from_secs(60), arrived).await.unwrap();
        if channel.severed().is_some() {
            channel.attach(connect(address).await);
            for index in (0..CALLS as usize).filter(|index| channel.is_orphan(*index)).collect::<Vec<_>>() {
                channel.call_again(index, 1, &[], &arguments(index));
            }
        }
    }
    assert!(completions.iter().all(|completion| completion.result.is_ok()), "{completions:?}");
    assert!((0..CALLS as usize).all(|index| channel.is_idle(index)));
    let again = if loses { WINDOW } else { 0 };
    assert_eq!(channel.wire().requests, u64::from(CALLS + again));
    server.join().unwrap()
}

#[tokio::test]
async fn calls_wait_for_the_window_of_the_server() {
    assert_eq!(perform(false).await, (1..=CALLS).collect::<Vec<_>>());
}

#[tokio::test]
async fn calls_of_a_lost_connection_are_sent_again_with_numbers_of_their_own_and_once() {
    assert_eq!(perform(true).await, (1..=CALLS + WINDOW).collect::<Vec<_>>());
}
