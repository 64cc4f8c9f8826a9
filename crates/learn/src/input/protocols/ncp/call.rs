//! Requests (docs/protocols/ncp.md 2 and 3): what is kept of each until its reply.

use sharebench_ncp::wire::dos::{access, attribute};
use sharebench_ncp::wire::enhanced::as_name_space_call;
use sharebench_ncp::wire::lock::flag;
use sharebench_ncp::wire::name_space::mode;
use sharebench_ncp::wire::negotiate::OfferBurst;
use sharebench_ncp::wire::{
    ConnectionCall, DirectoryCall, FileCall, InfoForm, LockCall, NameSpaceCall, PathCall, Pstr, Request,
    VolumeCall,
};

use super::places::{RequestedFile, Scope};
use crate::input::protocols::file_request::FileRequest;

/// Actions of 0x54: replace, and create.
const REPLACE: u8 = 2;
const CREATE: u8 = 8;

/// What describes a file in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Description {
    /// The entry of the classic calls.
    Classic,
    /// The information block in this form.
    NameSpace(InfoForm),
}

/// What the reply to a request on an open file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileReply {
    /// Nothing but the completion.
    Completion,
    /// The bytes of a read, in two bytes.
    Count,
    /// In four bytes.
    LongCount,
    Size,
}

/// What an open does where its reply does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disposition {
    /// The file has to exist.
    Existing,
    /// It is made if it does not exist.
    IfMissing,
    /// It must not exist.
    New,
    /// It is made, or emptied.
    Emptied,
}

/// How a file is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) place: RequestedFile,
    pub(super) write: bool,
    /// Writes return when the data is on stable storage.
    pub(super) through: bool,
    pub(super) disposition: Disposition,
    pub(super) reply: Description,
}

/// A request, as far as its reply is needed to complete it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    /// It has nothing to do with files.
    Nothing,
    /// Another one, by the name of its family.
    Other(&'static str),
    Login,
    OfferBurst(OfferBurst),
    Space,
    Open(Opening),
    /// On an open file.
    OnFile {
        handle: [u8; 4],
        request: FileRequest,
        reply: FileReply,
    },
    Copy {
        source: [u8; 4],
        target: [u8; 4],
        source_offset: u64,
        target_offset: u64,
        count: u64,
    },
    Info {
        place: RequestedFile,
        form: InfoForm,
    },
    SetAttributes {
        place: RequestedFile,
    },
    Remove {
        place: RequestedFile,
    },
    Rename {
        from: RequestedFile,
        to: RequestedFile,
    },
    MakeDirectory {
        place: RequestedFile,
    },
    /// The number of a directory, or the start of a search in it.
    Number {
        place: RequestedFile,
        /// The reply is a position of a search, not two numbers.
        search: bool,
    },
    /// The start of a classic search.
    BeginSearch {
        place: RequestedFile,
    },
    List {
        directory: u32,
        reply: Description,
        /// The reply has several entries.
        set: bool,
        /// It begins the search.
        first: bool,
    },
    /// A directory handle, in the first byte of the reply.
    Allocate {
        place: RequestedFile,
    },
    SetHandle {
        handle: u8,
        place: RequestedFile,
    },
}

impl Call {
    /// Decodes the part of a request after its header; none if it is malformed or cut.
    pub(super) fn decode(body: &[u8], scope: &mut Scope<'_, '_>) -> Option<Self> {
        let rewritten = as_name_space_call(body);
        let request = Request::decode(rewritten.as_deref().unwrap_or(body)).ok()?;
        let on_handle = Self::on_handles(&request).or_else(|| Self::copy(&request));
        let mut call = on_handle.unwrap_or_else(|| Self::by_name(&request, scope));
        if rewritten.is_some() {
            call.widen();
        }
        Some(call)
    }

    /// The reply is that of function 0x59.
    fn widen(&mut self) {
        if let Self::Open(Opening { reply: Description::NameSpace(form), .. })
        | Self::List { reply: Description::NameSpace(form), .. }
        | Self::Info { form, .. } = self
        {
            form.wide = true;
        }
    }

    /// Requests on one open file.
    fn on_handles(request: &Request<'_>) -> Option<Self> {
        let on_file = |handle, request| Self::OnFile { handle, request, reply: FileReply::Completion };
        let read = |handle, offset, asked: u32, reply| Self::OnFile {
            handle,
            request: FileRequest::Read { offset, asked },
            reply,
        };
        // A write of no bytes sets the size.
        let write = |handle, offset, data: &[u8]| match data.len() {
            0 => on_file(handle, FileRequest::SetSize(offset)),
            len => on_file(handle, FileRequest::Write { offset, bytes: len as u32, stable: false }),
        };
        let size = |handle| Self::OnFile { handle, request: FileRequest::Stat, reply: FileReply::Size };
        let lock = |handle, release| on_file(handle, FileRequest::Lock { release });
        Some(match request {
            Request::File(FileCall::CloseFile(call)) => on_file(call.file.short().0, FileRequest::Close),
            Request::File(FileCall::ReadFile(call)) => {
                read(call.file.short().0, call.offset.into(), call.count.into(), FileReply::Count)
            }
            Request::File(FileCall::ReadLarge(call)) => {
                read(call.file.0, call.offset, call.count.into(), FileReply::Count)
            }
            Request::File(FileCall::ReadLong(call)) => {
                read(call.file.0, call.offset, call.count, FileReply::LongCount)
            }
            Request::File(FileCall::WriteFile(call)) => {
                write(call.file.short().0, call.offset.into(), call.data.bytes())
            }
            Request::File(FileCall::WriteLarge(call)) => write(call.file.0, call.offset, call.data.bytes()),
            Request::File(FileCall::WriteLong(call)) => write(call.file.0, call.offset, call.data.0),
            Request::File(FileCall::CommitFile(call)) => on_file(call.file.short().0, FileRequest::Flush),
            Request::File(FileCall::CommitFileOld(call)) => on_file(call.file.short().0, FileRequest::Flush),
            Request::File(FileCall::GetFileSize(call)) => size(call.file.short().0),
            Request::File(FileCall::GetLargeSize(call)) => size(call.file.0),
            Request::File(FileCall::SetFileTime(call)) => {
                on_file(call.file.short().0, FileRequest::SetAttributes)
            }
            Request::Lock(LockCall::LockRecord(call)) if call.flag != flag::LOG_ONLY => {
                lock(call.file.short().0, false)
            }
            Request::Lock(LockCall::LockRecordNew(call)) if call.flag != flag::LOG_ONLY => {
                lock(call.file.short().0, false)
            }
            Request::Lock(LockCall::LockLarge(call)) if call.flag != u32::from(flag::LOG_ONLY) => {
                lock(call.file.0, false)
            }
            Request::Lock(LockCall::ReleaseRecord(call)) => lock(call.range.file.short().0, true),
            Request::Lock(LockCall::ClearRecord(call)) => lock(call.range.file.short().0, true),
            Request::Lock(LockCall::ReleaseLarge(call)) => lock(call.file.0, true),
            Request::Lock(LockCall::ClearLarge(call)) => lock(call.file.0, true),
            _ => return None,
        })
    }

    /// Copies between two open files.
    fn copy(request: &Request<'_>) -> Option<Self> {
        Some(match request {
            Request::File(FileCall::CopyFile(call)) => Self::Copy {
                source: call.source.short().0,
                target: call.target.short().0,
                source_offset: u64::from(call.source_offset),
                target_offset: u64::from(call.target_offset),
                count: u64::from(call.count),
            },
            Request::File(FileCall::CopyLarge(call)) => Self::Copy {
                source: call.source.short().0,
                target: call.target.short().0,
                source_offset: call.source_offset,
                target_offset: call.target_offset,
                count: call.count,
            },
            _ => return None,
        })
    }

    /// Requests on names and directories, and all others.
    fn by_name(request: &Request<'_>, scope: &mut Scope<'_, '_>) -> Self {
        if let Some(open) = Self::opening(request, scope) {
            return open;
        }
        match request {
            Request::Path(PathCall::EraseFile(call)) => {
                Self::Remove { place: scope.text(call.directory, call.path) }
            }
            Request::Directory(DirectoryCall::RemoveDirectory(call)) => {
                Self::Remove { place: scope.text(call.base, call.path) }
            }
            Request::Path(PathCall::RenameFile(call)) => {
                let from = scope.text(call.directory, call.path);
                Self::Rename { from, to: scope.text(call.new_directory, call.new_path) }
            }
            Request::Directory(DirectoryCall::RenameDirectory(call)) => {
                let from = scope.text(call.base, call.path);
                let to = match &from {
                    RequestedFile::Name(entry) => RequestedFile::named(entry.directory, call.name.bytes()),
                    RequestedFile::File(file) => RequestedFile::File(*file),
                };
                Self::Rename { from, to }
            }
            Request::Path(PathCall::SetFileAttributes(call)) => {
                Self::SetAttributes { place: scope.text(call.directory, call.path) }
            }
            Request::Directory(DirectoryCall::MakeDirectory(call)) => {
                Self::MakeDirectory { place: scope.text(call.base, call.path) }
            }
            Request::Directory(DirectoryCall::AllocatePermanent(call)) => {
                Self::Allocate { place: scope.text(call.base, call.path) }
            }
            Request::Directory(DirectoryCall::AllocateTemporary(call)) => {
                Self::Allocate { place: scope.text(call.base, call.path) }
            }
            Request::Directory(DirectoryCall::AllocateSpecial(call)) => {
                Self::Allocate { place: scope.text(call.base, call.path) }
            }
            Request::Directory(DirectoryCall::SetHandle(call)) => {
                Self::SetHandle { handle: call.target, place: scope.text(call.base, call.path) }
            }
            Request::Path(PathCall::BeginSearch(call)) => {
                Self::BeginSearch { place: scope.text(call.directory, call.path) }
            }
            Request::Path(PathCall::SearchFile(call)) => {
                let directory = scope.text(call.directory, Pstr::default()).file(scope.recorder);
                let first = call.sequence == u16::MAX;
                Self::List { directory, reply: Description::Classic, set: false, first }
            }
            Request::Path(PathCall::ContinueSearch(call)) => {
                let directory = scope.search(call.place.volume, call.place.directory);
                let first = call.place.sequence == u16::MAX;
                Self::List { directory, reply: Description::Classic, set: false, first }
            }
            Request::Directory(DirectoryCall::FreeHandle(call)) => {
                scope.free(call.handle);
                Self::Nothing
            }
            Request::Volume(VolumeCall::GetVolumeInfo(_) | VolumeCall::GetVolumeUsage(_))
            | Request::Directory(
                DirectoryCall::GetVolumeInfoOfHandle(_) | DirectoryCall::GetDirectorySpace(_),
            ) => Self::Space,
            Request::Connection(ConnectionCall::KeyedLogin(_)) => Self::Login,
            Request::Connection(ConnectionCall::OfferBurst(call)) => Self::OfferBurst(*call),
            _ => Self::of_name_space(request, scope),
        }
    }

    /// Requests of family 0x57 on names.
    fn of_name_space(request: &Request<'_>, scope: &mut Scope<'_, '_>) -> Self {
        let form = |mask, extended| InfoForm { mask, extended, wide: false };
        match request {
            Request::NameSpace(NameSpaceCall::ObtainInfo(call)) => {
                Self::Info { place: scope.path(&call.path), form: form(call.mask, call.extended) }
            }
            Request::NameSpace(NameSpaceCall::ModifyInfo(call)) => {
                Self::SetAttributes { place: scope.path(&call.path) }
            }
            Request::NameSpace(NameSpaceCall::Delete(call)) => Self::Remove { place: scope.path(&call.path) },
            Request::NameSpace(NameSpaceCall::Rename(call)) => {
                let from = scope.path(&call.paths.from);
                Self::Rename { from, to: scope.path(&call.paths.to) }
            }
            Request::NameSpace(NameSpaceCall::AllocateHandle(call)) => {
                Self::Allocate { place: scope.path(&call.path) }
            }
            Request::NameSpace(NameSpaceCall::GetDirectoryBase(call)) => {
                Self::Number { place: scope.path(&call.path), search: false }
            }
            Request::NameSpace(NameSpaceCall::InitSearch(call)) => {
                Self::Number { place: scope.path(&call.path), search: true }
            }
            Request::NameSpace(NameSpaceCall::SearchNext(call)) => Self::List {
                directory: scope.entry(call.sequence.volume, call.sequence.directory),
                reply: Description::NameSpace(form(call.mask, call.extended)),
                set: false,
                first: call.sequence.entry == u32::MAX,
            },
            Request::NameSpace(NameSpaceCall::SearchSet(call)) => Self::List {
                directory: scope.entry(call.sequence.volume, call.sequence.directory),
                reply: Description::NameSpace(form(call.mask, call.extended)),
                set: true,
                first: call.sequence.entry == u32::MAX,
            },
            _ => Self::family(request.function().code),
        }
    }

    /// Requests that open files.
    fn opening(request: &Request<'_>, scope: &mut Scope<'_, '_>) -> Option<Self> {
        let made = |place, disposition| {
            let reply = Description::Classic;
            Opening { place, write: true, through: false, disposition, reply }
        };
        let opened = |place, access: u16, disposition, reply| Opening {
            place,
            write: access & access::WRITE != 0,
            through: access & access::WRITE_THROUGH != 0,
            disposition,
            reply,
        };
        Some(Self::Open(match request {
            Request::NameSpace(NameSpaceCall::OpenCreate(call)) => {
                let place = scope.path(&call.path);
                if call.attributes & attribute::DIRECTORY != 0 && call.mode & mode::CREATE != 0 {
                    return Some(Self::MakeDirectory { place });
                }
                let form = InfoForm { mask: call.mask, extended: call.extended, wide: false };
                opened(place, call.access, Disposition::Existing, Description::NameSpace(form))
            }
            Request::Path(PathCall::OpenFile(call)) => {
                let place = scope.text(call.directory, call.path);
                opened(place, call.access.into(), Disposition::Existing, Description::Classic)
            }
            Request::Path(PathCall::OpenOrCreateFile(call)) => {
                let disposition = match call.action {
                    action if action & REPLACE != 0 => Disposition::Emptied,
                    action if action & CREATE != 0 => Disposition::IfMissing,
                    _ => Disposition::Existing,
                };
                let place = scope.text(call.directory, call.path);
                opened(place, call.access.into(), disposition, Description::Classic)
            }
            Request::Path(PathCall::CreateFile(call)) => {
                made(scope.text(call.directory, call.path), Disposition::Emptied)
            }
            Request::Path(PathCall::CreateNewFile(call)) => {
                made(scope.text(call.directory, call.path), Disposition::New)
            }
            _ => return None,
        }))
    }

    /// Requests that have no part in a workload of files.
    fn family(code: u8) -> Self {
        match code {
            0x03..=0x08 | 0x1A..=0x1F | 0x69 | 0x6A | 0x6D | 0x6E => {
                Self::Other("lock of a set of files or records")
            }
            0x09..=0x0E | 0x6B | 0x6C => Self::Other("lock of a logical record"),
            0x20 | 0x6F => Self::Other("semaphore"),
            0x17 => Self::Other("bindery"),
            0x68 => Self::Other("directory services"),
            0x57 => Self::Other("name space"),
            0x59 => Self::Other("enhanced file system"),
            0x16 => Self::Other("directory"),
            // Time, end of a task, logout, buffer and packet sizes, version and messages.
            _ => Self::Nothing,
        }
    }
}
