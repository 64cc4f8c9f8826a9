//! Packet burst over a link that loses, repeats, delays and reorders packets, over a slow link, and at a server with other
//! limits.

use std::net::{SocketAddr, UdpSocket};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sharebench_model::{DataOp, Fact, MetaOp, MetaYield, OpenHow, Slot, Stability};
use sharebench_target::{Secret, SessionSpec, Target as _, TargetUrl, call, reply_for};

use super::simulated_link::{HEADERS, Link, LinkFaults, options};
use super::tests::{LOGIN, Still, files_are_written_and_read, path, pattern, server_options, volumes};
use super::*;
use crate::security::level::Level;
use crate::server::{Datagrams, Peer, Server};
use crate::target::NcpTarget;
use crate::wire::burst::{BurstPacket, flag};
use crate::wire::{Completion, TransportKind};

fn bursting(link: Link, burst: BurstOptions) -> Client<Link> {
    bursting_after(link, burst, Duration::from_millis(50))
}

/// A client that retransmits after a silence of `retry`.
fn bursting_after(link: Link, burst: BurstOptions, retry: Duration) -> Client<Link> {
    let options = Options { retry, burst: Some(burst), ..options(Level::Never) };
    block_on(async {
        let mut client = Client::connect(link, options).await.unwrap();
        client.login(LOGIN).await.unwrap();
        assert_eq!(client.window(Direction::Read) > 0, client.connection.transport_kind().is_datagram());
        client
    })
}

#[test]
fn bursts_survive_a_lossy_link_and_writes_execute_once() {
    let mut resent = 0;
    let data = pattern(50_000);
    for seed in 0..300 {
        let transport = if seed % 2 == 0 { TransportKind::Udp } else { TransportKind::IpxInUdp };
        let gap = Duration::from_micros(if seed % 3 == 0 { 500 } else { 0 });
        let window = if seed % 5 == 0 { 5000 } else { 61_440 };
        let mut client = bursting(
            Link::new(Level::IfRequested, transport, seed),
            BurstOptions { window, gap, ..BurstOptions::default() },
        );
        let delay = Duration::from_millis(if seed % 7 == 0 { 200 } else { 2 });
        client.transport_mut().faults = LinkFaults { lost: 10, repeated: 10, delay, ..LinkFaults::default() };
        block_on(async {
            let (file, _) = client.open(&path("SYS:A"), Access::CreateNew, false).await.unwrap();
            for (offset, len) in [(0, 50_000), (1, 49_999), (17, 3000)] {
                let mut sent = 0;
                let mut got = 0;
                let mut back = vec![0; len];
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
            // Beyond 32 bits ordinary calls are used.
            assert_eq!(client.write(file, (1 << 32) + 1, &data[..5000]).await.unwrap(), 1024);
            client.close(file).await.unwrap();
            resent += client.counts().resent;
            client.disconnect().await.unwrap();
        });
    }
    assert!(resent > 3000, "{resent} packets asked for again");
}

#[test]
fn client_falls_back_to_ordinary_calls_without_bursts() {
    let mut client = bursting(Link::new(Level::Never, TransportKind::Udp, 1), BurstOptions::default());
    block_on(async {
        let (file, _) = client.open(&path("SYS:A"), Access::Create, false).await.unwrap();
        client.close(file).await.unwrap();
        for done in [client.read(file, 0, &mut [0; 5000]).await, client.write(file, 0, &[0; 5000]).await] {
            assert!(
                matches!(done, Err(ClientError::Refused { completion: Completion::HardIoError, .. })),
                "{done:?}"
            );
        }
        // The connection remains usable.
        client.make_directory(&path("SYS:D")).await.unwrap();
    });
    let signing = Options { burst: Some(BurstOptions::default()), ..options(Level::Always) };
    let link = Link::new(Level::Always, TransportKind::Udp, 1);
    let signed = block_on(async {
        let mut client = Client::connect(link, signing).await.unwrap();
        client.login(LOGIN).await.unwrap();
        files_are_written_and_read(&mut client, 5000).await;
        client
    });
    assert_eq!((signed.window(Direction::Read), signed.signs()), (0, true), "bursts are not signed");
}

/// Bytes per second of reading or writing 1 MB over 10 Mbit/s with 2 ms of latency, and the payload rate of that
/// link.
fn throughput(lost: u64, burst: bool, writes: bool) -> f64 {
    let link = Link::new(Level::Never, TransportKind::Udp, 3);
    let mut client = bursting(link, BurstOptions::default());
    if !burst {
        client.burst = None;
    }
    let faults =
        LinkFaults { lost, latency: Duration::from_millis(2), rate: 1_250_000, ..LinkFaults::default() };
    let data = pattern(1 << 20);
    block_on(async {
        let (file, _) = client.open(&path("SYS:A"), Access::Create, false).await.unwrap();
        client.transport_mut().faults = faults;
        let start = client.transport().now();
        let mut at = 0;
        let mut back = vec![0; 61_440];
        while at < data.len() {
            at += if writes {
                client.write(file, at as u64, &data[at..]).await.unwrap()
            } else if at == 0 && client.entry_info(&path("SYS:A")).await.unwrap().size == 0 {
                client.transport_mut().faults = LinkFaults::default();
                let mut sent = 0;
                while sent < data.len() {
                    sent += client.write(file, sent as u64, &data[sent..]).await.unwrap();
                }
                client.transport_mut().faults = faults;
                0
            } else {
                client.read(file, at as u64, &mut back).await.unwrap()
            };
        }
        // Bursts reach most of the payload rate on a link without faults.
        data.len() as f64 / client.transport().now().saturating_sub(start).as_secs_f64()
    })
}

#[test]
fn bursts_fill_a_slow_link_better_than_ordinary_calls() {
    let payload = 1_250_000.0 * 1436.0 / (1436.0 + 36.0 + HEADERS as f64);
    for writes in [false, true] {
        for (lost, least) in [(0, 0.9), (1, 0.7), (5, 0.4)] {
            let burst = throughput(lost, true, writes);
            let plain = throughput(lost, false, writes);
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

/// The link of the tests of rate control: 10 Mbit/s, 2 ms of latency, and a queue that is shorter than a burst of
/// 61440 bytes.
const SHORT_QUEUE: LinkFaults = LinkFaults {
    lost: 0,
    repeated: 0,
    delay: Duration::ZERO,
    work: Duration::ZERO,
    latency: Duration::from_millis(2),
    rate: 1_250_000,
    forged: false,
    longest: 0,
    queue: 12,
};
/// Bytes of the file, and times that it is read or written.
const FILE: usize = 1 << 20;
const TIMES: usize = 4;

/// What a client did with a file over a link.
#[derive(Debug)]
struct Transferred {
    /// Share of the payload rate of the link.
    share: f64,
    packets: u64,
    overruns: u64,
    lost: u64,
    window: UsedRange<usize>,
    gap: UsedRange<Duration>,
}

fn transfer(burst: BurstOptions, faults: LinkFaults, writes: bool) -> Transferred {
    // A burst of 61440 bytes is on this link for 52 ms.
    let retry = Duration::from_millis(100);
    let mut client = bursting_after(Link::new(Level::Never, TransportKind::Udp, 3), burst, retry);
    let data = pattern(FILE);
    block_on(async {
        let (file, _) = client.open(&path("SYS:A"), Access::Create, false).await.unwrap();
        let mut at = 0;
        while at < FILE && !writes {
            at += client.write(file, at as u64, &data[at..]).await.unwrap();
        }
        client.transport_mut().faults = faults;
        client.transport_mut().packets = 0;
        let start = client.transport().now();
        let mut back = vec![0; FILE];
        for _ in 0..TIMES {
            let mut at = 0;
            while at < FILE {
                let end = FILE.min(at + 61_440);
                at += if writes {
                    client.write(file, at as u64, &data[at..end]).await.unwrap()
                } else {
                    client.read(file, at as u64, &mut back[at..end]).await.unwrap()
                };
            }
        }
        assert!(writes || back == data);
        let took = client.transport().now().saturating_sub(start).as_secs_f64();
        let payload = 1_250_000.0 * 1436.0 / (1436.0 + 36.0 + HEADERS as f64);
        let BurstUse { window, gap } = client.burst_use().unwrap();
        Transferred {
            share: (FILE * TIMES) as f64 / took / payload,
            packets: client.transport().packets,
            overruns: client.transport().overruns,
            lost: client.counts().lost_fragments,
            window,
            gap,
        }
    })
}

fn adaptive_options() -> BurstOptions {
    BurstOptions { adapts_window: true, adapts_gap: true, ..BurstOptions::default() }
}

#[test]
fn adaptive_bursts_fill_a_link_with_a_short_queue_where_fixed_ones_lose_packets() {
    for writes in [false, true] {
        let fixed = transfer(BurstOptions::default(), SHORT_QUEUE, writes);
        let adaptive = transfer(adaptive_options(), SHORT_QUEUE, writes);
        let what = if writes { "write" } else { "read" };
        println!(
            "{what}, queue of 12 packets: adaptive {:.3}, fixed {:.3} of the link's payload",
            adaptive.share, fixed.share
        );
        assert!(adaptive.share >= 0.75, "{what}: {adaptive:?}");
        assert!(fixed.share < adaptive.share / 1.5, "{what}: {fixed:?} {adaptive:?}");
        assert!(fixed.lost > 20 * adaptive.lost && fixed.overruns > 1000, "{what}: {fixed:?} {adaptive:?}");
        // The gap becomes the time of a packet on this link, 1518 bytes in 1.2144 ms.
        assert!(adaptive.gap.highest >= Duration::from_micros(1300), "{what}: {adaptive:?}");
        assert_eq!(adaptive.gap.first, Duration::ZERO);
        assert_eq!((adaptive.window.first, adaptive.window.highest), (3 * 1436 - 24, 61_440), "{what}");
        assert_eq!((fixed.window, fixed.gap), (UsedRange::new(61_440), UsedRange::new(Duration::ZERO)));
    }
}

#[test]
fn adaptive_bursts_over_a_clean_link_need_few_more_packets_than_fixed_ones() {
    for writes in [false, true] {
        let clean = LinkFaults { queue: 0, ..SHORT_QUEUE };
        let fixed = transfer(BurstOptions::default(), clean, writes);
        let adaptive = transfer(adaptive_options(), clean, writes);
        assert_eq!((fixed.lost, adaptive.lost, adaptive.gap.highest), (0, 0, Duration::ZERO));
        // Four windows are smaller than the largest, and the records of 61440 bytes do not end with them.
        let more = adaptive.packets - fixed.packets;
        assert!(more <= 24, "{more} packets more than {}", fixed.packets);
    }
}

#[test]
fn window_and_gap_adapt_separately_and_survive_random_loss() {
    for (window, gap) in [(true, false), (false, true), (true, true)] {
        let options = BurstOptions { adapts_window: window, adapts_gap: gap, ..BurstOptions::default() };
        for writes in [false, true] {
            let lossy = LinkFaults { lost: 5, repeated: 5, ..SHORT_QUEUE };
            let used = transfer(options, lossy, writes);
            assert!(used.lost > 0, "{used:?}");
            assert_eq!(used.window.lowest < 61_440, window, "{used:?}");
            assert_eq!(used.gap.highest > Duration::ZERO, gap, "{used:?}");
        }
    }
}

/// A server that accepts to send and to receive bursts of these lengths. It ends with its client, and returns the longest
/// burst that it sent and the longest that it received.
fn server_with_limits(limits: [u32; 2]) -> (SocketAddr, JoinHandle<[u32; 2]>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let address = socket.local_addr().unwrap();
    let burst_len = |packet: &[u8]| match BurstPacket::decode(packet) {
        Ok(BurstPacket { fields, .. }) if fields.flags & flag::SYSTEM == 0 => fields.total,
        _ => 0,
    };
    let serving = thread::spawn(move || {
        let server = Server::new(server_options(Level::IfRequested), volumes(), Still);
        let mut longest = [0; 2];
        let mut buffer = [0; 9000];
        loop {
            let (len, client) = socket.recv_from(&mut buffer).unwrap();
            let packet = &buffer[..len];
            longest[1] = longest[1].max(burst_len(packet));
            let mut answers = Datagrams::new();
            server.receive_datagram(Peer::Ip(client), TransportKind::Udp, packet, &mut answers);
            for answer in answers.iter() {
                longest[0] = longest[0].max(burst_len(answer));
                let mut answer = answer.to_vec();
                // The limits are the last words of the reply to 0x65 (docs/protocols/ncp.md 4.1).
                if packet.starts_with(&[0x22, 0x22]) && packet[6] == 0x65 {
                    let stated = limits.map(u32::to_be_bytes).concat();
                    let at = answer.len() - stated.len();
                    answer[at..].copy_from_slice(&stated);
                }
                socket.send_to(&answer, client).unwrap();
            }
            if server.connections() == 0 {
                return longest;
            }
        }
    });
    (address, serving)
}

#[tokio::test]
async fn each_direction_keeps_the_burst_limit_that_the_server_accepts_for_it() {
    const RECORD: u32 = 61_440;
    for limits in [[16 << 10, 60 << 10], [60 << 10, 16 << 10]] {
        let (address, serving) = server_with_limits(limits);
        let url = format!("ncp://bench@{address}/SYS?transport=udp&burst=on&split=on&lip=off&retry=5s");
        let url = TargetUrl::parse(&url).unwrap();
        let target = NcpTarget::from_url(url, Secret::new(LOGIN.password)).unwrap();
        let spec = SessionSpec {
            slot_bytes: RECORD,
            connect_timeout: Duration::from_secs(60),
            ..SessionSpec::default()
        };
        let mut session = target.connect(&spec).await.unwrap();
        // Without the head of the reply to a read, and without the call of a write.
        let windows = format!("{} for reads, {} for writes", limits[0] - 8, limits[1] - 24);
        assert_eq!(session.facts()[Fact::BurstWindow], windows);
        let open = MetaOp::open("A", OpenHow::CreateNew);
        let MetaYield::Opened { file, .. } = call(&mut *session, open).await.unwrap() else { panic!() };
        let slot = Slot(0);
        let data = pattern(RECORD as usize);
        session.buffer(slot).copy_from_slice(&data);
        let write = DataOp::Write { file, offset: 0, len: RECORD, stability: Stability::Unstable };
        assert_eq!(reply_for(&mut *session, slot, write).await.result, Ok(RECORD), "{limits:?}");
        session.buffer(slot).fill(0);
        let read = DataOp::Read { file, offset: 0, len: RECORD };
        assert_eq!(reply_for(&mut *session, slot, read).await.result, Ok(RECORD), "{limits:?}");
        assert!(session.buffer(slot) == data, "{limits:?}");
        session.close().await;
        assert_eq!(serving.join().unwrap(), limits, "the longest bursts fill their limits");
    }
}
