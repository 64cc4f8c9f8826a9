//! Every byte is passed on once and in order, and ends and failures reach the other side. No test asserts a time.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "all of it is tests, which clippy sees by #[test] only")]

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use sharebench_model::{Fact, TargetFacts};
use sharebench_relay::{Distance, Greeting, Relay, SimulatedDistance};

/// Longest wait for an event. It is a sign of an error and not a time that is measured.
const PATIENCE: Duration = Duration::from_secs(60);

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// An address at which nobody listens.
fn closed() -> SocketAddr {
    listener().1
}

fn relay(target: SocketAddr, distance: &str) -> Relay {
    let listen = (Ipv4Addr::LOCALHOST, 0).into();
    Relay::start(listen, target, distance.parse().unwrap(), Greeting::None).unwrap()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    patient(&stream);
    stream
}

fn patient(stream: &TcpStream) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
}

/// Bytes without a period that a shifted or repeated buffer could hide in.
fn content(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// Echoes every connection until its client sends no more.
fn echo(listener: TcpListener, connections: usize) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let echo_one = |(stream, _): (TcpStream, SocketAddr)| {
            patient(&stream);
            thread::spawn(move || {
                let mut writer = stream.try_clone().unwrap();
                std::io::copy(&mut &stream, &mut writer).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
            })
        };
        let echoes: Vec<_> = (0..connections).map(|_| echo_one(listener.accept().unwrap())).collect();
        for echo in echoes {
            echo.join().unwrap();
        }
    })
}

#[test]
fn both_directions_keep_every_byte_and_the_half_close() {
    for (distance, len) in [("0", 8 << 20), ("4ms", 8 << 20), ("2ms/200Mbit", 2 << 20), ("0/50Mbit", 300_001)]
    {
        let (listener, address) = listener();
        let server = echo(listener, 1);
        let relay = relay(address, distance);
        let client = connect(relay.address());
        let sent = content(len, 7);
        let writer = {
            let mut client = client.try_clone().unwrap();
            let sent = sent.clone();
            thread::spawn(move || {
                client.write_all(&sent).unwrap();
                // The server answers only what follows an end that it sees.
                client.shutdown(Shutdown::Write).unwrap();
            })
        };
        let mut received = Vec::new();
        (&client).read_to_end(&mut received).unwrap();
        assert!(received == sent, "{distance}: {} of {} bytes", received.len(), sent.len());
        writer.join().unwrap();
        server.join().unwrap();
        let counters = relay.counters();
        assert_eq!((counters.connections, counters.failed), (1, 0));
        assert_eq!((counters.to_target, counters.to_clients), (len as u64, len as u64));
    }
}

#[test]
fn many_connections_with_pipelined_messages_do_not_mix() {
    const CONNECTIONS: usize = 48;
    const MESSAGES: usize = 64;
    let (listener, address) = listener();
    let server = echo(listener, CONNECTIONS);
    let relay = relay(address, "3ms");
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|number| {
            let mut client = connect(relay.address());
            thread::spawn(move || {
                // All of them are in flight together.
                for message in 0..MESSAGES {
                    client.write_all(&content(512, (number * MESSAGES + message) as u64)).unwrap();
                }
                for message in 0..MESSAGES {
                    let mut received = [0; 512];
                    client.read_exact(&mut received).unwrap();
                    assert!(received[..] == content(512, (number * MESSAGES + message) as u64)[..]);
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    server.join().unwrap();
    assert_eq!(relay.counters().to_clients, (CONNECTIONS * MESSAGES * 512) as u64);
}

#[test]
fn a_receiver_that_does_not_read_holds_the_sender_back_and_loses_nothing() {
    const LEN: usize = 80 << 20;
    let (listener, address) = listener();
    let relay = relay(address, "1ms");
    let mut client = connect(relay.address());
    let (mut server, _) = listener.accept().unwrap();
    patient(&server);
    let sent = content(LEN, 3);
    client.set_nonblocking(true).unwrap();
    // Until the socket is full: queues of the kernel and the relay hold less than everything.
    let mut accepted = 0;
    let mut full = 0;
    while full < 200 && accepted < LEN {
        match client.write(&sent[accepted..]) {
            Ok(count) => {
                accepted += count;
                full = 0;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                full += 1;
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
    assert!(accepted < LEN, "the relay accepted everything");
    client.set_nonblocking(false).unwrap();
    let rest = sent[accepted..].to_vec();
    let writer = thread::spawn(move || client.write_all(&rest).unwrap());
    let mut received = Vec::new();
    server.read_to_end(&mut received).unwrap();
    writer.join().unwrap();
    assert!(received == sent);
}

#[test]
fn a_client_beyond_the_limit_waits_until_another_connection_ends() {
    const LIMIT: usize = 3;
    let (listener, address) = listener();
    let server = echo(listener, LIMIT + 1);
    let listen = (Ipv4Addr::LOCALHOST, 0).into();
    let relay = Relay::start_limited(listen, address, Distance::default(), Greeting::None, LIMIT).unwrap();
    let mut clients: Vec<_> = (0..=LIMIT).map(|_| connect(relay.address())).collect();
    let mut last = clients.pop().unwrap();
    last.write_all(b"x").unwrap();
    last.set_nonblocking(true).unwrap();
    // A relay that accepted the last client would have done so before it passed on what the others send after it.
    for _ in 0..20 {
        for client in &mut clients {
            client.write_all(b"a").unwrap();
            client.read_exact(&mut [0; 1]).unwrap();
        }
        assert_eq!(last.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(relay.counters().connections, LIMIT as u64);
    }
    last.set_nonblocking(false).unwrap();
    drop(clients.pop());
    last.read_exact(&mut [0; 1]).unwrap();
    assert_eq!(relay.counters().connections, LIMIT as u64 + 1);
    drop((clients, last));
    server.join().unwrap();
}

#[test]
fn a_reset_reaches_the_other_side_after_the_bytes_before_it() {
    let (listener, address) = listener();
    let relay = relay(address, "5ms");
    let mut client = connect(relay.address());
    let (mut server, _) = listener.accept().unwrap();
    patient(&server);
    client.write_all(b"before").unwrap();
    let mut received = [0; 6];
    server.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"before");
    set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
    drop(client);
    assert_eq!(server.read(&mut received).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_target_that_nobody_serves_resets_the_client() {
    let relay = relay(closed(), "2ms");
    let mut client = connect(relay.address());
    assert_eq!(client.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!((relay.counters().connections, relay.counters().failed), (1, 1));
}

#[test]
fn an_address_in_use_is_an_error() {
    let (_held, address) = listener();
    let error = Relay::start(address, closed(), Distance::default(), Greeting::None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
}

#[test]
fn a_connection_outlives_the_handle_of_its_relay() {
    let (listener, address) = listener();
    let server = echo(listener, 1);
    let relay = relay(address, "1ms");
    let mut client = connect(relay.address());
    client.write_all(b"a").unwrap();
    client.read_exact(&mut [0; 1]).unwrap();
    drop(relay);
    client.write_all(b"still here").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut received = String::new();
    client.read_to_string(&mut received).unwrap();
    assert_eq!(received, "still here");
    server.join().unwrap();
}

#[tokio::test]
async fn far_clients_see_the_errors_and_the_bytes_of_near_ones() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    for far in [
        SimulatedDistance::new(None).unwrap(),
        SimulatedDistance::new(Some("0")).unwrap(),
        SimulatedDistance::new(Some("3ms/1Gbit")).unwrap(),
    ] {
        let error = far.connect(closed()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{far:?}");
        let (listener, address) = listener();
        let server = echo(listener, 2);
        let mut streams = [far.connect(address).await.unwrap(), far.connect(address).await.unwrap()];
        for stream in &mut streams {
            stream.write_all(b"no greeting is left").await.unwrap();
            stream.shutdown().await.unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).await.unwrap();
            assert_eq!(received, b"no greeting is left");
        }
        server.join().unwrap();
    }
}

#[test]
fn a_distance_is_a_fact_and_none_is_not() {
    let facts_of = |text| {
        let far = SimulatedDistance::new(text).unwrap();
        let mut facts = TargetFacts::new();
        far.add_fact(&mut facts);
        (facts.get(Fact::SimulatedDistance).map(str::to_owned), far.is_simulated(), far.descriptors())
    };
    assert_eq!(facts_of(None), (None, false, 0));
    assert_eq!(facts_of(Some("0")), (None, false, 0));
    assert_eq!(facts_of(Some("20ms")), (Some("20ms round trip without loss".to_owned()), true, 2));
    assert!(SimulatedDistance::new(Some("far away")).is_err());
}
