//! Errors that end a connection.

use sharebench_model::{ErrorClass, OpError, OpStep};

/// An error after which the connection cannot be used any longer.
#[cold]
fn connection_error(class: ErrorClass, detail: impl Into<String>) -> OpError {
    OpError::new(class, OpStep::Session, detail)
}

/// The connection is gone; `detail` states why.
#[cold]
pub fn disconnected(detail: impl Into<String>) -> OpError {
    connection_error(ErrorClass::Disconnected, detail)
}

/// The server closed the connection while replies were outstanding.
#[cold]
pub fn closed_by_server() -> OpError {
    disconnected("the server closed the connection")
}

/// The peer sent bytes that break the protocol, so that the position in the stream is no longer known.
#[cold]
pub fn protocol_violation(error: impl std::fmt::Display) -> OpError {
    connection_error(ErrorClass::Protocol, error.to_string())
}

/// The error of an operation that is submitted after the connection failed with `cause`.
#[cold]
pub fn already_lost(cause: &OpError) -> OpError {
    disconnected(cause.detail.clone())
}
