//! Errors of data: wrong bytes and short transfers.

use sharebench_model::{ErrorClass, OpError, OpStep};

use crate::data::stamp;

/// The error of a read that returned wrong data, with the position and what was found there.
pub(crate) fn mismatch_error(path: &str, mismatch: &stamp::Mismatch) -> OpError {
    OpError::new(ErrorClass::DataMismatch, OpStep::Verify, format!("{path} {mismatch}"))
}

/// The error of a transfer that was shorter than requested although the file does not end there.
pub(crate) fn short(bytes: u32, wanted: u32, offset: u64) -> OpError {
    let detail = format!("short transfer: {bytes} of {wanted} bytes at offset {offset}");
    OpError::new(ErrorClass::DataMismatch, OpStep::Verify, detail)
}
