//! The client against the server over a link with a clock of its own, which loses, repeats, delays and reorders packets.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use proptest::prelude::*;

use super::tests::{LOGIN, files_are_written_and_read, path, pattern, server_options, volumes};
use super::*;
use crate::security::level::{Agreement, Level};
use crate::security::signature::Transport;
use crate::server::{Datagrams, MemoryVolume, Peer, Server, World};
use crate::wire::Completion;
use crate::wire::packet::{ClientHeader, ServerHeader};
use crate::wire::server_info::{DateAndTime, GetDateAndTime};
use crate::wire::{Codec, Request};

const PEER: Peer = Peer::Stream(1);
/// Ethernet, IP and UDP on a wire, for rates.
const HEADERS: u64 = 46;

/// The time of the link, in nanoseconds.
#[derive(Debug, Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl World for Clock {
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

/// What happens to packets; of each hundred.
#[derive(Debug, Clone, Copy, Default)]
struct Troubles {
    lost: u64,
    repeated: u64,
    /// Longest delay.
    delay: Duration,
    /// How long the server works on a request; it says "busy" to what comes meanwhile.
    work: Duration,
    /// Every packet takes at least this long.
    latency: Duration,
    /// Bytes per second in each direction; 0 without bound.
    rate: u64,
    /// Replies have one bit flipped on the way, and then come as they were.
    forged: bool,
}

/// A server, and packets under way to and from it by the time they arrive.
#[derive(Debug)]
struct Link {
    clock: Clock,
    server: Arc<Server<MemoryVolume, Clock>>,
    transport: Transport,
    troubles: Troubles,
    random: u64,
    queue: BTreeMap<(Duration, u64), (bool, Vec<u8>)>,
    queued: u64,
    working: Option<Duration>,
    /// When each direction has sent what it took so far.
    free: [Duration; 2],
    sends: Vec<Duration>,
    message: Vec<u8>,
}

impl Link {
    fn new(signatures: Level, transport: Transport, seed: u64) -> Self {
        let clock = Clock::default();
        let server = Arc::new(Server::new(server_options(signatures), volumes(), clock.clone()));
        Self {
            clock,
            server,
            transport,
            troubles: Troubles::default(),
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            queue: BTreeMap::new(),
            queued: 0,
            working: None,
            free: [Duration::ZERO; 2],
            sends: Vec::new(),
            message: Vec::new(),
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound.max(1)
    }

    /// Puts a packet under way, which the link may lose or repeat.
    fn send(&mut self, to_server: bool, packet: &[u8], after: Duration) {
        let troubles = self.troubles;
        let mut copies = u64::from(self.below(100) >= troubles.lost);
        copies += u64::from(self.below(100) < troubles.repeated);
        for _ in 0..copies {
            let mut delay = Duration::from_nanos(self.below(troubles.delay.as_nanos() as u64 + 1));
            if let Some(took) =
                (HEADERS + packet.len() as u64).saturating_mul(1_000_000_000).checked_div(troubles.rate)
            {
                let free = &mut self.free[usize::from(to_server)];
                *free = (*free).max(self.clock.now() + after) + Duration::from_nanos(took);
                delay += free.saturating_sub(self.clock.now() + after);
            }
            self.queued += 1;
            let at = self.clock.now() + after + troubles.latency + delay;
            self.queue.insert((at, self.queued), (to_server, packet.to_vec()));
        }
    }

    /// A packet arrives at the server.
    fn serve(&mut self, packet: &[u8]) {
        let now = self.clock.now();
        let mut out = Vec::new();
        if self.working.is_some_and(|until| now < until) {
            if let Ok(header) = ClientHeader::decode(packet) {
                ServerHeader::put(&ServerHeader::busy(&header), &mut out);
            }
            return self.send(false, &out, Duration::ZERO);
        }
        let mut answers = Datagrams::new();
        self.server.receive_datagram(PEER, self.transport, packet, &mut answers);
        let work = self.troubles.work;
        let mut after = work;
        for answer in answers.iter().skip(1) {
            after += answers.gap;
            self.send(false, answer, after);
        }
        let Some(first) = answers.iter().next() else { return };
        out.extend_from_slice(first);
        self.working = Some(now + work);
        if self.troubles.forged {
            let mut forged = out.clone();
            let at = forged.len() - 1;
            forged[at] ^= 1;
            self.send(false, &forged, work);
        }
        self.send(false, &out, work);
    }
}

impl Carrier for Link {
    fn transport(&self) -> Transport {
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
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until) {
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
}

fn options(signatures: Level) -> Options {
    Options { signatures, buffer: 1024, ..Options::default() }
}

fn login(link: Link, signatures: Level) -> Client<Link> {
    block_on(async {
        let mut client = Client::connect(link, options(signatures)).await.unwrap();
        client.login(LOGIN).await.unwrap();
        client
    })
}

#[test]
fn a_lossy_link_executes_nothing_twice_and_loses_nothing() {
    let mut resent = 0;
    for seed in 0..1000 {
        let signatures = if seed % 2 == 0 { Level::Always } else { Level::Never };
        let transport = if seed % 3 == 0 { Transport::Ipx } else { Transport::Udp };
        // A create that comes late would end what it has begun: the protocol has no way to tell.
        let mut client = login(Link::new(Level::IfAsked, transport, seed), signatures);
        let delay = Duration::from_millis(if seed % 5 == 0 { 2000 } else { 50 });
        let troubles = Troubles { lost: 20, repeated: 20, delay, ..Troubles::default() };
        client.carrier_mut().troubles = troubles;
        let data = pattern(2000);
        block_on(async {
            for number in 0..3 {
                // Made twice, a directory would be there already.
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
            let server = Arc::clone(&client.carrier().server);
            client.disconnect().await.unwrap();
            assert_eq!(server.connections(), 0, "seed {seed}");
        });
    }
    assert!(resent > 3000, "{resent} packets sent again");
}

fn bursting(link: Link, burst: BurstOptions) -> Client<Link> {
    let options = Options { retry: Duration::from_millis(50), burst: Some(burst), ..options(Level::Never) };
    block_on(async {
        let mut client = Client::connect(link, options).await.unwrap();
        client.login(LOGIN).await.unwrap();
        assert_eq!(client.window() > 0, client.conversation.transport() != Transport::Tcp);
        client
    })
}

#[test]
fn bursts_arrive_whole_over_a_lossy_link_and_writes_are_executed_once() {
    let (mut resent, data) = (0, pattern(50_000));
    for seed in 0..300 {
        let transport = if seed % 2 == 0 { Transport::Udp } else { Transport::Ipx };
        let gap = Duration::from_micros(if seed % 3 == 0 { 500 } else { 0 });
        let window = if seed % 5 == 0 { 5000 } else { 61_440 };
        let mut client = bursting(
            Link::new(Level::IfAsked, transport, seed),
            BurstOptions { gap, window, ..BurstOptions::default() },
        );
        let delay = Duration::from_millis(if seed % 7 == 0 { 200 } else { 2 });
        client.carrier_mut().troubles = Troubles { lost: 10, repeated: 10, delay, ..Troubles::default() };
        block_on(async {
            let (file, _) = client.open(&path("SYS:A"), Access::CreateNew, false).await.unwrap();
            for (offset, len) in [(0, 50_000), (1, 49_999), (17, 3000)] {
                let (mut sent, mut got, mut back) = (0, 0, vec![0; len]);
                while sent < len {
                    let part = client.write(file, offset + sent as u64, &data[sent..len]).await.unwrap();
                    assert!(part <= window as usize, "a burst is a window");
                    sent += part;
                }
                while got < len {
                    got += client.read(file, offset + got as u64, &mut back[got..]).await.unwrap();
                }
                assert!(back == data[..len], "seed {seed}, offset {offset}");
            }
            assert_eq!(client.read(file, 60_000, &mut [0; 5000]).await.unwrap(), 0, "beyond the end");
            assert_eq!(client.read(file, 49_000, &mut [0; 5000]).await.unwrap(), 1000, "across the end");
            // Beyond 32 bits there are no bursts: the ordinary calls take over.
            assert_eq!(client.write(file, (1 << 32) + 1, &data[..5000]).await.unwrap(), 1024);
            client.close(file).await.unwrap();
            resent += client.counts().resent;
            client.disconnect().await.unwrap();
        });
    }
    assert!(resent > 3000, "{resent} packets asked for again");
}

#[test]
fn a_burst_that_cannot_be_is_refused_and_a_server_without_it_is_asked_in_the_ordinary_way() {
    let mut client = bursting(Link::new(Level::Never, Transport::Udp, 1), BurstOptions::default());
    block_on(async {
        let (file, _) = client.open(&path("SYS:A"), Access::Create, false).await.unwrap();
        client.close(file).await.unwrap();
        for done in [client.read(file, 0, &mut [0; 5000]).await, client.write(file, 0, &[0; 5000]).await] {
            assert!(
                matches!(done, Err(ClientError::Refused { completion: Completion::HardIoError, .. })),
                "{done:?}"
            );
        }
        // The connection goes on.
        client.make_directory(&path("SYS:D")).await.unwrap();
    });
    let signing = Options { burst: Some(BurstOptions::default()), ..options(Level::Always) };
    let link = Link::new(Level::Always, Transport::Udp, 1);
    let signed = block_on(async {
        let mut client = Client::connect(link, signing).await.unwrap();
        client.login(LOGIN).await.unwrap();
        files_are_written_and_read(&mut client, 5000).await;
        client
    });
    assert_eq!((signed.window(), signed.signs()), (0, true), "bursts are not signed");
}

/// Bytes per second of reading or writing a megabyte over 10 Mbit/s with 2 ms of latency, and of that link's payload.
fn throughput(lost: u64, burst: bool, writes: bool) -> f64 {
    let link = Link::new(Level::Never, Transport::Udp, 3);
    let mut client = bursting(link, BurstOptions::default());
    if !burst {
        client.burst = None;
    }
    let troubles =
        Troubles { lost, latency: Duration::from_millis(2), rate: 1_250_000, ..Troubles::default() };
    let data = pattern(1 << 20);
    block_on(async {
        let (file, _) = client.open(&path("SYS:A"), Access::Create, false).await.unwrap();
        client.carrier_mut().troubles = troubles;
        let start = client.carrier().now();
        let (mut at, mut back) = (0, vec![0; 61_440]);
        while at < data.len() {
            at += if writes {
                client.write(file, at as u64, &data[at..]).await.unwrap()
            } else if at == 0 && client.about(&path("SYS:A")).await.unwrap().size == 0 {
                client.carrier_mut().troubles = Troubles::default();
                let mut sent = 0;
                while sent < data.len() {
                    sent += client.write(file, sent as u64, &data[sent..]).await.unwrap();
                }
                client.carrier_mut().troubles = troubles;
                0
            } else {
                client.read(file, at as u64, &mut back).await.unwrap()
            };
        }
        // Filling before reading took no time on the link without troubles.
        data.len() as f64 / client.carrier().now().saturating_sub(start).as_secs_f64()
    })
}

#[test]
fn a_burst_fills_a_slow_link_that_requests_and_replies_leave_idle() {
    let payload = 1_250_000.0 * 1436.0 / (1436.0 + 36.0 + HEADERS as f64);
    for writes in [false, true] {
        for (lost, least) in [(0, 0.9), (1, 0.7), (5, 0.4)] {
            let (burst, plain) = (throughput(lost, true, writes), throughput(lost, false, writes));
            let what = if writes { "write" } else { "read" };
            println!(
                "{what}, {lost} % lost: burst {:.3}, request and reply {:.3} of the link's payload",
                burst / payload,
                plain / payload
            );
            assert!(burst / payload >= least, "{what}, {lost} % lost: {:.3} of {least}", burst / payload);
            assert!(burst > plain);
        }
    }
}

#[test]
fn every_pair_of_levels_signs_or_not_on_every_transport() {
    for transport in [Transport::Udp, Transport::Ipx] {
        for (at, server) in (0..16).map(|at| (at, Level::from_number(at / 4).unwrap())) {
            let level = Level::from_number(at % 4).unwrap();
            let link = Link::new(server, transport, 1);
            block_on(async {
                let mut client = Client::connect(link, options(level)).await.unwrap();
                let done = client.login(LOGIN).await;
                match (level.agree(server), done) {
                    (Agreement::Refused, Err(ClientError::NotSigned { .. })) => {}
                    (Agreement::Refused, Err(ClientError::Refused { completion, .. })) => {
                        assert_eq!(completion, Completion::SignatureRequired);
                    }
                    (agreement, Ok(())) => {
                        // A server that would sign if it could has no way to ask a client that waits to be asked.
                        let unasked = (level, server) == (Level::IfAsked, Level::IfPossible);
                        let signs = agreement == Agreement::On && !unasked;
                        assert_eq!(client.signs(), signs, "{level:?} {server:?}");
                        files_are_written_and_read(&mut client, 3000).await;
                    }
                    (agreement, done) => panic!("{level:?} {server:?}: {agreement:?}, {done:?}"),
                }
            });
        }
    }
}

#[test]
fn a_silent_server_is_asked_with_growing_pauses_until_the_deadline() {
    let mut client = login(Link::new(Level::Never, Transport::Udp, 1), Level::Never);
    let start = client.carrier().now();
    client.carrier_mut().troubles.lost = 100;
    client.carrier_mut().sends.clear();
    match block_on(client.call("time", &GetDateAndTime {}.into())) {
        Err(ClientError::Io { step: "time", source }) => assert_eq!(source.kind(), ErrorKind::TimedOut),
        other => panic!("{other:?}"),
    }
    let sends: Vec<_> =
        client.carrier().sends.iter().map(|at| at.saturating_sub(start).as_millis()).collect();
    assert_eq!(sends, [0, 600, 1800, 4200, 9000, 13_800, 18_600, 23_400, 28_200]);
    assert_eq!(
        (client.carrier().now().saturating_sub(start), client.counts().resent),
        (Duration::from_secs(30), 8)
    );
}

#[test]
fn a_server_that_is_busy_for_long_is_waited_for_and_executes_once() {
    let mut client = login(Link::new(Level::Never, Transport::Udp, 1), Level::Never);
    client.carrier_mut().troubles.work = Duration::from_secs(100);
    block_on(client.make_directory(&path("SYS:A"))).unwrap();
    assert!(client.counts().busy > 100, "{:?}", client.counts());
    // Longer than any patience: eleven times the timeout.
    client.carrier_mut().troubles.work = Duration::from_secs(1000);
    let start = client.carrier().now();
    let late = block_on(client.make_directory(&path("SYS:B")));
    assert!(matches!(late, Err(ClientError::Io { .. })), "{late:?}");
    assert_eq!(client.carrier().now().saturating_sub(start), Duration::from_secs(330));
}

#[test]
fn forged_replies_are_passed_over_and_nothing_but_forged_ones_is_told() {
    let mut client = login(Link::new(Level::Always, Transport::Udp, 1), Level::Always);
    client.carrier_mut().troubles.forged = true;
    block_on(client.make_directory(&path("SYS:A"))).unwrap();
    client.carrier_mut().troubles.lost = 50;
    for number in 0..20 {
        block_on(client.make_directory(&path(&format!("SYS:A\\{number}")))).unwrap();
    }
    let mut reply = Vec::new();
    client.begin("time", &GetDateAndTime {}.into());
    client.carrier_mut().troubles = Troubles { lost: 100, ..Troubles::default() };
    let server = Arc::clone(&client.carrier().server);
    server.receive(PEER, Transport::Udp, client.conversation.again(), &mut reply);
    reply[9] ^= 1;
    let at = client.carrier().now();
    client.carrier_mut().queue.insert((at, u64::MAX), (false, reply));
    assert!(matches!(block_on(client.finish()), Err(ClientError::BadSignature { step: "time" })));
}

#[test]
fn the_watchdog_keeps_clients_that_answer_and_forgets_the_silent() {
    let mut client = login(Link::new(Level::Never, Transport::Udp, 1), Level::Never);
    let (server, clock) = (Arc::clone(&client.carrier().server), client.carrier().clock.clone());
    let pass = |minutes: u64| clock.0.fetch_add(minutes * 60_000_000_000, Ordering::Relaxed);
    pass(4);
    assert_eq!(server.watch(), []);
    pass(2);
    let asked = server.watch();
    assert_eq!(asked, [(PEER, [0x3e, 0x3e, 0, 1, 0, 0, 0, 0, 0, b'?'])]);
    // The question is there when the client asks something the next time: it answers, and is served.
    let at = client.carrier().now();
    client.carrier_mut().queue.insert((at, u64::MAX), (false, asked[0].1.to_vec()));
    client.carrier_mut().troubles.delay = Duration::from_millis(1);
    block_on(client.make_directory(&path("SYS:A"))).unwrap();
    assert!(client.carrier().sends.len() > client.counts().requests as usize);
    let minutes = (0..20).take_while(|_| {
        pass(1);
        server.watch();
        server.connections() == 1
    });
    assert_eq!(minutes.count(), 14, "five minutes, then ten questions");
    let lost = block_on(client.make_directory(&path("SYS:B")));
    assert!(matches!(lost, Err(ClientError::ConnectionLost { .. })), "{lost:?}");
}

proptest! {
    /// What is no reply leaves the conversation as it was.
    #[test]
    fn hostile_replies_are_told_from_the_reply(
        bytes in prop::collection::vec(prop_oneof![Just(0x33u8), Just(0), Just(1), any::<u8>()], 0..60),
        start in 0..12usize,
    ) {
        let mut client = login(Link::new(Level::Always, Transport::Udp, 1), Level::Always);
        let (message, reply) = asked(&mut client, &GetDateAndTime {}.into());
        prop_assert!(!message.is_empty());
        let mixed = [&reply[..start], &bytes[..]].concat();
        let conversation = &mut client.conversation;
        if mixed != reply {
            let taken = matches!(conversation.arrival(&mixed), Ok(Arrival::Reply(_)));
            prop_assert!(!taken);
        }
        let taken = matches!(conversation.arrival(&reply), Ok(Arrival::Reply(_)));
        prop_assert!(taken);
    }
}

/// A request and the server's reply to it, which the client has not seen yet.
fn asked(client: &mut Client<Link>, request: &Request<'_>) -> (Vec<u8>, Vec<u8>) {
    let message = client.conversation.request(request).to_vec();
    let mut reply = Vec::new();
    client.carrier().server.receive(PEER, Transport::Udp, &message, &mut reply);
    (message, reply)
}

#[test]
fn busy_strangers_and_forgers_are_told_from_the_reply() {
    let mut client = login(Link::new(Level::Always, Transport::Udp, 1), Level::Always);
    let (_, reply) = asked(&mut client, &GetDateAndTime {}.into());
    let conversation = &mut client.conversation;
    let mut changed = |at: usize, to: u8| {
        let mut packet = reply.clone();
        packet[at] = to;
        match conversation.arrival(&packet) {
            Ok(Arrival::Reply(_)) => panic!("taken"),
            Ok(Arrival::Busy) => "busy",
            Ok(Arrival::Foreign) => "foreign",
            Ok(Arrival::BadSignature) => "bad signature",
            Err(_) => "no packet",
        }
    };
    assert_eq!(changed(0, 0x77), "no packet");
    assert_eq!(changed(2, 99), "foreign");
    assert_eq!(changed(3, 99), "foreign");
    assert_eq!(changed(9, 99), "bad signature");
    let busy = [&[0x99, 0x99][..], &reply[2..6], &[0, 0]].concat();
    assert_eq!(conversation.arrival(&busy), Ok(Arrival::Busy));
    assert!(matches!(conversation.arrival(&reply), Ok(Arrival::Reply(found)) if found.data.len() == 7));
    assert_eq!(conversation.arrival(&reply), Ok(Arrival::Foreign), "taken once");
}
