//! The operations of a COMPOUND call, as far as the workload needs them.

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

use super::extensions;
use super::step::{CompoundStep, Create, Open};
use crate::input::protocols::file_request::FileRequest;
use crate::input::protocols::nfs::handles;
use crate::input::recorder::Recording;

/// `size`, the first attribute that can be set (RFC 8881 5.8).
const SIZE: u32 = 4;

/// Most steps of a compound; clients use at most some dozen.
const MAX_STEPS: u32 = 256;

/// Reads a call. None where not even its list of steps begins; a list that ends early ends there.
pub(in crate::input::protocols::nfs) fn call(
    procedure: u32,
    reader: &mut Reader<'_>,
    recorder: &mut Recording<'_>,
) -> Option<Vec<CompoundStep>> {
    if procedure != COMPOUND {
        return None;
    }
    let count = CallHead::get(reader).ok()?.count.min(MAX_STEPS);
    let mut steps = Vec::new();
    for _ in 0..count {
        let Ok((step, goes_on)) = step(reader, recorder) else { break };
        steps.push(step);
        if !goes_on {
            break;
        }
    }
    (count == 0 || !steps.is_empty()).then_some(steps)
}

/// A step, and whether the next one can be read.
fn step(reader: &mut Reader<'_>, recorder: &mut Recording<'_>) -> Result<(CompoundStep, bool), XdrError> {
    let code = reader.u32()?;
    let Some(operation) = Operation::from_code(code) else { return extensions::step(code, reader) };
    match operation {
        // Their answers open the client's state at the server.
        Operation::SetClientId | Operation::ExchangeId => return Ok((CompoundStep::Connect, false)),
        // Nothing that is needed follows them.
        Operation::CreateSession | Operation::BackchannelCtl => return Ok((CompoundStep::Ignored, false)),
        Operation::Copy => return Ok((CompoundStep::Other("COPY"), false)),
        Operation::WriteSame => return Ok((CompoundStep::Other("WRITE_SAME"), false)),
        Operation::SetAttr => {
            StateId::get(reader)?;
            return set_attributes(reader);
        }
        Operation::LayoutCommit | Operation::LayoutGet | Operation::LayoutReturn => {
            extensions::skip_layout(operation, reader)?;
            return Ok((CompoundStep::Ignored, true));
        }
        _ => {}
    }
    let Some(arguments) = Arguments::get(operation, reader)? else {
        return Ok((CompoundStep::Ignored, false));
    };
    Ok(match arguments {
        Arguments::PutFh(args) => (CompoundStep::Put(handles::file(args.handle.0, recorder)), true),
        // The data may continue after the first bytes of the message.
        Arguments::Write(args) => (write(&args), reader.padded(args.count as usize).is_ok()),
        Arguments::Open(args) => (CompoundStep::Open(opened(&args)), true),
        arguments => (on_current(operation, &arguments), true),
    })
}

/// A step on the current file, or on a name in it.
fn on_current(operation: Operation, arguments: &Arguments<'_>) -> CompoundStep {
    match arguments {
        Arguments::Access(_) => CompoundStep::Access,
        Arguments::Close(_) => CompoundStep::OnCurrent(FileRequest::Close),
        Arguments::Commit(_) => CompoundStep::OnCurrent(FileRequest::Flush),
        Arguments::Create(args) => CompoundStep::Create {
            name: args.name.0.into(),
            directory: args.object == NewObject::Plain(FileType::Directory),
        },
        Arguments::GetAttr(args) => CompoundStep::GetAttributes(args.wanted),
        Arguments::GetFh(()) => CompoundStep::GetHandle,
        Arguments::Link(args) => CompoundStep::Link(args.name.0.into()),
        Arguments::Lock(_) => CompoundStep::OnCurrent(FileRequest::Lock { release: false }),
        Arguments::LockU(_) => CompoundStep::OnCurrent(FileRequest::Lock { release: true }),
        Arguments::Lookup(args) => CompoundStep::Lookup(args.name.0.into()),
        Arguments::LookupP(()) => CompoundStep::LookupParent,
        Arguments::PutPubFh(()) | Arguments::PutRootFh(()) => CompoundStep::PutRoot,
        Arguments::Read(args) | Arguments::ReadPlus(args) => {
            CompoundStep::OnCurrent(FileRequest::Read { offset: args.offset, asked: args.count })
        }
        Arguments::ReadDir(args) => CompoundStep::OnCurrent(FileRequest::List { first: args.cookie == 0 }),
        Arguments::Remove(args) => CompoundStep::Remove(args.name.0.into()),
        Arguments::Rename(args) => CompoundStep::Rename { from: args.from.0.into(), to: args.to.0.into() },
        Arguments::RestoreFh(()) => CompoundStep::Restore,
        Arguments::SaveFh(()) => CompoundStep::Save,
        Arguments::LockT(_)
        | Arguments::ReadLink(())
        | Arguments::Allocate(_)
        | Arguments::Deallocate(_)
        | Arguments::Seek(_)
        | Arguments::Clone(_) => CompoundStep::Other(operation.name()),
        _ => CompoundStep::Ignored,
    }
}

fn write(args: &WriteHead) -> CompoundStep {
    let stable = args.stable != StableHow::Unstable;
    CompoundStep::OnCurrent(FileRequest::Write { offset: args.offset, bytes: args.count, stable })
}

/// OPEN (RFC 8881 18.16).
fn opened(args: &open::Open<'_>) -> Open {
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
    Open { name: name.map(|name| name.0.into()), write: args.access & SHARE_WRITE != 0, create }
}

/// SETATTR: the size, also where the attributes after it were cut.
fn set_attributes(reader: &mut Reader<'_>) -> Result<(CompoundStep, bool), XdrError> {
    let mask = Bitmap::get(reader)?;
    let len = reader.u32()?;
    let mut values = *reader;
    let request =
        if mask.contains(SIZE) { FileRequest::SetSize(values.u64()?) } else { FileRequest::SetAttributes };
    Ok((CompoundStep::OnCurrent(request), reader.padded(len as usize).is_ok()))
}
