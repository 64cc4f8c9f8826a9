//! A simulated link with a virtual clock, which loses, repeats, delays and reorders packets, and the server at its
//! other end.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use super::tests::{LOGIN, server_options, volumes};
use super::*;
use crate::security::level::Level;
use crate::server::{self, Datagrams, Environment, MemoryVolume, Peer, Server};
use crate::wire::Codec;
use crate::wire::TransportKind;
use crate::wire::lip::is_probe;
use crate::wire::packet::{ClientHeader, ServerHeader};
use crate::wire::server_info::DateAndTime;

pub const PEER: Peer = Peer::Stream(1);
/// Bytes of Ethernet, IP and UDP headers, for rates.
pub const HEADERS: u64 = 46;

/// The virtual time of the link in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Clock(pub Arc<AtomicU64>);

impl Environment for Clock {
    fn login_key(&self) -> [u8; 8] {
        *b"unlikely"
    }

    fn date_and_time(&self) -> DateAndTime {
        DateAndTime { year: 126, month: 11, day: 21, hour: 1, minute: 2, second: 3, weekday: 6 }
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// Faults of a link; probabilities in percent.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinkFaults {
    pub lost: u64,
    pub repeated: u64,
    /// The longest random delay.
    pub delay: Duration,
    /// Execution time of each request; the server answers "busy" to others meanwhile.
    pub work: Duration,
    /// The minimum delay of every packet.
    pub latency: Duration,
    /// Bytes per second in each direction; 0 is unlimited.
    pub rate: u64,
    /// A copy of each reply with one flipped bit arrives before the reply.
    pub forged: bool,
    /// Longer packets are lost; 0 is unlimited.
    pub longest: usize,
    /// Packets that can wait for the rate of the link; further ones are lost. 0 is unlimited.
    pub queue: usize,
}

/// A server, and the packets in transit by their time of arrival.
#[derive(Debug)]
pub struct Link {
    pub clock: Clock,
    pub server: Arc<Server<MemoryVolume, Clock>>,
    pub transport: TransportKind,
    pub faults: LinkFaults,
    random: u64,
    pub queue: BTreeMap<(Duration, u64), (bool, Vec<u8>)>,
    pub peer: Peer,
    /// Packets of other clients by their time of arrival at the server.
    pub others: BTreeMap<Duration, (Peer, Vec<u8>)>,
    /// The next time at which the server is polled for the reply to a waiting request.
    resume: Option<Duration>,
    queued: u64,
    working: Option<Duration>,
    /// When each direction has sent everything that it accepted.
    free: [Duration; 2],
    /// When the packets in the queue of each direction leave it.
    departures: [VecDeque<Duration>; 2],
    /// Packets that the client and the server sent.
    pub packets: u64,
    /// Packets that overran a queue.
    pub overruns: u64,
    pub sends: Vec<Duration>,
    message: Vec<u8>,
    /// Whether the client has enabled checksums.
    pub checks: bool,
    pub routed: bool,
}

impl Link {
    pub fn new(signatures: Level, transport: TransportKind, seed: u64) -> Self {
        Self::to(server_options(signatures), transport, seed)
    }

    /// A link to a server with other options.
    pub fn to(options: server::Options, transport: TransportKind, seed: u64) -> Self {
        let clock = Clock::default();
        let server = Arc::new(Server::new(options, volumes(), clock.clone()));
        Self::over(server, clock, (PEER, transport), seed)
    }

    /// A link of another client to the same server with the same clock.
    pub fn second_client(&self, peer: Peer, seed: u64) -> Self {
        Self::over(Arc::clone(&self.server), self.clock.clone(), (peer, self.transport), seed)
    }

    fn over(
        server: Arc<Server<MemoryVolume, Clock>>,
        clock: Clock,
        (peer, transport): (Peer, TransportKind),
        seed: u64,
    ) -> Self {
        Self {
            clock,
            server,
            peer,
            others: BTreeMap::new(),
            resume: None,
            transport,
            faults: LinkFaults::default(),
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            queue: BTreeMap::new(),
            queued: 0,
            working: None,
            free: [Duration::ZERO; 2],
            departures: Default::default(),
            packets: 0,
            overruns: 0,
            sends: Vec::new(),
            message: Vec::new(),
            checks: false,
            routed: false,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound.max(1)
    }

    /// Sends a packet, which the link may lose or repeat.
    fn send(&mut self, to_server: bool, packet: &[u8], after: Duration) {
        let faults = self.faults;
        self.packets += 1;
        if faults.longest > 0 && packet.len() > faults.longest {
            return;
        }
        let waiting = &mut self.departures[usize::from(to_server)];
        let now = self.clock.now() + after;
        while waiting.front().is_some_and(|departure| *departure <= now) {
            waiting.pop_front();
        }
        if faults.queue > 0 && waiting.len() >= faults.queue {
            self.overruns += 1;
            return;
        }
        let mut copies = u64::from(self.below(100) >= faults.lost);
        copies += u64::from(self.below(100) < faults.repeated);
        for _ in 0..copies {
            let mut delay = Duration::from_nanos(self.below(faults.delay.as_nanos() as u64 + 1));
            if let Some(took) =
                (HEADERS + packet.len() as u64).saturating_mul(1_000_000_000).checked_div(faults.rate)
            {
                let free = &mut self.free[usize::from(to_server)];
                *free = (*free).max(now) + Duration::from_nanos(took);
                delay += free.saturating_sub(now);
                self.departures[usize::from(to_server)].push_back(*free);
            }
            self.queued += 1;
            let at = now + faults.latency + delay;
            self.queue.insert((at, self.queued), (to_server, packet.to_vec()));
        }
    }

    /// Delivers a packet to the server.
    fn serve(&mut self, packet: &[u8]) {
        let now = self.clock.now();
        let mut out = Vec::new();
        if is_probe(packet) {
            return self.send(false, packet, Duration::ZERO);
        }
        if self.working.is_some_and(|until| now < until) {
            if let Ok(header) = ClientHeader::decode(packet) {
                ServerHeader::put(&ServerHeader::busy(&header), &mut out);
            }
            return self.send(false, &out, Duration::ZERO);
        }
        let mut answers = Datagrams::new();
        self.server.receive_datagram(self.peer, self.transport, packet, &mut answers);
        let work = self.faults.work;
        let Some(first) = answers.iter().next() else { return self.resume() };
        out.extend_from_slice(first);
        self.working = Some(now + work);
        if self.faults.forged {
            let mut forged = out.clone();
            let at = forged.len() - 1;
            forged[at] ^= 1;
            self.send(false, &forged, work);
        }
        self.send(false, &out, work);
        let mut after = work;
        for answer in answers.iter().skip(1) {
            after += answers.gap;
            self.send(false, answer, after);
        }
    }
}

impl Link {
    /// Polls the server for the reply to a request that waits for a lock.
    fn resume(&mut self) {
        let mut out = Vec::new();
        self.resume = self.server.resume(self.peer, &mut out);
        if !out.is_empty() {
            self.send(false, &out, Duration::ZERO);
        }
    }

    /// Performs what the server does without a packet of this client; false when nothing is due until then.
    fn act(&mut self, until: Duration) -> bool {
        let arrival = self.others.first_key_value().map(|(at, _)| *at);
        let Some(at) = arrival.into_iter().chain(self.resume).min().filter(|at| *at <= until) else {
            return false;
        };
        self.clock.0.fetch_max(at.as_nanos() as u64, Ordering::Relaxed);
        if arrival == Some(at)
            && let Some((_, (peer, packet))) = self.others.pop_first()
        {
            self.server.receive_datagram(peer, self.transport, &packet, &mut Datagrams::new());
        }
        self.resume();
        true
    }
}

impl Transport for Link {
    fn kind(&self) -> TransportKind {
        self.transport
    }

    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn poll_send(&mut self, _: &mut Context<'_>, message: &[u8], _: Duration) -> Poll<io::Result<()>> {
        self.sends.push(self.now());
        self.send(true, message, Duration::ZERO);
        Poll::Ready(Ok(()))
    }

    fn poll_receive(&mut self, _: &mut Context<'_>, until: Duration) -> Poll<io::Result<bool>> {
        loop {
            let next = self.queue.first_key_value().map_or(until, |((at, _), _)| until.min(*at));
            if self.act(next) {
                continue;
            }
            let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until) else { break };
            let ((at, _), (to_server, packet)) = entry.remove_entry();
            self.clock.0.fetch_max(at.as_nanos() as u64, Ordering::Relaxed);
            if to_server {
                self.serve(&packet);
            } else {
                self.message = packet;
                return Poll::Ready(Ok(true));
            }
        }
        self.clock.0.fetch_max(until.as_nanos() as u64, Ordering::Relaxed);
        Poll::Ready(Ok(false))
    }

    fn message(&self) -> &[u8] {
        &self.message
    }

    fn has_checksums(&self) -> bool {
        self.transport == TransportKind::IpxInUdp
    }

    fn use_checksums(&mut self, on: bool) {
        self.checks = on;
    }

    fn is_routed(&self) -> bool {
        self.routed
    }

    fn poll_send_probe(
        &mut self,
        _: &mut Context<'_>,
        _: u16,
        probe: &[u8],
        _: Duration,
    ) -> Poll<io::Result<()>> {
        self.send(true, probe, Duration::ZERO);
        Poll::Ready(Ok(()))
    }
}

pub fn options(signatures: Level) -> Options {
    Options { signatures, buffer: 1024, ..Options::default() }
}

pub fn login(link: Link, signatures: Level) -> Client<Link> {
    block_on(async {
        let mut client = Client::connect(link, options(signatures)).await.unwrap();
        client.login(LOGIN).await.unwrap();
        client
    })
}
