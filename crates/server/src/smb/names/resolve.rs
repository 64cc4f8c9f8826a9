//! Resolves SMB paths to nodes: component by component, first exactly, then ignoring case.

use sharebench_smb::NtStatus;

use crate::smb::names::file_locations::FileLocation;
use crate::smb::status::{Outcome, status};
use crate::volume::name::fold_case;
use crate::{Attributes, NodeId, ROOT, Volume, VolumeError};

/// Maximum number of names in a path.
const MAX_DEPTH: usize = 256;

/// The result of a path lookup.
pub(crate) struct ResolvedPath {
    /// Directory and name of the last component, as stored if it exists.
    pub(crate) location: FileLocation,
    /// Its node, if it exists.
    pub(crate) found: Option<Attributes>,
}

/// True for names that a path can contain (MS-FSCC 2.1.5); NFS clients may create others.
pub(crate) fn is_expressible(name: &str) -> bool {
    !name.contains(|letter: char| letter.is_ascii_control() || "\\/:*?\"<>|".contains(letter))
}

/// The names of a path. A path never leads upwards, because `.` and `..` are no names.
fn names(path: &str) -> Outcome<Vec<&str>> {
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = path.split('\\').collect();
    // A path that leads out of the share in any case.
    if names.starts_with(&["..", ".."]) {
        return Err(NtStatus::OBJECT_PATH_SYNTAX_BAD);
    }
    let valid = |name: &&str| !matches!(*name, "" | "." | "..") && is_expressible(name);
    if names.len() > MAX_DEPTH || !names.iter().all(valid) {
        return Err(NtStatus::OBJECT_NAME_INVALID);
    }
    Ok(names)
}

/// A path as this server stores it: `\` between names, also for clients that send `/`, and none at the end, where clients
/// written in Java send one for directories.
pub(crate) fn normalized(path: &str) -> String {
    let mut path = path.replace('/', "\\");
    // A separator alone is kept: CREATE rejects it.
    path.truncate(path.trim_end_matches('\\').len().max(1).min(path.len()));
    path
}

/// Longest name of a stream in bytes, which is a part of the name of an extended attribute.
const MAX_STREAM_NAME: usize = 200;

/// A path without the stream at its end, and the name of that stream. `::$DATA` is the file itself (MS-FSCC 2.1.5.1).
pub(crate) fn split_stream(path: &str) -> Outcome<(&str, Option<&str>)> {
    let start = path.rfind('\\').map_or(0, |at| at + 1);
    let Some(colon) = path.get(start..).and_then(|last| last.find(':')) else { return Ok((path, None)) };
    let (base, stream) = path.split_at(start + colon);
    let mut parts = stream.split(':').skip(1);
    let name = parts.next().unwrap_or_default();
    let kind = parts.next();
    let data = kind.is_none_or(|kind| kind.eq_ignore_ascii_case("$DATA"));
    // Control characters are legal here: Windows stores document properties in "\u{5}SummaryInformation" (MS-FSCC 2.1.5.3).
    let valid = !name.contains(['\0', '/']);
    if !data
        || !valid
        || parts.next().is_some()
        || name.len() > MAX_STREAM_NAME
        || name.is_empty() && kind.is_none()
    {
        return Err(NtStatus::OBJECT_NAME_INVALID);
    }
    Ok((base, (!name.is_empty()).then_some(name)))
}

/// The stream of a node with this name, with its stored name.
pub(crate) fn find_stream(
    volume: &dyn Volume,
    node: NodeId,
    name: &str,
) -> Outcome<Option<(String, Attributes)>> {
    let folded = fold_case(name);
    let mut streams = volume.streams(node).map_err(status)?.into_iter();
    Ok(streams.find(|(other, _)| fold_case(other) == folded))
}

/// The last name of a path as the client spells it; empty for the root.
pub(crate) fn last_name(path: &str) -> &str {
    path.rsplit('\\').next().unwrap_or_default()
}

/// Resolves a path to its last component, which may be missing.
///
/// # Errors
/// `STATUS_OBJECT_PATH_NOT_FOUND` if a directory on the way is missing.
pub(crate) fn resolve(volume: &dyn Volume, path: &str) -> Outcome<ResolvedPath> {
    let names = names(path)?;
    let location = |directory, name: &str| FileLocation {
        directory,
        name: name.to_owned(),
        path: path.to_owned(),
        stream: None,
    };
    let Some((last, way)) = names.split_last() else {
        let found = Some(volume.attributes(ROOT).map_err(status)?);
        return Ok(ResolvedPath { location: location(ROOT, ""), found });
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
        Some((name, found)) => ResolvedPath { location: location(directory, &name), found: Some(found) },
        None => ResolvedPath { location: location(directory, last), found: None },
    })
}

/// The stored name and attributes of one component.
pub(crate) fn find(
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
    use super::{names, split_stream};

    #[test]
    fn a_stream_is_named_after_its_file() {
        assert_eq!(split_stream("a\\b"), Ok(("a\\b", None)));
        assert_eq!(split_stream("a\\b:s"), Ok(("a\\b", Some("s"))));
        assert_eq!(split_stream("b:s:$data"), Ok(("b", Some("s"))));
        assert_eq!(split_stream("b::$DATA"), Ok(("b", None)));
        let properties = "\u{5}SummaryInformation";
        assert_eq!(split_stream(&format!("b:{properties}:$DATA")), Ok(("b", Some(properties))));
        for path in ["b:", "b::", "b:s:$EA", "b:s:$DATA:x", "b:a/b", "b:\0"] {
            assert!(split_stream(path).is_err(), "{path:?}");
        }
        assert_eq!(split_stream("a:s\\b"), Ok(("a:s\\b", None)));
    }

    #[test]
    fn paths_that_lead_elsewhere_are_rejected() {
        for path in ["..", "a\\..\\b", "\\a", "a\\\\b", ".", "a/b", "a:stream", "a*", "\u{1}"] {
            assert!(names(path).is_err(), "{path:?}");
        }
        assert!(names(&"a\\".repeat(300)).is_err());
        assert_eq!(names("").unwrap().len(), 0);
        assert_eq!(names("a\\.b\\ü").unwrap(), ["a", ".b", "ü"]);
    }
}
