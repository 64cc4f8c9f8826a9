//! Follows a COMPOUND from file to file, and collects what it is for.

use std::net::SocketAddr;

use sharebench_nfs::v4::bitmap::Bitmap;

use super::super::place::{self, Place};
use super::Done;
use super::results::{Description, Facts};
use super::steps::{Create, Open, Step};
use crate::input::recorder::Recorder;
use crate::operation::{Access, Action, Outcome};

/// Follows a compound.
pub(super) struct Walk {
    server: SocketAddr,
    current: Option<u32>,
    saved: Option<u32>,
    /// What the compound is for.
    operations: Vec<Done>,
    /// In the order in which they stand for the compound if it has no other operation.
    lookup: Option<Done>,
    access: Option<Done>,
    attributes: Option<Done>,
    /// The last step was one with data, after which the message was not seen.
    pub(super) data_was_last: bool,
    /// The current file was changed in this compound: its size is a later one.
    changed: bool,
}

impl Walk {
    pub(super) fn new(server: SocketAddr) -> Self {
        Self {
            server,
            current: None,
            saved: None,
            operations: Vec::new(),
            lookup: None,
            access: None,
            attributes: None,
            data_was_last: false,
            changed: false,
        }
    }

    pub(super) fn has_operation(&self) -> bool {
        !self.operations.is_empty()
            || self.lookup.as_ref().is_some_and(|(_, outcome)| *outcome != Outcome::Done)
    }

    pub(super) fn done(self) -> Vec<Done> {
        if self.operations.is_empty() {
            self.lookup.or(self.access).or(self.attributes).into_iter().collect()
        } else {
            self.operations
        }
    }

    /// Steps without results. A failed compound ends with its first operation.
    pub(super) fn rest(&mut self, steps: &[Step], outcome: Outcome, recorder: &mut Recorder) {
        for step in steps {
            self.step(step, outcome, &Facts::None, None, recorder);
            if matches!(outcome, Outcome::Failed(_) | Outcome::NotFound) && !self.operations.is_empty() {
                break;
            }
        }
    }

    fn place(&self, name: &[u8]) -> Option<Place> {
        self.current.map(|directory| Place { directory, name: name.into() })
    }

    fn known(&self, name: &[u8], recorder: &Recorder) -> Option<u32> {
        self.place(name)?.known(self.server, recorder)
    }

    fn add(&mut self, action: Action, outcome: Outcome) {
        self.operations.push((action, outcome));
    }

    /// Adds an operation on the current file; one on a file that is not known is left out.
    fn on_current(&mut self, action: impl FnOnce(u32) -> Action, outcome: Outcome) {
        if let Some(file) = self.current {
            self.add(action(file), outcome);
        }
    }

    fn go(&mut self, file: Option<u32>) {
        self.current = file;
        self.changed = false;
    }

    pub(super) fn step(
        &mut self,
        step: &Step,
        outcome: Outcome,
        facts: &Facts<'_>,
        handle: Option<&[u8]>,
        recorder: &mut Recorder,
    ) {
        let done = outcome == Outcome::Done;
        self.data_was_last = matches!(step, Step::Read { .. });
        match step {
            Step::Put(file) => self.go(Some(*file)),
            // Exports differ by their handles; the root has none in the call.
            Step::PutRoot => self.go(Some(recorder.file(self.server, b"R"))),
            Step::Save => self.saved = self.current,
            Step::Restore => self.go(self.saved),
            Step::LookupParent => self.go(handle.map(|handle| place::file(handle, self.server, recorder))),
            Step::GetHandle => {
                if self.current.is_none()
                    && let Facts::Handle(handle) = facts
                {
                    self.current = Some(place::file(handle, self.server, recorder));
                }
            }
            Step::Lookup(name) => {
                let file = self.named(name, outcome, handle, recorder);
                self.lookup = Some((Action::Lookup { file }, outcome));
                if done {
                    self.go(file);
                }
            }
            Step::GetAttributes(bits) => {
                self.note(facts, recorder);
                self.attributes = Some((get_attributes(*bits, self.current), outcome));
            }
            Step::Access => self.access = Some((Action::Other("ACCESS"), outcome)),
            Step::Open(open) => self.open(open, outcome, facts, handle, recorder),
            Step::Close => self.on_current(|file| Action::Close { file }, outcome),
            &Step::Read { offset, asked } => {
                let bytes = match facts {
                    Facts::Bytes(bytes) => (*bytes).min(asked),
                    _ => bytes_without_count(asked, outcome),
                };
                self.on_current(|file| Action::Read { file, offset, asked, bytes }, outcome);
            }
            &Step::Write { offset, bytes: asked, stable } => {
                let bytes = match facts {
                    Facts::Bytes(bytes) => (*bytes).min(asked),
                    _ => asked,
                };
                self.change(outcome, recorder);
                self.on_current(|file| Action::Write { file, offset, bytes, stable }, outcome);
            }
            Step::Flush => self.on_current(|file| Action::Flush { file }, outcome),
            Step::SetAttributes(Some(size)) => {
                let size = *size;
                self.change(outcome, recorder);
                self.on_current(|file| Action::SetSize { file, size }, outcome);
            }
            Step::SetAttributes(None) => self.on_current(|file| Action::SetAttributes { file }, outcome),
            Step::List { first } => self.list(*first, outcome, facts, recorder),
            Step::Create { name, directory } => self.create(name, *directory, outcome, handle, recorder),
            Step::Remove(name) => {
                let file = self.known(name, recorder);
                if matches!(outcome, Outcome::Done | Outcome::NotFound)
                    && let Some(place) = self.place(name)
                {
                    place.forget(self.server, recorder);
                }
                self.add(Action::Remove { file }, outcome);
            }
            Step::Rename { from, to } => self.rename(from, to, outcome, recorder),
            Step::Link(name) => {
                if done && let (Some(file), Some(place)) = (self.saved, self.place(name)) {
                    place.means(file, self.server, recorder);
                }
                self.add(Action::Other("LINK"), outcome);
            }
            Step::Lock { release } => {
                let release = *release;
                self.on_current(|file| Action::Lock { file, release }, outcome);
            }
            Step::Connect => self.add(Action::Connect, outcome),
            Step::Other(name) => {
                if matches!(*name, "ALLOCATE" | "DEALLOCATE" | "CLONE" | "COPY" | "WRITE_SAME") {
                    self.change(outcome, recorder);
                }
                self.add(Action::Other(name), outcome);
            }
            Step::Ignored => {}
        }
    }

    /// The file of a name: by its handle, or by what the name meant before.
    fn named(
        &self,
        name: &[u8],
        outcome: Outcome,
        handle: Option<&[u8]>,
        recorder: &mut Recorder,
    ) -> Option<u32> {
        let place = self.place(name);
        match (outcome, place, handle) {
            (Outcome::Done, Some(place), handle) => Some(place.file(handle, self.server, recorder)),
            (Outcome::Done, None, Some(handle)) => Some(place::file(handle, self.server, recorder)),
            (Outcome::NotFound, Some(place), _) => {
                let file = place.known(self.server, recorder);
                place.forget(self.server, recorder);
                file
            }
            (_, place, _) => place?.known(self.server, recorder),
        }
    }

    fn open(
        &mut self,
        open: &Open,
        outcome: Outcome,
        facts: &Facts<'_>,
        handle: Option<&[u8]>,
        recorder: &mut Recorder,
    ) {
        let file = match &open.name {
            Some(name) => self.named(name, outcome, handle, recorder),
            None => self.current,
        };
        // An UNCHECKED open that makes a file changes its directory.
        let (made, emptied) = match (open.create, facts) {
            (Create::Never, _) => (false, false),
            (Create::Always, _) => (true, false),
            (Create::Unchecked { emptied }, Facts::Opened(directory)) => {
                (directory.before != directory.after, emptied)
            }
            (Create::Unchecked { emptied }, _) => (true, emptied),
        };
        self.add(Action::Open { file, access: Access::of(open.write), created: made || emptied }, outcome);
        if outcome == Outcome::Done {
            self.go(file);
            if made && let Some(file) = file {
                recorder.created(file);
            } else if emptied {
                self.change(outcome, recorder);
            }
            self.changed = made || emptied;
        }
    }

    fn create(
        &mut self,
        name: &[u8],
        directory: bool,
        outcome: Outcome,
        handle: Option<&[u8]>,
        recorder: &mut Recorder,
    ) {
        let file = self.named(name, outcome, handle, recorder);
        let action =
            if directory { Action::MakeDirectory { directory: file } } else { Action::Other("CREATE") };
        self.add(action, outcome);
        if outcome == Outcome::Done {
            self.go(file);
            self.changed = true;
            if let Some(file) = file {
                recorder.created(file);
                if directory {
                    recorder.directory(file);
                }
            }
        }
    }

    fn rename(&mut self, from: &[u8], to: &[u8], outcome: Outcome, recorder: &mut Recorder) {
        // The saved file is the directory of the old name, the current one that of the new name.
        let from = self.saved.map(|directory| Place { directory, name: from.into() });
        let to = self.place(to);
        let file = from.as_ref().and_then(|from| from.known(self.server, recorder));
        let mut replaced = to.as_ref().and_then(|to| to.known(self.server, recorder));
        if outcome == Outcome::Done
            && let (Some(from), Some(to)) = (&from, &to)
        {
            replaced = from.rename(to, self.server, recorder);
        }
        self.add(Action::Rename { file, replaced }, outcome);
    }

    fn list(&mut self, first: bool, outcome: Outcome, facts: &Facts<'_>, recorder: &mut Recorder) {
        let Some(directory) = self.current else {
            return;
        };
        let mut count = 0;
        if let Facts::Entries(entries) = facts {
            recorder.directory(directory);
            count = entries.len() as u32;
            for entry in entries {
                if let Some(handle) = entry.description.handle {
                    let place = Place { directory, name: entry.name.into() };
                    let file = place.file(Some(handle), self.server, recorder);
                    entry.description.note(file, recorder);
                }
            }
        }
        self.add(Action::List { directory, entries: count, first }, outcome);
    }

    /// The current file's size may be another from here on.
    fn change(&mut self, outcome: Outcome, recorder: &mut Recorder) {
        if let Some(file) = self.current
            && matches!(outcome, Outcome::Done | Outcome::NoReply)
        {
            recorder.changed(file);
            self.changed = true;
        }
    }

    fn note(&self, facts: &Facts<'_>, recorder: &mut Recorder) {
        if let (Facts::Described(description), Some(file)) = (facts, self.current) {
            let size = description.size.filter(|_| !self.changed);
            Description { size, ..*description }.note(file, recorder);
        }
    }
}

/// GETATTR alone: free space, attributes of a file, or properties of the file system.
fn get_attributes(wanted: Bitmap, file: Option<u32>) -> Action {
    // space_avail, space_free, space_total; type, change, size, mode, owner, time_modify.
    const SPACE: Bitmap = Bitmap::of(&[42, 43, 44]);
    const FILE: Bitmap = Bitmap::of(&[1, 3, 4, 33, 36, 53]);
    if !wanted.and(SPACE).is_empty() {
        Action::Space
    } else if !wanted.and(FILE).is_empty() || wanted.is_empty() {
        Action::Stat { file }
    } else {
        Action::Other("GETATTR")
    }
}

/// Bytes that a READ delivered whose reply does not say.
fn bytes_without_count(asked: u32, outcome: Outcome) -> u32 {
    match outcome {
        Outcome::Done | Outcome::NoReply => asked,
        Outcome::NotFound | Outcome::Failed(_) => 0,
    }
}
