//! Opens and delegations (RFC 7530, 16.2, 16.8, 16.16 to 16.19; RFC 8881, 18.16).

use crate::v4::attribute_types::{Ace, Component};
use crate::v4::attributes::SetAttributes;
use crate::v4::bitmap::Bitmap;
use crate::v4::data::StateId;
use crate::v4::item::{Item, Opaque, enumeration, message};
use crate::v4::session::MAX_OWNER_BYTES;
use crate::xdr::{Reader, Writer, XdrError};

/// `OPEN4_SHARE_ACCESS_READ`.
pub const SHARE_READ: u32 = 1;
/// `OPEN4_SHARE_ACCESS_WRITE`.
pub const SHARE_WRITE: u32 = 2;
/// `OPEN4_SHARE_ACCESS_BOTH`.
pub const SHARE_BOTH: u32 = 3;
/// `OPEN4_SHARE_DENY_NONE`.
pub const DENY_NONE: u32 = 0;
/// `OPEN4_SHARE_DENY_BOTH`.
pub const DENY_BOTH: u32 = 3;
/// Bits that request a delegation (RFC 8881, 18.16.3: `OPEN4_SHARE_ACCESS_WANT_DELEG_MASK`).
pub const WANT_DELEGATION_MASK: u32 = 0xff00;
/// `OPEN4_SHARE_ACCESS_WANT_READ_DELEG`.
pub const WANT_READ_DELEGATION: u32 = 0x0100;
/// `OPEN4_SHARE_ACCESS_WANT_NO_DELEG`.
pub const WANT_NO_DELEGATION: u32 = 0x0400;

/// `OPEN4_RESULT_CONFIRM`: the open needs `OPEN_CONFIRM`.
pub const RESULT_CONFIRM: u32 = 2;
/// `OPEN4_RESULT_LOCKTYPE_POSIX`: locks can be split and merged.
pub const RESULT_LOCKTYPE_POSIX: u32 = 4;
/// `OPEN4_RESULT_PRESERVE_UNLINKED`: an open file survives its last name.
pub const RESULT_PRESERVE_UNLINKED: u32 = 8;
/// `OPEN4_RESULT_MAY_NOTIFY_LOCK`: the server may call `CB_NOTIFY_LOCK`.
pub const RESULT_MAY_NOTIFY_LOCK: u32 = 32;

message! {
    /// Owner of opens or locks (`open_owner4`, `lock_owner4`). From minor version 1 on, a server takes the client from
    /// the session.
    StateOwner<'a> {
        /// The client.
        client_id: u64,
        /// Distinguishes the owners of the client.
        owner: Opaque<'a, MAX_OWNER_BYTES>,
    }
}

message! {
    /// The `change` attribute of a directory around an operation (`change_info4`).
    ChangeInfo {
        /// True if nothing else happened in between.
        atomic: bool,
        /// Its value before.
        before: u64,
        /// Its value after.
        after: u64,
    }
}

message! {
    /// Attributes and verifier of a new file (`creatverfattr`).
    ExclusiveCreate<'a> {
        /// Recognizes a repeated create.
        verifier: [u8; 8],
        /// Attributes.
        attributes: SetAttributes<'a>,
    }
}

/// Whether and how OPEN creates the file (`openflag4`, `createhow4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenHow<'a> {
    /// `OPEN4_NOCREATE`.
    Existing,
    /// `UNCHECKED4`: opens the file if it exists.
    Unchecked(SetAttributes<'a>),
    /// `GUARDED4`: an existing file is an error.
    Guarded(SetAttributes<'a>),
    /// `EXCLUSIVE4`.
    Exclusive([u8; 8]),
    /// `EXCLUSIVE4_1`, from minor version 1 on.
    ExclusiveWith(ExclusiveCreate<'a>),
}

impl<'a> Item<'a> for OpenHow<'a> {
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        if !reader.boolean("opentype4")? {
            return Ok(Self::Existing);
        }
        match reader.u32()? {
            0 => Item::get(reader).map(Self::Unchecked),
            1 => Item::get(reader).map(Self::Guarded),
            2 => Item::get(reader).map(Self::Exclusive),
            3 => Item::get(reader).map(Self::ExclusiveWith),
            value => Err(XdrError::BadValue { field: "createmode4", value }),
        }
    }

    fn put(&self, writer: &mut Writer) {
        match self {
            Self::Existing => writer.u32(0),
            Self::Unchecked(attributes) => put_choice(writer, &[1, 0], attributes),
            Self::Guarded(attributes) => put_choice(writer, &[1, 1], attributes),
            Self::Exclusive(verifier) => put_choice(writer, &[1, 2], verifier),
            Self::ExclusiveWith(create) => put_choice(writer, &[1, 3], create),
        }
    }
}

fn put_choice<'a>(writer: &mut Writer, discriminants: &[u32], item: &impl Item<'a>) {
    writer.words(discriminants);
    item.put(writer);
}

enumeration! {
    /// Kind of a delegation (`open_delegation_type4`) in a claim.
    DelegationKind, "delegation type" {
        /// `OPEN_DELEGATE_NONE`.
        None = 0,
        /// `OPEN_DELEGATE_READ`.
        Read = 1,
        /// `OPEN_DELEGATE_WRITE`.
        Write = 2,
    }
}

message! {
    /// A file by its name, with the delegation that the client holds (`open_claim_delegate_cur4`).
    DelegatedName<'a> {
        /// The delegation.
        delegation: StateId,
        /// Name of the file.
        name: Component<'a>,
    }
}

/// Which file is opened, and by which right (`open_claim4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenClaim<'a> {
    /// `CLAIM_NULL`: a name in the current directory.
    Name(Component<'a>),
    /// `CLAIM_PREVIOUS`: reclaims an open after a restart of the server; the current handle is the file.
    Previous(DelegationKind),
    /// `CLAIM_DELEGATE_CUR`.
    Delegated(DelegatedName<'a>),
    /// `CLAIM_DELEGATE_PREV`.
    DelegatedBefore(Component<'a>),
    /// `CLAIM_FH`: the current handle is the file.
    Handle,
    /// `CLAIM_DELEG_CUR_FH`.
    DelegatedHandle(StateId),
    /// `CLAIM_DELEG_PREV_FH`.
    DelegatedHandleBefore,
}

impl<'a> Item<'a> for OpenClaim<'a> {
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        match reader.u32()? {
            0 => Item::get(reader).map(Self::Name),
            1 => Item::get(reader).map(Self::Previous),
            2 => Item::get(reader).map(Self::Delegated),
            3 => Item::get(reader).map(Self::DelegatedBefore),
            4 => Ok(Self::Handle),
            5 => Item::get(reader).map(Self::DelegatedHandle),
            6 => Ok(Self::DelegatedHandleBefore),
            value => Err(XdrError::BadValue { field: "open_claim_type4", value }),
        }
    }

    fn put(&self, writer: &mut Writer) {
        match self {
            Self::Name(name) => put_choice(writer, &[0], name),
            Self::Previous(kind) => put_choice(writer, &[1], kind),
            Self::Delegated(claim) => put_choice(writer, &[2], claim),
            Self::DelegatedBefore(name) => put_choice(writer, &[3], name),
            Self::Handle => writer.u32(4),
            Self::DelegatedHandle(delegation) => put_choice(writer, &[5], delegation),
            Self::DelegatedHandleBefore => writer.u32(6),
        }
    }
}

message! {
    /// Arguments of `OPEN`.
    Open<'a> {
        /// Sequence number of the open-owner; 0 from minor version 1 on.
        sequence: u32,
        /// `OPEN4_SHARE_ACCESS_*`.
        access: u32,
        /// `OPEN4_SHARE_DENY_*`.
        deny: u32,
        /// The open-owner.
        owner: StateOwner<'a>,
        /// Whether the file is created.
        how: OpenHow<'a>,
        /// Which file.
        claim: OpenClaim<'a>,
    }
}

message! {
    /// A granted read delegation (`open_read_delegation4`).
    ReadDelegation<'a> {
        /// The delegation.
        state: StateId,
        /// The server recalls it at once.
        recall: bool,
        /// Who can open the file without a call.
        permissions: Ace<'a>,
    }
}

/// How far a client can extend a file that is delegated for writing (`nfs_space_limit4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceLimit {
    /// `NFS_LIMIT_SIZE`: a size in bytes.
    Size(u64),
    /// `NFS_LIMIT_BLOCKS`.
    Blocks {
        /// Number of blocks.
        count: u32,
        /// Bytes per block.
        bytes: u32,
    },
}

impl Item<'_> for SpaceLimit {
    fn get(reader: &mut Reader<'_>) -> Result<Self, XdrError> {
        match reader.u32()? {
            1 => reader.u64().map(Self::Size),
            2 => Ok(Self::Blocks { count: reader.u32()?, bytes: reader.u32()? }),
            value => Err(XdrError::BadValue { field: "limit_by4", value }),
        }
    }

    fn put(&self, writer: &mut Writer) {
        match self {
            Self::Size(size) => put_choice(writer, &[1], size),
            Self::Blocks { count, bytes } => writer.words(&[2, *count, *bytes]),
        }
    }
}

message! {
    /// A granted write delegation (`open_write_delegation4`).
    WriteDelegation<'a> {
        /// The delegation.
        state: StateId,
        /// The server recalls it at once.
        recall: bool,
        /// How far the file can grow.
        limit: SpaceLimit,
        /// Who can open the file without a call.
        permissions: Ace<'a>,
    }
}

/// `WND4_NOT_WANTED`: the client wanted no delegation.
pub const NOT_WANTED: u32 = 0;
/// `WND4_CONTENTION` and `WND4_RESOURCE`, the reasons that say whether the server will push a delegation later.
const REASONS_WITH_PROMISE: std::ops::RangeInclusive<u32> = 1..=2;

/// What the server delegates to the client (`open_delegation4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delegation<'a> {
    /// `OPEN_DELEGATE_NONE`.
    None,
    /// `OPEN_DELEGATE_READ`.
    Read(ReadDelegation<'a>),
    /// `OPEN_DELEGATE_WRITE`.
    Write(WriteDelegation<'a>),
    /// `OPEN_DELEGATE_NONE_EXT`, from minor version 1 on.
    NoneBecause {
        /// `why_no_delegation4`.
        reason: u32,
        /// The server will push or signal it later; only for contention and resources.
        later: bool,
    },
}

impl Delegation<'_> {
    /// The granted delegation.
    pub const fn state(&self) -> Option<StateId> {
        match self {
            Self::Read(delegation) => Some(delegation.state),
            Self::Write(delegation) => Some(delegation.state),
            Self::None | Self::NoneBecause { .. } => None,
        }
    }
}

impl<'a> Item<'a> for Delegation<'a> {
    fn get(reader: &mut Reader<'a>) -> Result<Self, XdrError> {
        match reader.u32()? {
            0 => Ok(Self::None),
            1 => Item::get(reader).map(Self::Read),
            2 => Item::get(reader).map(Self::Write),
            3 => {
                let reason = reader.u32()?;
                let later = REASONS_WITH_PROMISE.contains(&reason) && reader.boolean("delegation later")?;
                Ok(Self::NoneBecause { reason, later })
            }
            value => Err(XdrError::BadValue { field: "delegation type", value }),
        }
    }

    fn put(&self, writer: &mut Writer) {
        match self {
            Self::None => writer.u32(0),
            Self::Read(delegation) => put_choice(writer, &[1], delegation),
            Self::Write(delegation) => put_choice(writer, &[2], delegation),
            Self::NoneBecause { reason, later } => {
                writer.words(&[3, *reason]);
                if REASONS_WITH_PROMISE.contains(reason) {
                    writer.boolean(*later);
                }
            }
        }
    }
}

message! {
    /// Result of `OPEN`.
    Opened<'a> {
        /// The open file.
        state: StateId,
        /// The directory.
        change: ChangeInfo,
        /// `OPEN4_RESULT_*`.
        flags: u32,
        /// Attributes that were set.
        set: Bitmap,
        /// What is delegated.
        delegation: Delegation<'a>,
    }
}

message! {
    /// Arguments of `OPEN_CONFIRM`, minor version 0 only; its result is a [`StateId`].
    OpenConfirm {
        /// The open file.
        state: StateId,
        /// Sequence number of the open-owner.
        sequence: u32,
    }
}

message! {
    /// Arguments of `OPEN_DOWNGRADE`; its result is a [`StateId`].
    OpenDowngrade {
        /// The open file.
        state: StateId,
        /// Sequence number of the open-owner; 0 from minor version 1 on.
        sequence: u32,
        /// `OPEN4_SHARE_ACCESS_*`.
        access: u32,
        /// `OPEN4_SHARE_DENY_*`.
        deny: u32,
    }
}

message! {
    /// Arguments of `OPENATTR`.
    OpenAttr {
        /// Creates the directory of named attributes.
        create: bool,
    }
}

message! {
    /// Arguments of `DELEGRETURN`.
    DelegReturn {
        /// The delegation.
        state: StateId,
    }
}

message! {
    /// Arguments of `DELEGPURGE`.
    DelegPurge {
        /// The client.
        client_id: u64,
    }
}
