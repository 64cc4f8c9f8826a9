//! Hostile NCP servers over TCP, UDP and IPX in UDP.

use crate::mode::Protocol::{NcpIpx, NcpTcp, NcpUdp};
use crate::mode::{ESCAPES, Mode, Protocol, forward, garbage};
use crate::proxy::{Answer, Exchange};

/// Bytes before the packet of a reply over TCP, and of a request.
const TCP_REPLY: usize = 8;
const TCP_REQUEST: usize = 16;
/// Bytes of an IPX header.
const IPX: usize = 30;
/// Bytes of a server header (docs/protocols/ncp.md 1.3).
const HEADER: usize = 8;
/// Fields of a server header.
const SEQUENCE: usize = 2;
const CONNECTION: usize = 3;
const COMPLETION: usize = 6;
const STATUS: usize = 7;
const REPLY: [u8; 2] = [0x33, 0x33];
const BUSY: [u8; 2] = [0x99, 0x99];
/// Bytes of the information about a name (docs/protocols/ncp.md 3.4).
const INFO: usize = 76;
/// Fields of the reply to a search: sequence, more, count.
const SEARCH_HEAD: usize = 12;
/// Entries of a page of an endless directory.
const PAGE_ENTRIES: u32 = 250;
const ATTRIBUTE_DIRECTORY: u32 = 0x10;
/// Functions: information by path and its searches, and reading.
const NAMES: u8 = 0x57;
const SEARCH_SET: u8 = 20;
const READ: u8 = 0x48;
const READ_LARGE: u8 = 0x40;
/// Functions of volumes, of the server, and of its clock.
const VOLUMES: u8 = 0x16;
const VOLUME_NAME: u8 = 0x06;
const VOLUME_USAGE: u8 = 0x2C;
const SERVER: u8 = 0x17;
const SERVER_INFO: u8 = 0x11;
const CLOCK: u8 = 0x14;
/// Bytes of the usage of a volume before its name.
const USAGE: usize = 29;
/// Bytes of the name of a server.
const SERVER_NAME: usize = 48;

/// The modes, in the order of the table.
pub fn modes() -> Vec<Mode> {
    [
        stream(),
        packets(NcpTcp),
        names(NcpTcp),
        datagrams(NcpUdp),
        packets(NcpUdp),
        datagrams(NcpIpx),
        packets(NcpIpx),
        ipx(),
    ]
    .concat()
}

/// Modes of the stream of NCP over TCP.
fn stream() -> Vec<Mode> {
    vec![
        Mode::slow(NcpTcp, "an unknown marker", |at| Answer::Send([b"XXXX", &at.reply[4..]].concat())),
        Mode::new(NcpTcp, "a message of 256 MiB announced", |at| {
            Answer::Send([b"tNcP\x0F\xFF\xFF\xFF", &at.reply[8..]].concat())
        }),
        Mode::new(NcpTcp, "messages of 0 bytes without end", |_| Answer::Flood(b"tNcP\0\0\0\0".to_vec())),
        Mode::new(NcpTcp, "messages without a packet, without end", |_| {
            Answer::Flood(b"tNcP\0\0\0\x08".to_vec())
        }),
        Mode::new(NcpTcp, "the end of the connection in the middle of a reply", |at| {
            Answer::Close(at.reply[..at.reply.len() / 2].to_vec())
        }),
        Mode::new(NcpTcp, "an HTTP server", |_| {
            Answer::Send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec())
        }),
        Mode::slow(NcpTcp, "the request in place of its reply", |at| Answer::Send(at.request.to_vec())),
        Mode::greeting(NcpTcp, "accepts and closes connections", || Some(Answer::Close(Vec::new()))),
        Mode::greeting(NcpTcp, "accepts connections and stays silent", || Some(Answer::Silence(Vec::new()))),
        Mode::slow(NcpTcp, "silence after half of a reply", |at| {
            Answer::Silence(at.reply[..at.reply.len() / 2].to_vec())
        }),
        Mode::slow(NcpTcp, "a reply at one byte every 0.4 s", |at| Answer::Drip(at.reply)),
    ]
}

/// Modes of packets, whatever carries them.
fn packets(protocol: Protocol) -> Vec<Mode> {
    let slow = |what, distort| Mode::slow(protocol, what, distort);
    let spoiling = |what, distort| Mode::spoiling(protocol, what, distort);
    let new = |what, distort| Mode::new(protocol, what, distort);
    vec![
        // Retransmission is all that a client can do about packets that it must ignore.
        slow("packets of garbage", |at| replaced(&at, |packet| garbage(packet.len()))),
        slow("replies with another sequence number", |at| changed(at, SEQUENCE, &[0xEE])),
        slow("replies to another connection", |at| changed(at, CONNECTION, &[0xEE])),
        slow("\"busy\" without end", |at| match packet_at(&at.reply) {
            Some(_) => Answer::Flood(rebuilt(&at.reply, |packet| put(packet, 0, &BUSY))),
            None => forward(at),
        }),
        new("replies that consist of their header", |at| {
            replaced(&at, |packet| packet[..packet.len().min(HEADER)].to_vec())
        }),
        spoiling("replies of zeros", |at| {
            replaced(&at, |packet| [&packet[..HEADER], &vec![0; packet.len() - HEADER]].concat())
        }),
        spoiling("replies of ones", |at| {
            replaced(&at, |packet| [&packet[..HEADER], &vec![0xFF; packet.len() - HEADER]].concat())
        }),
        new("the completion code \"failure\" for all requests", |at| changed(at, COMPLETION, &[0xFF])),
        new("an unknown completion code for all requests", |at| changed(at, COMPLETION, &[0x42])),
        new("the status \"no such connection\" in all replies", |at| changed(at, STATUS, &[1])),
        new("each reply twice", |at| Answer::Twice(at.reply)),
    ]
}

/// Modes of listings and data.
fn names(protocol: Protocol) -> Vec<Mode> {
    let new = |what, distort| Mode::new(protocol, what, distort);
    let endless = |what, distort| Mode::endless(protocol, what, distort);
    vec![
        new("search: 65,535 entries announced", |at| of_search(&at, |data| put(data, 10, &[0xFF, 0xFF]))),
        new("search: more to come, and no entries", |at| {
            of_search(&at, |data| {
                put(data, 9, &[0xFF, 0, 0]);
                data.truncate(SEARCH_HEAD);
            })
        }),
        new("search: the same page without end", |at| {
            of_search(&at, |data| page(data, 7, [("SAME".to_owned(), 0, 1)]))
        }),
        endless("search: a directory without end", |at| {
            let turn = next(at.memory);
            of_search(&at, |data| {
                let names =
                    (0..PAGE_ENTRIES).map(|entry| (format!("{:08}", turn * PAGE_ENTRIES + entry), 0, 1));
                page(data, turn, names);
            })
        }),
        new("search: a name of 255 bytes in a reply that ends before", |at| {
            of_search(&at, |data| {
                page(data, 1, [(String::new(), 0, 1)]);
                put(data, SEARCH_HEAD + INFO, &[0xFF]);
            })
        }),
        new("search: the name `../../etc`", |at| last_search(&at, "../../etc", 0, 1)),
        new("search: an empty name", |at| last_search(&at, "", 0, 1)),
        new("search: a name with escape sequences", |at| last_search(&at, ESCAPES, 0, 1)),
        new("search: a file of 4 GiB", |at| last_search(&at, "LARGE.TXT", 0, u32::MAX)),
        endless("search: each directory has a directory", |at| {
            last_search(&at, "DEEPER", ATTRIBUTE_DIRECTORY, 0)
        }),
        new("volumes: 64 names with escape sequences", |at| {
            answer_to(&at, is_sub(at.request, VOLUMES, VOLUME_NAME), |data| {
                *data = [&[ESCAPES.len() as u8], ESCAPES.as_bytes()].concat();
            })
        }),
        new("volumes: a usage of ones", |at| {
            answer_to(&at, is_sub(at.request, VOLUMES, VOLUME_USAGE), |data| {
                *data = vec![0xFF; USAGE];
                data.push(0);
            })
        }),
        new("server: a name with escape sequences", |at| {
            answer_to(&at, is_sub(at.request, SERVER, SERVER_INFO), |data| {
                put(data, 0, &[0; SERVER_NAME]);
                put(data, 0, ESCAPES.as_bytes());
            })
        }),
        new("server: a date of ones", |at| {
            answer_to(&at, function(at.request).starts_with(&[CLOCK]), |data| data.fill(0xFF))
        }),
        new("read: more bytes than were requested", |at| of_read(&at, |data| put(data, 0, &[0xFF; 4]))),
        new("read: 0 bytes, and not the end of the file", |at| of_read(&at, |data| put(data, 0, &[0; 4]))),
    ]
}

/// Modes of datagrams.
fn datagrams(protocol: Protocol) -> Vec<Mode> {
    vec![
        Mode::slow(protocol, "no reply", |_| Answer::Silence(Vec::new())),
        Mode::slow(protocol, "empty datagrams without end", |_| Answer::Flood(Vec::new())),
        Mode::slow(protocol, "datagrams of garbage without end", |_| Answer::Flood(garbage(1400))),
        Mode::slow(protocol, "datagrams of 60,000 bytes without end", |_| Answer::Flood(garbage(60_000))),
        Mode::slow(protocol, "replies cut after 5 bytes", |at| {
            Answer::Send(at.reply[..at.reply.len().min(5)].to_vec())
        }),
        Mode::new(protocol, "replies with 1,000 bytes added", |at| {
            Answer::Send([at.reply, vec![7; 1000]].concat())
        }),
    ]
}

/// Modes of the IPX header.
fn ipx() -> Vec<Mode> {
    vec![
        Mode::slow(NcpIpx, "IPX packets of 65,535 bytes announced", |at| in_header(at, 2, &[0xFF, 0xFF])),
        Mode::slow(NcpIpx, "IPX packets of 0 bytes announced", |at| in_header(at, 2, &[0, 0])),
        Mode::slow(NcpIpx, "packets to another node", |at| in_header(at, 10, &[0xEE; 6])),
        Mode::slow(NcpIpx, "packets to another socket", |at| in_header(at, 16, &[0xEE; 2])),
        Mode::slow(NcpIpx, "packets from another node", |at| in_header(at, 22, &[0xEE; 6])),
    ]
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

/// Where the packet begins, if the reply is one of NCP: IPX also carries registrations and routes.
fn packet_at(reply: &[u8]) -> Option<usize> {
    let start = match reply {
        [b't', b'N', b'c', b'P', ..] => TCP_REPLY,
        [0xFF, 0xFF, ..] => IPX,
        _ => 0,
    };
    let kind = reply.get(start..start + 2)?;
    (kind == REPLY && reply.len() >= start + HEADER).then_some(start)
}

fn function(request: &[u8]) -> &[u8] {
    let start = match request {
        [b'D', b'm', b'd', b'T', ..] => TCP_REQUEST,
        [0xFF, 0xFF, ..] => IPX,
        _ => 0,
    };
    request.get(start + 6..).unwrap_or_default()
}

/// True if the request is one of a family of functions, whose length is before the number of the sub-function.
fn is_sub(request: &[u8], family: u8, sub: u8) -> bool {
    matches!(function(request), [code, _, _, number, ..] if (*code, *number) == (family, sub))
}

/// The reply with another packet, and the lengths before it corrected.
fn rebuilt(reply: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let start = packet_at(reply).unwrap_or_default();
    let mut packet = reply[start..].to_vec();
    change(&mut packet);
    let mut rebuilt = [&reply[..start], &packet].concat();
    let len = rebuilt.len();
    match start {
        TCP_REPLY => put(&mut rebuilt, 4, &(len as u32).to_be_bytes()),
        IPX => put(&mut rebuilt, 2, &(len as u16).to_be_bytes()),
        _ => {}
    }
    rebuilt
}

fn replaced(at: &Exchange<'_>, packet: impl FnOnce(&[u8]) -> Vec<u8>) -> Answer {
    if packet_at(&at.reply).is_none() {
        return Answer::Send(at.reply.clone());
    }
    Answer::Send(rebuilt(&at.reply, |bytes| *bytes = packet(bytes)))
}

/// Changes a field of the server header.
fn changed(at: Exchange<'_>, field: usize, value: &[u8]) -> Answer {
    let mut reply = at.reply;
    if let Some(start) = packet_at(&reply) {
        put(&mut reply, start + field, value);
    }
    Answer::Send(reply)
}

fn in_header(at: Exchange<'_>, field: usize, value: &[u8]) -> Answer {
    let mut reply = at.reply;
    if packet_at(&reply).is_some() {
        put(&mut reply, field, value);
    }
    Answer::Send(reply)
}

/// Changes the data of the replies to a function.
fn answer_to(at: &Exchange<'_>, wanted: bool, change: impl FnOnce(&mut Vec<u8>)) -> Answer {
    if !wanted || packet_at(&at.reply).is_none() {
        return Answer::Send(at.reply.clone());
    }
    Answer::Send(rebuilt(&at.reply, |packet| {
        put(packet, COMPLETION, &[0]);
        let mut data = packet.split_off(HEADER);
        change(&mut data);
        packet.extend(data);
    }))
}

fn of_search(at: &Exchange<'_>, change: impl FnOnce(&mut Vec<u8>)) -> Answer {
    answer_to(at, function(at.request).starts_with(&[NAMES, SEARCH_SET]), |data| {
        if data.len() < SEARCH_HEAD {
            data.resize(SEARCH_HEAD, 0);
        }
        change(data);
    })
}

fn of_read(at: &Exchange<'_>, change: impl FnOnce(&mut Vec<u8>)) -> Answer {
    let called = function(at.request);
    answer_to(at, called.starts_with(&[READ]) || called.starts_with(&[NAMES, READ_LARGE]), change)
}

/// Writes a page that is not the last one.
fn page(data: &mut Vec<u8>, turn: u32, entries: impl IntoIterator<Item = (String, u32, u32)>) {
    data.truncate(SEARCH_HEAD);
    put(data, 5, &turn.to_le_bytes());
    let mut count = 0u16;
    for (name, attributes, size) in entries {
        let mut info = vec![0; INFO];
        put(&mut info, 4, &attributes.to_le_bytes());
        put(&mut info, 10, &size.to_le_bytes());
        data.extend(info);
        data.push(name.len() as u8);
        data.extend(name.as_bytes());
        count += 1;
    }
    put(data, 9, &[0xFF]);
    put(data, 10, &count.to_le_bytes());
}

/// Answers listings with one name.
fn last_search(at: &Exchange<'_>, name: &str, attributes: u32, size: u32) -> Answer {
    of_search(at, |data| {
        page(data, 1, [(name.to_owned(), attributes, size)]);
        put(data, 9, &[0]);
    })
}

/// Counts the replies of a mode.
fn next(memory: &mut Vec<u8>) -> u32 {
    let turn = memory.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    *memory = (turn + 1).to_le_bytes().to_vec();
    turn
}
