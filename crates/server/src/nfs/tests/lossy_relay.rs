//! A relay of datagrams that loses and doubles some of them, by a fixed seed.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use sharebench_model::Random;

/// Longest datagram.
const MAX_BYTES: usize = 1 << 16;

/// What a relay did with the datagrams of one direction.
#[derive(Debug, Default)]
pub struct Fates {
    pub forwarded: AtomicU64,
    pub lost: AtomicU64,
    pub doubled: AtomicU64,
}

/// A relay from its port to a server.
pub struct LossyRelay {
    pub port: u16,
    pub calls: Arc<Fates>,
    pub replies: Arc<Fates>,
}

impl LossyRelay {
    /// Loses one datagram in `loses` and doubles one in `doubles`, in each direction.
    pub fn start(server: u16, seed: u64, loses: u64, doubles: u64) -> Self {
        let front = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = front.local_addr().unwrap().port();
        let relay = Self { port, calls: Arc::default(), replies: Arc::default() };
        let calls = Arc::clone(&relay.calls);
        let replies = Arc::clone(&relay.replies);
        thread::spawn(move || {
            let mut random = Random::new(seed, 0);
            let mut clients: HashMap<SocketAddr, UdpSocket> = HashMap::new();
            let mut buffer = vec![0; MAX_BYTES];
            // A client that is gone is an error of the socket on some systems.
            loop {
                let Ok((len, client)) = front.recv_from(&mut buffer) else { continue };
                let back = clients.entry(client).or_insert_with(|| {
                    let back = UdpSocket::bind("127.0.0.1:0").unwrap();
                    back.connect(("127.0.0.1", server)).unwrap();
                    let from = back.try_clone().unwrap();
                    let to = front.try_clone().unwrap();
                    let replies = Arc::clone(&replies);
                    let random = Random::new(seed, 1);
                    thread::spawn(move || {
                        return_replies(&from, &to, client, &replies, random, (loses, doubles));
                    });
                    back
                });
                for _ in 0..fate(&mut random, &calls, (loses, doubles)) {
                    let _ = back.send(&buffer[..len]);
                }
            }
        });
        relay
    }
}

fn return_replies(
    from: &UdpSocket,
    to: &UdpSocket,
    client: SocketAddr,
    replies: &Fates,
    mut random: Random,
    chances: (u64, u64),
) {
    let mut buffer = vec![0; MAX_BYTES];
    while let Ok(len) = from.recv(&mut buffer) {
        for _ in 0..fate(&mut random, replies, chances) {
            let _ = to.send_to(&buffer[..len], client);
        }
    }
}

/// How many times a datagram is forwarded.
fn fate(random: &mut Random, fates: &Fates, (loses, doubles): (u64, u64)) -> usize {
    if random.below(loses) == 0 {
        fates.lost.fetch_add(1, Ordering::SeqCst);
        return 0;
    }
    fates.forwarded.fetch_add(1, Ordering::SeqCst);
    let doubled = random.below(doubles) == 0;
    fates.doubled.fetch_add(u64::from(doubled), Ordering::SeqCst);
    if doubled { 2 } else { 1 }
}
