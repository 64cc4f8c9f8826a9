//! Attributes of files, directories and links as a client reads them (RFC 7530, 5; RFC 8881, 5).

use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use sharebench_nfs::v4::attribute_types::{FileType, FsId, Time};
use sharebench_nfs::v4::attributes::Attributes as WireAttributes;
use sharebench_nfs::v4::bitmap::Bitmap;
use sharebench_nfs::v4::item::Opaque;
use sharebench_nfs::v4::list::List;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::Writer;

use crate::nfs::handle::FileObject;
use crate::nfs::state::ServerState;
use crate::nfs::v4::pseudo::PseudoRoot;
use crate::nfs::v4::{acl, errors};
use crate::{Attributes, VolumeSpace};

/// Attributes of the file system's space and files, which cost a call of the volume.
const SPACE: Bitmap = Bitmap::from_numbers(&[21, 22, 23, 42, 43, 44]);
/// `filehandle`.
const HANDLE: u32 = 19;
/// `acl`.
const ACL: u32 = 12;
/// `size`, `acl`, `mode`, `owner`, `owner_group`, `time_access_set`, `time_modify_set`.
pub(super) const SETTABLE: Bitmap = Bitmap::from_numbers(&[4, ACL, 33, 36, 37, 48, 54]);
/// Attributes that an exclusive create can set: not the times, which hold its verifier.
const EXCLUSIVE: Bitmap = Bitmap::from_numbers(&[4, 33, 36, 37]);
/// Size that is reported of directories. Some clients treat 0 as an error.
const DIRECTORY_SIZE: u64 = 4096;
/// `NFS4_CHANGE_TYPE_IS_UNDEFINED`: the number differs after each change.
const CHANGE_TYPE: u32 = 4;

/// The attributes that the server reports or sets in a minor version.
pub(super) fn supported(minor_version: u32) -> Bitmap {
    const ALWAYS: Bitmap = Bitmap::from_numbers(&[
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ACL, 13, 15, 16, 17, 18, HANDLE, 20, 21, 22, 23, 26, 27, 28,
        29, 30, 31, 33, 34, 35, 36, 37, 41, 42, 43, 44, 45, 47, 48, 50, 51, 52, 53, 54, 55,
    ]);
    match minor_version {
        0 => ALWAYS,
        1 => ALWAYS.with(75),
        _ => ALWAYS.with(75).with(77).with(79),
    }
}

/// The attributes of an object, with what they refer to.
pub(super) struct Described<'a> {
    pub(super) attributes: &'a Attributes,
    pub(super) object: FileObject,
    /// The volume's space, if it is wanted.
    pub(super) space: VolumeSpace,
}

/// A number as text, without an allocation.
#[derive(Default)]
struct Decimal {
    digits: [u8; 10],
    len: usize,
}

impl Decimal {
    fn new(number: u32) -> Self {
        let mut decimal = Self::default();
        let mut rest = &mut decimal.digits[..];
        // Ten digits suffice for every number.
        let _ = write!(rest, "{number}");
        let left = rest.len();
        decimal.len = decimal.digits.len() - left;
        decimal
    }

    fn text(&self) -> &[u8] {
        &self.digits[..self.len]
    }
}

fn time(time: SystemTime) -> Time {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => Time { seconds: since.as_secs(), nanos: since.subsec_nanos() },
        Err(before) => {
            // Before 1970, nanoseconds count forward from the preceding second.
            let before = before.duration();
            let nanos = (1_000_000_000 - before.subsec_nanos()) % 1_000_000_000;
            let seconds = before.as_secs() + u64::from(nanos > 0);
            Time { seconds: seconds.wrapping_neg(), nanos }
        }
    }
}

fn kind(attributes: &Attributes) -> FileType {
    match (attributes.directory, attributes.link) {
        (true, _) => FileType::Directory,
        (_, true) => FileType::SymbolicLink,
        _ => FileType::Regular,
    }
}

impl ServerState {
    /// Encodes the wanted attributes of an object.
    pub(super) fn put_wanted(
        &self,
        out: &mut Writer,
        minor_version: u32,
        wanted: Bitmap,
        described: &Described<'_>,
    ) {
        self.with_attributes(minor_version, wanted, described, |attributes| {
            attributes.put_masked(wanted, out);
        });
    }

    /// Passes the wanted attributes of an object to `use_them`.
    pub(super) fn with_attributes(
        &self,
        minor_version: u32,
        wanted: Bitmap,
        described: &Described<'_>,
        use_them: impl FnOnce(&WireAttributes<'_>),
    ) {
        let Described { attributes, object, space } = *described;
        let owner = Decimal::new(attributes.uid);
        let group = Decimal::new(attributes.gid);
        let mut handle = Writer::default();
        if wanted.contains(HANDLE) {
            self.handles.put_object(&mut handle, object);
        }
        let entries = if wanted.contains(ACL) { acl::of_mode(attributes.mode) } else { acl::of_mode(0) };
        let in_volume = matches!(object, FileObject::Node(_));
        let major = if in_volume { self.handles.instance() } else { 0 };
        let max = u64::from(self.options.max_transfer);
        let supported = supported(minor_version);
        let set = WireAttributes {
            supported: Some(supported),
            kind: Some(kind(attributes)),
            handle_expiry: Some(0),
            change: Some(attributes.change),
            size: Some(if attributes.directory { DIRECTORY_SIZE } else { attributes.size }),
            link_support: Some(true),
            symlink_support: Some(true),
            named_attributes: Some(false),
            fs_id: Some(FsId { major, minor: 0 }),
            unique_handles: Some(true),
            lease_seconds: Some(self.v4.state.lease_seconds()),
            error: Some(0),
            acl: Some(List::new(&entries)),
            acl_support: Some(acl::SUPPORT),
            can_set_time: Some(true),
            case_insensitive: Some(false),
            case_preserving: Some(true),
            chown_restricted: Some(true),
            handle: Some(Opaque(handle.as_slice().get(4..).unwrap_or_default())),
            file_id: Some(attributes.file_id),
            files_available: Some(space.free_files),
            files_free: Some(space.free_files),
            files_total: Some(space.total_files),
            homogeneous: Some(true),
            max_file_size: Some(i64::MAX as u64),
            max_links: Some(u32::from(u16::MAX)),
            max_name: Some(crate::MAX_NAME_BYTES as u32),
            max_read: Some(max),
            max_write: Some(max),
            mode: Some(attributes.mode & 0o7777),
            no_truncation: Some(true),
            links: Some(attributes.links),
            owner: Some(Opaque(owner.text())),
            group: Some(Opaque(group.text())),
            device: Some(sharebench_nfs::v4::attribute_types::SpecData { major: 0, minor: 0 }),
            space_available: Some(space.free_bytes),
            space_free: Some(space.free_bytes),
            space_total: Some(space.total_bytes),
            space_used: Some(attributes.allocated),
            accessed: Some(time(attributes.accessed)),
            created: Some(time(attributes.created)),
            time_delta: Some(Time { seconds: 0, nanos: 1 }),
            changed: Some(time(attributes.changed)),
            modified: Some(time(attributes.modified)),
            mounted_on: Some(attributes.file_id),
            exclusive_create: supported.contains(75).then_some(EXCLUSIVE),
            clone_block: supported.contains(77).then_some(4096),
            change_type: supported.contains(79).then_some(CHANGE_TYPE),
            ..WireAttributes::default()
        };
        use_them(&set);
    }

    /// The volume's space if an attribute needs it.
    pub(super) fn space_for(&self, wanted: Bitmap) -> Result<VolumeSpace, Nfs4Status> {
        if wanted.and(SPACE).is_empty() {
            return Ok(VolumeSpace { total_bytes: 0, free_bytes: 0, total_files: 0, free_files: 0 });
        }
        self.v4.volume.space().map_err(errors::of_node)
    }

    /// The attributes of an object.
    pub(super) fn attributes_of(&self, object: FileObject) -> Result<Attributes, Nfs4Status> {
        match object {
            FileObject::Pseudo(depth) => Ok(PseudoRoot::attributes(depth)),
            FileObject::Node(node) => self.v4.volume.attributes(node).map_err(errors::of_node),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn numbers_and_times_have_their_form_on_the_wire() {
        for number in [0, 7, 1000, u32::MAX] {
            assert_eq!(Decimal::new(number).text(), number.to_string().as_bytes());
        }
        let before = UNIX_EPOCH - Duration::new(1, 250_000_000);
        assert_eq!(time(before), Time { seconds: (-2i64).cast_unsigned(), nanos: 750_000_000 });
    }
}
