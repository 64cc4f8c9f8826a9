//! The error of a reply that contradicts what the server was asked for.

use sharebench_model::{ErrorClass, OpError, OpStep};

pub(crate) fn wrong(detail: impl Into<String>) -> OpError {
    OpError::new(ErrorClass::DataMismatch, OpStep::Reply, detail)
}
