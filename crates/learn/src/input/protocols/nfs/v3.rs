//! Procedures of NFSv3 (RFC 1813 3.3).

use std::net::SocketAddr;

use sharebench_nfs::attributes::{AttributesBefore, FileAttributes, FileKind, SetFileAttributes};
use sharebench_nfs::protocol::{FileHandle, Procedure, StableHow};
use sharebench_nfs::results::get_listing;
use sharebench_nfs::xdr::{Reader, XdrError};

use super::outcome;
use super::place::{self, Place};
use crate::input::recorder::Recorder;
use crate::operation::{Access, Action, Outcome};

/// Longest name that is read; common servers allow 255 bytes.
const MAX_NAME_BYTES: usize = 1024;

/// A call, without what only its reply shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    /// NULL, which does nothing.
    Null,
    /// On a handle, complete.
    Known(Action, Attributes),
    Lookup(Place),
    Read {
        file: u32,
        offset: u64,
        asked: u32,
    },
    /// CREATE, MKDIR, SYMLINK, MKNOD.
    Make {
        entry: Place,
        directory: bool,
    },
    /// REMOVE, RMDIR.
    Remove(Place, Option<u32>),
    Rename {
        from: Place,
        to: Place,
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

fn handle(body: &mut Reader<'_>, server: SocketAddr, recorder: &mut Recorder) -> Result<u32, XdrError> {
    Ok(place::file(FileHandle::get(body)?.as_bytes(), server, recorder))
}

/// A directory's handle and a name in it.
fn place(body: &mut Reader<'_>, server: SocketAddr, recorder: &mut Recorder) -> Result<Place, XdrError> {
    let directory = handle(body, server, recorder)?;
    recorder.directory(directory);
    Ok(Place { directory, name: body.opaque("name", MAX_NAME_BYTES)?.into() })
}

impl Call {
    /// Decodes arguments; none if they end too early or the procedure does not exist.
    pub(super) fn decode(
        procedure: u32,
        mut body: Reader<'_>,
        server: SocketAddr,
        recorder: &mut Recorder,
    ) -> Option<Self> {
        let procedure = Procedure::from_number(procedure)?;
        match Self::by_name(procedure, &mut body, server, recorder).transpose() {
            Some(call) => call.ok(),
            None => Self::by_handle(procedure, &mut body, server, recorder).ok(),
        }
    }

    fn by_handle(
        procedure: Procedure,
        body: &mut Reader<'_>,
        server: SocketAddr,
        recorder: &mut Recorder,
    ) -> Result<Self, XdrError> {
        if procedure == Procedure::Null {
            return Ok(Self::Null);
        }
        let file = handle(body, server, recorder)?;
        Ok(match procedure {
            Procedure::GetAttr => Self::Known(Action::Stat { file: Some(file) }, Attributes::Plain(file)),
            Procedure::SetAttr => Self::Known(set_attributes(file, body), Attributes::Both(file)),
            Procedure::Read => Self::Read { file, offset: body.u64()?, asked: body.u32()? },
            Procedure::Write => {
                let offset = body.u64()?;
                let bytes = body.u32()?;
                let stable = body.u32()? != StableHow::Unstable as u32;
                Self::Known(Action::Write { file, offset, bytes, stable }, Attributes::Both(file))
            }
            Procedure::Link => {
                let entry = place(body, server, recorder)?;
                entry.means(file, server, recorder);
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
        server: SocketAddr,
        recorder: &mut Recorder,
    ) -> Result<Option<Self>, XdrError> {
        let mut entry = || place(body, server, recorder);
        Ok(Some(match procedure {
            Procedure::Lookup => Self::Lookup(entry()?),
            Procedure::Create | Procedure::SymLink | Procedure::MkNod => {
                Self::Make { entry: entry()?, directory: false }
            }
            Procedure::MkDir => Self::Make { entry: entry()?, directory: true },
            Procedure::Remove | Procedure::RmDir => {
                let entry = entry()?;
                let file = entry.known(server, recorder);
                Self::Remove(entry, file)
            }
            Procedure::Rename => Self::Rename { from: entry()?, to: entry()? },
            _ => return Ok(None),
        }))
    }

    /// What is known without a reply; none for what is no operation.
    pub(super) fn action(&self) -> Option<Action> {
        Some(match *self {
            Self::Null => return None,
            Self::Known(action, _) => action,
            Self::Lookup(_) => Action::Lookup { file: None },
            Self::Read { file, offset, asked } => Action::Read { file, offset, asked, bytes: asked },
            Self::Make { directory: true, .. } => Action::MakeDirectory { directory: None },
            Self::Make { .. } => Action::Open { file: None, access: Access::Write, created: true },
            Self::Remove(_, file) => Action::Remove { file },
            Self::Rename { .. } => Action::Rename { file: None, replaced: None },
            Self::List { directory, first, .. } => Action::List { directory, entries: 0, first },
        })
    }

    /// The operation with what the reply shows.
    pub(super) fn finish(
        self,
        results: &mut Reader<'_>,
        server: SocketAddr,
        recorder: &mut Recorder,
    ) -> (Option<Action>, Outcome) {
        if self == Self::Null {
            return (None, Outcome::Done);
        }
        let Ok(status) = results.u32() else {
            recorder.unseen().cut += 1;
            return (self.action(), Outcome::Done);
        };
        let outcome = outcome(status);
        if outcome != Outcome::Done {
            return (self.action(), outcome);
        }
        // A reply that ends too early still shows that the operation succeeded.
        let action = self.clone().succeeded(results, server, recorder);
        (action.unwrap_or_else(|_| self.action()), outcome)
    }

    fn succeeded(
        self,
        results: &mut Reader<'_>,
        server: SocketAddr,
        recorder: &mut Recorder,
    ) -> Result<Option<Action>, XdrError> {
        Ok(Some(match self {
            Self::Null => return Ok(None),
            Self::Known(action, attributes) => {
                let _ = attributes.note(results, recorder);
                action
            }
            Self::Lookup(entry) => {
                let file = handle(results, server, recorder)?;
                entry.means(file, server, recorder);
                let _ = Attributes::After(file).note(results, recorder);
                Action::Lookup { file: Some(file) }
            }
            Self::Read { file, offset, asked } => {
                Attributes::After(file).note(results, recorder)?;
                Action::Read { file, offset, asked, bytes: results.u32()? }
            }
            Self::Make { entry, directory } => {
                let made = FileHandle::get_optional(results)?;
                let file = made.map(|made| place::file(made.as_bytes(), server, recorder));
                if let Some(file) = file {
                    recorder.created(file);
                    entry.means(file, server, recorder);
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
            Self::Remove(entry, file) => {
                entry.forget(server, recorder);
                Action::Remove { file }
            }
            Self::Rename { from, to } => {
                let file = from.known(server, recorder);
                let replaced = from.rename(&to, server, recorder);
                Action::Rename { file, replaced }
            }
            Self::List { directory, plus, first } => {
                let _ = Attributes::After(directory).note(&mut { *results }, recorder);
                let entries = list(results, directory, plus, server, recorder);
                Action::List { directory, entries, first }
            }
        }))
    }
}

impl Attributes {
    /// Notes kind and size; an error if the results end before.
    fn note(self, results: &mut Reader<'_>, recorder: &mut Recorder) -> Result<(), XdrError> {
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

fn note(file: u32, attributes: &FileAttributes, recorder: &mut Recorder) {
    if attributes.kind == FileKind::Directory {
        recorder.directory(file);
    } else {
        recorder.size(file, attributes.size);
    }
}

/// `sattr3` (RFC 1813 2.5.3), which a capture may have cut after the size.
fn set_attributes(file: u32, body: &mut Reader<'_>) -> Action {
    let size = SetFileAttributes::get_up_to_size(body).ok().and_then(|set| set.size);
    size.map_or(Action::SetAttributes { file }, |size| Action::SetSize { file, size })
}

/// Counts the entries of a listing, and notes what their names name.
fn list(
    results: &mut Reader<'_>,
    directory: u32,
    plus: bool,
    server: SocketAddr,
    recorder: &mut Recorder,
) -> u32 {
    let mut count = 0;
    // An entry that was cut ends it.
    let _ = get_listing(results, plus, |entry| {
        count += 1;
        let Some(handle) = entry.handle else { return };
        let file = place::file(handle.as_bytes(), server, recorder);
        if !matches!(entry.name, b"." | b"..") {
            Place { directory, name: entry.name.into() }.means(file, server, recorder);
        }
        if let Some(attributes) = &entry.attributes {
            note(file, attributes, recorder);
        }
    });
    count
}
