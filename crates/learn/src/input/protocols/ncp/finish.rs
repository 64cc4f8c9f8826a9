//! Replies: requests become operations.

use sharebench_ncp::wire::directory::AllocatedHandle;
use sharebench_ncp::wire::file::{FileSize, OpenedFile};
use sharebench_ncp::wire::find::{FoundFile, SearchBegun};
use sharebench_ncp::wire::large::LargeSize;
use sharebench_ncp::wire::name_space::{DirectoryBase, action};
use sharebench_ncp::wire::name_space_search::Sequence;
use sharebench_ncp::wire::{
    Be16, Be32, Completion, EntryInfo, FileEntry, Le16, Pstr, Reader, ShortHandle, U8,
};

use super::call::{Call, Description, Disposition, FileReply, Opening};
use super::places::{Open, RequestedFile, Scope};
use crate::input::performed::Performed;
use crate::input::protocols::file_request::FileRequest;
use crate::operation::{Access, Action, Outcome};

/// A reply, without its header.
#[derive(Clone, Copy)]
pub(super) struct Reply<'a> {
    /// None if the reply was not seen.
    pub(super) completion: Option<Completion>,
    /// What is captured of its data.
    pub(super) body: &'a [u8],
}

impl Reply<'_> {
    pub(super) const UNSEEN: Self = Self { completion: None, body: &[] };

    pub(super) fn is_success(&self) -> bool {
        self.completion.is_some_and(Completion::is_success)
    }

    /// How a request on a handle ended.
    fn outcome(&self) -> Outcome {
        match self.completion {
            None => Outcome::NoReply,
            Some(completion) if completion.is_success() => Outcome::Done,
            Some(completion) => Outcome::Failed(u32::from(completion.code())),
        }
    }

    /// How a request by name ended.
    fn outcome_by_name(&self) -> Outcome {
        match self.completion {
            Some(Completion::Failure | Completion::InvalidPath) => Outcome::NotFound,
            _ => self.outcome(),
        }
    }
}

impl Call {
    /// The operations of a request with its reply.
    pub(super) fn finish(self, reply: Reply<'_>, scope: &mut Scope<'_, '_>) -> Performed {
        let action = match self {
            Self::OnFile { handle, request, reply: kind } => on_file(handle, request, kind, reply, scope),
            Self::Copy { source, target, source_offset, target_offset, count } => {
                let read = scope.opened(source).file;
                let written = scope.opened(target).file;
                let bytes = u32::try_from(count).unwrap_or(u32::MAX);
                scope.recorder.changed(written);
                let read = Action::Read { file: read, offset: source_offset, asked: bytes, bytes };
                let write = Action::Write { file: written, offset: target_offset, bytes, stable: false };
                return Performed { actions: [Some(read), Some(write)], outcome: reply.outcome() };
            }
            Self::Space => Action::Space,
            Self::Other(name) => Action::Other(name),
            Self::Login if reply.completion == Some(Completion::PasswordExpired) => {
                return Performed::one(Action::Connect, Outcome::Done);
            }
            Self::Login => Action::Connect,
            Self::List { directory, reply: described, set, first } => {
                let mut outcome = reply.outcome_by_name();
                let entries = match outcome {
                    Outcome::Done => listed(directory, described, set, Reader::new(reply.body), scope),
                    _ => 0,
                };
                // Without reply, nothing shows that a search has gone anywhere.
                if outcome != Outcome::NoReply {
                    scope.recorder.directory(directory);
                }
                // 0xFF ends every search.
                if reply.completion == Some(Completion::Failure) {
                    outcome = Outcome::Done;
                }
                return Performed::one(Action::List { directory, entries, first }, outcome);
            }
            call => {
                let outcome = reply.outcome_by_name();
                let action = call.finish_by_name(outcome, Reader::new(reply.body), scope);
                return Performed { actions: [action, None], outcome };
            }
        };
        Performed::one(action, reply.outcome())
    }

    /// The operation of a request by name; none for one that is none.
    fn finish_by_name(
        self,
        outcome: Outcome,
        mut reader: Reader<'_>,
        scope: &mut Scope<'_, '_>,
    ) -> Option<Action> {
        let succeeded = outcome == Outcome::Done;
        Some(match self {
            Self::Open(opening) if succeeded => opening.succeeded(reader, scope),
            Self::Open(Opening { place, write, .. }) => {
                let file = place.known(scope.recorder);
                Action::Open { file, access: Access::from_write(write), created: false }
            }
            Self::Info { place, form } => {
                let described = form.get(&mut reader).ok().filter(|_| succeeded);
                let file = match described {
                    Some(described) => Some(place.described(&described, scope.recorder)),
                    None => place.known(scope.recorder),
                };
                Action::Stat { file }
            }
            Self::Number { place, search } => {
                if succeeded {
                    let file = place.file(scope.recorder);
                    scope.recorder.directory(file);
                    let number = if search {
                        reader.get::<Sequence>().map(|found| (found.volume, found.directory))
                    } else {
                        reader.get::<DirectoryBase>().map(|found| (found.volume, found.base))
                    };
                    if let Ok((volume, number)) = number {
                        scope.numbered(volume, number, file);
                    }
                }
                if search {
                    return None;
                }
                Action::Lookup { file: place.known(scope.recorder) }
            }
            Self::BeginSearch { place } => {
                if let (true, Ok(found)) = (succeeded, reader.get::<SearchBegun>()) {
                    let directory = place.file(scope.recorder);
                    scope.searched(found.place.volume, found.place.directory, directory);
                }
                return None;
            }
            Self::Allocate { place } => {
                if let (true, Ok(found)) = (succeeded, reader.get::<AllocatedHandle>()) {
                    let directory = place.file(scope.recorder);
                    scope.assign(found.handle, directory);
                }
                Action::Lookup { file: place.known(scope.recorder) }
            }
            Self::SetHandle { handle, place } => {
                if succeeded {
                    let directory = place.file(scope.recorder);
                    scope.assign(handle, directory);
                }
                return None;
            }
            Self::Remove { place } => {
                let file = place.known(scope.recorder);
                if succeeded {
                    place.forget(scope.recorder);
                }
                Action::Remove { file }
            }
            Self::Rename { from, to } => {
                let file = from.known(scope.recorder);
                let replaced = if succeeded { from.rename(&to, scope.recorder) } else { None };
                Action::Rename { file, replaced }
            }
            Self::MakeDirectory { place } => {
                let directory = succeeded.then(|| place.file(scope.recorder));
                if let Some(directory) = directory {
                    scope.recorder.directory(directory);
                    scope.recorder.created(directory);
                }
                Action::MakeDirectory { directory }
            }
            Self::SetAttributes { place } => Action::SetAttributes { file: place.file(scope.recorder) },
            _ => return None,
        })
    }
}

/// The operation of a request on an open file.
fn on_file(
    handle: [u8; 4],
    request: FileRequest,
    kind: FileReply,
    reply: Reply<'_>,
    scope: &mut Scope<'_, '_>,
) -> Action {
    let Open { file, through } = scope.opened(handle);
    let mut reader = Reader::new(reply.body);
    let outcome = reply.outcome();
    if request.changes_size() {
        scope.recorder.changed(file);
    }
    match request {
        FileRequest::Write { offset, bytes, .. } => {
            return Action::Write { file, offset, bytes, stable: through };
        }
        FileRequest::Read { asked, .. } if outcome != Outcome::NoReply => {
            let count = match kind {
                FileReply::LongCount => reader.get::<Be32>().ok(),
                _ => reader.get::<Be16>().ok().map(u32::from),
            };
            let delivered = if outcome == Outcome::Done { count.unwrap_or(asked).min(asked) } else { 0 };
            return request.answered(file, Some(delivered));
        }
        FileRequest::Close => scope.places.close(handle),
        FileRequest::Stat if outcome == Outcome::Done => {
            let size = match reply.body.len() {
                0..8 => reader.get::<FileSize>().ok().map(|reply| u64::from(reply.size)),
                _ => reader.get::<LargeSize>().ok().map(|reply| reply.size),
            };
            if let Some(size) = size {
                scope.recorder.size(file, size);
            }
        }
        _ => {}
    }
    request.action(file)
}

impl Opening {
    /// The operation of an open that succeeded.
    fn succeeded(self, mut reader: Reader<'_>, scope: &mut Scope<'_, '_>) -> Action {
        let Self { place, write, through, disposition, reply } = self;
        let recorder = &mut *scope.recorder;
        let was_known = place.known(recorder).is_some();
        let (handle, file, made, emptied) = match reply {
            Description::NameSpace(form) => {
                let handle = reader.get::<ShortHandle>().ok();
                let did = reader.get::<U8>().unwrap_or(0);
                // After a byte without a meaning here.
                let described = reader.take(1).and_then(|_| form.get(&mut reader)).ok();
                let file = match &described {
                    // The length is that after the open.
                    Some(described) if did & action::REPLACED == 0 => place.described(described, recorder),
                    _ => place.file(recorder),
                };
                let handle = handle.map(|handle| handle.0);
                (handle, file, did & action::CREATED != 0, did & action::REPLACED != 0)
            }
            Description::Classic => {
                let opened = reader.get::<OpenedFile>().ok();
                let file = place.file(recorder);
                let made = match disposition {
                    Disposition::Existing => false,
                    Disposition::New => true,
                    Disposition::IfMissing | Disposition::Emptied => !was_known,
                };
                let emptied = disposition == Disposition::Emptied && was_known;
                if let Some(opened) = opened.filter(|_| !made && !emptied) {
                    recorder.size(file, u64::from(opened.entry.size));
                }
                (opened.map(|opened| opened.file.short().0), file, made, emptied)
            }
        };
        if made {
            recorder.created(file);
        } else if emptied {
            recorder.changed(file);
        }
        if let Some(handle) = handle {
            scope.places.open(handle, Open { file, through });
        }
        Action::Open { file: Some(file), access: Access::from_write(write), created: made || emptied }
    }
}

/// Notes the entries of a listing; returns their number.
fn listed(
    directory: u32,
    described: Description,
    set: bool,
    mut reader: Reader<'_>,
    scope: &mut Scope<'_, '_>,
) -> u32 {
    match (described, set) {
        (Description::Classic, _) => {
            if let Ok(FoundFile { entry, .. }) = reader.get::<FoundFile>() {
                classic(directory, &entry, scope);
            }
            1
        }
        (Description::NameSpace(form), false) => {
            let skipped = reader.get::<Sequence>().and_then(|_| reader.take(1));
            if let Ok(entry) = skipped.and_then(|_| form.get(&mut reader)) {
                name_space_entry(directory, &entry, scope);
            }
            1
        }
        (Description::NameSpace(form), true) => {
            let skipped = reader.get::<Sequence>().and_then(|_| reader.take(1));
            let Ok(count) = skipped.and_then(|_| reader.get::<Le16>()) else { return 0 };
            // A capture may have cut entries; their number is known nevertheless.
            for _ in 0..if form.is_bounded() { count } else { count.min(1) } {
                let Ok(entry) = form.get(&mut reader) else { break };
                name_space_entry(directory, &entry, scope);
            }
            u32::from(count)
        }
    }
}

fn name_space_entry(directory: u32, entry: &EntryInfo<'_>, scope: &mut Scope<'_, '_>) {
    if let Some(name) = entry.name {
        RequestedFile::named(directory, name).described(entry, scope.recorder);
    }
}

fn classic(directory: u32, entry: &FileEntry, scope: &mut Scope<'_, '_>) {
    let name = entry.name.split(|byte| *byte == 0).next().unwrap_or_default();
    if Pstr::new(name).is_ok() && !name.is_empty() {
        let file = RequestedFile::named(directory, name).file(scope.recorder);
        scope.recorder.size(file, u64::from(entry.size));
    }
}
