//! The client against the server over a link that loses, repeats, delays and reorders packets.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;

use super::simulated_link::{Link, LinkFaults, PEER, login, options};
use super::tests::{LOGIN, files_are_written_and_read, path, pattern};
use super::*;
use crate::security::level::{Level, Negotiated};
use crate::wire::TransportKind;
use crate::wire::server_info::GetDateAndTime;
use crate::wire::watchdog::IpWatchdog;
use crate::wire::{Completion, Request};

#[test]
fn requests_over_a_lossy_link_execute_exactly_once() {
    let mut resent = 0;
    for seed in 0..1000 {
        let signatures = if seed % 2 == 0 { Level::Always } else { Level::Never };
        let transport = if seed % 3 == 0 { TransportKind::IpxInUdp } else { TransportKind::Udp };
        // A late duplicate of the create would reset the connection: the protocol cannot distinguish it from a new
        // one.
        let mut client = login(Link::new(Level::IfRequested, transport, seed), signatures);
        let delay = Duration::from_millis(if seed % 5 == 0 { 2000 } else { 50 });
        let faults = LinkFaults { lost: 20, repeated: 20, delay, ..LinkFaults::default() };
        client.transport_mut().faults = faults;
        let data = pattern(2000);
        block_on(async {
            for number in 0..3 {
                // A second execution would fail because the directory exists.
                client.make_directory(&path(&format!("SYS:D{number}"))).await.unwrap();
            }
            let (file, _) = client.open(&path("SYS:D0\\A"), Access::CreateNew, false).await.unwrap();
            assert_eq!(client.write(file, 1, &data).await.unwrap(), 1024);
            assert_eq!(client.write(file, 1025, &data[1024..]).await.unwrap(), 976);
            let mut back = [0; 1024];
            assert_eq!(client.read(file, 977, &mut back).await.unwrap(), 1024);
            assert!(back[..] == data[976..], "seed {seed}");
            client.close(file).await.unwrap();
            resent += client.counts().resent;
            let server = Arc::clone(&client.transport().server);
            client.disconnect().await.unwrap();
            assert_eq!(server.connections(), 0, "seed {seed}");
        });
    }
    assert!(resent > 3000, "{resent} packets sent again");
}

#[test]
fn every_pair_of_levels_negotiates_signatures_on_every_transport() {
    for transport in [TransportKind::Tcp, TransportKind::Udp, TransportKind::IpxInUdp] {
        for (at, server) in (0..16).map(|at| (at, Level::from_number(at / 4).unwrap())) {
            let level = Level::from_number(at % 4).unwrap();
            let link = Link::new(server, transport, 1);
            block_on(async {
                let mut client = Client::connect(link, options(level)).await.unwrap();
                let done = client.login(LOGIN).await;
                match (level.negotiate(server), done) {
                    (Negotiated::Refused, Err(ClientError::SignaturesUnavailable { .. })) => {}
                    (Negotiated::Refused, Err(ClientError::Refused { completion, .. })) => {
                        assert_eq!(completion, Completion::SignatureRequired);
                    }
                    (agreement, Ok(())) => {
                        assert_eq!(client.signs(), agreement == Negotiated::On, "{level:?} {server:?}");
                        files_are_written_and_read(&mut client, 3000).await;
                    }
                    (agreement, done) => panic!("{level:?} {server:?}: {agreement:?}, {done:?}"),
                }
            });
        }
    }
}

#[test]
fn client_retransmits_with_growing_pauses_until_the_deadline() {
    let mut client = login(Link::new(Level::Never, TransportKind::Udp, 1), Level::Never);
    let start = client.transport().now();
    client.transport_mut().faults.lost = 100;
    client.transport_mut().sends.clear();
    match block_on(client.call("time", &GetDateAndTime {}.into())) {
        Err(ClientError::Io { step: "time", source }) => assert_eq!(source.kind(), ErrorKind::TimedOut),
        other => panic!("{other:?}"),
    }
    let sends: Vec<_> =
        client.transport().sends.iter().map(|at| at.saturating_sub(start).as_millis()).collect();
    assert_eq!(sends, [0, 600, 1800, 4200, 9000, 13_800, 18_600, 23_400, 28_200]);
    assert_eq!(
        (client.transport().now().saturating_sub(start), client.counts().resent),
        (Duration::from_secs(30), 8)
    );
}

#[test]
fn client_waits_for_a_busy_server_and_executes_once() {
    let mut client = login(Link::new(Level::Never, TransportKind::Udp, 1), Level::Never);
    client.transport_mut().faults.work = Duration::from_secs(100);
    block_on(client.make_directory(&path("SYS:A"))).unwrap();
    assert!(client.counts().busy > 100, "{:?}", client.counts());
    // Longer than eleven timeouts, the maximum with busy packets.
    client.transport_mut().faults.work = Duration::from_secs(1000);
    let start = client.transport().now();
    let late = block_on(client.make_directory(&path("SYS:B")));
    assert!(matches!(late, Err(ClientError::Io { .. })), "{late:?}");
    assert_eq!(client.transport().now().saturating_sub(start), Duration::from_secs(330));
}

#[test]
fn client_ignores_forged_replies_and_reports_when_all_are_forged() {
    let mut client = login(Link::new(Level::Always, TransportKind::Udp, 1), Level::Always);
    client.transport_mut().faults.forged = true;
    block_on(client.make_directory(&path("SYS:A"))).unwrap();
    client.transport_mut().faults.lost = 50;
    for number in 0..20 {
        block_on(client.make_directory(&path(&format!("SYS:A\\{number}")))).unwrap();
    }
    let mut reply = Vec::new();
    client.begin("time", &GetDateAndTime {}.into());
    client.transport_mut().faults = LinkFaults { lost: 100, ..LinkFaults::default() };
    let server = Arc::clone(&client.transport().server);
    server.receive(PEER, TransportKind::Udp, client.connection.last_message(), &mut reply);
    reply[9] ^= 1;
    let at = client.transport().now();
    client.transport_mut().queue.insert((at, u64::MAX), (false, reply));
    assert!(matches!(block_on(client.finish()), Err(ClientError::BadSignature { step: "time" })));
}

#[test]
fn watchdog_keeps_answering_clients_and_removes_silent_ones() {
    let mut client = login(Link::new(Level::Never, TransportKind::Udp, 1), Level::Never);
    let server = Arc::clone(&client.transport().server);
    let clock = client.transport().clock.clone();
    let pass = |minutes: u64| clock.0.fetch_add(minutes * 60_000_000_000, Ordering::Relaxed);
    pass(4);
    assert_eq!(server.idle_clients(), []);
    pass(2);
    let queried = server.idle_clients();
    assert_eq!(queried, [(PEER, 1)]);
    // The client finds the query at its next request, answers it, and is served.
    let at = client.transport().now();
    client
        .transport_mut()
        .queue
        .insert((at, u64::MAX), (false, IpWatchdog::query(queried[0].1).packet().to_vec()));
    client.transport_mut().faults.delay = Duration::from_millis(1);
    block_on(client.make_directory(&path("SYS:A"))).unwrap();
    assert!(client.transport().sends.len() > client.counts().requests as usize);
    let minutes = (0..20).take_while(|_| {
        pass(1);
        server.idle_clients();
        server.connections() == 1
    });
    assert_eq!(minutes.count(), 14, "five minutes, then ten questions");
    let lost = block_on(client.make_directory(&path("SYS:B")));
    assert!(matches!(lost, Err(ClientError::ConnectionLost { .. })), "{lost:?}");
}

proptest! {
    /// Unrelated messages leave the connection unchanged.
    #[test]
    fn hostile_messages_are_distinguished_from_the_reply(
        bytes in prop::collection::vec(prop_oneof![Just(0x33u8), Just(0), Just(1), any::<u8>()], 0..60),
        start in 0..12usize,
    ) {
        let mut client = login(Link::new(Level::Always, TransportKind::Udp, 1), Level::Always);
        let (message, reply) = exchange(&mut client, &GetDateAndTime {}.into());
        prop_assert!(!message.is_empty());
        let mixed = [&reply[..start], &bytes[..]].concat();
        let connection = &mut client.connection;
        if mixed != reply {
            let taken = matches!(connection.receive(&mixed), Ok(Received::Reply(_)));
            prop_assert!(!taken);
        }
        let taken = matches!(connection.receive(&reply), Ok(Received::Reply(_)));
        prop_assert!(taken);
    }
}

/// A request, and the reply of the server, which the client has not received yet.
fn exchange(client: &mut Client<Link>, request: &Request<'_>) -> (Vec<u8>, Vec<u8>) {
    let message = client.connection.request(request).to_vec();
    let mut reply = Vec::new();
    client.transport().server.receive(PEER, TransportKind::Udp, &message, &mut reply);
    (message, reply)
}

#[test]
fn client_distinguishes_busy_unrelated_and_forged_messages() {
    let mut client = login(Link::new(Level::Always, TransportKind::Udp, 1), Level::Always);
    let (_, reply) = exchange(&mut client, &GetDateAndTime {}.into());
    let connection = &mut client.connection;
    let mut changed = |at: usize, to: u8| {
        let mut packet = reply.clone();
        packet[at] = to;
        match connection.receive(&packet) {
            Ok(Received::Reply(_)) => panic!("taken"),
            Ok(Received::Busy) => "busy",
            Ok(Received::Unrelated) => "foreign",
            Ok(Received::BadSignature) => "bad signature",
            Err(_) => "no packet",
        }
    };
    assert_eq!(changed(0, 0x77), "no packet");
    assert_eq!(changed(2, 99), "foreign");
    assert_eq!(changed(3, 99), "foreign");
    assert_eq!(changed(9, 99), "bad signature");
    let busy = [&[0x99, 0x99][..], &reply[2..6], &[0, 0]].concat();
    assert_eq!(connection.receive(&busy), Ok(Received::Busy));
    assert!(matches!(connection.receive(&reply), Ok(Received::Reply(found)) if found.data.len() == 7));
    assert_eq!(connection.receive(&reply), Ok(Received::Unrelated), "taken once");
}
