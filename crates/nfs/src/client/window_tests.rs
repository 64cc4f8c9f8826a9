//! Calls with Kerberos at a server that leaves the first one unanswered: none is further ahead of it than the server's window.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::task::Poll;
use std::time::Duration;

use sharebench_gss::{Encryption, Protection, Role, TokenKeys};
use sharebench_tls::Stream;
use tokio::net::TcpStream;

use crate::client::calls::ExpectedReply;
use crate::client::channel::Channel;
use crate::client::dialect::V3;
use crate::client::link::Link;
use crate::client::protected_call::EstablishedContext;
use crate::client::security::ClientSecurity;
use crate::record::{NextRecord, begin_record, end_record, next_record};
use crate::rpcsec::{GSS_FLAVOR, Service, put_body};
use crate::xdr::Writer;

const WINDOW: u32 = 4;
const CALLS: u32 = 15;

fn side(role: Role) -> Protection {
    Protection::new(TokenKeys::new(Encryption::Aes256Sha1, &[8; 32], role, true, 0).unwrap())
}

/// A server that answers the calls in the reverse order, once as many have arrived as its window has numbers, or all that are left.
/// Returns the numbers in the order of arrival.
fn serve(listener: &TcpListener) -> Vec<u32> {
    let (mut stream, _) = listener.accept().unwrap();
    let protection = side(Role::Acceptor);
    let mut received = Vec::new();
    let mut piece = [0; 4096];
    let mut numbers = Vec::new();
    let mut waiting: Vec<(u32, u32)> = Vec::new();
    while numbers.len() < CALLS as usize || !waiting.is_empty() {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "the client has gone after the numbers {numbers:?}");
        received.extend_from_slice(&piece[..count]);
        while let NextRecord::Whole { start, end } = next_record(&received, 1 << 20).unwrap() {
            let record: Vec<u8> = received.drain(..end).skip(start).collect();
            let word = |at: usize| u32::from_be_bytes(record[4 * at..][..4].try_into().unwrap());
            // The number follows the header of the call, and flavor, length, version and procedure of the credential.
            let number = word(10);
            numbers.push(number);
            waiting.push((word(0), number));
            let oldest = waiting[0].1;
            assert!(number < oldest + WINDOW, "{number} while {oldest} is not answered");
        }
        if waiting.len() < WINDOW as usize && numbers.len() < CALLS as usize {
            continue;
        }
        let mut out = Writer::default();
        for (xid, number) in waiting.drain(..).rev() {
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
    numbers
}

async fn channel(address: SocketAddr) -> Channel<V3> {
    let stream = Stream::Plain(TcpStream::connect(address).await.unwrap());
    let mut channel = Channel::new(Link::Stream(stream), None, CALLS as usize, 4096, 7);
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

#[tokio::test]
async fn calls_wait_for_the_window_of_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || serve(&listener));
    let mut channel = channel(address).await;
    for index in 0..CALLS as usize {
        channel.call(index, ExpectedReply::Metadata, 1, &[], |writer| writer.words(&[index as u32; 9]));
    }
    assert_eq!(channel.wire().requests, u64::from(CALLS), "calls that wait are in flight");
    let mut completions = Vec::new();
    while completions.len() < CALLS as usize {
        let arrived = poll_fn(|cx| {
            let before = completions.len();
            let mut more = Vec::new();
            let polled = channel.poll(cx, &mut [], &mut more);
            completions.append(&mut more);
            if completions.len() > before { Poll::Ready(()) } else { polled }
        });
        tokio::time::timeout(Duration::from_secs(60), arrived).await.unwrap();
    }
    assert!(completions.iter().all(|completion| completion.result.is_ok()), "{completions:?}");
    assert_eq!(channel.wire().requests, u64::from(CALLS));
    assert!((0..CALLS as usize).all(|index| channel.is_idle(index)));
    assert_eq!(server.join().unwrap(), (1..=CALLS).collect::<Vec<_>>());
}
