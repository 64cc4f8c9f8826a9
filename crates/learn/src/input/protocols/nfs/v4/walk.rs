//! Follows a COMPOUND from file to file, and records what it is for.

use sharebench_nfs::v4::bitmap::Bitmap;

use super::results::{Description, Facts, Listed};
use super::step::{CompoundStep, Create, Open};
use crate::input::performed::{Exchange, Performed};
use crate::input::protocols::entry::Entry;
use crate::input::protocols::file_request::FileRequest;
use crate::input::protocols::nfs::handles;
use crate::input::recorder::Recording;
use crate::operation::{Access, Action, Outcome};

/// An operation and how it ended.
type Done = (Action, Outcome);

/// Follows a compound.
pub(super) struct Walk<'w, 'r> {
    exchange: Exchange,
    recorder: &'w mut Recording<'r>,
    current: Option<u32>,
    saved: Option<u32>,
    /// It was for something that was recorded.
    has_recorded: bool,
    /// In the order in which they stand for the compound if it has no other operation.
    lookup: Option<Done>,
    access: Option<Done>,
    attributes: Option<Done>,
    /// The last step was one with data, after which the message was not seen.
    pub(super) data_was_last: bool,
    /// The current file was changed in this compound: its size is a later one.
    changed: bool,
}

impl<'w, 'r> Walk<'w, 'r> {
    pub(super) const fn new(exchange: Exchange, recorder: &'w mut Recording<'r>) -> Self {
        Self {
            exchange,
            recorder,
            current: None,
            saved: None,
            has_recorded: false,
            lookup: None,
            access: None,
            attributes: None,
            data_was_last: false,
            changed: false,
        }
    }

    pub(super) fn has_operation(&self) -> bool {
        self.has_recorded || self.lookup.as_ref().is_some_and(|(_, outcome)| *outcome != Outcome::Done)
    }

    /// The compound ends: without another operation, it was for what it looked up or queried.
    pub(super) fn finish(self) {
        if !self.has_recorded
            && let Some((action, outcome)) = self.lookup.or(self.access).or(self.attributes)
        {
            self.recorder.add(self.exchange, Performed::one(action, outcome));
        }
    }

    /// Steps without results. A failed compound ends with its first operation.
    pub(super) fn rest(&mut self, steps: &[CompoundStep], outcome: Outcome) {
        for step in steps {
            self.step(step, outcome, &Facts::None, None);
            if matches!(outcome, Outcome::Failed(_) | Outcome::NotFound) && self.has_recorded {
                break;
            }
        }
    }

    fn entry(&self, name: &[u8]) -> Option<Entry> {
        self.current.map(|directory| Entry { directory, name: name.into() })
    }

    fn known(&self, name: &[u8]) -> Option<u32> {
        self.entry(name)?.known(self.recorder)
    }

    fn add(&mut self, action: Action, outcome: Outcome) {
        self.has_recorded = true;
        self.recorder.add(self.exchange, Performed::one(action, outcome));
    }

    fn go(&mut self, file: Option<u32>) {
        self.current = file;
        self.changed = false;
    }

    pub(super) fn step(
        &mut self,
        step: &CompoundStep,
        outcome: Outcome,
        facts: &Facts<'_>,
        handle: Option<&[u8]>,
    ) {
        let done = outcome == Outcome::Done;
        self.data_was_last = matches!(step, CompoundStep::OnCurrent(FileRequest::Read { .. }));
        match step {
            CompoundStep::Put(file) => self.go(Some(*file)),
            // Exports differ by their handles; the root has none in the call.
            CompoundStep::PutRoot => {
                let root = self.recorder.file(b"R");
                self.go(Some(root));
            }
            CompoundStep::Save => self.saved = self.current,
            CompoundStep::Restore => self.go(self.saved),
            CompoundStep::LookupParent => {
                let parent = handle.map(|handle| handles::file(handle, self.recorder));
                self.go(parent);
            }
            CompoundStep::GetHandle => {
                if self.current.is_none()
                    && let Facts::Handle(handle) = facts
                {
                    self.current = Some(handles::file(handle, self.recorder));
                }
            }
            CompoundStep::Lookup(name) => {
                let file = self.named(name, outcome, handle);
                self.lookup = Some((Action::Lookup { file }, outcome));
                if done {
                    self.go(file);
                }
            }
            CompoundStep::GetAttributes(bits) => {
                self.note(facts);
                self.attributes = Some((get_attributes(*bits, self.current), outcome));
            }
            CompoundStep::Access => self.access = Some((Action::Other("ACCESS"), outcome)),
            CompoundStep::Open(open) => self.open(open, outcome, facts, handle),
            &CompoundStep::OnCurrent(request) => self.on_current(request, outcome, facts),
            CompoundStep::Create { name, directory } => self.create(name, *directory, outcome, handle),
            CompoundStep::Remove(name) => {
                let file = self.known(name);
                if matches!(outcome, Outcome::Done | Outcome::NotFound)
                    && let Some(entry) = self.entry(name)
                {
                    entry.forget(self.recorder);
                }
                self.add(Action::Remove { file }, outcome);
            }
            CompoundStep::Rename { from, to } => self.rename(from, to, outcome),
            CompoundStep::Link(name) => {
                if done && let (Some(file), Some(entry)) = (self.saved, self.entry(name)) {
                    entry.means(file, self.recorder);
                }
                self.add(Action::Other("LINK"), outcome);
            }
            CompoundStep::Connect => self.add(Action::Connect, outcome),
            CompoundStep::Other(name) => {
                if matches!(*name, "ALLOCATE" | "DEALLOCATE" | "CLONE" | "COPY" | "WRITE_SAME") {
                    self.change(outcome);
                }
                self.add(Action::Other(name), outcome);
            }
            CompoundStep::Ignored => {}
        }
    }

    /// The file of a name: by its handle, or by what the name meant before.
    fn named(&mut self, name: &[u8], outcome: Outcome, handle: Option<&[u8]>) -> Option<u32> {
        let entry = self.entry(name);
        match (outcome, entry, handle) {
            (Outcome::Done, Some(entry), handle) => Some(handles::named(&entry, handle, self.recorder)),
            (Outcome::Done, None, Some(handle)) => Some(handles::file(handle, self.recorder)),
            (Outcome::NotFound, Some(entry), _) => {
                let file = entry.known(self.recorder);
                entry.forget(self.recorder);
                file
            }
            (_, entry, _) => entry?.known(self.recorder),
        }
    }

    fn open(&mut self, open: &Open, outcome: Outcome, facts: &Facts<'_>, handle: Option<&[u8]>) {
        let file = match &open.name {
            Some(name) => self.named(name, outcome, handle),
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
        self.add(
            Action::Open { file, access: Access::from_write(open.write), created: made || emptied },
            outcome,
        );
        if outcome == Outcome::Done {
            self.go(file);
            if made && let Some(file) = file {
                self.recorder.created(file);
            } else if emptied {
                self.change(outcome);
            }
            self.changed = made || emptied;
        }
    }

    fn create(&mut self, name: &[u8], directory: bool, outcome: Outcome, handle: Option<&[u8]>) {
        let file = self.named(name, outcome, handle);
        let action =
            if directory { Action::MakeDirectory { directory: file } } else { Action::Other("CREATE") };
        self.add(action, outcome);
        if outcome == Outcome::Done {
            self.go(file);
            self.changed = true;
            if let Some(file) = file {
                self.recorder.created(file);
                if directory {
                    self.recorder.directory(file);
                }
            }
        }
    }

    fn rename(&mut self, from: &[u8], to: &[u8], outcome: Outcome) {
        // The saved file is the directory of the old name, the current one that of the new name.
        let from = self.saved.map(|directory| Entry { directory, name: from.into() });
        let to = self.entry(to);
        let file = from.as_ref().and_then(|from| from.known(self.recorder));
        let mut replaced = to.as_ref().and_then(|to| to.known(self.recorder));
        if outcome == Outcome::Done
            && let (Some(from), Some(to)) = (&from, &to)
        {
            replaced = from.rename(to, self.recorder);
        }
        self.add(Action::Rename { file, replaced }, outcome);
    }

    /// Adds a request on the current file; one on a file that is not known is left out.
    fn on_current(&mut self, request: FileRequest, outcome: Outcome, facts: &Facts<'_>) {
        let Some(file) = self.current else { return };
        if request.changes_size() {
            self.change(outcome);
        }
        let has_failed = matches!(outcome, Outcome::NotFound | Outcome::Failed(_));
        let action = match (request, facts) {
            (FileRequest::Read { asked, .. }, Facts::Bytes(bytes)) => {
                request.answered(file, Some((*bytes).min(asked)))
            }
            (FileRequest::Read { .. }, _) if has_failed => request.answered(file, Some(0)),
            (FileRequest::Write { offset, bytes: asked, stable }, Facts::Bytes(bytes)) => {
                Action::Write { file, offset, bytes: (*bytes).min(asked), stable }
            }
            (FileRequest::List { .. }, Facts::Entries(entries)) => {
                self.listed(file, entries);
                request.answered(file, Some(entries.len() as u32))
            }
            _ => request.action(file),
        };
        self.add(action, outcome);
    }

    /// Notes the entries of a directory.
    fn listed(&mut self, directory: u32, entries: &[Listed<'_>]) {
        self.recorder.directory(directory);
        for entry in entries {
            if let Some(handle) = entry.description.handle {
                let named = Entry { directory, name: entry.name.into() };
                let file = handles::named(&named, Some(handle), self.recorder);
                entry.description.note(file, self.recorder);
            }
        }
    }

    /// The current file's size may be another from here on.
    fn change(&mut self, outcome: Outcome) {
        if let Some(file) = self.current
            && matches!(outcome, Outcome::Done | Outcome::NoReply)
        {
            self.recorder.changed(file);
            self.changed = true;
        }
    }

    fn note(&mut self, facts: &Facts<'_>) {
        if let (Facts::Described(description), Some(file)) = (facts, self.current) {
            let size = description.size.filter(|_| !self.changed);
            Description { size, ..*description }.note(file, self.recorder);
        }
    }
}

/// GETATTR alone: free space, attributes of a file, or properties of the file system.
fn get_attributes(wanted: Bitmap, file: Option<u32>) -> Action {
    // space_avail, space_free, space_total; type, change, size, mode, owner, time_modify.
    const SPACE: Bitmap = Bitmap::from_numbers(&[42, 43, 44]);
    const FILE: Bitmap = Bitmap::from_numbers(&[1, 3, 4, 33, 36, 53]);
    if !wanted.and(SPACE).is_empty() {
        Action::Space
    } else if !wanted.and(FILE).is_empty() || wanted.is_empty() {
        Action::Stat { file }
    } else {
        Action::Other("GETATTR")
    }
}
