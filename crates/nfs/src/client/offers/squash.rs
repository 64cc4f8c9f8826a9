//! Whether a server gives root the rights of root, as far as rights alone show it.

use std::net::SocketAddr;

use crate::attributes::{FileAttributes, skip_optional};
use crate::client::options::Route;
use crate::client::rpc::dial::Service;
use crate::protocol::{FileHandle, NFS_PROGRAM, NFS_VERSION, Procedure};
use crate::results::get_status;
use crate::rpc::AuthSys;
use crate::xdr::{Reader, Writer, XdrError};

/// User and group that servers use for squashed users.
const NOBODY: u32 = 65_534;
/// Bits of ACCESS (RFC 1813, 3.3.4).
const READ: u32 = 0x01;
const LOOKUP: u32 = 0x02;
const MODIFY: u32 = 0x04;
pub(super) const EXTEND: u32 = 0x08;
const ALL: u32 = READ | LOOKUP | MODIFY | EXTEND;
/// Mode bits of others.
const OTHERS_READ: u32 = 0o004;
const OTHERS_WRITE: u32 = 0o002;
const OTHERS_EXECUTE: u32 = 0o001;

/// What the rights show about root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RootSquash {
    /// Root has more rights than an unknown user.
    Off,
    /// Root lacks a right that it would have.
    On,
    /// The mode of the directory gives everybody the same rights.
    NotVisible,
}

impl RootSquash {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Off => "off: uid 0 has more rights than an unknown user",
            Self::On => "on: uid 0 has the rights of an unknown user",
            Self::NotVisible => "not visible without writing",
        }
    }
}

/// Compares the rights that the server grants to uid 0, to an unknown user and to the user of the URL; returns the latter
/// too.
pub(super) async fn examine(
    nfs: SocketAddr,
    root: FileHandle,
    attributes: &FileAttributes,
    user: &AuthSys,
    route: &Route,
) -> Option<(RootSquash, u32)> {
    let mut service = Service::program(nfs, NFS_PROGRAM, NFS_VERSION, route).await.ok()?;
    let identity = |uid: u32| AuthSys { machine: user.machine.clone(), uid, gid: uid, groups: Vec::new() };
    let of_root = rights(&mut service, root, &identity(0)).await?;
    let of_nobody = rights(&mut service, root, &identity(NOBODY)).await?;
    let of_user = rights(&mut service, root, user).await?;
    Some((judge(attributes.mode, of_root, of_nobody, of_user), of_user))
}

/// The rights that the server grants to a user.
async fn rights(service: &mut Service, directory: FileHandle, user: &AuthSys) -> Option<u32> {
    service.select(NFS_PROGRAM, NFS_VERSION, Some(user));
    let put = |writer: &mut Writer| {
        directory.put(writer);
        writer.u32(ALL);
    };
    let called = service.call("ACCESS", Procedure::Access as u32, put, get_access).await;
    called.ok().flatten()
}

/// Decodes the result of ACCESS (RFC 1813, 3.3.4: `ACCESS3res`); none if it failed.
fn get_access(reader: &mut Reader<'_>) -> Result<Option<u32>, XdrError> {
    let status = get_status(reader)?;
    skip_optional(reader)?;
    if status.is_ok() { reader.u32().map(Some) } else { Ok(None) }
}

/// Judges from the rights on a directory with this mode.
fn judge(mode: u32, root: u32, nobody: u32, user: u32) -> RootSquash {
    if root & !nobody != 0 {
        return RootSquash::Off;
    }
    // Rights that only the mode withholds from an unknown user: the real root would have them.
    let lacks = |bit: u32, right: u32| mode & bit == 0 && root & right == 0;
    if lacks(OTHERS_READ, READ) || lacks(OTHERS_EXECUTE, LOOKUP) {
        return RootSquash::On;
    }
    // Nobody may write to a read-only export, so it counts only if somebody may.
    if lacks(OTHERS_WRITE, MODIFY) && user & MODIFY != 0 {
        return RootSquash::On;
    }
    RootSquash::NotVisible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rights_of_root_are_compared_with_those_of_an_unknown_user() {
        let reading = READ | LOOKUP;
        assert_eq!(judge(0o755, ALL, reading, ALL), RootSquash::Off);
        assert_eq!(judge(0o700, 0, 0, ALL), RootSquash::On);
        assert_eq!(judge(0o755, reading, reading, ALL), RootSquash::On);
        // A read-only export: nobody may write.
        assert_eq!(judge(0o755, reading, reading, reading), RootSquash::NotVisible);
        assert_eq!(judge(0o777, ALL, ALL, ALL), RootSquash::NotVisible);
    }

    #[test]
    fn the_result_of_access_has_attributes_in_front_of_the_rights() {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        assert_eq!(get_access(&mut Reader::new(&words(&[0, 0, 7]))), Ok(Some(7)));
        assert_eq!(get_access(&mut Reader::new(&words(&[13, 0]))), Ok(None));
        assert!(get_access(&mut Reader::new(&words(&[0]))).is_err());
    }
}
