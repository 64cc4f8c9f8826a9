//! Frames of a capture file and their payload: NCP on UDP and TCP, IPX on Ethernet and in UDP.

use std::collections::HashMap;

use sharebench_ncp::wire::ethernet::Frame;
use sharebench_ncp::wire::tcp::{self, Direction};

/// The transport of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    Udp,
    Tcp,
    Ipx,
}

/// One packet, message or datagram.
#[derive(Debug)]
pub struct Packet {
    /// Number of its last frame, as Wireshark counts.
    pub frame: usize,
    pub transport: Transport,
    /// Port of the client; 0 for IPX, which has its own addresses.
    pub port: u16,
    /// True towards the server; without meaning for IPX.
    pub from_client: bool,
    pub bytes: Vec<u8>,
    /// False if the capture has only its start; the rest is filled with zeros.
    pub whole: bool,
}

/// All packets of a capture that the tests use.
pub fn packets(file: &[u8]) -> Vec<Packet> {
    let mut streams = HashMap::new();
    let mut found = Vec::new();
    for (number, frame, whole) in frames(file) {
        match carried(&frame) {
            Some((Transport::Tcp, source, destination, payload)) => {
                let stream: &mut Stream = streams.entry((source, destination)).or_default();
                stream.bytes.extend_from_slice(payload);
                stream.cut |= !whole;
                let (from_client, port) = side(source, destination);
                stream.take_messages(from_client, |bytes, whole| {
                    found.push(Packet {
                        frame: number,
                        transport: Transport::Tcp,
                        port,
                        from_client,
                        bytes,
                        whole,
                    });
                });
            }
            Some((transport, source, destination, payload)) => {
                let (from_client, port) = side(source, destination);
                found.push(Packet {
                    frame: number,
                    transport,
                    port,
                    from_client,
                    bytes: payload.to_vec(),
                    whole,
                });
            }
            None => {}
        }
    }
    assert!(streams.values().all(|stream| stream.bytes.is_empty()), "a message without end");
    found
}

fn side(source: u16, destination: u16) -> (bool, u16) {
    if destination == tcp::PORT { (true, source) } else { (false, destination) }
}

/// Frame number, bytes padded to their length on the wire, and whether all of them were captured.
fn frames(file: &[u8]) -> Vec<(usize, Vec<u8>, bool)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((word(0), word(20)), (0xa1b2_c3d4, 1), "little-endian capture of Ethernet");
    let mut at = 24;
    let mut number = 0;
    let mut frames = Vec::new();
    while at < file.len() {
        let captured = word(at + 8);
        let length = word(at + 12);
        number += 1;
        if captured > 0 {
            let mut bytes = file[at + 16..at + 16 + captured].to_vec();
            bytes.resize(length, 0);
            frames.push((number, bytes, captured == length));
        }
        at += 16 + captured;
    }
    frames
}

/// Transport, ports and payload; none for other frames.
fn carried(frame: &[u8]) -> Option<(Transport, u16, u16, &[u8])> {
    if let Some(frame) = Frame::decode(frame).unwrap() {
        return Some((Transport::Ipx, 0, 0, frame.packet));
    }
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let ip = frame.get(14..).filter(|_| word(frame, 12) == 0x0800)?;
    let segment = &ip[usize::from(ip[0] & 15) * 4..usize::from(word(ip, 2))];
    let source = word(segment, 0);
    let destination = word(segment, 2);
    match ip[9] {
        6 => Some((Transport::Tcp, source, destination, &segment[usize::from(segment[12] >> 4) * 4..])),
        17 if [source, destination].contains(&tcp::PORT) => {
            Some((Transport::Udp, source, destination, &segment[8..]))
        }
        17 => Some((Transport::Ipx, 0, 0, &segment[8..])),
        _ => None,
    }
}

/// One direction of a connection. The captures have every segment once and in order.
#[derive(Debug, Default)]
struct Stream {
    bytes: Vec<u8>,
    cut: bool,
}

impl Stream {
    fn take_messages(&mut self, from_client: bool, mut found: impl FnMut(Vec<u8>, bool)) {
        let direction = if from_client { Direction::Request } else { Direction::Reply };
        while let Some(len) = tcp::message_len(direction, &self.bytes).unwrap() {
            if len > self.bytes.len() {
                return;
            }
            found(self.bytes.drain(..len).collect(), !self.cut);
            self.cut = false;
        }
    }
}
