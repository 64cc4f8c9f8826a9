//! Replies: requests become operations.

use sharebench_ncp::wire::directory::AllocatedHandle;
use sharebench_ncp::wire::file::{FileSize, OpenedFile};
use sharebench_ncp::wire::find::{FoundFile, SearchBegun};
use sharebench_ncp::wire::large::LargeSize;
use sharebench_ncp::wire::name_space::{DirectoryBase, action};
use sharebench_ncp::wire::name_space_search::Sequence;
use sharebench_ncp::wire::{Be16, Be32, Completion, FileEntry, Le16, Pstr, Reader, ShortHandle, U8};

use super::call::{Call, Description, Disposition};
use super::places::{Open, Place, Places};
use crate::input::recorder::Recorder;
use crate::operation::{Access, Action, Outcome};

/// A reply, without its header.
pub(super) struct Reply<'a> {
    pub(super) completion: Completion,
    /// What is captured of its data.
    pub(super) body: &'a [u8],
}

/// An operation.
pub(super) type Done = (Action, Outcome);

impl Call {
    /// The operations of a request with its reply.
    pub(super) fn finish(
        self,
        reply: &Reply<'_>,
        connection: u16,
        places: &mut Places,
        recorder: &mut Recorder,
    ) -> Vec<Done> {
        let outcome = outcome(reply.completion);
        let succeeded = outcome == Outcome::Done;
        let mut reader = Reader::new(reply.body);
        match self {
            Self::Open { place, write, through, disposition, reply: described } => {
                let how = Opening { place, write, through, disposition, described };
                return vec![(how.finish(outcome, reader, places, recorder), outcome)];
            }
            Self::Read { handle, offset, asked, long } => {
                let file = places.opened(handle, recorder).file;
                let count =
                    if long { reader.get::<Be32>().ok() } else { reader.get::<Be16>().ok().map(u32::from) };
                let bytes = if succeeded { count.unwrap_or(asked).min(asked) } else { 0 };
                return vec![(Action::Read { file, offset, asked, bytes }, by_handle(reply.completion))];
            }
            Self::Size { handle } => {
                let file = places.opened(handle, recorder).file;
                let size = match reply.body.len() {
                    0..8 => reader.get::<FileSize>().ok().map(|reply| u64::from(reply.size)),
                    _ => reader.get::<LargeSize>().ok().map(|reply| reply.size),
                };
                if let Some(size) = size.filter(|_| succeeded) {
                    recorder.size(file, size);
                }
                return vec![(Action::Stat { file: Some(file) }, by_handle(reply.completion))];
            }
            Self::Info { place, form } => {
                let described = form.get(&mut reader).ok().filter(|_| succeeded);
                let file = match described {
                    Some(described) => Some(places.described(&place, &described, recorder)),
                    None => places.known(&place, recorder),
                };
                return vec![(Action::Stat { file }, outcome)];
            }
            Self::List { directory, reply: described, set, first } => {
                recorder.directory(directory);
                // 0xFF ends every search.
                let is_end = reply.completion == Completion::Failure;
                let entries =
                    if succeeded { listed(directory, described, set, reader, places, recorder) } else { 0 };
                let outcome = if is_end { Outcome::Done } else { outcome };
                return vec![(Action::List { directory, entries, first }, outcome)];
            }
            Self::Number { place, search } if succeeded => {
                let file = places.file(&place, recorder);
                recorder.directory(file);
                if search {
                    if let Ok(found) = reader.get::<Sequence>() {
                        places.numbered(found.volume, found.directory, file, recorder);
                    }
                    return Vec::new();
                }
                if let Ok(found) = reader.get::<DirectoryBase>() {
                    places.numbered(found.volume, found.base, file, recorder);
                }
                return vec![(Action::Lookup { file: Some(file) }, outcome)];
            }
            Self::BeginSearch { place } => {
                if let (true, Ok(found)) = (succeeded, reader.get::<SearchBegun>()) {
                    let file = places.file(&place, recorder);
                    places.searched(connection, found.place.volume, found.place.directory, file);
                }
                return Vec::new();
            }
            Self::Allocate { place } => {
                if let (true, Ok(found)) = (succeeded, reader.get::<AllocatedHandle>()) {
                    let directory = places.file(&place, recorder);
                    places.assign(connection, found.handle, directory, recorder);
                }
                let file = places.known(&place, recorder);
                return vec![(Action::Lookup { file }, outcome)];
            }
            Self::SetHandle { handle, place } if succeeded => {
                let directory = places.file(&place, recorder);
                places.assign(connection, handle, directory, recorder);
                return Vec::new();
            }
            _ => {}
        }
        self.without_data(reply.completion, outcome, places, recorder)
    }

    /// Requests whose replies have nothing but their completion, or nothing that matters.
    fn without_data(
        self,
        completion: Completion,
        outcome: Outcome,
        places: &mut Places,
        recorder: &mut Recorder,
    ) -> Vec<Done> {
        let succeeded = outcome == Outcome::Done;
        let on_handle = by_handle(completion);
        let action = match self {
            Self::Login => {
                let expired = completion == Completion::PasswordExpired;
                return vec![(Action::Connect, if expired { Outcome::Done } else { on_handle })];
            }
            Self::Remove { place } => {
                let file = places.known(&place, recorder);
                if succeeded {
                    places.forget(&place, recorder);
                }
                return vec![(Action::Remove { file }, outcome)];
            }
            Self::Rename { from, to } => {
                let file = places.known(&from, recorder);
                let replaced = if succeeded { places.rename(&from, &to, recorder) } else { None };
                return vec![(Action::Rename { file, replaced }, outcome)];
            }
            Self::MakeDirectory { place } => {
                let directory = succeeded.then(|| places.file(&place, recorder));
                if let Some(directory) = directory {
                    recorder.directory(directory);
                    recorder.created(directory);
                }
                return vec![(Action::MakeDirectory { directory }, outcome)];
            }
            Self::SetAttributes { place } => {
                let file = places.file(&place, recorder);
                return vec![(Action::SetAttributes { file }, outcome)];
            }
            Self::Copy { source, target, source_offset, target_offset, count } => {
                let read = places.opened(source, recorder).file;
                let written = places.opened(target, recorder).file;
                let bytes = u32::try_from(count).unwrap_or(u32::MAX);
                recorder.changed(written);
                return vec![
                    (Action::Read { file: read, offset: source_offset, asked: bytes, bytes }, on_handle),
                    (Action::Write { file: written, offset: target_offset, bytes, stable: false }, on_handle),
                ];
            }
            Self::Close { handle } => {
                let file = places.opened(handle, recorder).file;
                places.close(handle);
                Action::Close { file }
            }
            Self::Write { handle, offset, bytes } => {
                let Open { file, through } = places.opened(handle, recorder);
                recorder.changed(file);
                Action::Write { file, offset, bytes, stable: through }
            }
            Self::Resize { handle, size } => {
                let file = places.opened(handle, recorder).file;
                recorder.changed(file);
                Action::SetSize { file, size }
            }
            Self::Flush { handle } => Action::Flush { file: places.opened(handle, recorder).file },
            Self::SetTime { handle } => Action::SetAttributes { file: places.opened(handle, recorder).file },
            Self::Lock { handle, release } => {
                Action::Lock { file: places.opened(handle, recorder).file, release }
            }
            Self::Space => Action::Space,
            Self::Other(name) => Action::Other(name),
            Self::Number { place, search: false } => Action::Lookup { file: places.known(&place, recorder) },
            _ => return Vec::new(),
        };
        vec![(action, on_handle)]
    }

    /// The operations of a request whose reply was not seen.
    pub(super) fn unanswered(self, places: &mut Places, recorder: &mut Recorder) -> Vec<Done> {
        let reply = Reply { completion: Completion::Other(0), body: &[] };
        let mut done = match self {
            Self::Open { place, write, .. } => {
                let file = places.known(&place, recorder);
                vec![(Action::Open { file, access: Access::of(write), created: false }, Outcome::NoReply)]
            }
            // Without reply, nothing shows that a search has gone anywhere.
            Self::List { directory, first, .. } => {
                vec![(Action::List { directory, entries: 0, first }, Outcome::NoReply)]
            }
            Self::Read { handle, offset, asked, .. } => {
                let file = places.opened(handle, recorder).file;
                vec![(Action::Read { file, offset, asked, bytes: asked }, Outcome::NoReply)]
            }
            Self::Info { place, .. } => {
                vec![(Action::Stat { file: places.known(&place, recorder) }, Outcome::NoReply)]
            }
            call => call.without_data(reply.completion, Outcome::NoReply, places, recorder),
        };
        for (_, outcome) in &mut done {
            *outcome = Outcome::NoReply;
        }
        done
    }
}

/// How a file was opened.
struct Opening {
    place: Place,
    write: bool,
    through: bool,
    disposition: Disposition,
    described: Description,
}

impl Opening {
    fn finish(
        self,
        outcome: Outcome,
        mut reader: Reader<'_>,
        places: &mut Places,
        recorder: &mut Recorder,
    ) -> Action {
        let Self { place, write, through, disposition, described } = self;
        if outcome != Outcome::Done {
            return Action::Open {
                file: places.known(&place, recorder),
                access: Access::of(write),
                created: false,
            };
        }
        let was_known = places.known(&place, recorder).is_some();
        let (handle, file, made, emptied) = match described {
            Description::NameSpace(form) => {
                let handle = reader.get::<ShortHandle>().ok();
                let did = reader.get::<U8>().unwrap_or(0);
                // After a byte without a meaning here.
                let described = reader.take(1).and_then(|_| form.get(&mut reader)).ok();
                let file = match &described {
                    // The length is that after the open.
                    Some(described) if did & action::REPLACED == 0 => {
                        places.described(&place, described, recorder)
                    }
                    _ => places.file(&place, recorder),
                };
                let handle = handle.map(|handle| handle.0);
                (handle, file, did & action::CREATED != 0, did & action::REPLACED != 0)
            }
            Description::Classic => {
                let opened = reader.get::<OpenedFile>().ok();
                let file = places.file(&place, recorder);
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
            places.open(handle, Open { file, through });
        }
        Action::Open { file: Some(file), access: Access::of(write), created: made || emptied }
    }
}

/// Notes the entries of a listing; returns their number.
fn listed(
    directory: u32,
    described: Description,
    set: bool,
    mut reader: Reader<'_>,
    places: &mut Places,
    recorder: &mut Recorder,
) -> u32 {
    match (described, set) {
        (Description::Classic, _) => {
            if let Ok(FoundFile { entry, .. }) = reader.get::<FoundFile>() {
                classic(directory, &entry, places, recorder);
            }
            1
        }
        (Description::NameSpace(form), false) => {
            let skipped = reader.get::<Sequence>().and_then(|_| reader.take(1));
            if let Ok(entry) = skipped.and_then(|_| form.get(&mut reader)) {
                places.listed(directory, &entry, recorder);
            }
            1
        }
        (Description::NameSpace(form), true) => {
            let skipped = reader.get::<Sequence>().and_then(|_| reader.take(1));
            let Ok(count) = skipped.and_then(|_| reader.get::<Le16>()) else { return 0 };
            // A capture may have cut entries; their number is known nevertheless.
            for _ in 0..if form.is_bounded() { count } else { count.min(1) } {
                let Ok(entry) = form.get(&mut reader) else { break };
                places.listed(directory, &entry, recorder);
            }
            u32::from(count)
        }
    }
}

fn classic(directory: u32, entry: &FileEntry, places: &Places, recorder: &mut Recorder) {
    let name = entry.name.split(|byte| *byte == 0).next().unwrap_or_default();
    if Pstr::new(name).is_ok() && !name.is_empty() {
        let place = Place::Name { directory, name: name.to_ascii_uppercase().into() };
        let file = places.file(&place, recorder);
        recorder.size(file, u64::from(entry.size));
    }
}

/// How a request by name ended.
fn outcome(completion: Completion) -> Outcome {
    match completion {
        Completion::Failure | Completion::InvalidPath => Outcome::NotFound,
        completion => by_handle(completion),
    }
}

/// How a request on a handle ended.
fn by_handle(completion: Completion) -> Outcome {
    if completion.is_success() { Outcome::Done } else { Outcome::Failed(u32::from(completion.code())) }
}
