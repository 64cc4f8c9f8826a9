//! Results of a COMPOUND, as far as they are needed.

use sharebench_nfs::v4::attribute_types::FileType;
use sharebench_nfs::v4::attributes::Attributes;
use sharebench_nfs::v4::bitmap::Bitmap;
use sharebench_nfs::v4::body::OperationResult;
use sharebench_nfs::v4::compound::{OK, ReplyHead, ResultHead};
use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::listing::ListedEntry;
use sharebench_nfs::v4::open::{ChangeInfo, Delegation, ReadDelegation, WriteDelegation};
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::v4::sparse::{Content, SegmentsHead};
use sharebench_nfs::xdr::{Reader, XdrError};

use super::extensions;
use crate::input::recorder::Recording;

/// Most results that are read.
const MAX_RESULTS: u32 = 256;
/// Most entries of a listing that are read.
const MAX_ENTRIES: usize = 65_536;

/// The results of a compound.
#[derive(Debug)]
pub(super) struct Results<'a> {
    /// The status of the last one.
    pub(super) status: u32,
    pub(super) steps: Vec<StepResult<'a>>,
    /// All were read.
    pub(super) whole: bool,
}

/// The result of one step.
#[derive(Debug)]
pub(super) struct StepResult<'a> {
    pub(super) head: ResultHead,
    pub(super) facts: Facts<'a>,
}

/// What is needed of a result.
#[derive(Debug)]
pub(super) enum Facts<'a> {
    None,
    Handle(&'a [u8]),
    Described(Description<'a>),
    /// Of READ and WRITE.
    Bytes(u32),
    /// The directory of an OPEN.
    Opened(ChangeInfo),
    Entries(Vec<Listed<'a>>),
}

/// An entry of READDIR.
#[derive(Debug)]
pub(super) struct Listed<'a> {
    pub(super) name: &'a [u8],
    pub(super) description: Description<'a>,
}

/// Attributes, as far as they are needed.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Description<'a> {
    pub(super) directory: bool,
    pub(super) size: Option<u64>,
    pub(super) handle: Option<&'a [u8]>,
}

impl<'a> Description<'a> {
    fn new(attributes: &Attributes<'a>) -> Self {
        Self {
            directory: attributes.kind == Some(FileType::Directory),
            size: attributes.size,
            handle: attributes.handle.map(|handle| handle.0),
        }
    }

    pub(super) fn note(&self, file: u32, recorder: &mut Recording<'_>) {
        if self.directory {
            recorder.directory(file);
        }
        if let Some(size) = self.size {
            recorder.size(file, size);
        }
    }
}

/// Reads a reply. An error where it ends before the number of its results.
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<Results<'a>, XdrError> {
    let ReplyHead { status, count, .. } = Item::get(reader)?;
    let mut steps = Vec::new();
    let mut whole = count <= MAX_RESULTS;
    for _ in 0..count.min(MAX_RESULTS) {
        let Ok(head) = ResultHead::get(reader) else {
            whole = false;
            break;
        };
        let mut facts = Facts::None;
        // Errors end the compound; what they carry is not needed.
        let is_readable = head.status != OK || read_facts(head.operation, reader, &mut facts).is_ok();
        steps.push(StepResult { head, facts });
        if !is_readable {
            whole = steps.len() == count as usize;
            break;
        }
    }
    Ok(Results { status, steps, whole })
}

/// Whether a step has another current file afterwards.
pub(super) fn moves(code: u32) -> bool {
    matches!(
        Operation::from_code(code),
        Some(
            Operation::Create
                | Operation::Lookup
                | Operation::LookupP
                | Operation::Open
                | Operation::PutFh
                | Operation::PutPubFh
                | Operation::PutRootFh
                | Operation::RestoreFh
        )
    )
}

/// Notes what a result shows. After an error, which may follow what it shows, the next result cannot be read.
fn read_facts<'a>(code: u32, reader: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<(), XdrError> {
    let unknown = XdrError::BadValue { field: "operation", value: code };
    let Some(operation) = Operation::from_code(code) else {
        return if extensions::skip_result(code, reader)? { Ok(()) } else { Err(unknown) };
    };
    match operation {
        Operation::Open => return open(reader, facts),
        Operation::ReadDir => return list(reader, facts),
        Operation::ReadPlus => return read_plus(reader, facts),
        Operation::LayoutCommit | Operation::LayoutGet | Operation::LayoutReturn => {
            return extensions::skip_layout_result(operation, reader);
        }
        _ => {}
    }
    match OperationResult::get(operation, reader)?.ok_or(unknown)? {
        OperationResult::GetAttr(result) => *facts = Facts::Described(Description::new(&result.attributes)),
        OperationResult::GetFh(result) => *facts = Facts::Handle(result.handle.0),
        OperationResult::Write(result) => *facts = Facts::Bytes(result.count),
        OperationResult::Read(head) => {
            *facts = Facts::Bytes(head.count);
            reader.padded(head.count as usize)?;
        }
        _ => {}
    }
    Ok(())
}

/// OPEN (RFC 8881 18.16): the directory, also where the rest was cut.
fn open(reader: &mut Reader<'_>, facts: &mut Facts<'_>) -> Result<(), XdrError> {
    StateId::get(reader)?;
    *facts = Facts::Opened(ChangeInfo::get(reader)?);
    let _flags = reader.u32()?;
    Bitmap::get(reader)?;
    let mut granted = *reader;
    // Delegations with attributes (RFC 9754 4) are those without, with numbers of their own.
    match granted.u32()? {
        4 => drop(ReadDelegation::get(&mut granted)?),
        5 => drop(WriteDelegation::get(&mut granted)?),
        _ => return Delegation::get(reader).map(drop),
    }
    *reader = granted;
    Ok(())
}

/// READDIR (RFC 8881 18.23): the entries until the message ends.
fn list<'a>(reader: &mut Reader<'a>, facts: &mut Facts<'a>) -> Result<(), XdrError> {
    let _verifier = reader.u64()?;
    let mut entries = Vec::new();
    let end = list_entries(reader, &mut entries);
    *facts = Facts::Entries(entries);
    end?;
    reader.boolean("end of directory").map(drop)
}

fn list_entries<'a>(reader: &mut Reader<'a>, entries: &mut Vec<Listed<'a>>) -> Result<(), XdrError> {
    while reader.boolean("entry follows")? {
        if entries.len() >= MAX_ENTRIES {
            return Err(XdrError::TooLong { field: "listing", len: u32::MAX, max: MAX_ENTRIES });
        }
        let ListedEntry { name, attributes, .. } = ListedEntry::get(reader)?;
        entries.push(Listed { name: name.0, description: Description::new(&attributes) });
    }
    Ok(())
}

/// `READ_PLUS` (RFC 7862 15.10): the bytes of data and holes, also of those that were cut.
fn read_plus(reader: &mut Reader<'_>, facts: &mut Facts<'_>) -> Result<(), XdrError> {
    let mut bytes = 0_u64;
    for _ in 0..SegmentsHead::get(reader)?.count {
        let content = Content::get(reader)?;
        let _offset = reader.u64()?;
        let data_len = match content {
            Content::Data => reader.u32()?,
            Content::Hole => 0,
        };
        let len = if content == Content::Hole { reader.u64()? } else { u64::from(data_len) };
        bytes = bytes.saturating_add(len);
        *facts = Facts::Bytes(u32::try_from(bytes).unwrap_or(u32::MAX));
        reader.padded(data_len as usize)?;
    }
    Ok(())
}
