//! The components of a path below the root of a session.

use sharebench_model::{ErrorClass, OpError, OpStep};

/// Checks that no component is empty, `.` or `..`, so that no name leads out of the root. The empty path is the root itself.
pub(crate) fn check(path: &str) -> Result<(), OpError> {
    if path.is_empty() {
        return Ok(());
    }
    for part in path.split('/') {
        match part {
            "" => return Err(refused(path, "has an empty component")),
            "." | ".." => return Err(refused(path, "leaves its directory")),
            _ => {}
        }
    }
    Ok(())
}

/// The error of a path that is not accepted.
pub(crate) fn refused(path: &str, why: &str) -> OpError {
    OpError::new(ErrorClass::Refused, OpStep::Path, format!("'{path}' {why}"))
}
