//! Packet burst over a link that loses, repeats, delays and reorders packets, and over a slow link.

use std::time::Duration;

use super::simulated_link::{HEADERS, Link, LinkFaults, options};
use super::tests::{LOGIN, files_are_written_and_read, path, pattern};
use super::*;
use crate::security::level::Level;
use crate::wire::Completion;
use crate::wire::TransportKind;

fn bursting(link: Link, burst: BurstOptions) -> Client<Link> {
    let options = Options { retry: Duration::from_millis(50), burst: Some(burst), ..options(Level::Never) };
    block_on(async {
        let mut client = Client::connect(link, options).await.unwrap();
        client.login(LOGIN).await.unwrap();
        assert_eq!(client.window() > 0, client.connection.transport_kind().is_datagram());
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
    assert_eq!((signed.window(), signed.signs()), (0, true), "bursts are not signed");
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
