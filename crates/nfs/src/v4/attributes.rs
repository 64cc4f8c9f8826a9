//! Attributes of files by number (RFC 7530, 5; RFC 8881, 5; RFC 7862, 12; RFC 8275; RFC 8276).

use crate::v4::attribute_types::{
    Ace, FileType, FsId, FsLocations, MAX_ACES, ModeMasked, ModeUmask, Owner, SetTime, SpecData, Time,
};
use crate::v4::bitmap::Bitmap;
use crate::v4::item::{Item, Opaque};
use crate::v4::list::List;
use crate::xdr::{Reader, Writer, XdrError};

/// Field of the [`XdrError::BadValue`] of an attribute that the decoded set does not have; its value is the number of
/// the attribute. A server answers with `NFS4ERR_ATTRNOTSUPP`, or with `NFS4ERR_INVAL` if the attribute is read-only.
pub const UNKNOWN_ATTRIBUTE: &str = "attribute";

/// Defines a set of optional attributes (`fattr4`): a bitmap, and the values in the order of their numbers.
macro_rules! attributes {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name<'a> {
            $($(#[$field_doc])* pub $field: Option<$type>,)*
        }

        impl<'a> $name<'a> {
            /// The attributes of this type.
            pub const KNOWN: Bitmap = Bitmap::from_numbers(&[$($number),*]);

            /// The attributes that have a value.
            pub fn mask(&self) -> Bitmap {
                let mut mask = Bitmap::default();
                $(if self.$field.is_some() { mask = mask.with($number); })*
                mask
            }

            /// Decodes the values of the attributes in `mask`, up to the first one that is malformed.
            fn get_values(&mut self, mask: Bitmap, values: &mut Reader<'a>) -> Result<(), XdrError> {
                $(if mask.contains($number) { self.$field = Some(Item::get(values)?); })*
                Ok(())
            }

            /// Encodes those attributes that are in `wanted`.
            pub fn put_masked(&self, wanted: Bitmap, writer: &mut Writer) {
                let mask = self.mask().and(wanted);
                mask.put(writer);
                let at = writer.len();
                writer.u32(0);
                $(if let Some(value) = self.$field && mask.contains($number) { value.put(writer); })*
                let len = writer.len() - at - 4;
                writer.patch(at, len as u32);
            }
        }

        impl<'a> Item<'a> for $name<'a> {
            fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
                let mask = Bitmap::get(reader)?;
                // The message limits the length of the values.
                let mut values = Reader::new(reader.opaque("attribute values", reader.rest().len())?);
                let mut set = Self::default();
                let unknown = mask.without(Self::KNOWN).iter().next();
                if reader.is_of_capture() {
                    // What follows an attribute of unknown length cannot be found.
                    let _ = set.get_values(mask.below(unknown), &mut values);
                    return Ok(set);
                }
                if let Some(value) = unknown {
                    return Err(XdrError::BadValue { field: UNKNOWN_ATTRIBUTE, value });
                }
                set.get_values(mask, &mut values)?;
                match values.rest().len() {
                    0 => Ok(set),
                    left => Err(XdrError::BadValue { field: "bytes after the attributes", value: left as u32 }),
                }
            }

            fn put(&self, writer: &mut Writer) {
                self.put_masked(Self::KNOWN, writer);
            }
        }
    };
}

attributes! {
    /// Attributes that a server reports. Each field is an attribute of the specification with the same meaning.
    Attributes {
        /// `supported_attrs`: what the server supports for the object.
        supported: Bitmap = 0,
        /// `type`.
        kind: FileType = 1,
        /// `fh_expire_type`: 0 means that handles are persistent.
        handle_expiry: u32 = 2,
        /// `change`: a number that differs after each change.
        change: u64 = 3,
        /// `size` in bytes.
        size: u64 = 4,
        /// `link_support`: the file system has hard links.
        link_support: bool = 5,
        /// `symlink_support`: the file system has symbolic links.
        symlink_support: bool = 6,
        /// `named_attr`: the object has named attributes.
        named_attributes: bool = 7,
        /// `fsid`: the file system.
        fs_id: FsId = 8,
        /// `unique_handles`: different handles are different objects.
        unique_handles: bool = 9,
        /// `lease_time` in seconds.
        lease_seconds: u32 = 10,
        /// `rdattr_error`: why READDIR could not read the attributes of an entry (`nfsstat4`).
        error: u32 = 11,
        /// `acl`.
        acl: List<'a, Ace<'a>, MAX_ACES> = 12,
        /// `aclsupport`: the supported types of entries.
        acl_support: u32 = 13,
        /// `archive`: the object was archived since it was changed last.
        archived: bool = 14,
        /// `cansettime`: the times can be set.
        can_set_time: bool = 15,
        /// `case_insensitive`.
        case_insensitive: bool = 16,
        /// `case_preserving`.
        case_preserving: bool = 17,
        /// `chown_restricted`.
        chown_restricted: bool = 18,
        /// `filehandle`.
        handle: Opaque<'a, 128> = 19,
        /// `fileid`: number of the object in its file system.
        file_id: u64 = 20,
        /// `files_avail`: files that the user can create.
        files_available: u64 = 21,
        /// `files_free`.
        files_free: u64 = 22,
        /// `files_total`.
        files_total: u64 = 23,
        /// `fs_locations`: where the file system is, or has moved to.
        locations: FsLocations<'a> = 24,
        /// `homogeneous`: the attributes of the file system are the same for all objects.
        homogeneous: bool = 26,
        /// `maxfilesize` in bytes.
        max_file_size: u64 = 27,
        /// `maxlink`: hard links of an object.
        max_links: u32 = 28,
        /// `maxname` in bytes.
        max_name: u32 = 29,
        /// `maxread` in bytes.
        max_read: u64 = 30,
        /// `maxwrite` in bytes.
        max_write: u64 = 31,
        /// `mode`: permission bits.
        mode: u32 = 33,
        /// `no_trunc`: a name that is too long is an error.
        no_truncation: bool = 34,
        /// `numlinks`.
        links: u32 = 35,
        /// `owner`.
        owner: Owner<'a> = 36,
        /// `owner_group`.
        group: Owner<'a> = 37,
        /// `rawdev`: numbers of a device.
        device: SpecData = 41,
        /// `space_avail`: bytes available to the user.
        space_available: u64 = 42,
        /// `space_free` in bytes.
        space_free: u64 = 43,
        /// `space_total` in bytes.
        space_total: u64 = 44,
        /// `space_used`: allocated bytes of the object.
        space_used: u64 = 45,
        /// `time_access`.
        accessed: Time = 47,
        /// `time_backup`.
        backed_up: Time = 49,
        /// `time_create`.
        created: Time = 50,
        /// `time_delta`: granularity of times.
        time_delta: Time = 51,
        /// `time_metadata`: last change of attributes.
        changed: Time = 52,
        /// `time_modify`: last change of content.
        modified: Time = 53,
        /// `mounted_on_fileid`.
        mounted_on: u64 = 55,
        /// `fs_layout_type`: layouts of pNFS.
        layout_types: List<'a, u32, 16> = 62,
        /// `layout_blksize` in bytes.
        layout_block: u32 = 65,
        /// `suppattr_exclcreat`: attributes that an exclusive create can set.
        exclusive_create: Bitmap = 75,
        /// `fs_charset_cap`.
        charset: u32 = 76,
        /// `clone_blksize` in bytes.
        clone_block: u32 = 77,
        /// `space_freed`: bytes that the deletion of the object frees.
        space_freed: u64 = 78,
        /// `change_attr_type`.
        change_type: u32 = 79,
        /// `xattr_support`.
        xattr_support: bool = 82,
    }
}

attributes! {
    /// Attributes that a client sets.
    SetAttributes {
        /// `size` in bytes.
        size: u64 = 4,
        /// `acl`.
        acl: List<'a, Ace<'a>, MAX_ACES> = 12,
        /// `mode`: permission bits.
        mode: u32 = 33,
        /// `owner`.
        owner: Owner<'a> = 36,
        /// `owner_group`.
        group: Owner<'a> = 37,
        /// `time_access_set`.
        accessed: SetTime = 48,
        /// `time_backup`.
        backed_up: Time = 49,
        /// `time_create`.
        created: Time = 50,
        /// `time_modify_set`.
        modified: SetTime = 54,
        /// `mode_set_masked`.
        mode_masked: ModeMasked = 74,
        /// `mode_umask`.
        mode_umask: ModeUmask = 81,
    }
}
