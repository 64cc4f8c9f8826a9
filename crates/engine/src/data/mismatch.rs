//! Errors of data: wrong bytes and short transfers.

use sharebench_model::{ErrorClass, OpError};

use crate::data::stamp;

/// A data error in words.
pub(crate) fn mismatch_error(path: &str, mismatch: &stamp::Mismatch) -> OpError {
    OpError::new(ErrorClass::DataMismatch, "verify", format!("{path} {mismatch}"))
}

/// A transfer that ended before the end of the file.
pub(crate) fn short(bytes: u32, wanted: u32, offset: u64) -> OpError {
    let detail = format!("{bytes} of {wanted} bytes at offset {offset}");
    OpError::new(ErrorClass::DataMismatch, "short transfer", detail)
}
