//! Captures of independent programs decode completely, and this crate would send the same packets.
mod burst;
mod datagrams;
mod exchange;
mod pcap;
mod replies;
mod served;

use std::collections::HashMap;

use exchange::{Counts, Exchange};
use pcap::{Packet, Transport};

fn capture(name: &str) -> Vec<Packet> {
    let path = format!("{}/tests/data/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
    pcap::packets(&std::fs::read(path).unwrap())
}

fn on_ip(name: &str) -> Counts {
    let mut counts = Counts::default();
    let mut exchanges = HashMap::new();
    for packet in capture(name) {
        let exchange: &mut Exchange = exchanges.entry((packet.transport, packet.port)).or_default();
        exchange.take(&packet, &packet.bytes, packet.from_client, &mut counts);
    }
    counts
}

fn on_ipx(name: &str) -> Counts {
    let mut counts = Counts::default();
    let mut exchanges = HashMap::new();
    for packet in capture(name) {
        assert_eq!(packet.transport, Transport::Ipx);
        let Some((client, from_client, ncp)) = datagrams::ncp_packet(&packet) else { continue };
        let exchange: &mut Exchange = exchanges.entry(client).or_default();
        exchange.take(&packet, &ncp, from_client, &mut counts);
    }
    counts
}

/// Requests, creates and destroys, replies, login responses, signatures.
fn counts(found: &Counts) -> [usize; 5] {
    [found.requests, found.connections, found.replies, found.logins, found.signatures]
}

fn differences(found: &Counts) -> Vec<(&str, usize)> {
    found.differences.iter().map(|(reason, count)| (*reason, *count)).collect()
}

#[test]
fn libncp_unsigned() {
    let found = on_ip("libncp-client-udp-tcp-unsigned");
    assert_eq!(counts(&found), [54, 3, 60, 2, 0]);
    let create = ("libncp adds bytes to its create", 1);
    assert_eq!(differences(&found), [create, ("libncp leaves out the reserved byte of 0x1E", 2)]);
}

#[test]
fn libncp_signed() {
    let found = on_ip("libncp-client-udp-tcp-signed");
    assert_eq!(counts(&found), [58, 3, 62, 2, 102]);
    assert_eq!(differences(&found), [("libncp adds bytes to its create", 1)]);
}

#[test]
fn kernel_client_on_udp_and_tcp() {
    let found = on_ip("linux-kernel-client-udp-tcp");
    assert_eq!(counts(&found), [430, 24, 458, 8, 396]);
    assert_eq!(differences(&found), [("libncp adds bytes to its create", 4)]);
}

#[test]
fn kernel_client_on_ethernet() {
    let found = on_ipx("linux-kernel-client-mars-server-ethernet-ipx");
    assert_eq!(counts(&found), [127, 20, 139, 2, 0]);
    assert_eq!(differences(&found), [("mars_nwe takes the first request for the create sent again", 8)]);
}

#[test]
fn probe_in_udp() {
    let found = on_ipx("mars-server-ipx-in-udp-with-burst");
    assert_eq!(counts(&found), [79, 2, 81, 1, 0]);
    assert_eq!(differences(&found), []);
}
