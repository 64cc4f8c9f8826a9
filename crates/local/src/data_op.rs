//! What data operations of every system have in common.

use sharebench_model::{DataOp, ErrorClass, FileRef, OpError, OpStep};

use crate::error_code::ErrorCode;

/// The file of an operation, and the bytes of the slot that it uses.
#[inline]
pub(crate) fn file_and_len(op: DataOp) -> (FileRef, u32) {
    match op {
        DataOp::Read { file, len, .. } | DataOp::Write { file, len, .. } => (file, len),
        DataOp::Flush { file } => (file, 0),
    }
}

/// A record larger than the slot is rejected, never split.
#[cold]
pub(crate) fn too_long(len: u32, slot_bytes: usize) -> OpError {
    let detail = format!("{len} bytes do not fit a slot of {slot_bytes}");
    OpError::new(ErrorClass::Refused, OpStep::Submit, detail)
}

/// A call on a file that is open for `kind` I/O, which has an alignment rule that the code does not show.
#[cold]
pub(crate) fn unaligned(code: ErrorCode, call: &'static str, kind: &str, unit: u32) -> OpError {
    let detail =
        format!("{}: {kind} I/O needs offsets and lengths in multiples of {unit} bytes", code.name());
    OpError::new(ErrorClass::Unsupported, OpStep::SystemCall(call), detail)
}
