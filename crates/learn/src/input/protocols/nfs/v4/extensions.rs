//! Operations that the codec of NFS does not have: layouts (RFC 8881 18.42 to 18.44) and extended attributes (RFC 8276 8.4).
//! They are passed over, so that what follows them is seen.

use sharebench_nfs::v4::data::StateId;
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::open::ChangeInfo;
use sharebench_nfs::v4::operation::Operation;
use sharebench_nfs::xdr::{Reader, XdrError};

use super::step::CompoundStep;

const GETXATTR: u32 = 72;
const SETXATTR: u32 = 73;
const LISTXATTRS: u32 = 74;
const REMOVEXATTR: u32 = 75;
/// `LAYOUTRETURN4_FILE`.
const RETURN_FILE: u32 = 1;

fn skip_opaque(reader: &mut Reader<'_>) -> Result<(), XdrError> {
    reader.opaque("opaque data", reader.rest().len()).map(drop)
}

/// A step by the number of its operation, and whether the next one can be read.
pub(super) fn step(code: u32, reader: &mut Reader<'_>) -> Result<(CompoundStep, bool), XdrError> {
    let name = match code {
        GETXATTR => "GETXATTR",
        REMOVEXATTR => "REMOVEXATTR",
        LISTXATTRS => {
            reader.take(12)?;
            return Ok((CompoundStep::Other("LISTXATTRS"), true));
        }
        SETXATTR => return Ok((CompoundStep::Other("SETXATTR"), false)),
        _ => return Ok((CompoundStep::Ignored, false)),
    };
    skip_opaque(reader)?;
    Ok((CompoundStep::Other(name), true))
}

/// Skips a result by the number of its operation; false if that is not known either.
pub(super) fn skip_result(code: u32, reader: &mut Reader<'_>) -> Result<bool, XdrError> {
    match code {
        GETXATTR => skip_opaque(reader)?,
        SETXATTR | REMOVEXATTR => drop(ChangeInfo::get(reader)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Skips the arguments of an operation on layouts.
pub(super) fn skip_layout(operation: Operation, reader: &mut Reader<'_>) -> Result<(), XdrError> {
    match operation {
        Operation::LayoutCommit => {
            // Offset, length, reclaim, state; new offset, new time, type.
            reader.take(36)?;
            Option::<u64>::get(reader)?;
            Option::<[u8; 12]>::get(reader)?;
            reader.take(4)?;
            skip_opaque(reader)
        }
        Operation::LayoutGet => reader.take(56).map(drop),
        _ => {
            reader.take(12)?;
            if reader.u32()? == RETURN_FILE {
                // Offset, length, state.
                reader.take(32)?;
                skip_opaque(reader)?;
            }
            Ok(())
        }
    }
}

/// Skips the result of an operation on layouts.
pub(super) fn skip_layout_result(operation: Operation, reader: &mut Reader<'_>) -> Result<(), XdrError> {
    match operation {
        Operation::LayoutCommit => Option::<u64>::get(reader).map(drop),
        Operation::LayoutGet => {
            // Return on close, state; each layout has offset, length, mode, type, content.
            reader.take(20)?;
            for _ in 0..reader.u32()? {
                reader.take(24)?;
                skip_opaque(reader)?;
            }
            Ok(())
        }
        _ => Option::<StateId>::get(reader).map(drop),
    }
}
