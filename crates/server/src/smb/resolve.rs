//! Resolves SMB paths to nodes: component by component, first exactly, then ignoring case.

use sharebench_smb::NtStatus;

use crate::smb::open_files::Place;
use crate::smb::status::{Outcome, status};
use crate::{Attributes, NodeId, ROOT, Volume, VolumeError};

/// Maximum number of names in a path.
const MAX_DEPTH: usize = 256;

/// The result of a path lookup.
pub(super) struct ResolvedPath {
    /// Directory and name of the last component, as stored if it exists.
    pub(super) place: Place,
    /// Its node, if it exists.
    pub(super) found: Option<Attributes>,
}

/// True for names that a path can contain (MS-FSCC 2.1.5); NFS clients may create others.
pub(super) fn is_expressible(name: &str) -> bool {
    !name.contains(|letter: char| letter.is_ascii_control() || "\\/:*?\"<>|".contains(letter))
}

/// The names of a path. A path never leads upwards, because `.` and `..` are no names.
fn names(path: &str) -> Outcome<Vec<&str>> {
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = path.split('\\').collect();
    let valid = |name: &&str| !matches!(*name, "" | "." | "..") && is_expressible(name);
    if names.len() > MAX_DEPTH || !names.iter().all(valid) {
        return Err(NtStatus::OBJECT_NAME_INVALID);
    }
    Ok(names)
}

/// The last name of a path as the client spells it; empty for the root.
pub(super) fn last_name(path: &str) -> &str {
    path.rsplit('\\').next().unwrap_or_default()
}

/// Resolves a path to its last component, which may be missing.
///
/// # Errors
/// `STATUS_OBJECT_PATH_NOT_FOUND` if a directory on the way is missing.
pub(super) fn resolve(volume: &dyn Volume, path: &str) -> Outcome<ResolvedPath> {
    let names = names(path)?;
    let place = |directory, name: &str| Place { directory, name: name.to_owned(), path: path.to_owned() };
    let Some((last, way)) = names.split_last() else {
        let found = Some(volume.attributes(ROOT).map_err(status)?);
        return Ok(ResolvedPath { place: place(ROOT, ""), found });
    };
    let mut directory = ROOT;
    for name in way {
        let (_, found) = find(volume, directory, name)?.ok_or(NtStatus::OBJECT_PATH_NOT_FOUND)?;
        if !found.directory {
            return Err(NtStatus::OBJECT_PATH_NOT_FOUND);
        }
        directory = found.node;
    }
    Ok(match find(volume, directory, last)? {
        Some((name, found)) => ResolvedPath { place: place(directory, &name), found: Some(found) },
        None => ResolvedPath { place: place(directory, last), found: None },
    })
}

/// The stored name and attributes of one component.
pub(super) fn find(
    volume: &dyn Volume,
    directory: NodeId,
    name: &str,
) -> Outcome<Option<(String, Attributes)>> {
    match volume.lookup(directory, name) {
        Ok(found) => return Ok(Some((name.to_owned(), found))),
        Err(VolumeError::NotFound) => {}
        Err(error) => return Err(status(error)),
    }
    match volume.lookup_any_case(directory, name) {
        Ok(found) => Ok(Some(found)),
        Err(VolumeError::NotFound) => Ok(None),
        Err(error) => Err(status(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn paths_that_lead_elsewhere_are_rejected() {
        for path in ["..", "a\\..\\b", "\\a", "a\\", "a\\\\b", ".", "a/b", "a:stream", "a*", "\u{1}"] {
            assert!(names(path).is_err(), "{path:?}");
        }
        assert!(names(&"a\\".repeat(300)).is_err());
        assert_eq!(names("").unwrap().len(), 0);
        assert_eq!(names("a\\.b\\ü").unwrap(), ["a", ".b", "ü"]);
    }
}
