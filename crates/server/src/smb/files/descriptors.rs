//! Security descriptors: derived from the mode until a client stores one (MS-SMB2 3.3.5.20.3, 3.3.5.21.3).
//!
//! A stored descriptor is returned as it is. It grants and denies nothing: every account of the server may do what the
//! share allows.

use sharebench_smb::NtStatus;
use sharebench_smb::wire::create::access;
use sharebench_smb::wire::descriptor::{Descriptor, MAX_BYTES};
use sharebench_smb::wire::security_descriptor::{UnixOwner, parts};

use crate::smb::files::open_file::OpenFile;
use crate::smb::status::{Outcome, checked, malformed};
use crate::{Attributes, NodeId, Volume};

/// The descriptor of a node.
pub(crate) fn descriptor_of(volume: &dyn Volume, attributes: &Attributes) -> Descriptor {
    let stored = volume.descriptor(attributes.node).ok().flatten();
    let decoded = stored.and_then(|stored| Descriptor::decode(&stored).ok());
    let owner = UnixOwner { uid: attributes.uid, gid: attributes.gid, mode: attributes.mode };
    decoded.unwrap_or_else(|| Descriptor::of_mode(owner))
}

/// Stores the parts of a descriptor that a client sets through an open.
pub(crate) fn set_descriptor(
    volume: &dyn Volume,
    open: &OpenFile,
    changed: u32,
    information: &[u8],
) -> Outcome<()> {
    if changed & (parts::OWNER | parts::GROUP) != 0 {
        open.require(access::WRITE_OWNER)?;
    }
    if changed & parts::DACL != 0 {
        open.require(access::WRITE_DAC)?;
    }
    let attributes = checked(volume.attributes(open.described_node()))?;
    store_descriptor(volume, &attributes, changed, information)
}

/// Stores the list that a new node inherits from the descriptor of its directory, if a client has stored one there
/// (MS-DTYP 2.5.3.4).
pub(crate) fn inherit_descriptor(volume: &dyn Volume, directory: NodeId, made: &Attributes) -> Outcome<()> {
    // A volume that stores none has none.
    let Ok(Some(stored)) = volume.descriptor(directory) else { return Ok(()) };
    let inherited = Descriptor::decode(&stored).ok().and_then(|parent| parent.inherited(made.directory));
    let Some(inherited) = inherited else { return Ok(()) };
    let mut descriptor = descriptor_of(volume, made);
    descriptor.inherit(inherited);
    let all = parts::OWNER | parts::GROUP | parts::DACL;
    checked(volume.set_descriptor(made.node, &descriptor.encode(all)))
}

/// Stores the parts of a descriptor.
pub(crate) fn store_descriptor(
    volume: &dyn Volume,
    attributes: &Attributes,
    changed: u32,
    information: &[u8],
) -> Outcome<()> {
    if information.len() > MAX_BYTES {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let new = Descriptor::decode_request(information).map_err(malformed)?;
    let mut descriptor = descriptor_of(volume, attributes);
    descriptor.set(new, changed);
    let all = parts::OWNER | parts::GROUP | parts::DACL;
    checked(volume.set_descriptor(attributes.node, &descriptor.encode(all)))
}
