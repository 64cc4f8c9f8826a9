//! Memory for captures of peers that never answer. The only test of its process, whose memory it measures.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "all of it is tests, which clippy sees by #[test] only")]

use std::io::{Cursor, Read};

use sharebench_learn::{Observed, ReadOptions, observe};

const TCP: u8 = 6;
const UDP: u8 = 17;
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 2049);
/// Of each kind; each has an address and port that no other one has.
const PEERS: u32 = 100_000;
/// Calls of a few peers, more than may wait for replies.
const CALLS: u32 = 200_000;
/// Most memory of the process.
const MAX_KIB: u64 = 150 << 10;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A record of a capture of raw IP: a packet from or to the server.
fn packet(peer: u32, from_server: bool, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = peer.to_be_bytes();
    let peer = ([11, a, b, c], 700);
    let (from, to) = if from_server { (SERVER, peer) } else { (peer, SERVER) };
    let len = (24 + payload.len()) as u32;
    let mut packet = words(&[1, 0, len, len, 0x4500_0000 | len, 0, 0x4000_0000 | u32::from(protocol) << 16]);
    packet.extend([from.0, to.0].concat());
    packet.extend(words(&[u32::from(from.1) << 16 | u32::from(to.1)]));
    packet.extend(payload);
    packet
}

/// A segment without payload that opens a connection.
fn syn(peer: u32) -> Vec<u8> {
    packet(peer, false, TCP, &words(&[9, 0, 0x5002_0000, 0]))
}

/// A datagram of NFS 3 with the number of a call: GETATTR, or the reply that the file is gone.
fn datagram(peer: u32, xid: u32, reply: bool) -> Vec<u8> {
    const GETATTR: u32 = 1;
    const STALE: u32 = 70;
    let message = if reply {
        words(&[xid, 1, 0, 0, 0, 0, STALE])
    } else {
        words(&[xid, 0, 2, 100_003, 3, GETATTR, 0, 0, 0, 0, 4, 7])
    };
    let len = (8 + message.len()) as u32;
    packet(peer, reply, UDP, &[words(&[len << 16]), message].concat())
}

/// A capture that is made while it is read.
struct Packets<I> {
    packets: I,
    current: Cursor<Vec<u8>>,
}

impl<I: Iterator<Item = Vec<u8>>> Read for Packets<I> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.current.read(buffer)? {
                0 => match self.packets.next() {
                    Some(packet) => self.current = Cursor::new(packet),
                    None => return Ok(0),
                },
                read => return Ok(read),
            }
        }
    }
}

/// What a capture of these packets shows.
fn observed(packets: impl Iterator<Item = Vec<u8>> + 'static) -> Observed {
    let header = words(&[0xA1B2_C3D4, 0x0002_0004, 0, 0, 65_535, 101]);
    let input = Packets { packets, current: Cursor::new(header) };
    let input = ("capture".to_owned(), Box::new(input) as Box<dyn Read>);
    observe(std::iter::once(input), &ReadOptions::default()).unwrap()
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn peers_without_answers_are_forgotten_and_counted() {
    let conversation = |peer| [datagram(peer, peer, false), datagram(peer, peer, true)];
    let silent = (1..PEERS).flat_map(|peer| [syn(peer), datagram(peer, peer, false)]);
    let packets = conversation(0).into_iter().chain(silent).chain(conversation(PEERS));
    let observed = self::observed(packets);
    let answered = observed.operations.iter().filter(|operation| operation.end.is_some()).count();
    assert_eq!((observed.operations.len(), answered), (PEERS as usize + 1, 2));
    assert_eq!(observed.unseen.without_reply, u64::from(PEERS) - 1);
    assert_eq!(observed.unseen.without_request, 0);
    assert!(observed.unseen.forgotten > u64::from(PEERS), "{:?}", observed.unseen);
    assert!(peak_kib() < MAX_KIB, "{} MiB", peak_kib() >> 10);
    // Few peers, each with many calls.
    let calls = (0..CALLS).map(|xid| datagram(xid % 10, xid, false));
    let observed = self::observed(calls);
    assert_eq!(observed.unseen.without_reply, u64::from(CALLS));
    assert!(observed.unseen.forgotten > 0, "{:?}", observed.unseen);
}
