//! Hostile SMB servers, with and without encryption.

use crate::mode::Protocol::{EncryptedSmb, OpenedSmb, Smb};
use crate::mode::{ESCAPES, Mode, forward, garbage};
use crate::proxy::{Answer, Exchange};
use crate::share_list;

/// Length of the prefix of a message.
const PREFIX: usize = 4;
/// Fields of an SMB2 header (MS-SMB2 2.2.1), after the prefix.
const STATUS: usize = PREFIX + 8;
const COMMAND: usize = PREFIX + 12;
const CREDITS: usize = PREFIX + 14;
const FLAGS: usize = PREFIX + 16;
const NEXT: usize = PREFIX + 20;
const MESSAGE_ID: usize = PREFIX + 24;
const TREE: usize = PREFIX + 36;
const SESSION: usize = PREFIX + 40;
const SIGNATURE: std::ops::Range<usize> = PREFIX + 48..PREFIX + 64;
/// The body of a message.
pub const BODY: usize = PREFIX + 64;
/// Fields of a transform header (MS-SMB2 2.2.41).
const TRANSFORM_SIZE: usize = PREFIX + 36;
const TRANSFORM_FLAGS: usize = PREFIX + 42;
const TRANSFORM_SESSION: usize = PREFIX + 44;
const TRANSFORM: usize = PREFIX + 52;

const NEGOTIATE: u16 = 0;
const SESSION_SETUP: u16 = 1;
pub const TREE_CONNECT: u16 = 3;
pub const CREATE: u16 = 5;
pub const READ: u16 = 8;
const WRITE: u16 = 9;
const ECHO: u16 = 13;
const QUERY_DIRECTORY: u16 = 14;
const OPLOCK_BREAK: u16 = 18;

const FLAG_SIGNED: u8 = 8;
const FLAG_ASYNC: u8 = 2;
const STATUS_PENDING: u32 = 0x103;
const STATUS_MORE_PROCESSING: u32 = 0xC000_0016;
const STATUS_ACCESS_DENIED: u32 = 0xC000_0022;
const STATUS_SESSION_EXPIRED: u32 = 0xC000_035C;
/// Body of an error response without details (MS-SMB2 2.2.2).
const NO_DETAILS: [u8; 9] = [9, 0, 0, 0, 0, 0, 0, 0, 0];
/// Entries of a page of an endless directory.
const PAGE_ENTRIES: u64 = 500;
const ATTRIBUTE_DIRECTORY: u32 = 0x10;

/// The modes, in the order of the table.
pub fn modes() -> Vec<Mode> {
    let is_content = |mode: &&Mode| {
        // The limits of endless listings are those without encryption.
        let is_usable = mode.protocol == Smb && !mode.is_endless;
        is_usable && WITHIN_SESSIONS.iter().any(|known| mode.what.starts_with(known))
    };
    let opened = MODES.iter().filter(is_content).map(|mode| Mode { protocol: OpenedSmb, ..*mode });
    let opened = opened.chain(OPENED_MODES.iter().copied()).chain(share_list::MODES.iter().copied());
    MODES.iter().copied().chain(opened).collect()
}

/// Begins of the modes whose replies belong to a session, so that they also exist with encryption.
const WITHIN_SESSIONS: [&str; 21] = [
    "a reply of garbage",
    "a reply of SMB 1",
    "a compressed reply",
    "replies with another message id",
    "replies with another command",
    "the request in place of its reply",
    "replies without a body",
    "bodies of zeros",
    "bodies of ones",
    "replies that claim to be compounds",
    "no credits",
    "65,535 credits in each reply",
    "STATUS_PENDING",
    "breaks of oplocks",
    "CREATE:",
    "QUERY_DIRECTORY:",
    "READ:",
    "WRITE:",
    "all requests",
    "silence at listings and writes",
    "a listing or write at one byte",
];

/// Modes of a server that encrypts what it should not have sent.
const OPENED_MODES: &[Mode] = &[
    Mode::new(OpenedSmb, "an empty message", |_| Answer::Send(message(&[]))),
    Mode::new(OpenedSmb, "a message of 10 bytes", |at| Answer::Send(message(&at.reply[PREFIX..PREFIX + 10]))),
    Mode::new(OpenedSmb, "a message without its last byte", |at| {
        Answer::Send(message(&at.reply[PREFIX..at.reply.len() - 1]))
    }),
    Mode::new(OpenedSmb, "a message with 4 MiB added", |at| {
        Answer::Send(message(&[&at.reply[PREFIX..], &vec![0; 4 << 20]].concat()))
    }),
    Mode::new(OpenedSmb, "an encrypted message within an encrypted message", |at| {
        Answer::Send(message(&[&b"\xFDSMB"[..], &[0; 48], &at.reply[PREFIX..]].concat()))
    }),
    Mode::new(OpenedSmb, "a compound of 1,000 replies", |at| {
        Answer::Send(message(&linked(&at.reply[PREFIX..BODY], 80).repeat(1000)))
    }),
    Mode::new(OpenedSmb, "a compound with garbage", |at| {
        let len = (at.reply.len() - PREFIX).next_multiple_of(8);
        Answer::Send(message(&[linked(&at.reply[PREFIX..], len), garbage(200)].concat()))
    }),
    Mode::new(OpenedSmb, "messages of another session", |at| {
        Answer::Send(patched(at.reply, SESSION, &[0xEE; 8]))
    }),
    Mode::new(OpenedSmb, "messages of another tree", |at| Answer::Send(patched(at.reply, TREE, &[0xEE; 4]))),
];

const MODES: &[Mode] = &[
    Mode::new(Smb, "a message of 16 MiB announced", |at| {
        Answer::Send(prefixed(0x00FF_FFFF, &at.reply[PREFIX..]))
    }),
    Mode::slow(Smb, "empty messages without end", |_| Answer::Flood(vec![0; 4])),
    Mode::slow(Smb, "keep-alives of NetBIOS without end", |_| Answer::Flood(vec![0x85, 0, 0, 0])),
    Mode::new(Smb, "the end of the connection in the middle of a reply", |at| {
        Answer::Close(at.reply[..at.reply.len() / 2].to_vec())
    }),
    Mode::slow(Smb, "a reply of garbage", |at| Answer::Send(message(&garbage(at.reply.len())))),
    Mode::new(Smb, "an HTTP server", |_| {
        Answer::Send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec())
    }),
    Mode::new(Smb, "a reply of SMB 1", |_| Answer::Send(message(&[&b"\xFFSMBr"[..], &[0; 40]].concat()))),
    Mode::new(Smb, "a compressed reply", |at| {
        Answer::Send(message(&[b"\xFCSMB", &at.reply[BODY..]].concat()))
    }),
    Mode::new(Smb, "an encrypted reply in a session without encryption", |at| {
        Answer::Send(message(&[&b"\xFDSMB"[..], &[0; 48], &at.reply[PREFIX..]].concat()))
    }),
    Mode::new(Smb, "each reply twice", |at| Answer::Twice(at.reply)),
    Mode::new(Smb, "replies with another message id", |at| {
        Answer::Send(patched(at.reply, MESSAGE_ID, &[0xEE; 8]))
    }),
    Mode::new(Smb, "replies with another command", |at| {
        Answer::Send(patched(at.reply, COMMAND, &[ECHO as u8, 0]))
    }),
    Mode::new(Smb, "the request in place of its reply", |at| Answer::Send(at.request.to_vec())),
    Mode::new(Smb, "replies without a body", |at| Answer::Send(message(&at.reply[PREFIX..BODY]))),
    Mode::new(Smb, "bodies of zeros", |at| {
        let zeros = vec![0; at.reply.len() - BODY];
        Answer::Send([&at.reply[..BODY], &zeros].concat())
    }),
    Mode::new(Smb, "bodies of ones", |at| {
        let kept = at.reply.len().min(BODY + 2);
        Answer::Send([&at.reply[..kept], &vec![0xFF; at.reply.len() - kept]].concat())
    }),
    Mode::new(Smb, "replies that claim to be compounds", |at| {
        Answer::Send(patched(at.reply, NEXT, &[8, 0, 0, 0]))
    }),
    Mode::new(Smb, "no credits", |at| Answer::Send(patched(at.reply, CREDITS, &[0, 0]))),
    Mode::new(Smb, "65,535 credits in each reply", |at| {
        Answer::Send(patched(at.reply, CREDITS, &[0xFF, 0xFF]))
    }),
    Mode::slow(Smb, "STATUS_PENDING without end", |at| Answer::Flood(interim(&at.reply))),
    Mode::slow(Smb, "STATUS_PENDING, and no final reply", |at| match command(&at.reply) {
        Some(NEGOTIATE | SESSION_SETUP | TREE_CONNECT) => forward(at),
        _ => Answer::Silence(interim(&at.reply)),
    }),
    Mode::slow(Smb, "breaks of oplocks without end", |at| Answer::Flood(oplock_break(&at.reply))),
    Mode::new(Smb, "NEGOTIATE: an unknown dialect", |at| {
        answer_to(at, NEGOTIATE, |body| put(body, 4, &[0xEE, 0xEE]))
    }),
    Mode::new(Smb, "NEGOTIATE: limits of 0 bytes", |at| {
        answer_to(at, NEGOTIATE, |body| put(body, 28, &[0; 12]))
    }),
    Mode::new(Smb, "NEGOTIATE: limits of 4 GiB", |at| {
        answer_to(at, NEGOTIATE, |body| put(body, 28, &[0xFF; 12]))
    }),
    Mode::new(Smb, "NEGOTIATE: a token outside the message", |at| {
        answer_to(at, NEGOTIATE, |body| put(body, 56, &[0xFF; 4]))
    }),
    Mode::new(Smb, "NEGOTIATE: 65,535 contexts outside the message", |at| {
        answer_to(at, NEGOTIATE, |body| {
            put(body, 6, &[0xFF; 2]);
            put(body, 60, &[0xFF; 4]);
        })
    }),
    Mode::new(Smb, "SESSION_SETUP: a token outside the message", |at| {
        answer_to(at, SESSION_SETUP, |body| put(body, 4, &[0xFF; 4]))
    }),
    Mode::new(Smb, "SESSION_SETUP: a token of garbage", |at| {
        answer_to(at, SESSION_SETUP, |body| {
            let len = body.len().saturating_sub(8);
            put(body, 8, &garbage(len));
        })
    }),
    Mode::new(Smb, "SESSION_SETUP: another step without end", |at| match command(&at.reply) {
        Some(SESSION_SETUP) => Answer::Send(patched(at.reply, STATUS, &STATUS_MORE_PROCESSING.to_le_bytes())),
        _ => forward(at),
    }),
    Mode::new(Smb, "CREATE: a file of 2^64 - 1 bytes", |at| {
        answer_to(at, CREATE, |body| put(body, 48, &[0xFF; 8]))
    }),
    Mode::new(Smb, "QUERY_DIRECTORY: entries outside the message", |at| {
        answer_to(at, QUERY_DIRECTORY, |body| put(body, 2, &[0xFF; 6]))
    }),
    Mode::new(Smb, "QUERY_DIRECTORY: entries of 1 byte", |at| {
        answer_to(at, QUERY_DIRECTORY, |body| put(body, 8, &1u32.to_le_bytes()))
    }),
    Mode::new(Smb, "QUERY_DIRECTORY: a name of 4 GiB", |at| {
        answer_to(at, QUERY_DIRECTORY, |body| put(body, 8 + 60, &[0xFF; 4]))
    }),
    Mode::new(Smb, "QUERY_DIRECTORY: names that overlap the next entries", |at| {
        let information = (0..900u32).flat_map(|number| {
            let rest = (900 - number) * 64 - 64;
            let mut entry = entry("", 0, 0);
            put(&mut entry, 60, &rest.to_le_bytes());
            entry
        });
        page(at, &information.collect::<Vec<_>>())
    }),
    Mode::new(Smb, "QUERY_DIRECTORY: the same page without end", |at| page(at, &entry("same", 0, 1))),
    Mode::new(Smb, "QUERY_DIRECTORY: empty pages without end", |at| page(at, &[])),
    Mode::endless(Smb, "QUERY_DIRECTORY: a directory without end", |at| endless(at, 0)),
    Mode::endless(Smb, "QUERY_DIRECTORY: a directory without end, of directories", |at| {
        endless(at, ATTRIBUTE_DIRECTORY)
    }),
    Mode::new(Smb, "QUERY_DIRECTORY: the name `..\\..\\etc`", |at| once(at, "..\\..\\etc", 1)),
    Mode::new(Smb, "QUERY_DIRECTORY: an empty name", |at| once(at, "", 1)),
    Mode::new(Smb, "QUERY_DIRECTORY: a name with escape sequences", |at| once(at, ESCAPES, 1)),
    Mode::new(Smb, "QUERY_DIRECTORY: a name of 20,000 characters", |at| once(at, &"x".repeat(20_000), 1)),
    Mode::new(Smb, "QUERY_DIRECTORY: a file of 2^64 - 1 bytes", |at| once(at, "large.txt", u64::MAX)),
    Mode::new(Smb, "READ: data outside the message", |at| answer_to(at, READ, |body| put(body, 2, &[0xFF]))),
    Mode::new(Smb, "READ: 4 GiB of data", |at| answer_to(at, READ, |body| put(body, 4, &[0xFF; 4]))),
    Mode::new(Smb, "READ: 0 bytes, and not the end of the file", |at| {
        answer_to(at, READ, |body| put(body, 4, &[0; 4]))
    }),
    Mode::new(Smb, "WRITE: 4 GiB written", |at| answer_to(at, WRITE, |body| put(body, 4, &[0xFF; 4]))),
    Mode::new(Smb, "all requests answered with STATUS_ACCESS_DENIED", |at| failing(at, STATUS_ACCESS_DENIED)),
    Mode::new(Smb, "all requests answered with STATUS_NETWORK_SESSION_EXPIRED", |at| {
        failing(at, STATUS_SESSION_EXPIRED)
    }),
    Mode::new(Smb, "all requests answered with an unknown status", |at| failing(at, 0xC0FF_EE00)),
    Mode::greeting(Smb, "accepts and closes connections", || Some(Answer::Close(Vec::new()))),
    Mode::greeting(Smb, "accepts connections and stays silent", || Some(Answer::Silence(Vec::new()))),
    Mode::slow(Smb, "silence after half of a reply", |at| {
        Answer::Silence(at.reply[..at.reply.len() / 2].to_vec())
    }),
    Mode::slow(Smb, "silence at listings and writes", |at| match command(&at.reply) {
        Some(QUERY_DIRECTORY | WRITE) => Answer::Silence(Vec::new()),
        _ => forward(at),
    }),
    Mode::slow(Smb, "a reply at one byte every 0.4 s", |at| Answer::Drip(at.reply)),
    Mode::slow(Smb, "a listing or write at one byte every 0.4 s", |at| match command(&at.reply) {
        Some(QUERY_DIRECTORY | WRITE) => Answer::Drip(at.reply),
        _ => forward(at),
    }),
    Mode::new(EncryptedSmb, "another tag", |at| sealed(at, |reply| put(reply, PREFIX + 4, &[0; 16]))),
    Mode::new(EncryptedSmb, "a message of 4 GiB announced", |at| {
        sealed(at, |reply| put(reply, TRANSFORM_SIZE, &[0xFF; 4]))
    }),
    Mode::new(EncryptedSmb, "a message of 0 bytes announced", |at| {
        sealed(at, |reply| put(reply, TRANSFORM_SIZE, &[0; 4]))
    }),
    Mode::new(EncryptedSmb, "an unknown cipher", |at| {
        sealed(at, |reply| put(reply, TRANSFORM_FLAGS, &[0xFF; 2]))
    }),
    Mode::new(EncryptedSmb, "another session", |at| {
        sealed(at, |reply| put(reply, TRANSFORM_SESSION, &[0xFF; 8]))
    }),
    Mode::new(EncryptedSmb, "another nonce", |at| sealed(at, |reply| put(reply, PREFIX + 20, &[0xFF; 16]))),
    Mode::new(EncryptedSmb, "a transform header without a message", |at| {
        if is_sealed(&at.reply) { Answer::Send(message(&at.reply[PREFIX..TRANSFORM])) } else { forward(at) }
    }),
    Mode::new(EncryptedSmb, "half a transform header", |at| {
        if is_sealed(&at.reply) { Answer::Send(message(&at.reply[PREFIX..PREFIX + 26])) } else { forward(at) }
    }),
    Mode::new(EncryptedSmb, "each reply twice", |at| {
        if is_sealed(&at.reply) { Answer::Twice(at.reply) } else { forward(at) }
    }),
    Mode::new(EncryptedSmb, "the first reply again and again", |at| {
        if !is_sealed(&at.reply) {
            return forward(at);
        }
        if at.memory.is_empty() {
            at.memory.clone_from(&at.reply);
        }
        Answer::Send(at.memory.clone())
    }),
    Mode::new(EncryptedSmb, "a reply in plain text", |at| {
        if is_sealed(&at.reply) {
            Answer::Send(message(&[&b"\xFESMB"[..], &[64, 0], &[0; 58], &NO_DETAILS].concat()))
        } else {
            forward(at)
        }
    }),
    Mode::new(EncryptedSmb, "garbage without end", |at| {
        if is_sealed(&at.reply) {
            Answer::Flood(message(&[&b"\xFDSMB"[..], &garbage(200)].concat()))
        } else {
            forward(at)
        }
    }),
    Mode::slow(EncryptedSmb, "silence after half of a reply", |at| {
        if is_sealed(&at.reply) {
            Answer::Silence(at.reply[..at.reply.len() / 2].to_vec())
        } else {
            forward(at)
        }
    }),
    Mode::slow(EncryptedSmb, "a reply at one byte every 0.4 s", |at| {
        if is_sealed(&at.reply) { Answer::Drip(at.reply) } else { forward(at) }
    }),
];

fn prefixed(len: u32, bytes: &[u8]) -> Vec<u8> {
    [&len.to_be_bytes(), bytes].concat()
}

fn message(bytes: &[u8]) -> Vec<u8> {
    prefixed(bytes.len() as u32, bytes)
}

pub fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

fn patched(mut reply: Vec<u8>, at: usize, value: &[u8]) -> Vec<u8> {
    put(&mut reply, at, value);
    reply
}

/// A message without its prefix, padded to `len` bytes, that announces another one there.
fn linked(message: &[u8], len: usize) -> Vec<u8> {
    let mut linked = message.to_vec();
    linked.resize(len, 0);
    put(&mut linked, NEXT - PREFIX, &(len as u32).to_le_bytes());
    linked
}

/// The command of a message that is not encrypted.
pub fn command(message: &[u8]) -> Option<u16> {
    let plain = message.get(PREFIX..PREFIX + 4)? == b"\xFESMB";
    message.get(COMMAND..COMMAND + 2).filter(|_| plain).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn is_sealed(message: &[u8]) -> bool {
    message.get(PREFIX..PREFIX + 4) == Some(b"\xFDSMB")
}

/// Changes the bodies of the replies to one command.
fn answer_to(at: Exchange<'_>, wanted: u16, change: impl FnOnce(&mut [u8])) -> Answer {
    let mut reply = at.reply;
    if command(&reply) == Some(wanted) {
        change(reply.get_mut(BODY..).unwrap_or_default());
    }
    Answer::Send(reply)
}

fn sealed(at: Exchange<'_>, change: impl FnOnce(&mut [u8])) -> Answer {
    let mut reply = at.reply;
    if is_sealed(&reply) {
        change(&mut reply);
    }
    Answer::Send(reply)
}

/// A reply with the header of another one, unsigned.
pub fn with_body(reply: &[u8], status: u32, body: &[u8]) -> Vec<u8> {
    let mut header = reply[..BODY].to_vec();
    put(&mut header, STATUS, &status.to_le_bytes());
    put(&mut header, SIGNATURE.start, &[0; 16]);
    header[FLAGS] &= !FLAG_SIGNED;
    message(&[&header[PREFIX..], body].concat())
}

/// Fails every request after the login.
fn failing(at: Exchange<'_>, status: u32) -> Answer {
    match command(&at.reply) {
        Some(NEGOTIATE | SESSION_SETUP | TREE_CONNECT) | None => forward(at),
        Some(_) => Answer::Send(with_body(&at.reply, status, &NO_DETAILS)),
    }
}

fn interim(reply: &[u8]) -> Vec<u8> {
    let mut interim = with_body(reply, STATUS_PENDING, &NO_DETAILS);
    interim[FLAGS] |= FLAG_ASYNC;
    interim
}

/// A notification with the message id of those (MS-SMB2 2.2.23.1).
fn oplock_break(reply: &[u8]) -> Vec<u8> {
    let mut notification = with_body(reply, 0, &[&[24, 0], &[0; 22][..]].concat());
    put(&mut notification, COMMAND, &OPLOCK_BREAK.to_le_bytes());
    put(&mut notification, MESSAGE_ID, &[0xFF; 8]);
    notification
}

/// `FileDirectoryInformation` (MS-FSCC 2.4.10), the last one of its page.
fn entry(name: &str, attributes: u32, size: u64) -> Vec<u8> {
    let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut entry = vec![0; 64];
    put(&mut entry, 40, &size.to_le_bytes());
    put(&mut entry, 56, &attributes.to_le_bytes());
    put(&mut entry, 60, &(name.len() as u32).to_le_bytes());
    entry.extend(name);
    entry
}

/// Answers listings with a page of this information.
fn page(at: Exchange<'_>, information: &[u8]) -> Answer {
    if command(&at.reply) != Some(QUERY_DIRECTORY) {
        return forward(at);
    }
    let mut body = vec![9, 0, 72, 0];
    body.extend((information.len() as u32).to_le_bytes());
    body.extend(information);
    Answer::Send(with_body(&at.reply, 0, &body))
}

/// Answers the first page of each listing with one name.
fn once(at: Exchange<'_>, name: &str, size: u64) -> Answer {
    let is_first = at.reply.get(STATUS..STATUS + 4) == Some(&[0; 4]);
    if is_first { page(at, &entry(name, 0, size)) } else { forward(at) }
}

/// Answers each listing with new names.
fn endless(at: Exchange<'_>, attributes: u32) -> Answer {
    let before = at.memory.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mut information = Vec::new();
    for number in before..before + PAGE_ENTRIES {
        let mut entry = entry(&format!("name-{number:015}"), attributes, 1);
        let step = entry.len() as u32;
        if number + 1 < before + PAGE_ENTRIES {
            put(&mut entry, 0, &step.to_le_bytes());
        }
        information.extend(entry);
    }
    if command(&at.reply) == Some(QUERY_DIRECTORY) {
        *at.memory = (before + PAGE_ENTRIES).to_le_bytes().to_vec();
    }
    page(at, &information)
}
