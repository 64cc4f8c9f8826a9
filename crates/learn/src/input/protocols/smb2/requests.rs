//! Requests of SMB 2 and 3 and their replies (MS-SMB2 2.2).

use std::net::SocketAddr;

use super::bytes::{long, part, short, word};
use super::files::{FileId, Files, Open};
use super::header::HEADER_BYTES;
use sharebench_smb::wire::from_utf16;

use crate::input::protocols::smb::{access_of, directory, last_component};
use crate::input::recorder::Recorder;
use crate::operation::{Access, Action, Outcome};

const DELETE_ON_CLOSE: u32 = 0x0000_1000;
const DIRECTORY_FILE: u32 = 0x0000_0001;
const ATTRIBUTE_DIRECTORY: u32 = 0x0000_0010;
const WRITE_THROUGH: u32 = 0x0000_0001;
/// Flags of `QUERY_DIRECTORY` (2.2.33): from the start, also with another pattern.
const RESTART_SCANS: u8 = 0x01;
const REOPEN: u8 = 0x10;
const UNLOCK: u32 = 0x0000_0004;
const STATUS_NO_MORE_FILES: u32 = 0x8000_0006;
const STATUS_BUFFER_OVERFLOW: u32 = 0x8000_0005;
const STATUS_END_OF_FILE: u32 = 0xC000_0011;
const STATUS_NO_SUCH_FILE: u32 = 0xC000_000F;
const STATUS_OBJECT_NAME_NOT_FOUND: u32 = 0xC000_0034;
const STATUS_OBJECT_PATH_NOT_FOUND: u32 = 0xC000_003A;
/// `InfoType` of `QUERY_INFO` and `SET_INFO` (2.2.37): of a file, of a file system.
const INFO_FILE: u8 = 1;
const INFO_FILESYSTEM: u8 = 2;
/// Classes of MS-FSCC 2.4.
const RENAME: u8 = 10;
const DISPOSITION: u8 = 13;
const END_OF_FILE: u8 = 20;
const DISPOSITION_EX: u8 = 64;

/// A request, as far as its operation needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    /// NEGOTIATE, ECHO and others that are no operation on a file.
    Nothing,
    Setup,
    Tree {
        share: String,
    },
    Create {
        name: String,
        access: Access,
        options: u32,
    },
    Close {
        id: FileId,
    },
    Flush {
        id: FileId,
    },
    Read {
        id: FileId,
        offset: u64,
        asked: u32,
    },
    Write {
        id: FileId,
        offset: u64,
        bytes: u32,
        stable: bool,
    },
    Lock {
        id: FileId,
        release: bool,
    },
    List {
        id: FileId,
        /// It begins again.
        restarts: bool,
    },
    Query {
        id: FileId,
        info: u8,
    },
    Set {
        id: FileId,
        info: u8,
        class: u8,
        value: Vec<u8>,
    },
    /// IOCTL and `CHANGE_NOTIFY`.
    Other {
        name: &'static str,
    },
}

/// A reply, and where its request was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reply<'a> {
    pub(super) status: u32,
    pub(super) bytes: &'a [u8],
    pub(super) session: u64,
    pub(super) tree: u32,
}

/// How an operation with this status ended.
pub(super) const fn outcome(status: u32) -> Outcome {
    match status {
        0 | STATUS_BUFFER_OVERFLOW | STATUS_NO_MORE_FILES | STATUS_END_OF_FILE => Outcome::Done,
        STATUS_NO_SUCH_FILE | STATUS_OBJECT_NAME_NOT_FOUND | STATUS_OBJECT_PATH_NOT_FOUND => {
            Outcome::NotFound
        }
        status => Outcome::Failed(status),
    }
}

impl Request {
    /// Decodes a message that begins with its header; none if it ends too early.
    pub(super) fn decode(command: u16, bytes: &[u8]) -> Option<Self> {
        let body = bytes.get(HEADER_BYTES..)?;
        let id = |at: usize| Some(*body.get(at..)?.first_chunk::<16>()?);
        Some(match command {
            1 => Self::Setup,
            3 => {
                let [at, len] = [short(body, 4)?, short(body, 6)?].map(usize::from);
                Self::Tree { share: from_utf16(part(bytes, at, len)?) }
            }
            5 => {
                let [at, len] = [short(body, 44)?, short(body, 46)?].map(usize::from);
                let access = access_of(word(body, 24)?);
                let name = if len == 0 { &[][..] } else { part(bytes, at, len)? };
                Self::Create { name: from_utf16(name), access, options: word(body, 40)? }
            }
            6 => Self::Close { id: id(8)? },
            7 => Self::Flush { id: id(8)? },
            8 => Self::Read { asked: word(body, 4)?, offset: long(body, 8)?, id: id(16)? },
            9 => Self::Write {
                bytes: word(body, 4)?,
                offset: long(body, 8)?,
                id: id(16)?,
                stable: word(body, 44)? & WRITE_THROUGH != 0,
            },
            10 => Self::Lock { id: id(8)?, release: word(body, 40)? & UNLOCK != 0 },
            11 => Self::Other { name: "IOCTL" },
            14 => Self::List { id: id(8)?, restarts: *body.get(3)? & (RESTART_SCANS | REOPEN) != 0 },
            15 => Self::Other { name: "CHANGE_NOTIFY" },
            16 => Self::Query { info: *body.get(2)?, id: id(24)? },
            17 => {
                let at = usize::from(short(body, 8)?);
                let len = (word(body, 4)? as usize).min(1 << 16);
                let value = bytes.get(at..).unwrap_or_default();
                let value = value.get(..len).unwrap_or(value).to_vec();
                Self::Set { info: *body.get(2)?, class: *body.get(3)?, value, id: id(16)? }
            }
            _ => Self::Nothing,
        })
    }

    /// The operation of a request without a reply.
    pub(super) fn unanswered(
        &self,
        files: &mut Files,
        server: SocketAddr,
        recorder: &mut Recorder,
    ) -> Option<Action> {
        let mut file = |id: &FileId| files.get(*id, server, recorder).file;
        Some(match self {
            Self::Nothing | Self::Setup | Self::Tree { .. } => return None,
            Self::Create { access, .. } => Action::Open { file: None, access: *access, created: false },
            Self::Close { id } => Action::Close { file: file(id) },
            Self::Flush { id } => Action::Flush { file: file(id) },
            Self::Read { id, offset, asked } => {
                Action::Read { file: file(id), offset: *offset, asked: *asked, bytes: *asked }
            }
            Self::Write { id, offset, bytes, stable } => {
                Action::Write { file: file(id), offset: *offset, bytes: *bytes, stable: *stable }
            }
            Self::Lock { id, release } => Action::Lock { file: file(id), release: *release },
            Self::List { id, restarts } => Action::List { directory: file(id), entries: 0, first: *restarts },
            Self::Query { info: INFO_FILESYSTEM, .. } => Action::Space,
            Self::Query { info: INFO_FILE, id } => Action::Stat { file: Some(file(id)) },
            Self::Query { .. } => Action::Other("QUERY_INFO"),
            Self::Set { info: INFO_FILE, class: END_OF_FILE, value, id } => {
                Action::SetSize { file: file(id), size: long(value, 0).unwrap_or(0) }
            }
            Self::Set { info: INFO_FILE, class: RENAME, id, .. } => {
                Action::Rename { file: Some(file(id)), replaced: None }
            }
            Self::Set { info: INFO_FILE, id, .. } => Action::SetAttributes { file: file(id) },
            Self::Set { .. } => Action::Other("SET_INFO"),
            Self::Other { name } => Action::Other(name),
        })
    }

    /// The operations of a request with its reply. A close can remove a file too.
    pub(super) fn finish(
        self,
        reply: &Reply<'_>,
        files: &mut Files,
        last: &mut FileId,
        server: SocketAddr,
        recorder: &mut Recorder,
    ) -> [Option<(Action, Outcome)>; 2] {
        let ended = outcome(reply.status);
        let mut request = self;
        if let Some(id) = request.id()
            && *id == super::PREVIOUS
        {
            *id = *last;
        }
        let body = reply.bytes.get(HEADER_BYTES..).unwrap_or_default();
        let action = match &request {
            Self::Create { name, access, options } => {
                let action = created(name, *access, *options, reply, ended, files, last, server, recorder);
                return [Some((action, ended)), None];
            }
            Self::Close { id } if ended == Outcome::Done => {
                let file = files.get(*id, server, recorder).file;
                let open = files.close(*id);
                let removed = open.filter(|open| open.delete).map(|open| {
                    recorder.forget(server, &open.path);
                    (Action::Remove { file: Some(open.file) }, Outcome::Done)
                });
                return [Some((Action::Close { file }, ended)), removed];
            }
            Self::Read { id, offset, asked } if ended == Outcome::Done => {
                let delivered =
                    if reply.status == STATUS_END_OF_FILE { 0 } else { word(body, 4).unwrap_or(*asked) };
                let file = files.get(*id, server, recorder).file;
                Some(Action::Read { file, offset: *offset, asked: *asked, bytes: delivered })
            }
            Self::List { id, restarts } if ended == Outcome::Done => {
                let open = files.get(*id, server, recorder);
                recorder.directory(open.file);
                let first = *restarts || !open.listed;
                open.listed = true;
                Some(Action::List { directory: open.file, entries: entries(reply, body), first })
            }
            Self::Set { info: INFO_FILE, class, value, id } if ended == Outcome::Done => match *class {
                RENAME => Some(renamed(*id, value, reply, files, server, recorder)),
                DISPOSITION | DISPOSITION_EX => {
                    files.get(*id, server, recorder).delete = value.first().is_some_and(|flag| flag & 1 != 0);
                    // The removal is counted with the close.
                    return [None, None];
                }
                _ => None,
            },
            _ => None,
        };
        let action = action.or_else(|| request.unanswered(files, server, recorder));
        [action.map(|action| (action, ended)), None]
    }

    fn id(&mut self) -> Option<&mut FileId> {
        match self {
            Self::Close { id }
            | Self::Flush { id }
            | Self::Read { id, .. }
            | Self::Write { id, .. }
            | Self::Lock { id, .. }
            | Self::List { id, .. }
            | Self::Query { id, .. }
            | Self::Set { id, .. } => Some(id),
            _ => None,
        }
    }
}

/// The operation of a CREATE, whose reply has identifier, size and kind (2.2.14).
#[expect(clippy::too_many_arguments, reason = "request, reply and what they change")]
fn created(
    name: &str,
    access: Access,
    options: u32,
    reply: &Reply<'_>,
    ended: Outcome,
    files: &mut Files,
    last: &mut FileId,
    server: SocketAddr,
    recorder: &mut Recorder,
) -> Action {
    let path = files.path(reply.session, reply.tree, name);
    if ended != Outcome::Done {
        // A related request that follows fails too, whatever it names.
        *last = super::PREVIOUS;
        return Action::Open { file: recorder.known_file(server, &path), access, created: false };
    }
    let body = reply.bytes.get(HEADER_BYTES..).unwrap_or_default();
    let file = recorder.file(server, &path);
    // FILE_SUPERSEDED, FILE_CREATED, FILE_OVERWRITTEN; 1 is FILE_OPENED.
    let made = word(body, 4).is_some_and(|done| matches!(done, 0 | 2 | 3));
    let attributes = word(body, 56).unwrap_or(0);
    let parent = files.path(reply.session, reply.tree, directory(name));
    let parent = (!name.is_empty()).then(|| recorder.file(server, &parent));
    if let Some(parent) = parent {
        recorder.directory(parent);
    }
    recorder.name(file, parent, last_component(name).as_bytes());
    let is_directory = attributes & ATTRIBUTE_DIRECTORY != 0 || options & DIRECTORY_FILE != 0;
    if made {
        recorder.created(file);
    }
    if is_directory {
        recorder.directory(file);
    } else if let Some(size) = long(body, 48) {
        recorder.size(file, size);
    }
    if let Some(id) = body.get(64..).and_then(|rest| rest.first_chunk::<16>()) {
        *last = *id;
        files.open(*id, Open { file, path, delete: options & DELETE_ON_CLOSE != 0, listed: false });
    }
    match (is_directory, made) {
        (true, true) => Action::MakeDirectory { directory: Some(file) },
        _ => Action::Open { file: Some(file), access, created: made },
    }
}

/// `FileRenameInformation` (MS-FSCC 2.4.42.2): the name follows 20 bytes.
fn renamed(
    id: FileId,
    value: &[u8],
    reply: &Reply<'_>,
    files: &mut Files,
    server: SocketAddr,
    recorder: &mut Recorder,
) -> Action {
    let name = word(value, 16).and_then(|len| part(value, 20, len as usize)).unwrap_or_default();
    let name = from_utf16(name);
    let to = files.path(reply.session, reply.tree, &name);
    let open = files.get(id, server, recorder);
    let replaced = recorder.rename(server, &open.path, &to);
    open.path = to;
    recorder.name(open.file, None, last_component(&name).as_bytes());
    Action::Rename { file: Some(open.file), replaced: replaced.filter(|file| *file != open.file) }
}

/// Entries of a listing: each states where the next one begins (MS-FSCC 2.4).
fn entries(reply: &Reply<'_>, body: &[u8]) -> u32 {
    if reply.status == STATUS_NO_MORE_FILES {
        return 0;
    }
    let [Some(at), Some(len)] = [short(body, 2).map(usize::from), word(body, 4).map(|len| len as usize)]
    else {
        return 0;
    };
    let mut listing = reply.bytes.get(at..).unwrap_or_default();
    listing = listing.get(..len).unwrap_or(listing);
    let mut count = 0;
    while let Some(next) = word(listing, 0) {
        count += 1;
        let Some(rest) = listing.get(next as usize..).filter(|_| next > 0) else { break };
        listing = rest;
    }
    count
}
