//! MOUNT version 3 (RFC 1813, 5).

use crate::exports::AUTH_NONE;
use crate::protocol::{FileHandle, MAX_PATH_BYTES};
use crate::status::MountStatus;
use crate::xdr::{Reader, Writer, XdrError};

/// `MOUNTPROC3_MNT`.
pub const MNT: u32 = 1;
/// `MOUNTPROC3_DUMP`.
pub const DUMP: u32 = 2;
/// `MOUNTPROC3_UMNT`.
pub const UMNT: u32 = 3;
/// `MOUNTPROC3_UMNTALL`.
pub const UMNTALL: u32 = 4;
/// `MOUNTPROC3_EXPORT`.
pub const EXPORT: u32 = 5;

/// Maximum number of security flavors in a reply.
const MAX_FLAVORS: usize = 64;

/// A successful MNT (RFC 1813, 5.2.1: `mountres3_ok`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounted {
    /// Root of the mounted tree.
    pub handle: FileHandle,
    /// Security flavors that the server accepts; empty if it lists none.
    pub flavors: Vec<u32>,
}

/// Encodes the argument of MNT and UMNT (RFC 1813, 5.2.1: `dirpath`). A longer path is cut at [`MAX_PATH_BYTES`].
pub fn put_path(writer: &mut Writer, path: &str) {
    let bytes = path.as_bytes();
    writer.opaque(&bytes[..bytes.len().min(MAX_PATH_BYTES)]);
}

impl Mounted {
    /// True if the server accepts a flavor; see [`accepts`].
    pub fn accepts(&self, flavor: u32) -> bool {
        accepts(&self.flavors, flavor)
    }
}

/// True if a list of flavors in the reply to MNT accepts a flavor: it is empty, includes the flavor, or includes `AUTH_NONE`.
/// A server that lists `AUTH_NONE` ignores credentials, so that every flavor works, as the Linux client understands it.
pub fn accepts(flavors: &[u32], flavor: u32) -> bool {
    flavors.is_empty() || flavors.contains(&flavor) || flavors.contains(&AUTH_NONE)
}

/// Decodes the result of MNT (RFC 1813, 5.2.1: `mountres3`).
pub fn get_mounted(reader: &mut Reader<'_>) -> Result<Result<Mounted, MountStatus>, XdrError> {
    match reader.u32()? {
        0 => {}
        status => return Ok(Err(MountStatus(status))),
    }
    let handle = FileHandle::get(reader)?;
    let count = reader.u32()?;
    if count as usize > MAX_FLAVORS {
        return Err(XdrError::TooLong { field: "auth flavors", len: count, max: MAX_FLAVORS });
    }
    let flavors = (0..count).map(|_| reader.u32()).collect::<Result<_, _>>()?;
    Ok(Ok(Mounted { handle, flavors }))
}

/// The exports to try for a path, the longest first, each with the names to look up below it.
pub fn candidates(path: &str) -> Vec<(String, Vec<String>)> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let split = |at: usize| {
        let (export, rest) = names.split_at(at);
        (format!("/{}", export.join("/")), rest.iter().map(|name| (*name).to_owned()).collect())
    };
    (0..=names.len()).rev().map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_export_is_first_and_the_root_is_last() {
        let tries = candidates("/srv//data/deep/");
        let exports: Vec<&str> = tries.iter().map(|(export, _)| export.as_str()).collect();
        assert_eq!(exports, ["/srv/data/deep", "/srv/data", "/srv", "/"]);
        assert_eq!(tries[1].1, ["deep"]);
        assert_eq!(tries[3].1, ["srv", "data", "deep"]);
        assert_eq!(candidates("/"), [("/".to_owned(), vec![])]);
    }

    #[test]
    fn a_mount_result_lists_its_flavors() {
        let accepts = |flavors: &[u32], flavor| {
            let mut writer = Writer::default();
            writer.u32(0);
            writer.opaque(b"root");
            writer.u32(flavors.len() as u32);
            writer.words(flavors);
            get_mounted(&mut Reader::new(writer.as_slice())).unwrap().unwrap().accepts(flavor)
        };
        assert!(accepts(&[], 1) && accepts(&[390_003, 1], 1));
        assert!(!accepts(&[390_003], 1) && !accepts(&[1], 390_003));
        // A server that ignores credentials takes those of any flavor.
        assert!(accepts(&[0], 1) && accepts(&[0], 390_003) && accepts(&[390_003, 0], 1));
    }

    #[test]
    fn too_many_flavors_are_an_error() {
        let bytes = [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        assert!(get_mounted(&mut Reader::new(&bytes)).is_err());
    }

    #[test]
    fn a_mount_failure_keeps_its_status() {
        assert_eq!(get_mounted(&mut Reader::new(&[0, 0, 0, 13])), Ok(Err(MountStatus::ACCES)));
    }
}
