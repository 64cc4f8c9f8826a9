//! Whether a target supports what a test requires, as a trial shows.

use sharebench_model::OpError;

/// Why a target rejects what was tried; none if it supports it.
pub(crate) type Rejection = Option<OpError>;

/// What the result of a trial says of the target.
///
/// # Errors
/// The connection has ended, which says nothing of the target.
pub(crate) fn rejection(result: Result<(), OpError>) -> Result<Rejection, OpError> {
    match result {
        Err(error) if error.class.ends_connection() => Err(error),
        result => Ok(result.err()),
    }
}
