//! Parts that many results share: attributes, `wcc_data`, and statuses of a volume's errors.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sharebench_nfs::attributes::{FileAttributes, FileKind, NfsTime, SetFileAttributes, SetTime};
use sharebench_nfs::status::NfsStatus;
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::nfs::state::ServerState;
use crate::{Attributes, NodeId, SetAttributes, VolumeError};

/// Reported size of directories. Some clients treat 0 as an error.
const DIRECTORY_SIZE: u64 = 4096;
/// Longest name that is decoded. A name above 255 bytes gets an error and does not end the connection.
pub(crate) const MAX_WIRE_NAME: usize = 4096;

/// Outcome of a procedure before it is encoded.
pub(crate) type Outcome<T> = Result<T, NfsStatus>;

/// The status for an error of a node.
pub(crate) fn node_status(error: VolumeError) -> NfsStatus {
    match error {
        // A handle existed for this node once, so the node was removed.
        VolumeError::NotFound | VolumeError::Stale => NfsStatus::Stale,
        other => name_status(other),
    }
}

/// The status for an error of a name.
pub(crate) fn name_status(error: VolumeError) -> NfsStatus {
    match error {
        VolumeError::NotFound => NfsStatus::NoEnt,
        VolumeError::Stale => NfsStatus::Stale,
        VolumeError::Exists => NfsStatus::Exist,
        VolumeError::NotDirectory => NfsStatus::NotDir,
        VolumeError::IsDirectory => NfsStatus::IsDir,
        VolumeError::NotEmpty => NfsStatus::NotEmpty,
        VolumeError::Denied => NfsStatus::Acces,
        VolumeError::NoSpace => NfsStatus::NoSpc,
        VolumeError::ReadOnly => NfsStatus::RoFs,
        VolumeError::TooBig => NfsStatus::FBig,
        VolumeError::BadName | VolumeError::IsLink => NfsStatus::Inval,
        VolumeError::Unsupported => NfsStatus::NotSupp,
        VolumeError::Io(_) => NfsStatus::Io,
    }
}

/// Decodes a name. An invalid name leads to a status.
pub(crate) fn get_name<'a>(reader: &mut Reader<'a>) -> Result<Outcome<&'a str>, XdrError> {
    let bytes = reader.opaque("name", MAX_WIRE_NAME)?;
    if bytes.len() > crate::MAX_NAME_BYTES {
        return Ok(Err(NfsStatus::NameTooLong));
    }
    Ok(std::str::from_utf8(bytes).map_err(|_| NfsStatus::Inval))
}

pub(crate) fn wire_time(time: SystemTime) -> NfsTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    NfsTime { seconds: since.as_secs() as u32, nanos: since.subsec_nanos() }
}

fn system_time(time: SetTime) -> SystemTime {
    match time {
        SetTime::ServerTime => SystemTime::now(),
        SetTime::ClientTime(time) => UNIX_EPOCH + Duration::new(time.seconds.into(), time.nanos),
    }
}

/// Converts the attributes that a client sets.
pub(crate) fn volume_change(set: &SetFileAttributes) -> SetAttributes {
    SetAttributes {
        size: set.size,
        mode: set.mode.map(|mode| mode & 0o7777),
        uid: set.uid,
        gid: set.gid,
        accessed: set.accessed.map(system_time),
        modified: set.modified.map(system_time),
        changed: None,
    }
}

/// Size and times before a change (RFC 1813, 2.6: `wcc_attr`).
pub(crate) type Before = Option<Attributes>;

impl ServerState {
    fn wire_attributes(&self, attributes: &Attributes) -> FileAttributes {
        let directory = attributes.directory;
        FileAttributes {
            kind: match (directory, attributes.link) {
                (true, _) => FileKind::Directory,
                // `NF3LNK`.
                (_, true) => FileKind::Other(5),
                _ => FileKind::Regular,
            },
            mode: attributes.mode & 0o7777,
            links: attributes.links,
            uid: attributes.uid,
            gid: attributes.gid,
            size: if directory { DIRECTORY_SIZE } else { attributes.size },
            used: attributes.allocated,
            fsid: self.handles.instance(),
            file_id: attributes.file_id,
            accessed: wire_time(attributes.accessed),
            modified: wire_time(attributes.modified),
            changed: wire_time(attributes.changed),
        }
    }

    pub(crate) fn put_attributes(&self, out: &mut Writer, attributes: &Attributes) {
        self.wire_attributes(attributes).put(out);
    }

    /// Encodes `post_op_attr`.
    #[inline]
    pub(crate) fn put_optional(&self, out: &mut Writer, attributes: Option<&Attributes>) {
        out.boolean(attributes.is_some());
        if let Some(attributes) = attributes {
            self.put_attributes(out, attributes);
        }
    }

    /// Encodes `post_op_attr` with the current attributes of a node; without any if it no longer exists.
    pub(crate) fn put_current(&self, out: &mut Writer, node: Outcome<NodeId>) {
        let attributes = node.ok().and_then(|node| self.volume.attributes(node).ok());
        self.put_optional(out, attributes.as_ref());
    }

    /// The attributes before a change, read under the directory's lock.
    pub(crate) fn before(&self, node: NodeId) -> Before {
        self.volume.attributes(node).ok()
    }

    /// Encodes `wcc_data` (RFC 1813, 2.6).
    pub(crate) fn put_wcc(&self, out: &mut Writer, before: &Before, node: Outcome<NodeId>) {
        out.boolean(before.is_some());
        if let Some(before) = before {
            out.u64(self.wire_attributes(before).size);
            wire_time(before.modified).put(out);
            wire_time(before.changed).put(out);
        }
        self.put_current(out, node);
    }
}
