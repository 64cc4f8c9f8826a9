//! Requests of SMB 2 and 3 (MS-SMB2 2.2).

use sharebench_smb::wire::create::CreateRequest;
use sharebench_smb::wire::data::{ReadRequest, WRITE_THROUGH, WriteRequest};
use sharebench_smb::wire::directory::{QueryDirectoryRequest, flags::REOPEN, flags::RESTART_SCANS};
use sharebench_smb::wire::header::command;
use sharebench_smb::wire::info::{
    self, DISPOSITION, END_OF_FILE, QueryInfoRequest, RENAME, SetInfoRequest, TYPE_FILE, TYPE_FILE_SYSTEM,
};
use sharebench_smb::wire::lock::{self, LockRequest};
use sharebench_smb::wire::simple::{CloseRequest, FlushRequest};
use sharebench_smb::wire::tree::TreeConnectRequest;
use sharebench_smb::wire::{FileId, Reader, WireError};

use super::header::Part;
use crate::input::protocols::file_request::FileRequest;
use crate::input::protocols::smb::codes::access_of;
use crate::operation::Access;

/// `FileDispositionInformationEx` (MS-FSCC 2.4.12).
const DISPOSITION_EX: u8 = 64;
/// Where the value of a `SET_INFO` is in the body (2.2.39).
const SET_INFO_VALUE_AT: usize = 32;

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
    /// On an open file.
    OnFile {
        id: FileId,
        request: FileRequest,
    },
    /// `FileRenameInformation`; without a name if that was cut.
    Rename {
        id: FileId,
        name: Option<String>,
    },
    /// `FileDispositionInformation`: whether the file is removed when it is closed.
    Delete {
        id: FileId,
        delete: bool,
    },
    Space,
    /// Another one, by its name in the specification.
    Other(&'static str),
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
        let request = Self::of_message(command, part).ok().filter(|_| part.has(needed(command)))?;
        Some(match request {
            Self::Tree { share } => Self::Tree { share: part.uncut(share)? },
            Self::Create { name, access, options } => {
                Self::Create { name: part.uncut(name)?, access, options }
            }
            request => request,
        })
    }

    fn of_message(command: u16, part: Part<'_>) -> Result<Self, WireError> {
        let message = part.message;
        let on_file = |id, request| Self::OnFile { id, request };
        Ok(match command {
            command::SESSION_SETUP => Self::Setup,
            command::TREE_CONNECT => Self::Tree { share: TreeConnectRequest::decode(message)?.path },
            command::CREATE => {
                let (CreateRequest { name, access, options, .. }, _) =
                    CreateRequest::decode_up_to_contexts(message)?;
                Self::Create { name, access: access_of(access), options }
            }
            command::CLOSE => on_file(CloseRequest::decode(message)?.file, FileRequest::Close),
            command::FLUSH => on_file(FlushRequest::decode(message)?.file, FileRequest::Flush),
            command::READ => {
                let ReadRequest { file, offset, len, .. } = ReadRequest::decode(message)?;
                on_file(file, FileRequest::Read { offset, asked: len })
            }
            command::WRITE => {
                let WriteRequest { file, offset, len, flags, .. } = WriteRequest::decode(message)?;
                let stable = flags & WRITE_THROUGH != 0;
                on_file(file, FileRequest::Write { offset, bytes: len, stable })
            }
            command::LOCK => {
                let LockRequest { file, ranges, .. } = LockRequest::decode(message)?;
                let release = ranges.first().is_some_and(|range| range.flags & lock::flags::UNLOCK != 0);
                on_file(file, FileRequest::Lock { release })
            }
            command::IOCTL => Self::Other("IOCTL"),
            command::QUERY_DIRECTORY => {
                let QueryDirectoryRequest { file, flags, .. } = QueryDirectoryRequest::decode(message)?;
                on_file(file, FileRequest::List { first: flags & (RESTART_SCANS | REOPEN) != 0 })
            }
            command::CHANGE_NOTIFY => Self::Other("CHANGE_NOTIFY"),
            command::QUERY_INFO => {
                let QueryInfoRequest { file, info_type, .. } = QueryInfoRequest::decode(message)?;
                match info_type {
                    TYPE_FILE => on_file(file, FileRequest::Stat),
                    TYPE_FILE_SYSTEM => Self::Space,
                    _ => Self::Other("QUERY_INFO"),
                }
            }
            command::SET_INFO => {
                let mut request = SetInfoRequest::decode(message)?;
                request.information.truncate(part.captured_from(SET_INFO_VALUE_AT));
                Self::set(&request)
            }
            _ => Self::Nothing,
        })
    }

    fn set(request: &SetInfoRequest) -> Self {
        let id = request.file;
        let value = request.information.as_slice();
        match (request.info_type, request.class) {
            (TYPE_FILE, END_OF_FILE) => {
                let size = Reader::new(value, "FileEndOfFileInformation").get();
                Self::OnFile { id, request: FileRequest::SetSize(size.unwrap_or(0)) }
            }
            (TYPE_FILE, RENAME) => Self::Rename { id, name: info::renamed(value).map(|(_, name)| name).ok() },
            (TYPE_FILE, DISPOSITION | DISPOSITION_EX) => {
                Self::Delete { id, delete: value.first().is_some_and(|flag| flag & 1 != 0) }
            }
            (TYPE_FILE, _) => Self::OnFile { id, request: FileRequest::SetAttributes },
            _ => Self::Other("SET_INFO"),
        }
    }

    /// The open file of the request.
    pub(super) const fn file(&mut self) -> Option<&mut FileId> {
        match self {
            Self::OnFile { id, .. } | Self::Rename { id, .. } | Self::Delete { id, .. } => Some(id),
            _ => None,
        }
    }
}
