//! Resolves SMB paths to nodes: component by component, first exactly, then ignoring case.

use smb_server::{SmbError, SmbPath, SmbResult};

use crate::smb::volume_call::{smb_error, smb_result};
use crate::{Attributes, NodeId, ROOT, Volume, VolumeError};

/// The result of a path lookup.
pub(super) struct ResolvedPath {
    /// The directory of the last component.
    pub(super) directory: NodeId,
    /// The last component, as stored if it exists; empty for the root.
    pub(super) name: String,
    /// Its node, if it exists.
    pub(super) found: Option<Attributes>,
}

/// Resolves `path` to its last component, which may be missing.
///
/// # Errors
/// [`SmbError::PathNotFound`] if a directory on the way is missing.
pub(super) fn resolve(volume: &dyn Volume, path: &SmbPath) -> SmbResult<ResolvedPath> {
    let Some((last, way)) = path.components().split_last() else {
        let found = Some(smb_result(volume.attributes(ROOT))?);
        return Ok(ResolvedPath { directory: ROOT, name: String::new(), found });
    };
    let mut directory = ROOT;
    for component in way {
        let (_, found) = find(volume, directory, component)?.ok_or(SmbError::PathNotFound)?;
        if !found.directory {
            return Err(SmbError::PathNotFound);
        }
        directory = found.node;
    }
    Ok(match find(volume, directory, last)? {
        Some((name, found)) => ResolvedPath { directory, name, found: Some(found) },
        None => ResolvedPath { directory, name: last.clone(), found: None },
    })
}

/// The stored name and attributes of one component.
pub(super) fn find(
    volume: &dyn Volume,
    directory: NodeId,
    name: &str,
) -> SmbResult<Option<(String, Attributes)>> {
    match volume.lookup(directory, name) {
        Ok(found) => return Ok(Some((name.to_owned(), found))),
        Err(VolumeError::NotFound) => {}
        Err(error) => return Err(smb_error(error)),
    }
    match volume.lookup_any_case(directory, name) {
        Ok(found) => Ok(Some(found)),
        Err(VolumeError::NotFound) => Ok(None),
        Err(error) => Err(smb_error(error)),
    }
}
