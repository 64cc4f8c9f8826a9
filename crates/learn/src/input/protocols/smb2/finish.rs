//! Replies of SMB 2 and 3 (MS-SMB2 2.2): requests become operations.

use sharebench_smb::NtStatus;
use sharebench_smb::wire::create::{ATTRIBUTE_DIRECTORY, CreateResponse, options};
use sharebench_smb::wire::data::ReadResponse;
use sharebench_smb::wire::{FileId, HEADER_LEN, Reader, WireError};

use super::header::Part;
use super::numbers::Smb2Scope;
use super::request::Request;
use crate::input::performed::Performed;
use crate::input::protocols::file_request::FileRequest;
use crate::input::protocols::smb::codes::outcome_of;
use crate::input::protocols::smb::shares::{Opened, last_component};
use crate::operation::{Access, Action, Outcome};

/// Values of `CreateAction` (2.2.14) if the file did not exist, or was emptied.
const SUPERSEDED: u32 = 0;
const CREATED: u32 = 2;
const OVERWRITTEN: u32 = 3;

/// A reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reply<'a> {
    pub(super) status: NtStatus,
    pub(super) part: Part<'a>,
}

impl Request {
    /// The operation of a request that failed, or has no reply.
    pub(super) fn attempted(&self, scope: &mut Smb2Scope<'_, '_>) -> Option<Action> {
        Some(match *self {
            Self::Nothing | Self::Setup | Self::Tree { .. } => return None,
            Self::Create { access, .. } => Action::Open { file: None, access, created: false },
            Self::OnFile { id, request } => scope.attempted(id, request),
            Self::Rename { id, .. } => Action::Rename { file: Some(scope.get(id).file), replaced: None },
            Self::Delete { id, .. } => scope.attempted(id, FileRequest::SetAttributes),
            Self::Space => Action::Space,
            Self::Other(name) => Action::Other(name),
        })
    }

    /// The operations of a request with its reply. `last` is the file of the last CREATE, for related requests of its compound.
    pub(super) fn finish(
        mut self,
        reply: Reply<'_>,
        last: &mut FileId,
        scope: &mut Smb2Scope<'_, '_>,
    ) -> Performed {
        let outcome = outcome_of(reply.status);
        if let Some(id) = self.file()
            && *id == FileId::PREVIOUS
        {
            *id = *last;
        }
        let action = match self {
            Self::Create { name, access, options } if outcome == Outcome::Done => {
                Some(created(name, access, options, reply, last, scope))
            }
            Self::Create { name, access, .. } => {
                // A related request that follows fails too, whatever it names.
                *last = FileId::PREVIOUS;
                Some(Action::Open { file: scope.known(&name), access, created: false })
            }
            request if outcome != Outcome::Done => request.attempted(scope),
            Self::OnFile { id, request: FileRequest::Close } => {
                return Performed { actions: scope.close(id), outcome };
            }
            Self::OnFile { id, request: FileRequest::List { first } } => {
                let open = scope.get(id);
                let first = first || !open.listed;
                open.listed = true;
                let directory = open.file;
                scope.recorder.directory(directory);
                Some(Action::List { directory, entries: entries(reply), first })
            }
            Self::OnFile { id, request: FileRequest::Read { offset, asked } } => {
                let bytes = delivered(reply).unwrap_or(asked);
                Some(Action::Read { file: scope.get(id).file, offset, asked, bytes })
            }
            Self::Rename { id, name } => Some(renamed(id, name, scope)),
            Self::Delete { id, delete } => {
                // The removal is counted with the close.
                scope.get(id).delete = delete;
                None
            }
            request => request.attempted(scope),
        };
        Performed { actions: [action, None], outcome }
    }
}

/// The operation of a CREATE, whose reply has identifier, size and kind (2.2.14).
fn created(
    name: String,
    access: Access,
    options: u32,
    reply: Reply<'_>,
    last: &mut FileId,
    scope: &mut Smb2Scope<'_, '_>,
) -> Action {
    // What was cut is zeros.
    let part = reply.part;
    let response = response(part.message).unwrap_or_default();
    let number = part.has(80).then_some(response.file);
    *last = number.unwrap_or(*last);
    scope.opened(Opened {
        number,
        name,
        access,
        made: part.has(8) && matches!(response.action, SUPERSEDED | CREATED | OVERWRITTEN),
        directory: part.has(60) && response.attributes & ATTRIBUTE_DIRECTORY != 0
            || options & options::DIRECTORY_FILE != 0,
        size: part.has(56).then_some(response.end_of_file),
        delete: options & options::DELETE_ON_CLOSE != 0,
    })
}

/// The reply to a CREATE, whatever the size that it states of itself.
fn response(message: &[u8]) -> Result<CreateResponse, WireError> {
    let mut reader = Reader::new(message, "CREATE");
    reader.take(HEADER_LEN + 2)?;
    CreateResponse::get(&mut reader)
}

/// A rename. Without the new name, nothing is known by either name.
fn renamed(id: FileId, name: Option<String>, scope: &mut Smb2Scope<'_, '_>) -> Action {
    let file = scope.get(id).file;
    let Some(name) = name else {
        let path = std::mem::take(&mut scope.get(id).path);
        scope.recorder.forget(&path);
        return Action::Rename { file: Some(file), replaced: None };
    };
    scope.recorder.name(file, None, last_component(&name).as_bytes());
    let to = scope.path(&name);
    let open = scope.get(id);
    open.name = Some(name);
    let from = std::mem::replace(&mut open.path, to.clone());
    let replaced = scope.recorder.rename(&from, &to);
    Action::Rename { file: Some(file), replaced: replaced.filter(|replaced| *replaced != file) }
}

/// Bytes of the reply to a READ; none if that part was cut.
fn delivered(reply: Reply<'_>) -> Option<u32> {
    if reply.status == NtStatus::END_OF_FILE {
        return Some(0);
    }
    ReadResponse::decode(reply.part.message).ok().filter(|_| reply.part.has(8)).map(|read| read.len)
}

/// Entries of a listing, as far as it was captured.
fn entries(reply: Reply<'_>) -> u32 {
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
