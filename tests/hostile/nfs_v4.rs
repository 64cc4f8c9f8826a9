//! Hostile servers of NFS 4.0, 4.1 and 4.2.

use sharebench_nfs::protocol::NFS_PROGRAM;
use sharebench_nfs::v4::attribute_types::{FileType, FsId};
use sharebench_nfs::v4::attributes::Attributes;
use sharebench_nfs::v4::bitmap::Bitmap;
use sharebench_nfs::v4::compound::{COMPOUND, NFS4_VERSION, ReplyHead, ResultHead};
use sharebench_nfs::v4::item::{Item, Opaque};
use sharebench_nfs::v4::listing::{ListedEntry, get_listing};
use sharebench_nfs::v4::open::Opened;
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::status::Nfs4Status as Status;
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::mode::Protocol::{self, Nfs40, Nfs41, Nfs42};
use crate::mode::{ESCAPES, Mode, forward, garbage};
use crate::nfs::{RESULT, called, record, replaced, word, words};
use crate::proxy::{Answer, Distort, Exchange};

/// Name of the behaviour, the class of the error that it causes, and what the server does with each reply.
type Row = (&'static str, fn(Protocol, &'static str, Distort) -> Mode, &'static str, Distort);

/// Length of the result of SEQUENCE: session, sequence, slot, highest and target slots, flags (RFC 8881, 18.46).
const SEQUENCE: usize = 36;
/// Not a status of any version.
const UNKNOWN: u32 = 4242;

/// The modes, in the order of the table.
pub fn modes() -> Vec<Mode> {
    let minors: [(Protocol, &'static [Row]); 3] = [(Nfs40, OLD), (Nfs41, SESSIONS), (Nfs42, &[])];
    let rows = minors.into_iter().flat_map(|(protocol, own)| {
        let all = EVERY.iter().chain(own);
        all.map(move |(what, make, error, distort)| Mode { error, ..make(protocol, what, *distort) })
    });
    rows.collect()
}

/// Of each minor version.
const EVERY: &[Row] = &[
    ("all calls answered with NFS4ERR_EXPIRED", Mode::new, "disconnected", |at| {
        all(at, Status::Expired.code())
    }),
    ("all calls answered with NFS4ERR_MOVED", Mode::new, "unsupported", |at| all(at, Status::Moved.code())),
    ("all calls answered with an unknown status", Mode::new, "protocol", |at| all(at, UNKNOWN)),
    ("all calls answered with NFS4ERR_DELAY", Mode::slow, "timeout", |at| all(at, Status::Delay.code())),
    ("OPEN answered with NFS4ERR_DELAY", Mode::slow, "timeout", |at| {
        fails(at, Operation::Open, Status::Delay)
    }),
    ("OPEN answered with NFS4ERR_GRACE", Mode::slow, "timeout", |at| {
        fails(at, Operation::Open, Status::Grace)
    }),
    ("OPEN answered with NFS4ERR_EXPIRED", Mode::new, "disconnected", |at| {
        fails(at, Operation::Open, Status::Expired)
    }),
    ("OPEN answered with NFS4ERR_STALE_CLIENTID", Mode::new, "disconnected", |at| {
        fails(at, Operation::Open, Status::StaleClientid)
    }),
    ("LOOKUP answered with NFS4ERR_MOVED", Mode::new, "unsupported", |at| {
        fails(at, Operation::Lookup, Status::Moved)
    }),
    ("PUTFH answered with NFS4ERR_FHEXPIRED", Mode::new, "stale handle", |at| {
        fails(at, Operation::PutFh, Status::Fhexpired)
    }),
    ("READ and WRITE answered with NFS4ERR_BAD_STATEID", Mode::new, "disconnected", |at| {
        if result_at(&at.reply, Operation::Read).is_some() {
            fails(at, Operation::Read, Status::BadStateid)
        } else {
            fails(at, Operation::Write, Status::BadStateid)
        }
    }),
    ("a tag of 4 GiB", Mode::new, "protocol", |at| compound(at, |_| words(&[0, u32::MAX, 1]))),
    ("4 billion results", Mode::new, "protocol", |at| compound(at, |_| words(&[0, 0, u32::MAX, 53, 0]))),
    ("no results and success", Mode::new, "protocol", |at| compound(at, |_| words(&[0, 0, 0]))),
    ("results of garbage", Mode::new, "protocol", |at| {
        compound(at, |reply| [words(&[0, 0, 4]), garbage(reply.len())].concat())
    }),
    ("results of zeros", Mode::new, "protocol", |at| compound(at, |reply| vec![0; reply.len()])),
    ("results of another operation", Mode::new, "protocol", |at| compound(at, |_| words(&[0, 0, 1, 59, 0]))),
    ("GETFH: a handle of 4 GiB", Mode::new, "protocol", |at| {
        answer_to(at, Operation::GetFh, |_| words(&[u32::MAX]))
    }),
    ("GETFH: a handle of 129 bytes", Mode::new, "protocol", |at| {
        answer_to(at, Operation::GetFh, |_| [words(&[129]), vec![7; 132]].concat())
    }),
    ("GETATTR: a bitmap of 4 billion words", Mode::new, "protocol", |at| {
        answer_to(at, Operation::GetAttr, |_| words(&[u32::MAX, 1]))
    }),
    ("GETATTR: attributes of 4 GiB", Mode::new, "protocol", |at| {
        answer_to(at, Operation::GetAttr, |_| words(&[1, 1 << 10, u32::MAX]))
    }),
    ("GETATTR: none of the attributes", Mode::new, "protocol", |at| {
        answer_to(at, Operation::GetAttr, |_| words(&[0, 0]))
    }),
    ("READDIR: the same page without end", Mode::new, "protocol", |at| {
        listing(at, false, |_, out| entry(out, 7, b"same", FileType::Regular))
    }),
    ("READDIR: empty pages without end", Mode::new, "protocol", |at| listing(at, false, |_, _| {})),
    ("READDIR: three pages again and again", Mode::new, "protocol", |at| {
        listing(at, false, |page, out| {
            let number = page % 3;
            entry(out, 7 + number, format!("file-{number}").as_bytes(), FileType::Regular);
        })
    }),
    ("READDIR: the name `../../etc`", Mode::new, "protocol", |at| one_name(at, b"../../etc")),
    ("READDIR: a name with escape sequences", Mode::new, "", |at| one_name(at, ESCAPES.as_bytes())),
    ("READDIR: a name of 4 GiB", Mode::new, "protocol", |at| {
        answer_to(at, Operation::ReadDir, |_| words(&[0, 0, 1, 0, 7, u32::MAX]))
    }),
    ("OPEN: a write delegation that nobody wanted, by an owner of 4 GiB", Mode::new, "protocol", |at| {
        // State, change_info, flags, no attributes, OPEN_DELEGATE_WRITE.
        let fixed =
            [&[1, 2, 3, 4][..], &[1, 0, 0, 0, 0], &[0], &[0], &[2], &[1, 2, 3, 4], &[0, 1, 0, 9]].concat();
        answer_to(at, Operation::Open, |_| words(&[&fixed[..], &[0, 0, 0, u32::MAX]].concat()))
    }),
    ("READ: 4 GiB", Mode::new, "protocol", |at| answer_to(at, Operation::Read, |_| words(&[0, u32::MAX]))),
    ("READ: 0 bytes, and not the end of the file", Mode::new, "data mismatch", |at| {
        answer_to(at, Operation::Read, |_| words(&[0, 0]))
    }),
    ("WRITE: 4 GiB written", Mode::new, "i/o", |at| {
        answer_to(at, Operation::Write, |_| words(&[u32::MAX, 2, 0, 0]))
    }),
    ("each reply twice", Mode::new, "", |at| Answer::Twice(at.reply)),
    ("calls with a handle answered with the reply to the call before", Mode::new, "protocol", replay),
];

/// Of minor version 0 only.
const OLD: &[Row] = &[
    ("SETCLIENTID answered with NFS4ERR_STALE_CLIENTID", Mode::new, "disconnected", |at| {
        fails(at, Operation::SetClientId, Status::StaleClientid)
    }),
    ("SETCLIENTID: the name is in use by an address of 4 GiB", Mode::new, "busy", |at| {
        of_status(at, Operation::SetClientId, Status::ClidInuse.code(), |_| words(&[u32::MAX]))
    }),
    ("SETCLIENTID_CONFIRM answered with NFS4ERR_STALE_CLIENTID", Mode::new, "disconnected", |at| {
        fails(at, Operation::SetClientIdConfirm, Status::StaleClientid)
    }),
    ("OPEN answered with NFS4ERR_BAD_SEQID", Mode::new, "protocol", |at| {
        fails(at, Operation::Open, Status::BadSeqid)
    }),
    ("OPEN_CONFIRM answered with NFS4ERR_BAD_STATEID", Mode::new, "disconnected", |at| {
        fails(at, Operation::OpenConfirm, Status::BadStateid)
    }),
    ("CLOSE answered with NFS4ERR_OLD_STATEID", Mode::new, "protocol", |at| {
        fails(at, Operation::Close, Status::OldStateid)
    }),
];

/// Of minor versions with sessions.
const SESSIONS: &[Row] = &[
    ("SEQUENCE answered with NFS4ERR_BADSESSION", Mode::new, "disconnected", |at| {
        sequence(at, Status::Badsession.code())
    }),
    ("SEQUENCE answered with NFS4ERR_DEADSESSION", Mode::new, "disconnected", |at| {
        sequence(at, Status::Deadsession.code())
    }),
    ("SEQUENCE answered with NFS4ERR_STALE_CLIENTID", Mode::new, "disconnected", |at| {
        sequence(at, Status::StaleClientid.code())
    }),
    ("SEQUENCE answered with NFS4ERR_BADSLOT", Mode::new, "disconnected", |at| {
        sequence(at, Status::Badslot.code())
    }),
    ("SEQUENCE answered with NFS4ERR_SEQ_MISORDERED", Mode::new, "disconnected", |at| {
        sequence(at, Status::SeqMisordered.code())
    }),
    ("SEQUENCE answered with NFS4ERR_SEQ_FALSE_RETRY", Mode::new, "disconnected", |at| {
        sequence(at, Status::SeqFalseRetry.code())
    }),
    ("SEQUENCE answered with NFS4ERR_CONN_NOT_BOUND_TO_SESSION", Mode::new, "disconnected", |at| {
        sequence(at, Status::ConnNotBoundToSession.code())
    }),
    ("SEQUENCE answered with NFS4ERR_TOO_MANY_OPS", Mode::new, "disconnected", |at| {
        sequence(at, Status::TooManyOps.code())
    }),
    ("SEQUENCE answered with NFS4ERR_DELAY", Mode::slow, "timeout", |at| sequence(at, Status::Delay.code())),
    ("SEQUENCE answered with NFS4ERR_RETRY_UNCACHED_REP", Mode::slow, "timeout", |at| {
        sequence(at, Status::RetryUncachedRep.code())
    }),
    ("SEQUENCE: another session", Mode::new, "", |at| sequence_word(at, 0, 7)),
    ("SEQUENCE: another sequence number", Mode::new, "", |at| sequence_word(at, 4, 77)),
    ("SEQUENCE: another slot", Mode::new, "", |at| sequence_word(at, 5, 99)),
    ("SEQUENCE: no slots from now on", Mode::new, "", |at| sequence_word(at, 7, 0)),
    ("SEQUENCE: 4 billion slots from now on", Mode::new, "", |at| sequence_word(at, 7, u32::MAX)),
    ("SEQUENCE: every flag of lost state", Mode::new, "", |at| sequence_word(at, 8, u32::MAX)),
    ("EXCHANGE_ID answered with NFS4ERR_DELAY", Mode::slow, "timeout", |at| {
        fails(at, Operation::ExchangeId, Status::Delay)
    }),
    ("EXCHANGE_ID answered with NFS4ERR_CLID_INUSE", Mode::new, "busy", |at| {
        fails(at, Operation::ExchangeId, Status::ClidInuse)
    }),
    ("EXCHANGE_ID: a server's owner of 4 GiB", Mode::new, "protocol", |at| {
        // Client, sequence, flags, no state protection, minor id (RFC 8881, 18.35).
        answer_to(at, Operation::ExchangeId, |_| words(&[0, 1, 1, 0, 0, 0, 0, u32::MAX]))
    }),
    ("EXCHANGE_ID: state protection by a secret", Mode::new, "protocol", |at| {
        answer_to(at, Operation::ExchangeId, |_| words(&[0, 1, 1, 0, 2, u32::MAX, u32::MAX]))
    }),
    ("CREATE_SESSION answered with NFS4ERR_STALE_CLIENTID", Mode::new, "disconnected", |at| {
        fails(at, Operation::CreateSession, Status::StaleClientid)
    }),
    ("CREATE_SESSION: no slots", Mode::new, "", |at| channel(at, [0, 1 << 20, 1 << 20, 4096, 64, 0, 0])),
    ("CREATE_SESSION: 4 billion slots", Mode::new, "", |at| {
        channel(at, [0, 1 << 20, 1 << 20, 4096, 64, u32::MAX, 0])
    }),
    ("CREATE_SESSION: messages of 0 bytes", Mode::new, "", |at| channel(at, [0, 0, 0, 0, 0, 1, 0])),
    ("CREATE_SESSION: messages of 4 GiB", Mode::new, "", |at| {
        channel(at, [0, u32::MAX, u32::MAX, u32::MAX, u32::MAX, 64, 0])
    }),
    ("RECLAIM_COMPLETE answered with NFS4ERR_DEADSESSION", Mode::new, "disconnected", |at| {
        fails(at, Operation::ReclaimComplete, Status::Deadsession)
    }),
    ("a callback before each reply", Mode::new, "", |at| Answer::Send([callback(1), at.reply].concat())),
    ("callbacks without end", Mode::slow, "protocol", |_| Answer::Flood(callback(1))),
    ("callbacks of 4 billion operations without end", Mode::slow, "protocol", |_| {
        Answer::Flood(callback(u32::MAX))
    }),
    ("a callback of 1 MiB before each reply", Mode::new, "protocol", |at| {
        let mut call = callback(1)[4..].to_vec();
        call.resize(1 << 20, 7);
        Answer::Send([record(&call), at.reply].concat())
    }),
];

/// True for a reply to a COMPOUND.
fn is_compound(at: &Exchange<'_>) -> bool {
    called(at) == (NFS_PROGRAM, COMPOUND) && word(at.request, 20) == NFS4_VERSION
}

/// Replaces the results of each COMPOUND.
fn compound(at: Exchange<'_>, results: impl FnOnce(&[u8]) -> Vec<u8>) -> Answer {
    if !is_compound(&at) {
        return forward(at);
    }
    replaced(&at.reply, &results(at.reply.get(RESULT..).unwrap_or_default()))
}

/// Answers a call with a handle by the reply to the one before it. The calls that establish the client get their own replies,
/// because it would otherwise reject the first replay without having used one.
fn replay(at: Exchange<'_>) -> Answer {
    if !is_compound(&at) || result_at(&at.reply, Operation::PutFh).is_none() {
        return forward(at);
    }
    let earlier = std::mem::replace(at.memory, at.reply[RESULT..].to_vec());
    if earlier.is_empty() { Answer::Send(at.reply) } else { replaced(&at.reply, &earlier) }
}

/// Answers every COMPOUND with a failure of its first operation.
fn all(at: Exchange<'_>, status: u32) -> Answer {
    compound(at, |results| {
        let mut reader = Reader::new(results);
        let first = ReplyHead::get(&mut reader).and_then(|_| reader.u32()).unwrap_or_default();
        words(&[status, 0, 1, first, status])
    })
}

/// Passes the body of a successful result.
fn skip(operation: Operation, reader: &mut Reader<'_>) -> Result<(), XdrError> {
    let bytes = match operation {
        Operation::Sequence => SEQUENCE,
        Operation::Access | Operation::Commit => 8,
        Operation::Close
        | Operation::OpenConfirm
        | Operation::OpenDowngrade
        | Operation::Lock
        | Operation::LockU
        | Operation::Write => 16,
        Operation::Remove | Operation::Link => 20,
        Operation::Rename => 40,
        Operation::GetFh => return reader.opaque("handle", 128).map(drop),
        Operation::GetAttr => {
            Bitmap::get(reader)?;
            return reader.opaque("attributes", 1 << 16).map(drop);
        }
        Operation::SetAttr => return Bitmap::get(reader).map(drop),
        Operation::Create => {
            words_of(reader, 5)?;
            return Bitmap::get(reader).map(drop);
        }
        Operation::Open => return Opened::get(reader).map(drop),
        Operation::ReadDir => return get_listing(reader, |_| {}).map(drop),
        Operation::Read => {
            reader.boolean("eof")?;
            return reader.opaque("data", 1 << 20).map(drop);
        }
        _ => 0,
    };
    words_of(reader, bytes / 4)
}

fn words_of(reader: &mut Reader<'_>, count: usize) -> Result<(), XdrError> {
    (0..count).try_for_each(|_| reader.u32().map(drop))
}

/// Where the result of an operation begins in a reply, and its index.
fn result_at(reply: &[u8], wanted: Operation) -> Option<(usize, u32)> {
    let mut reader = Reader::new(reply.get(RESULT..)?);
    let count = ReplyHead::get(&mut reader).ok()?.count;
    for index in 0..count {
        let at = reply.len() - reader.rest().len();
        let head = ResultHead::get(&mut reader).ok()?;
        let operation = Operation::from_code(head.operation)?;
        if operation == wanted {
            return Some((at, index));
        }
        skip(operation, &mut reader).ok()?;
    }
    None
}

/// Replaces the result of one operation, and ends the reply after it. `body` gets the call.
fn of_status(
    at: Exchange<'_>,
    wanted: Operation,
    status: u32,
    body: impl FnOnce(&Exchange<'_>) -> Vec<u8>,
) -> Answer {
    let found = is_compound(&at).then(|| result_at(&at.reply, wanted)).flatten();
    let Some((start, index)) = found else { return forward(at) };
    let tag = word(&at.reply, RESULT + 4).next_multiple_of(4) as usize;
    let first = RESULT + 12 + tag;
    let head = words(&[status, 0, index + 1]);
    let result = [words(&[wanted as u32, status]), body(&at)].concat();
    replaced(&at.reply, &[head, at.reply[first..start].to_vec(), result].concat())
}

/// Replaces the body of a successful result.
fn answer_to(at: Exchange<'_>, wanted: Operation, body: impl FnOnce(&Exchange<'_>) -> Vec<u8>) -> Answer {
    of_status(at, wanted, 0, body)
}

/// Lets an operation fail.
fn fails(at: Exchange<'_>, operation: Operation, status: Status) -> Answer {
    of_status(at, operation, status.code(), |_| Vec::new())
}

/// Lets SEQUENCE fail.
fn sequence(at: Exchange<'_>, status: u32) -> Answer {
    of_status(at, Operation::Sequence, status, |_| Vec::new())
}

/// Replaces a word of the result of SEQUENCE; the other results stay.
fn sequence_word(at: Exchange<'_>, index: usize, value: u32) -> Answer {
    let found = is_compound(&at).then(|| result_at(&at.reply, Operation::Sequence)).flatten();
    let Some((start, _)) = found else { return forward(at) };
    let mut reply = at.reply;
    let place = start + 8 + 4 * index;
    if reply.len() >= place + 4 {
        reply[place..place + 4].copy_from_slice(&value.to_be_bytes());
    }
    Answer::Send(reply)
}

/// Replaces what `CREATE_SESSION` grants for the calls of the client (RFC 8881, 18.36): session, sequence, flags, and the
/// attributes of the two channels.
fn channel(at: Exchange<'_>, fore: [u32; 7]) -> Answer {
    answer_to(at, Operation::CreateSession, |at| {
        let session = result_at(&at.reply, Operation::CreateSession).map_or(0, |(start, _)| start + 8);
        let head = at.reply.get(session..session + 24).unwrap_or_default();
        [head, &words(&fore), &words(&[0, 4096, 4096, 0, 4, 1, 0])].concat()
    })
}

/// A call of the client's program with this number of operations, of which `CB_SEQUENCE` of an unknown session is the first.
fn callback(count: u32) -> Vec<u8> {
    // xid, call, RPC version 2, program, version, CB_COMPOUND, no credentials and no verifier; no tag, minor version 1, ident.
    let head = [0x5EED, 0, 2, 0x4000_0000, 1, 1, 0, 0, 0, 0, 0, 1, 0, count];
    record(&words(&[&head[..], &[11, 1, 2, 3, 4, 1, 0, 0, 0, 0]].concat()))
}

/// Replaces pages of listings; `entries` gets the number of the page.
fn listing(at: Exchange<'_>, end: bool, entries: impl FnOnce(u64, &mut Writer)) -> Answer {
    if result_at(&at.reply, Operation::ReadDir).is_none() {
        return forward(at);
    }
    let page = at.memory.len() as u64;
    at.memory.push(0);
    let mut out = Writer::default();
    out.words(&[0, 0]);
    entries(page, &mut out);
    out.boolean(false);
    out.boolean(end);
    answer_to(at, Operation::ReadDir, |_| out.as_slice().to_vec())
}

fn one_name(at: Exchange<'_>, name: &[u8]) -> Answer {
    listing(at, true, |_, out| entry(out, 7, name, FileType::Directory))
}

/// An entry with the attributes that the client wants.
fn entry(out: &mut Writer, cookie: u64, name: &[u8], kind: FileType) {
    let attributes = Attributes {
        kind: Some(kind),
        change: Some(1),
        size: Some(1),
        fs_id: Some(FsId { major: 1, minor: 1 }),
        file_id: Some(cookie),
        ..Attributes::default()
    };
    out.boolean(true);
    ListedEntry { cookie, name: Opaque(name), attributes }.put(out);
}

/// The xid of a reply is that of its call.
#[test]
fn replaced_results_keep_the_call_that_they_answer() {
    let reply = record(&words(&[9, 1, 0, 0, 0, 0, 0, 0, 2, 53, 0, 1, 2, 3, 4, 1, 0, 0, 0, 0, 22, 0]));
    assert_eq!(word(&reply, 4), 9);
    assert_eq!(result_at(&reply, Operation::Sequence), Some((RESULT + 12, 0)));
    assert_eq!(result_at(&reply, Operation::PutFh), Some((RESULT + 12 + 8 + SEQUENCE, 1)));
    assert_eq!(result_at(&reply, Operation::Read), None);
}
