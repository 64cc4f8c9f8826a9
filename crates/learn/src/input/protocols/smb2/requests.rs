//! Requests of SMB 2 and 3 and their replies (MS-SMB2 2.2).

use std::net::SocketAddr;

use sharebench_smb::NtStatus;
use sharebench_smb::wire::create::{ATTRIBUTE_DIRECTORY, CreateRequest, CreateResponse, options};
use sharebench_smb::wire::data::{ReadRequest, ReadResponse, WRITE_THROUGH, WriteRequest};
use sharebench_smb::wire::directory::{QueryDirectoryRequest, flags::REOPEN, flags::RESTART_SCANS};
use sharebench_smb::wire::header::command;
use sharebench_smb::wire::info::{
    self, DISPOSITION, END_OF_FILE, QueryInfoRequest, RENAME, SetInfoRequest, TYPE_FILE, TYPE_FILE_SYSTEM,
};
use sharebench_smb::wire::lock::{self, LockRequest};
use sharebench_smb::wire::simple::{CloseRequest, FlushRequest};
use sharebench_smb::wire::tree::TreeConnectRequest;
use sharebench_smb::wire::{FileId, HEADER_LEN, Reader, WireError};

use super::files::{Files, Open};
use super::header::Part;
use crate::input::protocols::smb::{access_of, directory, last_component, outcome_of};
use crate::input::recorder::Recorder;
use crate::operation::{Access, Action, Outcome};

/// `FileDispositionInformationEx` (MS-FSCC 2.4.12).
const DISPOSITION_EX: u8 = 64;
/// Where the value of a `SET_INFO` is in the body (2.2.39).
const SET_INFO_VALUE_AT: usize = 32;
/// Values of `CreateAction` (2.2.14) if the file did not exist, or was emptied.
const SUPERSEDED: u32 = 0;
const CREATED: u32 = 2;
const OVERWRITTEN: u32 = 3;

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
    pub(super) status: NtStatus,
    pub(super) part: Part<'a>,
    pub(super) session: u64,
    pub(super) tree: u32,
}

/// Bytes after the header that a request needs; names and values that follow may have been cut.
const fn needed(command: u16) -> usize {
    match command {
        command::TREE_CONNECT => 8,
        command::CLOSE | command::FLUSH | command::QUERY_DIRECTORY => 24,
        command::READ | command::SET_INFO => 32,
        command::QUERY_INFO => 40,
        command::LOCK => 44,
        command::CREATE | command::WRITE => 48,
        _ => 0,
    }
}

impl Request {
    /// Decodes a message; none if it ends too early.
    pub(super) fn decode(command: u16, part: Part<'_>) -> Option<Self> {
        let request = Self::of_message(command, part.message).ok().filter(|_| part.has(needed(command)))?;
        Some(match request {
            Self::Tree { share } => Self::Tree { share: part.uncut(share)? },
            Self::Create { name, access, options } => {
                Self::Create { name: part.uncut(name)?, access, options }
            }
            Self::Set { id, info, class, mut value } => {
                value.truncate(part.captured_from(SET_INFO_VALUE_AT));
                Self::Set { id, info, class, value }
            }
            request => request,
        })
    }

    fn of_message(command: u16, message: &[u8]) -> Result<Self, WireError> {
        Ok(match command {
            command::SESSION_SETUP => Self::Setup,
            command::TREE_CONNECT => Self::Tree { share: TreeConnectRequest::decode(message)?.path },
            command::CREATE => {
                let (CreateRequest { name, access, options, .. }, _) =
                    CreateRequest::decode_up_to_contexts(message)?;
                Self::Create { name, access: access_of(access), options }
            }
            command::CLOSE => Self::Close { id: CloseRequest::decode(message)?.file },
            command::FLUSH => Self::Flush { id: FlushRequest::decode(message)?.file },
            command::READ => {
                let ReadRequest { file, offset, len, .. } = ReadRequest::decode(message)?;
                Self::Read { id: file, offset, asked: len }
            }
            command::WRITE => {
                let WriteRequest { file, offset, len, flags, .. } = WriteRequest::decode(message)?;
                Self::Write { id: file, offset, bytes: len, stable: flags & WRITE_THROUGH != 0 }
            }
            command::LOCK => {
                let LockRequest { file, ranges, .. } = LockRequest::decode(message)?;
                let release = ranges.first().is_some_and(|range| range.flags & lock::flags::UNLOCK != 0);
                Self::Lock { id: file, release }
            }
            command::IOCTL => Self::Other { name: "IOCTL" },
            command::QUERY_DIRECTORY => {
                let QueryDirectoryRequest { file, flags, .. } = QueryDirectoryRequest::decode(message)?;
                Self::List { id: file, restarts: flags & (RESTART_SCANS | REOPEN) != 0 }
            }
            command::CHANGE_NOTIFY => Self::Other { name: "CHANGE_NOTIFY" },
            command::QUERY_INFO => {
                let QueryInfoRequest { file, info_type, .. } = QueryInfoRequest::decode(message)?;
                Self::Query { id: file, info: info_type }
            }
            command::SET_INFO => {
                let SetInfoRequest { info_type, class, file, information, .. } =
                    SetInfoRequest::decode(message)?;
                Self::Set { id: file, info: info_type, class, value: information }
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
            Self::Query { info: TYPE_FILE_SYSTEM, .. } => Action::Space,
            Self::Query { info: TYPE_FILE, id } => Action::Stat { file: Some(file(id)) },
            Self::Query { .. } => Action::Other("QUERY_INFO"),
            Self::Set { info: TYPE_FILE, class: END_OF_FILE, value, id } => {
                let size = Reader::new(value, "FileEndOfFileInformation").get();
                Action::SetSize { file: file(id), size: size.unwrap_or(0) }
            }
            Self::Set { info: TYPE_FILE, class: RENAME, id, .. } => {
                Action::Rename { file: Some(file(id)), replaced: None }
            }
            Self::Set { info: TYPE_FILE, id, .. } => Action::SetAttributes { file: file(id) },
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
        let ended = outcome_of(reply.status);
        let mut request = self;
        if let Some(id) = request.id()
            && *id == FileId::PREVIOUS
        {
            *id = *last;
        }
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
                let delivered = delivered(reply).unwrap_or(*asked);
                let file = files.get(*id, server, recorder).file;
                Some(Action::Read { file, offset: *offset, asked: *asked, bytes: delivered })
            }
            Self::List { id, restarts } if ended == Outcome::Done => {
                let open = files.get(*id, server, recorder);
                recorder.directory(open.file);
                let first = *restarts || !open.listed;
                open.listed = true;
                Some(Action::List { directory: open.file, entries: entries(reply), first })
            }
            Self::Set { info: TYPE_FILE, class, value, id } if ended == Outcome::Done => match *class {
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
        *last = FileId::PREVIOUS;
        return Action::Open { file: recorder.known_file(server, &path), access, created: false };
    }
    // What was cut is zeros.
    let part = reply.part;
    let created = opened(part.message).unwrap_or_default();
    let file = recorder.file(server, &path);
    let made = part.has(8) && matches!(created.action, SUPERSEDED | CREATED | OVERWRITTEN);
    let parent = files.path(reply.session, reply.tree, directory(name));
    let parent = (!name.is_empty()).then(|| recorder.file(server, &parent));
    if let Some(parent) = parent {
        recorder.directory(parent);
    }
    recorder.name(file, parent, last_component(name).as_bytes());
    let is_directory = part.has(60) && created.attributes & ATTRIBUTE_DIRECTORY != 0
        || options & options::DIRECTORY_FILE != 0;
    if made {
        recorder.created(file);
    }
    if is_directory {
        recorder.directory(file);
    } else if part.has(56) {
        recorder.size(file, created.end_of_file);
    }
    if part.has(80) {
        *last = created.file;
        let delete = options & options::DELETE_ON_CLOSE != 0;
        files.open(created.file, Open { file, path, delete, listed: false });
    }
    match (is_directory, made) {
        (true, true) => Action::MakeDirectory { directory: Some(file) },
        _ => Action::Open { file: Some(file), access, created: made },
    }
}

/// The reply to a CREATE, whatever the size that it states of itself.
fn opened(message: &[u8]) -> Result<CreateResponse, WireError> {
    let mut reader = Reader::new(message, "CREATE");
    reader.take(HEADER_LEN + 2)?;
    CreateResponse::get(&mut reader)
}

/// A rename, whose new name is unknown if it was cut.
fn renamed(
    id: FileId,
    value: &[u8],
    reply: &Reply<'_>,
    files: &mut Files,
    server: SocketAddr,
    recorder: &mut Recorder,
) -> Action {
    let name = info::renamed(value).map(|(_, name)| name).unwrap_or_default();
    let to = files.path(reply.session, reply.tree, &name);
    let open = files.get(id, server, recorder);
    let replaced = recorder.rename(server, &open.path, &to);
    open.path = to;
    recorder.name(open.file, None, last_component(&name).as_bytes());
    Action::Rename { file: Some(open.file), replaced: replaced.filter(|file| *file != open.file) }
}

/// Bytes of the reply to a READ; none if that part was cut.
fn delivered(reply: &Reply<'_>) -> Option<u32> {
    if reply.status == NtStatus::END_OF_FILE {
        return Some(0);
    }
    ReadResponse::decode(reply.part.message).ok().filter(|_| reply.part.has(8)).map(|read| read.len)
}

/// Entries of a listing, as far as it was captured.
fn entries(reply: &Reply<'_>) -> u32 {
    if reply.status == NtStatus::NO_MORE_FILES {
        return 0;
    }
    let mut listing = listing(reply.part.captured()).unwrap_or_default();
    let mut count = 0;
    // Each entry begins with the distance to the next one (MS-FSCC 2.4).
    while let Ok(next) = Reader::new(listing, "listing").get::<u32>() {
        count += 1;
        let Some(rest) = listing.get(next as usize..).filter(|_| next > 0) else { break };
        listing = rest;
    }
    count
}

/// The entries in a reply to `QUERY_DIRECTORY` (2.2.34): [`info::InfoResponse`] without those that were cut.
fn listing(message: &[u8]) -> Result<&[u8], WireError> {
    let mut reader = Reader::body(message, 9, "listing")?;
    let offset: u16 = reader.get()?;
    let len: u32 = reader.get()?;
    let rest = message.get(usize::from(offset)..).unwrap_or_default();
    Ok(rest.get(..len as usize).unwrap_or(rest))
}
