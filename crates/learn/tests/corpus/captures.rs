//! Captures of hostile clients and servers: any bytes, and connections whose messages the input chooses.

use std::io::{Cursor, Read};

use sharebench_learn::{
    ReadOptions, SessionKeyTable, learn, loadfile, observe, preset, server_report, to_json,
};

/// Flags of a segment.
const OF_SERVER: u8 = 1;
const HOLE: u8 = 2;
const AGAIN: u8 = 4;
/// Precede it with the frame of a message: of ONC RPC, or of SMB.
const RPC: u8 = 8;
const SMB: u8 = 16;
const SECOND_CONNECTION: u8 = 32;
/// The capture has fewer bytes of it than were on the wire.
const SNAPPED: u8 = 64;

/// Flag of the input: read it with keys.
const KEYS: u8 = 128;
/// Keys of the sessions 0 and 1.
const SESSION_KEYS: &str = "0000000000000000,00000000000000000000000000000000,,
0100000000000000,,00000000000000000000000000000000,0000000000000000000000000000000000000000000000000000000000000000";

const MAGIC: u32 = 0xA1B2_C3D4;
const LINK_RAW: u32 = 101;
const TCP: u8 = 6;
const FLAGS_OF_DATA: u8 = 0x18;

/// Learns from the input: as a file after an even byte, otherwise as the segments of connections.
pub fn run(input: &[u8]) {
    let Some((kind, rest)) = input.split_first() else { return };
    let file = if kind % 2 == 0 { rest.to_vec() } else { conversation(rest) };
    let input = ("input".to_owned(), Box::new(Cursor::new(file)) as Box<dyn Read>);
    // Without SMB, keys are an error.
    let keys = (kind & KEYS != 0).then(|| SessionKeyTable::parse("keys", SESSION_KEYS).expect("keys"));
    let options = ReadOptions { keys, ..ReadOptions::default() };
    let Ok(observed) = observe(std::iter::once(input), &options) else { return };
    let learned = learn(&observed);
    let report = server_report(&observed);
    assert_eq!(report.operations, observed.operations.len() as u64);
    let _ = to_json(&report, &learned).to_string();
    let _ = loadfile(&observed);
    if let Some(text) = preset(&learned, "mine") {
        assert!(sharebench_plan::Plan::parse(&text).is_ok(), "{text}");
    }
}

/// A capture of segments: each has flags, a length of two bytes and its content.
fn conversation(mut input: &[u8]) -> Vec<u8> {
    let mut file = [MAGIC, 0x0002_0004, 0, 0, 65_535, LINK_RAW].map(u32::to_be_bytes).concat();
    // The next byte of client and server, of two connections.
    let mut next = [[1u32; 2]; 2];
    let mut time = 0;
    while let Some(([flags, high, low], rest)) = input.split_first_chunk() {
        let len = usize::from(u16::from_be_bytes([*high, *low]) % 4096).min(rest.len());
        let (content, rest) = rest.split_at(len);
        input = rest;
        let flags = *flags;
        let frame = match flags {
            _ if flags & RPC != 0 => (0x8000_0000 | len as u32).to_be_bytes().to_vec(),
            _ if flags & SMB != 0 => (len as u32).to_be_bytes().to_vec(),
            _ => Vec::new(),
        };
        let segment = [frame.as_slice(), content].concat();
        let connection = usize::from(flags & SECOND_CONNECTION != 0);
        let side = usize::from(flags & OF_SERVER != 0);
        let sequence = &mut next[connection][side];
        if flags & HOLE != 0 {
            *sequence = sequence.wrapping_add(1000);
        }
        let captured = if flags & SNAPPED != 0 { segment.len() / 2 } else { segment.len() };
        for _ in 0..=u8::from(flags & AGAIN != 0) {
            time += 1000;
            packet(&mut file, time, connection, side, *sequence, &segment, captured);
        }
        *sequence = sequence.wrapping_add(segment.len() as u32);
    }
    file
}

fn packet(
    file: &mut Vec<u8>,
    time: u32,
    connection: usize,
    side: usize,
    sequence: u32,
    segment: &[u8],
    captured: usize,
) {
    const HEADERS: usize = 40;
    let len = HEADERS + segment.len();
    let client = [10, 0, 0, 1 + connection as u8];
    let server = [10, 0, 0, 9];
    let mut from = (client, 1000u16);
    let mut to = (server, 2049u16);
    if side == 1 {
        std::mem::swap(&mut from, &mut to);
    }
    for word in [time / 1_000_000, time % 1_000_000, (HEADERS + captured) as u32, len as u32] {
        file.extend(word.to_be_bytes());
    }
    file.extend([0x45, 0]);
    file.extend((len as u16).to_be_bytes());
    file.extend([0, 0, 0, 0, 64, TCP, 0, 0]);
    file.extend(from.0);
    file.extend(to.0);
    file.extend(from.1.to_be_bytes());
    file.extend(to.1.to_be_bytes());
    file.extend(sequence.to_be_bytes());
    file.extend([0, 0, 0, 0, 0x50, FLAGS_OF_DATA, 0, 0, 0, 0, 0, 0]);
    file.extend(&segment[..captured]);
}
