//! SETATTR, and attributes of new objects (RFC 7530, 16.32 and 5.5).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_nfs::v4::attribute_types::{Owner, SetTime, Time};
use sharebench_nfs::v4::attributes::SetAttributes as WireSetAttributes;
use sharebench_nfs::v4::bitmap::Bitmap;
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::names::SetAttr;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer};

use crate::nfs::v4::acl;
use crate::nfs::v4::attributes::SETTABLE;
use crate::nfs::v4::compound::Compound;
use crate::nfs::v4::errors::{OpError, OpResult, of_node};
use crate::{NodeId, SetAttributes};

/// Permission bits that can be set.
const MODE_BITS: u32 = 0o7777;

/// The change of the volume that attributes of a client mean.
pub(super) fn volume_change(set: &WireSetAttributes<'_>) -> Result<SetAttributes, Nfs4Status> {
    if !set.mask().without(SETTABLE).is_empty() {
        return Err(Nfs4Status::Attrnotsupp);
    }
    if set.mode.is_some_and(|mode| mode & !MODE_BITS != 0) {
        return Err(Nfs4Status::Inval);
    }
    let acl_mode = set.acl.as_ref().map(acl::to_mode).transpose()?;
    Ok(SetAttributes {
        size: set.size,
        mode: set.mode.or(acl_mode),
        uid: set.owner.map(number).transpose()?,
        gid: set.group.map(number).transpose()?,
        accessed: set.accessed.map(system_time).transpose()?,
        modified: set.modified.map(system_time).transpose()?,
        changed: None,
    })
}

/// The number of an owner. Clients with `AUTH_SYS` send numbers as text (RFC 7530, 5.9).
fn number(owner: Owner<'_>) -> Result<u32, Nfs4Status> {
    let text = std::str::from_utf8(owner.0).map_err(|_| Nfs4Status::Inval)?;
    // A plus sign would be accepted as part of a number.
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Nfs4Status::Badowner);
    }
    text.parse().map_err(|_| Nfs4Status::Badowner)
}

fn system_time(time: SetTime) -> Result<SystemTime, Nfs4Status> {
    match time {
        SetTime::ServerTime => Ok(SystemTime::now()),
        SetTime::ClientTime(time) => client_time(time),
    }
}

/// A time on the wire, whose seconds are signed.
pub(super) fn client_time(time: Time) -> Result<SystemTime, Nfs4Status> {
    let seconds = time.seconds.cast_signed();
    if time.nanos >= 1_000_000_000 {
        return Err(Nfs4Status::Inval);
    }
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let whole = if seconds < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    whole
        .and_then(|whole| whole.checked_add(Duration::from_nanos(time.nanos.into())))
        .ok_or(Nfs4Status::Inval)
}

impl Compound<'_> {
    /// SETATTR. The bitmap of what was set follows every status.
    pub(super) fn set_attributes(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let done = self.try_set_attributes(call);
        done.unwrap_or_default().put(out);
        done.map(drop).map_err(|error| OpError::WithBody(error.status()))
    }

    fn try_set_attributes(&mut self, call: &mut Reader<'_>) -> Result<Bitmap, OpError> {
        let args = SetAttr::get(call)?;
        let node = self.node()?;
        let change = volume_change(&args.attributes)?;
        if change.size.is_some() {
            let state = self.state(args.state)?;
            self.check_size_change(node)?;
            self.v4().state.check_io(&state, self.caller(), node, true)?;
        }
        self.recall(node)?;
        self.volume().set_attributes(node, &change).map_err(of_node)?;
        Ok(args.attributes.mask())
    }

    /// Only files have a size that can be set.
    fn check_size_change(&self, node: NodeId) -> Result<(), Nfs4Status> {
        let attributes = self.volume().attributes(node).map_err(of_node)?;
        match (attributes.directory, attributes.link) {
            (true, _) => Err(Nfs4Status::Isdir),
            (_, true) => Err(Nfs4Status::Inval),
            _ => Ok(()),
        }
    }
}
