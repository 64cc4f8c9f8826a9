//! Procedures of NFSv3 (RFC 1813 3.3).

use sharebench_nfs::attributes::{AttributesBefore, FileAttributes, FileKind, SetFileAttributes};
use sharebench_nfs::protocol::{FileHandle, Procedure, StableHow};
use sharebench_nfs::results::get_listing;
use sharebench_nfs::xdr::{Reader, XdrError};

use super::handles;
use super::status::outcome;
use crate::input::performed::Performed;
use crate::input::protocols::entry::Entry;
use crate::input::recorder::Recording;
use crate::operation::{Access, Action, Outcome};

/// Longest name that is read; common servers allow 255 bytes.
const MAX_NAME_BYTES: usize = 1024;

/// A call, without what only its reply shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    /// On a handle, complete but for the bytes of a READ.
    Known(Action, Attributes),
    Lookup(Entry),
    /// CREATE, MKDIR, SYMLINK, MKNOD.
    Make {
        entry: Entry,
        directory: bool,
    },
    /// REMOVE, RMDIR.
    Remove(Entry, Option<u32>),
    Rename {
        from: Entry,
        to: Entry,
    },
    List {
        directory: u32,
        plus: bool,
        /// It reads from the start.
        first: bool,
    },
}

/// Where the attributes of a reply are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attributes {
    /// `fattr3`, of this file.
    Plain(u32),
    /// `post_op_attr`, of this file.
    After(u32),
    /// `wcc_data`, of this file.
    Both(u32),
}

fn handle(body: &mut Reader<'_>, recorder: &mut Recording<'_>) -> Result<u32, XdrError> {
    Ok(handles::file(FileHandle::get(body)?.as_bytes(), recorder))
}

/// A directory's handle and a name in it.
fn entry(body: &mut Reader<'_>, recorder: &mut Recording<'_>) -> Result<Entry, XdrError> {
    let directory = handle(body, recorder)?;
    recorder.directory(directory);
    Ok(Entry { directory, name: body.opaque("name", MAX_NAME_BYTES)?.into() })
}

impl Call {
    /// Decodes arguments; none if they end too early or the procedure does not exist.
    pub(super) fn decode(procedure: u32, mut body: Reader<'_>, recorder: &mut Recording<'_>) -> Option<Self> {
        let procedure = Procedure::from_number(procedure)?;
        match Self::by_name(procedure, &mut body, recorder).transpose() {
            Some(call) => call.ok(),
            None => Self::by_handle(procedure, &mut body, recorder).ok(),
        }
    }

    fn by_handle(
        procedure: Procedure,
        body: &mut Reader<'_>,
        recorder: &mut Recording<'_>,
    ) -> Result<Self, XdrError> {
        let file = handle(body, recorder)?;
        Ok(match procedure {
            Procedure::GetAttr => Self::Known(Action::Stat { file: Some(file) }, Attributes::Plain(file)),
            Procedure::SetAttr => Self::Known(set_attributes(file, body), Attributes::Both(file)),
            Procedure::Read => {
                let offset = body.u64()?;
                let asked = body.u32()?;
                Self::Known(Action::Read { file, offset, asked, bytes: asked }, Attributes::After(file))
            }
            Procedure::Write => {
                let offset = body.u64()?;
                let bytes = body.u32()?;
                let stable = body.u32()? != StableHow::Unstable as u32;
                Self::Known(Action::Write { file, offset, bytes, stable }, Attributes::Both(file))
            }
            Procedure::Link => {
                let entry = entry(body, recorder)?;
                entry.means(file, recorder);
                Self::Known(Action::Other(procedure.name()), Attributes::After(file))
            }
            Procedure::ReadDir | Procedure::ReadDirPlus => {
                recorder.directory(file);
                let plus = procedure == Procedure::ReadDirPlus;
                Self::List { directory: file, plus, first: body.u64()? == 0 }
            }
            Procedure::FsStat => Self::Known(Action::Space, Attributes::After(file)),
            Procedure::Commit => Self::Known(Action::Flush { file }, Attributes::Both(file)),
            _ => Self::Known(Action::Other(procedure.name()), Attributes::After(file)),
        })
    }

    /// Procedures on a name; none for others.
    fn by_name(
        procedure: Procedure,
        body: &mut Reader<'_>,
        recorder: &mut Recording<'_>,
    ) -> Result<Option<Self>, XdrError> {
        let mut named = || entry(body, recorder);
        Ok(Some(match procedure {
            Procedure::Lookup => Self::Lookup(named()?),
            Procedure::Create | Procedure::SymLink | Procedure::MkNod => {
                Self::Make { entry: named()?, directory: false }
            }
            Procedure::MkDir => Self::Make { entry: named()?, directory: true },
            Procedure::Remove | Procedure::RmDir => {
                let entry = named()?;
                let file = entry.known(recorder);
                Self::Remove(entry, file)
            }
            Procedure::Rename => Self::Rename { from: named()?, to: named()? },
            _ => return Ok(None),
        }))
    }

    /// What is known without results.
    pub(super) fn without_results(&self, outcome: Outcome) -> Performed {
        Performed::one(self.action(), outcome)
    }

    fn action(&self) -> Action {
        match *self {
            Self::Known(action, _) => action,
            Self::Lookup(_) => Action::Lookup { file: None },
            Self::Make { directory: true, .. } => Action::MakeDirectory { directory: None },
            Self::Make { .. } => Action::Open { file: None, access: Access::Write, created: true },
            Self::Remove(_, file) => Action::Remove { file },
            Self::Rename { .. } => Action::Rename { file: None, replaced: None },
            Self::List { directory, first, .. } => Action::List { directory, entries: 0, first },
        }
    }

    /// The operation with what the reply shows.
    pub(super) fn finish(&self, results: &mut Reader<'_>, recorder: &mut Recording<'_>) -> Performed {
        let Ok(status) = results.u32() else {
            recorder.unseen().cut += 1;
            return self.without_results(Outcome::Done);
        };
        let outcome = outcome(status);
        if outcome != Outcome::Done {
            return self.without_results(outcome);
        }
        // A reply that ends too early still shows that the operation succeeded.
        let action = self.succeeded(results, recorder);
        Performed::one(action.unwrap_or_else(|_| self.action()), outcome)
    }

    fn succeeded(&self, results: &mut Reader<'_>, recorder: &mut Recording<'_>) -> Result<Action, XdrError> {
        Ok(match *self {
            Self::Known(Action::Read { file, offset, asked, .. }, attributes) => {
                attributes.note(results, recorder)?;
                Action::Read { file, offset, asked, bytes: results.u32()? }
            }
            Self::Known(action, attributes) => {
                let _ = attributes.note(results, recorder);
                action
            }
            Self::Lookup(ref entry) => {
                let file = handle(results, recorder)?;
                entry.means(file, recorder);
                let _ = Attributes::After(file).note(results, recorder);
                Action::Lookup { file: Some(file) }
            }
            Self::Make { ref entry, directory } => {
                let made = FileHandle::get_optional(results)?;
                let file = made.map(|made| handles::file(made.as_bytes(), recorder));
                if let Some(file) = file {
                    recorder.created(file);
                    entry.means(file, recorder);
                    if directory {
                        recorder.directory(file);
                    }
                }
                if directory {
                    Action::MakeDirectory { directory: file }
                } else {
                    Action::Open { file, access: Access::Write, created: true }
                }
            }
            Self::Remove(ref entry, file) => {
                entry.forget(recorder);
                Action::Remove { file }
            }
            Self::Rename { ref from, ref to } => {
                let file = from.known(recorder);
                let replaced = from.rename(to, recorder);
                Action::Rename { file, replaced }
            }
            Self::List { directory, plus, first } => {
                let _ = Attributes::After(directory).note(&mut { *results }, recorder);
                let entries = list(results, directory, plus, recorder);
                Action::List { directory, entries, first }
            }
        })
    }
}

impl Attributes {
    /// Notes kind and size; an error if the results end before.
    fn note(self, results: &mut Reader<'_>, recorder: &mut Recording<'_>) -> Result<(), XdrError> {
        match self {
            Self::Plain(file) => note(file, &FileAttributes::get(results)?, recorder),
            Self::After(file) => {
                if let Some(attributes) = FileAttributes::get_optional(results)? {
                    note(file, &attributes, recorder);
                }
            }
            Self::Both(file) => {
                if let Some(before) = AttributesBefore::get_optional(results)? {
                    recorder.size(file, before.size);
                }
                recorder.changed(file);
                Self::After(file).note(results, recorder)?;
            }
        }
        Ok(())
    }
}

fn note(file: u32, attributes: &FileAttributes, recorder: &mut Recording<'_>) {
    recorder.describe(file, attributes.kind == FileKind::Directory, Some(attributes.size));
}

/// `sattr3` (RFC 1813 2.5.3), which a capture may have cut after the size.
fn set_attributes(file: u32, body: &mut Reader<'_>) -> Action {
    let size = SetFileAttributes::get_up_to_size(body).ok().and_then(|set| set.size);
    size.map_or(Action::SetAttributes { file }, |size| Action::SetSize { file, size })
}

/// Counts the entries of a listing, and notes what their names name.
fn list(results: &mut Reader<'_>, directory: u32, plus: bool, recorder: &mut Recording<'_>) -> u32 {
    let mut count = 0;
    // An entry that was cut ends it.
    let _ = get_listing(results, plus, |entry| {
        count += 1;
        let Some(handle) = entry.handle else { return };
        let file = handles::file(handle.as_bytes(), recorder);
        if !matches!(entry.name, b"." | b"..") {
            Entry { directory, name: entry.name.into() }.means(file, recorder);
        }
        if let Some(attributes) = &entry.attributes {
            note(file, attributes, recorder);
        }
    });
    count
}
