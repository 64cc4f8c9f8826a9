//! Semaphores of two clients over a link that loses, repeats, delays and reorders packets.

use std::time::Duration;

use super::simulated_link::{Link, login};
use super::*;
use crate::security::level::Level;
use crate::server::Peer;
use crate::wire::semaphore::SignalSemaphore;
use crate::wire::{Completion, Request, TransportKind};

const PATIENCE: Duration = Duration::from_secs(20);

/// Two clients of one server; the second has a bad link.
fn two(seed: u64) -> (Client<Link>, Client<Link>) {
    let transport = if seed.is_multiple_of(3) { TransportKind::IpxInUdp } else { TransportKind::Udp };
    let signatures = if seed.is_multiple_of(2) { Level::Always } else { Level::Never };
    let link = Link::new(Level::IfRequested, transport, seed);
    let second = link.second_client(Peer::Stream(2), seed + 1);
    let one = login(link, signatures);
    let mut other = login(second, signatures);
    let link = other.transport_mut();
    link.faults.lost = 20;
    link.faults.repeated = 20;
    link.faults.delay = Duration::from_millis(50);
    (one, other)
}

/// Makes the server receive a request of the first client after a pause.
fn later(one: &mut Client<Link>, other: &mut Client<Link>, request: &Request<'_>, pause: Duration) {
    let request = one.connection.request(request).to_vec();
    let link = other.transport_mut();
    link.others.insert(link.now() + pause, (Peer::Stream(1), request));
}

#[test]
fn waits_for_semaphores_are_granted_once() {
    for seed in 0..200 {
        block_on(async {
            let (mut one, mut other) = two(seed);
            let pause = Duration::from_millis(3 * seed);
            let (semaphore, opens) = one.open_semaphore(b"NAME", 0).await.unwrap();
            assert_eq!((opens, other.open_semaphore(b"NAME", 9).await.unwrap()), (1, (semaphore, 2)));
            later(&mut one, &mut other, &SignalSemaphore { handle: semaphore.0 }.into(), pause);
            assert!(other.wait_on_semaphore(semaphore, PATIENCE).await.unwrap(), "seed {seed}");
            assert_eq!(other.examine_semaphore(semaphore).await.unwrap(), (0, 2), "taken once");
            let start = other.transport().now();
            assert!(!other.wait_on_semaphore(semaphore, Duration::from_secs(2)).await.unwrap());
            assert!(other.transport().now().saturating_sub(start) >= Duration::from_secs(2));
            assert_eq!(other.transport().server.waiting(), 0);
        });
    }
}

#[test]
fn client_releases_semaphores() {
    let (mut one, _) = two(1);
    block_on(async {
        let (semaphore, _) = one.open_semaphore(b"S", 127).await.unwrap();
        let refused = one.signal_semaphore(semaphore).await;
        let Err(ClientError::Refused { completion: Completion::OutOfDiskSpace, .. }) = refused else {
            panic!("{refused:?}")
        };
        one.close_semaphore(semaphore).await.unwrap();
        let refused = one.examine_semaphore(semaphore).await;
        assert!(matches!(refused, Err(ClientError::Refused { completion: Completion::Failure, .. })));
    });
}
