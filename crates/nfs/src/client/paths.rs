//! Paths below the directory of the URL, and what new names get.

use sharebench_model::{ErrorClass, OpError, OpStep};

/// Permission bits of new files.
pub(crate) const FILE_MODE: u32 = 0o644;
/// Permission bits of new directories.
pub(crate) const DIRECTORY_MODE: u32 = 0o755;

/// Parent directory and last name. The root has none, and names with a special meaning are rejected.
pub(crate) fn split(path: &str) -> Result<(&str, &str), OpError> {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    check_name(name)?;
    Ok((parent, name))
}

pub(crate) fn check_name(name: &str) -> Result<(), OpError> {
    if matches!(name, "" | "." | "..") || name.contains('\0') {
        let detail = format!("'{name}' is not a valid name");
        return Err(OpError::new(ErrorClass::Unsupported, OpStep::Path, detail));
    }
    Ok(())
}
