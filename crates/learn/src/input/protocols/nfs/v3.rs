//! Procedures of NFSv3 (RFC 1813 3.3).

use std::net::SocketAddr;

use super::outcome;
use super::place::{self, Place};
use super::xdr::Xdr;
use crate::input::recorder::Recorder;
use crate::operation::{Access, Action, Outcome};

/// Bytes of `fattr3` (RFC 1813 2.6), and where kind and size are in it.
const ATTRIBUTES_BYTES: usize = 84;
const DIRECTORY: u32 = 2;
const UNSTABLE: u32 = 0;

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

fn handle(body: &mut Xdr<'_>, server: SocketAddr, recorder: &mut Recorder) -> Option<u32> {
    Some(place::file(place::handle(body)?, server, recorder))
}

/// A directory's handle and a name in it.
fn place(body: &mut Xdr<'_>, server: SocketAddr, recorder: &mut Recorder) -> Option<Place> {
    let directory = handle(body, server, recorder)?;
    recorder.directory(directory);
    Some(Place { directory, name: place::name(body)? })
}

impl Call {
    /// Decodes arguments; none if they end too early or the procedure does not exist.
    pub(super) fn decode(
        procedure: u32,
        mut body: Xdr<'_>,
        server: SocketAddr,
        recorder: &mut Recorder,
    ) -> Option<Self> {
        let body = &mut body;
        if matches!(procedure, 3 | 8..=14) {
            return Self::by_name(procedure, body, server, recorder);
        }
        if procedure == 0 {
            return Some(Self::Null);
        }
        let file = handle(body, server, recorder)?;
        let other = |name| Self::Known(Action::Other(name), Attributes::After(file));
        Some(match procedure {
            1 => Self::Known(Action::Stat { file: Some(file) }, Attributes::Plain(file)),
            2 => Self::Known(set_attributes(file, body), Attributes::Both(file)),
            4 => other("ACCESS"),
            5 => other("READLINK"),
            6 => Self::Read { file, offset: body.u64()?, asked: body.u32()? },
            7 => {
                let offset = body.u64()?;
                let bytes = body.u32()?;
                let stable = body.u32()? != UNSTABLE;
                Self::Known(Action::Write { file, offset, bytes, stable }, Attributes::Both(file))
            }
            15 => {
                let entry = place(body, server, recorder)?;
                entry.means(file, server, recorder);
                other("LINK")
            }
            16 | 17 => {
                recorder.directory(file);
                Self::List { directory: file, plus: procedure == 17, first: body.u64()? == 0 }
            }
            18 => Self::Known(Action::Space, Attributes::After(file)),
            19 => other("FSINFO"),
            20 => other("PATHCONF"),
            21 => Self::Known(Action::Flush { file }, Attributes::Both(file)),
            _ => return None,
        })
    }

    fn by_name(
        procedure: u32,
        body: &mut Xdr<'_>,
        server: SocketAddr,
        recorder: &mut Recorder,
    ) -> Option<Self> {
        let entry = place(body, server, recorder)?;
        Some(match procedure {
            3 => Self::Lookup(entry),
            8 | 10 | 11 => Self::Make { entry, directory: false },
            9 => Self::Make { entry, directory: true },
            12 | 13 => {
                let file = entry.known(server, recorder);
                Self::Remove(entry, file)
            }
            _ => Self::Rename { from: entry, to: place(body, server, recorder)? },
        })
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

    /// The operation with what the reply shows; without results if these are encrypted.
    pub(super) fn finish(
        self,
        results: Option<Xdr<'_>>,
        server: SocketAddr,
        recorder: &mut Recorder,
    ) -> (Option<Action>, Outcome) {
        if self == Self::Null {
            return (None, Outcome::Done);
        }
        let Some(mut results) = results else { return (self.action(), Outcome::Done) };
        let outcome = match results.u32() {
            None => {
                recorder.unseen().cut += 1;
                return (self.action(), Outcome::Done);
            }
            Some(status) => outcome(status),
        };
        if outcome != Outcome::Done {
            return (self.action(), outcome);
        }
        // A reply that ends too early still shows that the operation succeeded.
        let action = self.clone().succeeded(&mut results, server, recorder).or_else(|| self.action());
        (action, outcome)
    }

    fn succeeded(self, results: &mut Xdr<'_>, server: SocketAddr, recorder: &mut Recorder) -> Option<Action> {
        Some(match self {
            Self::Null => return None,
            Self::Known(action, attributes) => {
                attributes.note(results, recorder);
                action
            }
            Self::Lookup(entry) => {
                let file = handle(results, server, recorder)?;
                entry.means(file, server, recorder);
                Attributes::After(file).note(results, recorder);
                Action::Lookup { file: Some(file) }
            }
            Self::Read { file, offset, asked } => {
                Attributes::After(file).note(results, recorder)?;
                Action::Read { file, offset, asked, bytes: results.u32()? }
            }
            Self::Make { entry, directory } => {
                let file = if results.flag()? { Some(handle(results, server, recorder)?) } else { None };
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
                Attributes::After(directory).note(results, recorder);
                let _verifier = results.u64();
                let entries = entries(results, directory, plus, server, recorder);
                Action::List { directory, entries, first }
            }
        })
    }
}

impl Attributes {
    /// Notes kind and size; none if the results end before.
    fn note(self, results: &mut Xdr<'_>, recorder: &mut Recorder) -> Option<()> {
        match self {
            Self::Plain(file) => note(file, results, recorder),
            Self::After(file) => {
                if results.flag()? {
                    note(file, results, recorder)
                } else {
                    Some(())
                }
            }
            Self::Both(file) => {
                if results.flag()? {
                    // The size before the change, and two times.
                    recorder.size(file, results.u64()?);
                    results.skip(16)?;
                }
                recorder.changed(file);
                Self::After(file).note(results, recorder)
            }
        }
    }
}

fn note(file: u32, results: &mut Xdr<'_>, recorder: &mut Recorder) -> Option<()> {
    let mut attributes = *results;
    results.skip(ATTRIBUTES_BYTES)?;
    if attributes.u32()? == DIRECTORY {
        recorder.directory(file);
        return Some(());
    }
    attributes.skip(16)?;
    recorder.size(file, attributes.u64()?);
    Some(())
}

/// `sattr3` (RFC 1813 2.5.3): the size is its fourth part.
fn set_attributes(file: u32, body: &mut Xdr<'_>) -> Action {
    let size = (|| {
        for _ in 0..3 {
            if body.flag()? {
                body.skip(4)?;
            }
        }
        if body.flag()? { body.u64() } else { None }
    })();
    size.map_or(Action::SetAttributes { file }, |size| Action::SetSize { file, size })
}

/// Counts the entries of a listing, and notes what their names name.
fn entries(
    results: &mut Xdr<'_>,
    directory: u32,
    plus: bool,
    server: SocketAddr,
    recorder: &mut Recorder,
) -> u32 {
    let mut count = 0;
    while results.flag() == Some(true) {
        let listed = (|| {
            let _number = results.u64()?;
            let name = place::name(results)?;
            let _cookie = results.u64()?;
            if !plus {
                return Some(());
            }
            let mut attributes = None;
            if results.flag()? {
                attributes = Some(*results);
                results.skip(ATTRIBUTES_BYTES)?;
            }
            if results.flag()? {
                let file = handle(results, server, recorder)?;
                if !matches!(&*name, b"." | b"..") {
                    Place { directory, name }.means(file, server, recorder);
                }
                if let Some(mut attributes) = attributes {
                    note(file, &mut attributes, recorder);
                }
            }
            Some(())
        })();
        if listed.is_none() {
            break;
        }
        count += 1;
    }
    count
}
