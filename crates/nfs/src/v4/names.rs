//! Operations on names and attributes (RFC 7530, 16.1, 16.4, 16.7, 16.9, 16.13, 16.15, 16.25 to 16.27, 16.31, 16.32).

use crate::v4::attribute_types::{Component, FileType, SpecData};
use crate::v4::attributes::{Attributes, SetAttributes};
use crate::v4::bitmap::Bitmap;
use crate::v4::data::StateId;
use crate::v4::item::{Item, Opaque, message};
use crate::v4::list::List;
use crate::v4::open::ChangeInfo;
use crate::xdr::{Reader, Writer, XdrError};

/// Longest content of a symbolic link that is accepted.
pub const MAX_LINK_BYTES: usize = 4096;

/// `ACCESS4_READ`.
pub const ACCESS_READ: u32 = 1;
/// `ACCESS4_LOOKUP`.
pub const ACCESS_LOOKUP: u32 = 2;
/// `ACCESS4_MODIFY`.
pub const ACCESS_MODIFY: u32 = 4;
/// `ACCESS4_EXTEND`.
pub const ACCESS_EXTEND: u32 = 8;
/// `ACCESS4_DELETE`.
pub const ACCESS_DELETE: u32 = 16;
/// `ACCESS4_EXECUTE`.
pub const ACCESS_EXECUTE: u32 = 32;

message! {
    /// Arguments of `LOOKUP`, and of `SECINFO`.
    Lookup<'a> {
        /// The name in the current directory.
        name: Component<'a>,
    }
}

message! {
    /// Arguments of `ACCESS`.
    Access {
        /// `ACCESS4_*`.
        wanted: u32,
    }
}

message! {
    /// Result of `ACCESS`.
    Accessible {
        /// Rights that the server can check.
        supported: u32,
        /// Rights that the user has.
        granted: u32,
    }
}

/// What `CREATE` creates (`createtype4`). Files are created by `OPEN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewObject<'a> {
    /// A symbolic link with this content.
    SymbolicLink(Opaque<'a, MAX_LINK_BYTES>),
    /// A block device.
    Block(SpecData),
    /// A character device.
    Character(SpecData),
    /// A directory, a socket or a FIFO; a server rejects other kinds with `NFS4ERR_BADTYPE`.
    Plain(FileType),
}

impl<'a> Item<'a> for NewObject<'a> {
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        match FileType::get(reader)? {
            FileType::SymbolicLink => Item::get(reader).map(Self::SymbolicLink),
            FileType::Block => Item::get(reader).map(Self::Block),
            FileType::Character => Item::get(reader).map(Self::Character),
            kind => Ok(Self::Plain(kind)),
        }
    }

    fn put(&self, writer: &mut Writer) {
        match self {
            Self::SymbolicLink(content) => {
                FileType::SymbolicLink.put(writer);
                content.put(writer);
            }
            Self::Block(device) => {
                FileType::Block.put(writer);
                device.put(writer);
            }
            Self::Character(device) => {
                FileType::Character.put(writer);
                device.put(writer);
            }
            Self::Plain(kind) => kind.put(writer),
        }
    }
}

message! {
    /// Arguments of `CREATE`.
    Create<'a> {
        /// What is created.
        object: NewObject<'a>,
        /// Its name in the current directory.
        name: Component<'a>,
        /// Its attributes.
        attributes: SetAttributes<'a>,
    }
}

message! {
    /// Result of `CREATE`.
    Created {
        /// The directory.
        change: ChangeInfo,
        /// Attributes that were set.
        set: Bitmap,
    }
}

message! {
    /// Arguments of `REMOVE`; its result is a [`ChangeInfo`].
    Remove<'a> {
        /// The name in the current directory.
        name: Component<'a>,
    }
}

message! {
    /// Arguments of `RENAME`, from the saved to the current directory.
    Rename<'a> {
        /// Name in the saved directory.
        from: Component<'a>,
        /// Name in the current directory.
        to: Component<'a>,
    }
}

message! {
    /// Result of `RENAME`.
    Renamed {
        /// The saved directory.
        from: ChangeInfo,
        /// The current directory.
        to: ChangeInfo,
    }
}

message! {
    /// Arguments of `LINK`: a name in the current directory for the saved object; its result is a [`ChangeInfo`].
    Link<'a> {
        /// The name.
        name: Component<'a>,
    }
}

message! {
    /// Result of `READLINK`.
    LinkContent<'a> {
        /// The content.
        content: Opaque<'a, MAX_LINK_BYTES>,
    }
}

message! {
    /// Arguments of `GETATTR`.
    GetAttr {
        /// The wanted attributes.
        wanted: Bitmap,
    }
}

message! {
    /// Result of `GETATTR`, and arguments of `VERIFY` and `NVERIFY`.
    FileAttributes<'a> {
        /// The attributes.
        attributes: Attributes<'a>,
    }
}

message! {
    /// Arguments of `SETATTR`. Its result is a [`Bitmap`] of the attributes that were set, also after a failure.
    SetAttr<'a> {
        /// The open file, if the size is set.
        state: StateId,
        /// The attributes.
        attributes: SetAttributes<'a>,
    }
}

/// `RPCSEC_GSS`, the flavor that a mechanism follows.
const RPCSEC_GSS: u32 = 6;

message! {
    /// A mechanism of `RPCSEC_GSS` (`rpcsec_gss_info`).
    GssMechanism<'a> {
        /// Its object identifier.
        oid: Opaque<'a, 256>,
        /// Quality of protection.
        quality: u32,
        /// Service: authentication, integrity or privacy.
        service: u32,
    }
}

/// A security flavor that a server accepts (`secinfo4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecurityFlavor<'a> {
    /// A flavor of RPC, such as `AUTH_SYS`.
    Rpc(u32),
    /// `RPCSEC_GSS`.
    Gss(GssMechanism<'a>),
}

impl<'a> Item<'a> for SecurityFlavor<'a> {
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        match reader.u32()? {
            RPCSEC_GSS => Item::get(reader).map(Self::Gss),
            flavor => Ok(Self::Rpc(flavor)),
        }
    }

    fn put(&self, writer: &mut Writer) {
        match self {
            Self::Rpc(flavor) => writer.u32(*flavor),
            Self::Gss(mechanism) => {
                writer.u32(RPCSEC_GSS);
                mechanism.put(writer);
            }
        }
    }
}

message! {
    /// Result of `SECINFO` and of `SECINFO_NO_NAME`.
    SecurityFlavors<'a> {
        /// The flavors, the preferred one first.
        flavors: List<'a, SecurityFlavor<'a>, 32>,
    }
}

message! {
    /// Arguments of `SECINFO_NO_NAME` (RFC 8881, 18.45).
    SecInfoNoName {
        /// 0 for the current handle, 1 for its parent.
        style: u32,
    }
}
