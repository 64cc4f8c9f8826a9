//! COMPOUND of NFSv4 (RFC 7530, 14.2), as far as it shows which minor versions a server offers.

use crate::xdr::{Reader, Writer, XdrError};

pub use crate::v4::compound::{COMPOUND, NFS4_VERSION};

/// `OP_PUTROOTFH`.
const PUT_ROOT_HANDLE: u32 = 24;
/// `NFS4ERR_MINOR_VERS_MISMATCH`.
const MINOR_VERSION_MISMATCH: u32 = 10_021;

/// Encodes the argument of a COMPOUND of a minor version that does nothing but select the root of the server.
pub fn put_root_selection(writer: &mut Writer, minor_version: u32) {
    // An empty tag, the minor version, one operation.
    writer.words(&[0, minor_version, 1, PUT_ROOT_HANDLE]);
}

/// Decodes the status of a COMPOUND: true if the server offers its minor version. From minor version 1 on, the server
/// rejects the operation itself, because it belongs to no session (RFC 8881, 2.10).
pub fn offers_minor_version(reader: &mut Reader<'_>) -> Result<bool, XdrError> {
    Ok(reader.u32()? != MINOR_VERSION_MISMATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_mismatch_means_that_the_minor_version_is_missing() {
        let mut writer = Writer::default();
        put_root_selection(&mut writer, 2);
        assert_eq!(writer.as_slice().len(), 16);
        let offers = |status: u32| offers_minor_version(&mut Reader::new(&status.to_be_bytes()));
        assert_eq!((offers(0), offers(10_071), offers(10_021)), (Ok(true), Ok(true), Ok(false)));
        assert!(offers_minor_version(&mut Reader::new(&[0, 0])).is_err());
    }
}
