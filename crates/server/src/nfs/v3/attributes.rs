//! Procedures on attributes and limits: GETATTR, SETATTR, ACCESS, FSSTAT, FSINFO, PATHCONF.

use sharebench_nfs::attributes::{NfsTime, SetFileAttributes};
use sharebench_nfs::status::NfsStatus;
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::nfs::state::ServerState;
use crate::nfs::v3::reply::{Outcome, node_status, volume_change, wire_time};
use crate::{Attributes, NodeId};

/// `ACCESS3_READ | MODIFY | EXTEND` (RFC 1813, 3.3.4).
const FILE_ACCESS: u32 = 0x01 | 0x04 | 0x08;
/// `ACCESS3_EXECUTE`.
const EXECUTE: u32 = 0x20;
/// `ACCESS3_READ | LOOKUP | MODIFY | EXTEND | DELETE`.
const DIRECTORY_ACCESS: u32 = 0x01 | 0x02 | 0x04 | 0x08 | 0x10;
/// `FSF3_LINK | FSF3_SYMLINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME` (RFC 1813, 3.3.19).
const PROPERTIES: u32 = 0x01 | 0x02 | 0x08 | 0x10;
/// The fewest names that every volume allows to a file; ext4 has the lowest limit of common file systems.
const MAX_LINKS: u32 = 65_000;
const DIRECTORY_PREFERRED: u32 = 64 << 10;

impl ServerState {
    fn current(&self, node: Outcome<NodeId>) -> Outcome<Attributes> {
        self.volume.attributes(node?).map_err(node_status)
    }

    /// GETATTR (RFC 1813, 3.3.1).
    pub(crate) fn get_attributes(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        match self.current(self.handles.get(call)?) {
            Ok(attributes) => {
                out.u32(0);
                self.put_attributes(out, &attributes);
            }
            Err(status) => out.u32(status.code()),
        }
        Ok(())
    }

    /// SETATTR (RFC 1813, 3.3.2), with its guard on the time of the last change.
    pub(crate) fn set_attributes(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let node = self.handles.get(call)?;
        let set = SetFileAttributes::get(call)?;
        let guard = call.boolean("guard")?.then(|| NfsTime::get(call)).transpose()?;
        // The lock makes the guard's comparison and the change one step.
        let _lock = node.ok().map(|node| self.lock(node));
        let before = node.ok().and_then(|node| self.before(node));
        let guarded = || match (guard, &before) {
            (Some(guard), Some(before)) if wire_time(before.changed) != guard => Err(NfsStatus::NotSync),
            _ => Ok(()),
        };
        let done = node.and_then(|node| {
            guarded()?;
            self.volume.set_attributes(node, &volume_change(&set)).map_err(|error| match error {
                crate::VolumeError::IsDirectory => NfsStatus::Inval,
                other => node_status(other),
            })
        });
        out.u32(done.map_or_else(NfsStatus::code, |_| 0));
        self.put_wcc(out, &before, node);
        Ok(())
    }

    /// ACCESS (RFC 1813, 3.3.4): grants every right that applies to the kind of the node.
    pub(crate) fn access(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let node = self.handles.get(call)?;
        let wanted = call.u32()?;
        let attributes = self.current(node);
        self.put_head(out, &attributes);
        if let Ok(attributes) = attributes {
            let run = if attributes.mode & 0o111 == 0 { 0 } else { EXECUTE };
            let allowed = if attributes.directory { DIRECTORY_ACCESS } else { FILE_ACCESS | run };
            out.u32(wanted & allowed);
        }
        Ok(())
    }

    /// FSSTAT (RFC 1813, 3.3.18).
    pub(crate) fn fs_stat(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let attributes = self.current(self.handles.get(call)?);
        let space = attributes
            .as_ref()
            .map_err(|status| *status)
            .and_then(|_| self.volume.space().map_err(node_status));
        self.put_head(out, &space.and(attributes));
        if let Ok(space) = space {
            let bytes = [space.total_bytes, space.free_bytes, space.free_bytes];
            let files = [space.total_files, space.free_files, space.free_files];
            for number in bytes.into_iter().chain(files) {
                out.u64(number);
            }
            // invarsec 0: the numbers may change at any time.
            out.u32(0);
        }
        Ok(())
    }

    /// FSINFO (RFC 1813, 3.3.19); READ and WRITE transfer at most `max` bytes.
    pub(crate) fn fs_info(&self, call: &mut Reader<'_>, out: &mut Writer, max: u32) -> Result<(), XdrError> {
        let attributes = self.current(self.handles.get(call)?);
        self.put_head(out, &attributes);
        if attributes.is_ok() {
            out.words(&[max, max, 1, max, max, 1, DIRECTORY_PREFERRED.min(max)]);
            out.u64(i64::MAX as u64);
            NfsTime { seconds: 0, nanos: 1 }.put(out);
            out.u32(PROPERTIES);
        }
        Ok(())
    }

    /// PATHCONF (RFC 1813, 3.3.20).
    pub(crate) fn path_conf(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let attributes = self.current(self.handles.get(call)?);
        self.put_head(out, &attributes);
        if attributes.is_ok() {
            out.u32(MAX_LINKS);
            out.u32(crate::MAX_NAME_BYTES as u32);
            // no_trunc, chown_restricted, case_insensitive, case_preserving.
            out.words(&[1, 0, 0, 1]);
        }
        Ok(())
    }

    /// Status and `post_op_attr`.
    fn put_head(&self, out: &mut Writer, attributes: &Outcome<Attributes>) {
        out.u32(attributes.as_ref().map_or_else(|status| status.code(), |_| 0));
        self.put_optional(out, attributes.as_ref().ok());
    }
}
