//! The operations of a COMPOUND call, as far as the workload needs them.

use std::net::SocketAddr;

use sharebench_nfs::protocol::StableHow;
use sharebench_nfs::v4::attribute_types::FileType;
use sharebench_nfs::v4::bitmap::Bitmap;
use sharebench_nfs::v4::body::Arguments;
use sharebench_nfs::v4::compound::{COMPOUND, CallHead};
use sharebench_nfs::v4::data::{StateId, WriteHead};
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::names::NewObject;
use sharebench_nfs::v4::open::{self, OpenClaim, OpenHow, SHARE_WRITE};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::xdr::{Reader, XdrError};

use super::super::place;
use super::extensions;
use crate::input::recorder::Recorder;

/// `size`, the first attribute that can be set (RFC 8881 5.8).
const SIZE: u32 = 4;

/// Most steps of a compound; clients use at most some dozen.
const MAX_STEPS: u32 = 256;

/// One operation of a compound, as far as it is needed.
#[derive(Debug)]
pub(in super::super) enum Step {
    /// PUTFH.
    Put(u32),
    /// PUTROOTFH and PUTPUBFH.
    PutRoot,
    Save,
    Restore,
    GetHandle,
    LookupParent,
    Lookup(Box<[u8]>),
    /// The attributes that are asked for.
    GetAttributes(Bitmap),
    Access,
    Open(Open),
    Close,
    Read {
        offset: u64,
        asked: u32,
    },
    Write {
        offset: u64,
        bytes: u32,
        stable: bool,
    },
    Flush,
    SetAttributes(Option<u64>),
    List {
        /// It reads from the start.
        first: bool,
    },
    Create {
        name: Box<[u8]>,
        directory: bool,
    },
    Remove(Box<[u8]>),
    Rename {
        from: Box<[u8]>,
        to: Box<[u8]>,
    },
    Link(Box<[u8]>),
    Lock {
        release: bool,
    },
    Connect,
    Other(&'static str),
    /// Of sessions, states and layouts.
    Ignored,
}

/// The arguments of OPEN.
#[derive(Debug)]
pub(in super::super) struct Open {
    /// None opens the current file itself.
    pub(super) name: Option<Box<[u8]>>,
    pub(super) write: bool,
    pub(super) create: Create,
}

/// Whether OPEN makes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Create {
    Never,
    /// If it does not exist; one that exists may be emptied.
    Unchecked {
        emptied: bool,
    },
    /// It must not exist.
    Always,
}

/// Reads a call. None where not even its list of steps begins; a list that ends early ends there.
pub(in super::super) fn call(
    procedure: u32,
    reader: &mut Reader<'_>,
    server: SocketAddr,
    recorder: &mut Recorder,
) -> Option<Vec<Step>> {
    if procedure != COMPOUND {
        return None;
    }
    let count = CallHead::get(reader).ok()?.count.min(MAX_STEPS);
    let mut steps = Vec::new();
    for _ in 0..count {
        let Ok((step, goes_on)) = step(reader, server, recorder) else { break };
        steps.push(step);
        if !goes_on {
            break;
        }
    }
    (count == 0 || !steps.is_empty()).then_some(steps)
}

/// A step, and whether the next one can be read.
fn step(
    reader: &mut Reader<'_>,
    server: SocketAddr,
    recorder: &mut Recorder,
) -> Result<(Step, bool), XdrError> {
    let code = reader.u32()?;
    let Some(operation) = Operation::from_code(code) else { return extensions::step(code, reader) };
    match operation {
        // Their answers open the client's state at the server.
        Operation::SetClientId | Operation::ExchangeId => return Ok((Step::Connect, false)),
        // Nothing that is needed follows them.
        Operation::CreateSession | Operation::BackchannelCtl => return Ok((Step::Ignored, false)),
        Operation::Copy => return Ok((Step::Other("COPY"), false)),
        Operation::WriteSame => return Ok((Step::Other("WRITE_SAME"), false)),
        Operation::SetAttr => {
            StateId::get(reader)?;
            return set_attributes(reader);
        }
        Operation::LayoutCommit | Operation::LayoutGet | Operation::LayoutReturn => {
            extensions::skip_layout(operation, reader)?;
            return Ok((Step::Ignored, true));
        }
        _ => {}
    }
    let Some(arguments) = Arguments::get(operation, reader)? else { return Ok((Step::Ignored, false)) };
    Ok(match arguments {
        Arguments::PutFh(args) => (Step::Put(place::file(args.handle.0, server, recorder)), true),
        // The data may continue after the first bytes of the message.
        Arguments::Write(args) => (write(&args), reader.padded(args.count as usize).is_ok()),
        Arguments::Open(args) => (Step::Open(Open::new(&args)), true),
        arguments => (on_current(operation, &arguments), true),
    })
}

/// A step on the current file, or on a name in it.
fn on_current(operation: Operation, arguments: &Arguments<'_>) -> Step {
    match arguments {
        Arguments::Access(_) => Step::Access,
        Arguments::Close(_) => Step::Close,
        Arguments::Commit(_) => Step::Flush,
        Arguments::Create(args) => Step::Create {
            name: args.name.0.into(),
            directory: args.object == NewObject::Plain(FileType::Directory),
        },
        Arguments::GetAttr(args) => Step::GetAttributes(args.wanted),
        Arguments::GetFh(()) => Step::GetHandle,
        Arguments::Link(args) => Step::Link(args.name.0.into()),
        Arguments::Lock(_) => Step::Lock { release: false },
        Arguments::LockU(_) => Step::Lock { release: true },
        Arguments::Lookup(args) => Step::Lookup(args.name.0.into()),
        Arguments::LookupP(()) => Step::LookupParent,
        Arguments::PutPubFh(()) | Arguments::PutRootFh(()) => Step::PutRoot,
        Arguments::Read(args) | Arguments::ReadPlus(args) => {
            Step::Read { offset: args.offset, asked: args.count }
        }
        Arguments::ReadDir(args) => Step::List { first: args.cookie == 0 },
        Arguments::Remove(args) => Step::Remove(args.name.0.into()),
        Arguments::Rename(args) => Step::Rename { from: args.from.0.into(), to: args.to.0.into() },
        Arguments::RestoreFh(()) => Step::Restore,
        Arguments::SaveFh(()) => Step::Save,
        Arguments::LockT(_)
        | Arguments::ReadLink(())
        | Arguments::Allocate(_)
        | Arguments::Deallocate(_)
        | Arguments::Seek(_)
        | Arguments::Clone(_) => Step::Other(operation.name()),
        _ => Step::Ignored,
    }
}

fn write(args: &WriteHead) -> Step {
    Step::Write { offset: args.offset, bytes: args.count, stable: args.stable != StableHow::Unstable }
}

impl Open {
    /// OPEN (RFC 8881 18.16).
    fn new(args: &open::Open<'_>) -> Self {
        let name = match args.claim {
            OpenClaim::Name(name) | OpenClaim::DelegatedBefore(name) => Some(name),
            OpenClaim::Delegated(claim) => Some(claim.name),
            OpenClaim::Previous(_)
            | OpenClaim::Handle
            | OpenClaim::DelegatedHandle(_)
            | OpenClaim::DelegatedHandleBefore => None,
        };
        let create = match args.how {
            OpenHow::Existing => Create::Never,
            OpenHow::Unchecked(attributes) => Create::Unchecked { emptied: attributes.size == Some(0) },
            OpenHow::Guarded(_) | OpenHow::Exclusive(_) | OpenHow::ExclusiveWith(_) => Create::Always,
        };
        Self { name: name.map(|name| name.0.into()), write: args.access & SHARE_WRITE != 0, create }
    }
}

/// SETATTR: the size, also where the attributes after it were cut.
fn set_attributes(reader: &mut Reader<'_>) -> Result<(Step, bool), XdrError> {
    let mask = Bitmap::get(reader)?;
    let len = reader.u32()?;
    let mut values = *reader;
    let size = if mask.contains(SIZE) { Some(values.u64()?) } else { None };
    Ok((Step::SetAttributes(size), reader.padded(len as usize).is_ok()))
}
