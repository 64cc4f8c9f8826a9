//! Hostile lists of shares, which `probe` reads over the pipe `srvsvc` of an encrypted session.
//!
//! The real server need not have the pipe: the replies that open it are replaced as well.

use crate::mode::Protocol::OpenedSmb;
use crate::mode::{ESCAPES, Mode, forward};
use crate::proxy::{Answer, Exchange};
use crate::smb::{BODY, CREATE, READ, TREE_CONNECT, command, put, with_body};

const IOCTL: u16 = 11;
/// The share with the pipes, and the pipe.
const PIPES: &str = "IPC$";
const PIPE: &str = "srvsvc";
/// The file id of the open pipe.
const FILE: [u8; 16] = [0xED; 16];
/// The file id in the body of a READ request (MS-SMB2 2.2.19).
const READ_FILE: std::ops::Range<usize> = BODY + 16..BODY + 32;
/// The packet in the body of an IOCTL request (MS-SMB2 2.2.31), and its kind.
const PACKET_KIND: usize = BODY + 56 + 2;
/// Packet kinds and the flag of the last fragment (C706 12.6.4).
const BIND: u8 = 11;
const BIND_ACK: u8 = 12;
const RESPONSE: u8 = 2;
const LAST: u8 = 2;
/// Bytes of a fragment before its data.
const FRAGMENT_HEAD: usize = 24;
/// Referent of a pointer that is not null.
const POINTER: u32 = 0x2_0000;

/// A result before its entries (MS-SRVS 2.2.4.32): level twice, one entry in a container and an array.
const HEAD: [u32; 6] = [1, 1, POINTER, 1, POINTER, 1];

/// The modes, in the order of the table.
pub const MODES: &[Mode] = &[
    Mode::new(OpenedSmb, "srvsvc: shares with escape sequences", |at| {
        let entry = [words(&[POINTER, 0, POINTER]), text(ESCAPES), text(ESCAPES)].concat();
        list(at, &fragment(LAST, &[words(&HEAD), entry, words(&[1, 0, 0])].concat()))
    }),
    Mode::new(OpenedSmb, "srvsvc: 4 billion shares", |at| {
        list(at, &fragment(LAST, &words(&[1, 1, POINTER, u32::MAX, POINTER, u32::MAX])))
    }),
    Mode::new(OpenedSmb, "srvsvc: a text of 8 GiB", |at| {
        let entry = words(&[POINTER, 0, POINTER, u32::MAX, 0, u32::MAX]);
        list(at, &fragment(LAST, &[words(&HEAD), entry].concat()))
    }),
    Mode::new(OpenedSmb, "srvsvc: fragments without end, none of them the last", |at| {
        list(at, &fragment(0, &[0; 4000]))
    }),
    Mode::new(OpenedSmb, "srvsvc: empty fragments without end", |at| list(at, &fragment(0, &[]))),
    Mode::new(OpenedSmb, "srvsvc: a fragment of 64 KiB announced", |at| {
        let mut packet = fragment(LAST, &[0; 100]);
        put(&mut packet, 8, &[0xFF, 0xFF]);
        list(at, &packet)
    }),
];

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A string of 16-bit characters with a final NUL (C706 14.3.4.2).
fn text(text: &str) -> Vec<u8> {
    let mut characters = utf16(&format!("{text}\0"));
    let count = characters.len() as u32 / 2;
    characters.resize(characters.len().next_multiple_of(4), 0);
    [words(&[count, 0, count]), characters].concat()
}

/// One fragment of a response.
fn fragment(flags: u8, data: &[u8]) -> Vec<u8> {
    let mut packet = vec![5, 0, RESPONSE, flags, 0x10, 0, 0, 0];
    packet.resize(FRAGMENT_HEAD, 0);
    packet.extend(data);
    let len = packet.len() as u16;
    put(&mut packet, 8, &len.to_le_bytes());
    packet
}

fn mentions(request: &[u8], name: &str) -> bool {
    let name = utf16(name);
    request.windows(name.len()).any(|bytes| bytes == name)
}

/// Opens the pipe, and answers every call and every further READ on it with `packet`.
fn list(at: Exchange<'_>, packet: &[u8]) -> Answer {
    let request = at.request;
    let body = match command(&at.reply) {
        Some(TREE_CONNECT) if mentions(request, PIPES) => tree(),
        Some(CREATE) if mentions(request, PIPE) => open_pipe(),
        Some(IOCTL) if request.get(PACKET_KIND) == Some(&BIND) => output(&[5, 0, BIND_ACK, 3]),
        Some(IOCTL) => output(packet),
        Some(READ) if request.get(READ_FILE) == Some(&FILE) => data(packet),
        _ => return forward(at),
    };
    Answer::Send(with_body(&at.reply, 0, &body))
}

/// A `TREE_CONNECT` response of a share with pipes (MS-SMB2 2.2.10).
fn tree() -> Vec<u8> {
    let mut body = vec![0; 16];
    put(&mut body, 0, &[16, 0, 2]);
    body
}

/// A CREATE response (MS-SMB2 2.2.14).
fn open_pipe() -> Vec<u8> {
    let mut body = vec![0; 96];
    put(&mut body, 0, &[89]);
    put(&mut body, 64, &FILE);
    body
}

/// An IOCTL response (MS-SMB2 2.2.32).
fn output(packet: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 48];
    put(&mut body, 0, &[49]);
    put(&mut body, 32, &words(&[64 + 48, packet.len() as u32]));
    body.extend(packet);
    body
}

/// A READ response (MS-SMB2 2.2.20).
fn data(packet: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 16];
    put(&mut body, 0, &[17, 0, 64 + 16]);
    put(&mut body, 4, &words(&[packet.len() as u32]));
    body.extend(packet);
    body
}
