//! Hostile NFS and MOUNT servers, and a hostile port mapper.

use sharebench_nfs::attributes::{FileAttributes, FileKind, NfsTime};
use sharebench_nfs::protocol::{FileHandle, MOUNT_PROGRAM, NFS_PROGRAM, Procedure};
use sharebench_nfs::xdr::{Reader, Writer};

use crate::mode::Protocol::{Nfs, Portmapper};
use crate::mode::{ESCAPES, Mode, forward, garbage};
use crate::proxy::{Answer, Exchange};

/// Bit of a fragment header that marks the last fragment.
const LAST: u32 = 0x8000_0000;
/// Bytes of an accepted reply before its result: fragment header, xid, type, status, verifier, status (RFC 5531, 9).
pub const RESULT: usize = 28;
/// Entries of a page of an endless directory.
const PAGE_ENTRIES: u64 = 2000;
const NFS3ERR_STALE: u32 = 70;
const NFS3ERR_SERVERFAULT: u32 = 10_006;
const NFS3ERR_NOTSUPP: u32 = 10_004;
const NFS3ERR_JUKEBOX: u32 = 10_008;
const MNT: u32 = 1;
const EXPORT: u32 = 5;
const PORTMAP_PROGRAM: u32 = 100_000;
const DUMP: u32 = 4;
/// Entries of a long list of exports or registrations, which fits into one reply.
const LIST_ENTRIES: usize = 12_000;
/// Handle of everything that a hostile listing contains.
const HOSTILE: &[u8] = b"hostile!";

/// The modes, in the order of the table.
pub const MODES: &[Mode] = &[
    Mode::slow(Nfs, "a fragment of 2 GiB announced", |at| {
        Answer::Send(headed(LAST | 0x7FFF_FFFF, &at.reply[4..]))
    }),
    Mode::slow(Nfs, "empty records without end", |_| Answer::Flood(LAST.to_be_bytes().to_vec())),
    Mode::slow(Nfs, "empty fragments without end, none of them the last", |_| Answer::Flood(vec![0; 4])),
    Mode::slow(Nfs, "fragments of one byte without end, none of them the last", |_| {
        Answer::Flood(vec![0, 0, 0, 1, 7])
    }),
    Mode::new(Nfs, "the end of the connection in the middle of a reply", |at| {
        Answer::Close(at.reply[..at.reply.len() / 2].to_vec())
    }),
    Mode::slow(Nfs, "a reply of garbage", |at| Answer::Send(record(&garbage(at.reply.len())))),
    Mode::new(Nfs, "an HTTP server", |_| {
        Answer::Send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec())
    }),
    Mode::new(Nfs, "each reply twice", |at| Answer::Twice(at.reply)),
    Mode::new(Nfs, "replies with another xid", |at| Answer::Send(patched(at.reply, 4, 0xDEAD_BEEF))),
    Mode::new(Nfs, "replies with another xid without end", |at| {
        Answer::Flood(patched(at.reply, 4, 0xDEAD_BEEF))
    }),
    Mode::slow(Nfs, "the call in place of its reply", |at| Answer::Send(at.request.to_vec())),
    Mode::slow(Nfs, "an unknown kind of RPC message", |at| Answer::Send(patched(at.reply, 8, 7))),
    Mode::new(Nfs, "calls rejected for their credentials", |at| {
        // MSG_DENIED, AUTH_ERROR, AUTH_TOOWEAK (RFC 5531, 9).
        Answer::Send(record(&words(&[xid(&at.reply), 1, 1, 1, 5])))
    }),
    Mode::new(Nfs, "an unknown status of RPC", |at| Answer::Send(patched(at.reply, 24, 99))),
    Mode::new(Nfs, "a verifier of 4 GiB", |at| Answer::Send(patched(at.reply, 20, u32::MAX))),
    Mode::new(Nfs, "results that end after their status", |at| {
        Answer::Send(record(&at.reply[4..at.reply.len().min(RESULT + 4)]))
    }),
    Mode::new(Nfs, "results of zeros", |at| {
        let zeros = vec![0; at.reply.len() - RESULT];
        Answer::Send([&at.reply[..RESULT], &zeros].concat())
    }),
    Mode::new(Nfs, "results of ones", |at| {
        let kept = at.reply.len().min(RESULT + 4);
        Answer::Send([&at.reply[..kept], &vec![0xFF; at.reply.len() - kept]].concat())
    }),
    Mode::new(Nfs, "MNT: a handle of 4 GiB", |at| of_mount(at, |_| words(&[0, u32::MAX]))),
    Mode::new(Nfs, "MNT: 4 billion security flavors", |at| {
        of_mount(at, |_| words(&[0, 4, 0x726F_6F74, u32::MAX, 1]))
    }),
    Mode::new(Nfs, "MNT: an unknown status", |at| of_mount(at, |_| words(&[4242]))),
    Mode::new(Nfs, "EXPORT: 12,000 exports", |at| {
        of_call(at, (MOUNT_PROGRAM, EXPORT), |_| words(&[1, 0, 0].repeat(LIST_ENTRIES)))
    }),
    Mode::new(Nfs, "EXPORT: a path of 4 GiB", |at| {
        of_call(at, (MOUNT_PROGRAM, EXPORT), |_| words(&[1, u32::MAX]))
    }),
    Mode::new(Nfs, "EXPORT: a path and a host with escape sequences", |at| {
        of_call(at, (MOUNT_PROGRAM, EXPORT), |_| {
            let mut out = Writer::default();
            out.boolean(true);
            out.opaque(ESCAPES.as_bytes());
            out.boolean(true);
            out.opaque(ESCAPES.as_bytes());
            out.words(&[0, 0]);
            out.as_slice().to_vec()
        })
    }),
    Mode::new(Nfs, "FSINFO: limits of 0 bytes", |at| {
        answer_to(at, Procedure::FsInfo, |_| words(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]))
    }),
    Mode::new(Nfs, "FSINFO: limits of 4 GiB", |at| {
        let max = u32::MAX;
        answer_to(at, Procedure::FsInfo, |_| {
            words(&[0, 0, max, max, max, max, max, max, max, max, max, max, 0, 0])
        })
    }),
    Mode::new(Nfs, "LOOKUP: a handle of 65 bytes", |at| {
        answer_to(at, Procedure::Lookup, |_| words(&[0, 65]))
    }),
    Mode::new(Nfs, "GETATTR: an unknown kind of file", |at| {
        answer_to(at, Procedure::GetAttr, |_| words(&[0, 99]))
    }),
    Mode::new(Nfs, "FSSTAT: no space, and none free", |at| {
        answer_to(at, Procedure::FsStat, |_| words(&[0; 14]))
    }),
    Mode::new(Nfs, "READDIRPLUS: the same page without end", |at| {
        of_listing(at, |_, out| entry(out, 1, "same", 1, FileKind::Regular, 1))
    }),
    Mode::new(Nfs, "READDIRPLUS: empty pages without end", |at| of_listing(at, |_, _| {})),
    Mode::endless(Nfs, "READDIRPLUS: a directory without end", |at| {
        of_listing(at, |cookie, out| {
            for number in cookie + 1..=cookie + PAGE_ENTRIES {
                entry(out, number, &format!("file-{number:012}"), number, FileKind::Regular, 1);
            }
        })
    }),
    Mode::endless(Nfs, "READDIRPLUS: a directory without end, of directories", |at| {
        of_listing(at, |cookie, out| {
            for number in cookie + 1..=cookie + PAGE_ENTRIES {
                entry(out, number, &format!("directory-{number:012}"), number, FileKind::Directory, 0);
            }
        })
    }),
    Mode::endless(Nfs, "READDIRPLUS: each directory has a directory", |at| {
        of_last_listing(at, |out| entry(out, 1, "deeper", 1, FileKind::Directory, 0))
    }),
    Mode::endless(Nfs, "a leftover directory without end", |at| {
        leftover(at, |cookie, out| {
            for number in cookie + 1..=cookie + PAGE_ENTRIES {
                entry(out, number, &format!("file-{number:012}"), number, FileKind::Regular, 1);
            }
        })
    }),
    Mode::endless(Nfs, "a leftover directory that contains itself", |at| {
        leftover(at, |cookie, out| {
            if cookie == 0 {
                entry(out, 1, "deeper", 1, FileKind::Directory, 0);
            }
        })
    }),
    Mode::new(Nfs, "a leftover directory with the name `../..`", |at| {
        leftover(at, |cookie, out| {
            if cookie == 0 {
                entry(out, 1, "../..", 1, FileKind::Directory, 0);
            }
        })
    }),
    Mode::new(Nfs, "READDIRPLUS: a name of 4 GiB", |at| {
        answer_to(at, Procedure::ReadDirPlus, |_| words(&[0, 0, 0, 0, 1, 0, 1, u32::MAX]))
    }),
    Mode::new(Nfs, "READDIRPLUS: the name `..`", |at| one_name(at, "..")),
    Mode::new(Nfs, "READDIRPLUS: the name `../../etc`", |at| one_name(at, "../../etc")),
    Mode::new(Nfs, "READDIRPLUS: an empty name", |at| one_name(at, "")),
    Mode::new(Nfs, "READDIRPLUS: a name with escape sequences", |at| one_name(at, ESCAPES)),
    Mode::new(Nfs, "READDIRPLUS: names of 100 KiB", |at| one_name(at, &"x".repeat(100 << 10))),
    Mode::new(Nfs, "READDIRPLUS: a file of 2^64 - 1 bytes", |at| {
        of_last_listing(at, |out| entry(out, 1, "large.txt", 1, FileKind::Regular, u64::MAX))
    }),
    Mode::new(Nfs, "READDIRPLUS is not supported", |at| {
        answer_to(at, Procedure::ReadDirPlus, |_| words(&[NFS3ERR_NOTSUPP, 0]))
    }),
    Mode::new(Nfs, "READ: more bytes than were requested", |at| {
        answer_to(at, Procedure::Read, |_| words(&[0, 0, 1 << 20, 0, 1 << 20]))
    }),
    Mode::new(Nfs, "READ: 0 bytes, and not the end of the file", |at| {
        answer_to(at, Procedure::Read, |_| words(&[0, 0, 0, 0, 0]))
    }),
    Mode::new(Nfs, "WRITE: 0 bytes written", |at| {
        answer_to(at, Procedure::Write, |_| words(&[0, 0, 0, 0, 2, 0, 0]))
    }),
    Mode::new(Nfs, "WRITE: 4 GiB written", |at| {
        answer_to(at, Procedure::Write, |_| words(&[0, 0, 0, u32::MAX, 2, 0, 0]))
    }),
    Mode::new(Nfs, "all calls answered with NFS3ERR_STALE", |at| failing(at, NFS3ERR_STALE)),
    Mode::new(Nfs, "all calls answered with NFS3ERR_SERVERFAULT", |at| failing(at, NFS3ERR_SERVERFAULT)),
    Mode::new(Nfs, "all calls answered with an unknown status", |at| failing(at, 4242)),
    Mode::slow(Nfs, "all calls answered with NFS3ERR_JUKEBOX", |at| failing(at, NFS3ERR_JUKEBOX)),
    Mode::slow(Nfs, "removals answered with NFS3ERR_JUKEBOX", |at| {
        answer_to(at, Procedure::Remove, |_| words(&[NFS3ERR_JUKEBOX, 0, 0]))
    }),
    Mode::greeting(Nfs, "accepts and closes connections", || Some(Answer::Close(Vec::new()))),
    Mode::greeting(Nfs, "accepts connections and stays silent", || Some(Answer::Silence(Vec::new()))),
    Mode::slow(Nfs, "silence after half of a reply", |at| {
        Answer::Silence(at.reply[..at.reply.len() / 2].to_vec())
    }),
    Mode::slow(Nfs, "silence at the first call of NFS", |at| match procedure(&at) {
        Some(_) => Answer::Silence(Vec::new()),
        None => forward(at),
    }),
    Mode::slow(Nfs, "silence at listings and writes", |at| match procedure(&at) {
        Some(Procedure::ReadDirPlus | Procedure::Write) => Answer::Silence(Vec::new()),
        _ => forward(at),
    }),
    Mode::slow(Nfs, "a reply at one byte every 0.4 s", |at| Answer::Drip(at.reply)),
    Mode::slow(Nfs, "a listing or write at one byte every 0.4 s", |at| match procedure(&at) {
        Some(Procedure::ReadDirPlus | Procedure::Write) => Answer::Drip(at.reply),
        _ => forward(at),
    }),
    Mode::new(Portmapper, "a port of 70,000", |at| Answer::Send(record(&granted(&at.reply, 70_000)))),
    Mode::new(Portmapper, "the port of nobody", |at| Answer::Send(record(&granted(&at.reply, 1)))),
    Mode::new(Portmapper, "an answer of garbage", |at| Answer::Send(record(&garbage(at.reply.len())))),
    Mode::new(Portmapper, "DUMP: 12,000 registrations", |at| {
        let registration = [1, NFS_PROGRAM, 3, 6, 70_000];
        of_call(at, (PORTMAP_PROGRAM, DUMP), |_| words(&registration.repeat(LIST_ENTRIES)))
    }),
    Mode::new(Portmapper, "fragments of one byte without end, none of them the last", |_| {
        Answer::Flood(vec![0, 0, 0, 1, 7])
    }),
    Mode::greeting(Portmapper, "accepts connections and stays silent", || Some(Answer::Silence(Vec::new()))),
    Mode::slow(Portmapper, "an answer at one byte every 0.4 s", |at| Answer::Drip(at.reply)),
];

pub fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
}

pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn headed(header: u32, body: &[u8]) -> Vec<u8> {
    [&header.to_be_bytes(), body].concat()
}

/// A record of one fragment.
pub fn record(body: &[u8]) -> Vec<u8> {
    headed(LAST | body.len() as u32, body)
}

fn xid(reply: &[u8]) -> u32 {
    word(reply, 4)
}

fn patched(mut reply: Vec<u8>, at: usize, value: u32) -> Vec<u8> {
    if let Some(place) = reply.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_be_bytes());
    }
    reply
}

/// An accepted reply with another result.
pub fn replaced(reply: &[u8], result: &[u8]) -> Answer {
    Answer::Send(record(&[&words(&[xid(reply), 1, 0, 0, 0, 0]), result].concat()))
}

fn granted(reply: &[u8], port: u32) -> Vec<u8> {
    words(&[xid(reply), 1, 0, 0, 0, 0, port])
}

/// Program and procedure of the call.
pub fn called(at: &Exchange<'_>) -> (u32, u32) {
    (word(at.request, 16), word(at.request, 24))
}

fn procedure(at: &Exchange<'_>) -> Option<Procedure> {
    let (program, procedure) = called(at);
    (program == NFS_PROGRAM).then(|| Procedure::from_number(procedure)).flatten()
}

/// Replaces the results of one procedure.
fn answer_to(at: Exchange<'_>, wanted: Procedure, result: impl FnOnce(&Exchange<'_>) -> Vec<u8>) -> Answer {
    if procedure(&at) != Some(wanted) {
        return forward(at);
    }
    replaced(&at.reply, &result(&at))
}

fn of_mount(at: Exchange<'_>, result: impl FnOnce(&Exchange<'_>) -> Vec<u8>) -> Answer {
    of_call(at, (MOUNT_PROGRAM, MNT), result)
}

/// Replaces the results of one procedure of a program, also where the real server does not have it.
fn of_call(at: Exchange<'_>, wanted: (u32, u32), result: impl FnOnce(&Exchange<'_>) -> Vec<u8>) -> Answer {
    if called(&at) != wanted {
        return forward(at);
    }
    replaced(&at.reply, &result(&at))
}

/// Answers every procedure with a failure; the results of failures consist of optional parts that are absent.
fn failing(at: Exchange<'_>, status: u32) -> Answer {
    match procedure(&at) {
        Some(Procedure::Null) | None => forward(at),
        Some(_) => replaced(&at.reply, &words(&[status, 0, 0, 0, 0])),
    }
}

/// Replaces pages of listings by pages that are not the last one; `entries` gets the cookie of the call.
fn of_listing(at: Exchange<'_>, entries: impl FnOnce(u64, &mut Writer)) -> Answer {
    answer_to(at, Procedure::ReadDirPlus, |at| listing(at, false, entries))
}

fn of_last_listing(at: Exchange<'_>, entries: impl FnOnce(&mut Writer)) -> Answer {
    answer_to(at, Procedure::ReadDirPlus, |at| listing(at, true, |_, out| entries(out)))
}

fn one_name(at: Exchange<'_>, name: &str) -> Answer {
    of_last_listing(at, |out| entry(out, 1, name, 1, FileKind::Directory, 0))
}

/// `READDIRPLUS3res` (RFC 1813, 3.3.17).
fn listing(at: &Exchange<'_>, end: bool, entries: impl FnOnce(u64, &mut Writer)) -> Vec<u8> {
    let mut out = Writer::default();
    // Status, no attributes of the directory, verifier.
    out.words(&[0, 0, 0, 0]);
    entries(cookie(at.request).unwrap_or_default(), &mut out);
    out.boolean(false);
    out.boolean(end);
    out.as_slice().to_vec()
}

/// The arguments of a call of NFS, after its credentials.
fn arguments(request: &[u8]) -> Option<Reader<'_>> {
    let mut reader = Reader::new(request.get(28..)?);
    for _ in 0..2 {
        // Credentials and verifier: a flavor and an opaque body.
        reader.u32().ok()?;
        reader.opaque("credentials", 400).ok()?;
    }
    Some(reader)
}

/// The cookie of a READDIRPLUS call, after its handle.
fn cookie(request: &[u8]) -> Option<u64> {
    let mut reader = arguments(request)?;
    FileHandle::get(&mut reader).ok()?;
    reader.u64().ok()
}

/// True if the call concerns something below the directory of [`leftover`].
fn is_below(request: &[u8]) -> bool {
    let handle = || FileHandle::get(&mut arguments(request)?).ok();
    handle().is_some_and(|handle| handle.as_bytes() == HOSTILE)
}

/// Adds a directory of an earlier run to the listing of the top directory. `entries` lists what is below it, and
/// everything below it can be looked up and removed.
fn leftover(at: Exchange<'_>, entries: impl FnOnce(u64, &mut Writer)) -> Answer {
    let below = is_below(at.request);
    match procedure(&at) {
        Some(Procedure::ReadDirPlus) if below => {
            let mut some = false;
            let page = listing(&at, false, |cookie, out| {
                let before = out.len();
                entries(cookie, out);
                some = out.len() > before;
            });
            if some { replaced(&at.reply, &page) } else { of_last_listing(at, |_| {}) }
        }
        Some(Procedure::ReadDirPlus) => of_last_listing(at, |out| {
            entry(out, 1, ".sharebench-0123abcd-0", 1, FileKind::Directory, 0);
        }),
        Some(Procedure::Lookup) if below => {
            let mut out = Writer::default();
            out.u32(0);
            out.opaque(HOSTILE);
            out.boolean(true);
            attributes(FileKind::Directory, 1, 0).put(&mut out);
            out.boolean(false);
            replaced(&at.reply, out.as_slice())
        }
        Some(Procedure::Remove | Procedure::RmDir) => replaced(&at.reply, &words(&[0, 0, 0])),
        _ => forward(at),
    }
}

fn attributes(kind: FileKind, file_id: u64, size: u64) -> FileAttributes {
    let time = NfsTime { seconds: 1, nanos: 0 };
    FileAttributes {
        kind,
        mode: 0o777,
        links: 1,
        uid: 0,
        gid: 0,
        size,
        used: size,
        fsid: 1,
        file_id,
        accessed: time,
        modified: time,
        changed: time,
    }
}

/// `entryplus3` with attributes, and the handle of a directory that does not exist.
fn entry(out: &mut Writer, file_id: u64, name: &str, cookie: u64, kind: FileKind, size: u64) {
    out.boolean(true);
    out.u64(file_id);
    out.opaque(name.as_bytes());
    out.u64(cookie);
    out.boolean(true);
    attributes(kind, file_id, size).put(out);
    out.boolean(true);
    out.opaque(HOSTILE);
}
