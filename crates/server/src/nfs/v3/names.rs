//! Procedures on names: LOOKUP, READLINK, CREATE, MKDIR, SYMLINK, MKNOD, REMOVE, RMDIR, RENAME, LINK.

use sharebench_nfs::attributes::SetFileAttributes;
use sharebench_nfs::status::NfsStatus;
use sharebench_nfs::xdr::{Reader, Writer, XdrError};

use crate::nfs::state::ServerState;
use crate::nfs::v3::reply::{
    Before, MAX_WIRE_NAME, Outcome, get_name, name_status, node_status, volume_change,
};
use crate::{Attributes, NodeId, SetAttributes, VolumeResult};

const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

/// How CREATE treats a name that exists (RFC 1813, 3.3.8: `createhow3`).
enum CreateHow {
    Unchecked(SetFileAttributes),
    Guarded(SetFileAttributes),
    Exclusive([u8; 8]),
}

impl CreateHow {
    fn get(call: &mut Reader<'_>) -> Result<Self, XdrError> {
        match call.u32()? {
            0 => SetFileAttributes::get(call).map(Self::Unchecked),
            1 => SetFileAttributes::get(call).map(Self::Guarded),
            2 => call.array().map(Self::Exclusive),
            value => Err(XdrError::BadValue { field: "createmode3", value }),
        }
    }
}

/// Directory and name of a call (RFC 1813, 2.6: `diropargs3`).
struct DirectoryName<'a> {
    directory: Outcome<NodeId>,
    name: Outcome<&'a str>,
}

impl<'a> DirectoryName<'a> {
    fn get(state: &ServerState, call: &mut Reader<'a>) -> Result<Self, XdrError> {
        Ok(Self { directory: state.handles.get(call)?, name: get_name(call)? })
    }

    fn parts(&self) -> Outcome<(NodeId, &'a str)> {
        Ok((self.directory?, self.name?))
    }
}

impl ServerState {
    /// LOOKUP (RFC 1813, 3.3.3). `..` of the root is the root: nothing leads out of the volume.
    pub(crate) fn lookup(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let place = DirectoryName::get(self, call)?;
        match place.parts().and_then(|(directory, name)| self.resolve(directory, name)) {
            Ok(attributes) => {
                out.u32(0);
                self.handles.put(out, attributes.node);
                self.put_optional(out, Some(&attributes));
            }
            Err(status) => out.u32(status.code()),
        }
        self.put_current(out, place.directory);
        Ok(())
    }

    pub(crate) fn resolve(&self, directory: NodeId, name: &str) -> Outcome<Attributes> {
        let here = || match self.volume.attributes(directory) {
            Ok(here) if here.directory => Ok(here),
            Ok(_) => Err(NfsStatus::NotDir),
            Err(error) => Err(node_status(error)),
        };
        match name {
            "." => here(),
            ".." => {
                here()?;
                let parent = self.volume.parent(directory).map_err(node_status)?;
                self.volume.attributes(parent).map_err(node_status)
            }
            _ => self.volume.lookup(directory, name).map_err(name_status),
        }
    }

    /// CREATE (RFC 1813, 3.3.8).
    pub(crate) fn create(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let place = DirectoryName::get(self, call)?;
        let how = CreateHow::get(call)?;
        self.make(out, &place, |directory, name| self.create_file(directory, name, &how));
        Ok(())
    }

    fn create_file(&self, directory: NodeId, name: &str, how: &CreateHow) -> Outcome<Attributes> {
        let (CreateHow::Unchecked(set) | CreateHow::Guarded(set)) = how else {
            let CreateHow::Exclusive(verifier) = how else { return Err(NfsStatus::ServerFault) };
            return self.create_exclusive(directory, name, *verifier);
        };
        let permissions = set.mode.unwrap_or(FILE_MODE) & 0o7777;
        let change = SetAttributes { mode: None, ..volume_change(set) };
        let made = match (self.volume.create(directory, name, permissions), how) {
            (Err(crate::VolumeError::Exists), CreateHow::Unchecked(_)) => {
                let found = self.volume.lookup(directory, name).map_err(name_status)?;
                if found.directory || found.link {
                    return Err(NfsStatus::Exist);
                }
                found
            }
            (made, _) => made.map_err(name_status)?,
        };
        self.volume.complete(made, &change).map_err(node_status)
    }

    fn create_exclusive(&self, directory: NodeId, name: &str, verifier: [u8; 8]) -> Outcome<Attributes> {
        match self.volume.create(directory, name, FILE_MODE) {
            Ok(made) => {
                self.record_exclusive((made.node, verifier));
                Ok(made)
            }
            Err(crate::VolumeError::Exists) => {
                let found = self.volume.lookup(directory, name).map_err(name_status)?;
                // The same verifier: the client repeats a create whose reply it has lost (RFC 1813, 3.3.8).
                let same = self.knows_exclusive((found.node, verifier));
                if same { Ok(found) } else { Err(NfsStatus::Exist) }
            }
            Err(error) => Err(name_status(error)),
        }
    }

    /// MKDIR (RFC 1813, 3.3.9).
    pub(crate) fn make_directory(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let place = DirectoryName::get(self, call)?;
        let set = SetFileAttributes::get(call)?;
        self.make(out, &place, |directory, name| {
            let permissions = set.mode.unwrap_or(DIRECTORY_MODE) & 0o7777;
            let made = self.volume.make_directory(directory, name, permissions).map_err(name_status)?;
            let change = SetAttributes { mode: None, size: None, ..volume_change(&set) };
            self.volume.complete(made, &change).map_err(node_status)
        });
        Ok(())
    }

    /// Creates an object under the lock of its directory and encodes the result of CREATE or MKDIR.
    fn make(
        &self,
        out: &mut Writer,
        place: &DirectoryName<'_>,
        how: impl FnOnce(NodeId, &str) -> Outcome<Attributes>,
    ) {
        let _lock = place.directory.ok().map(|directory| self.lock(directory));
        let before = place.directory.ok().and_then(|directory| self.before(directory));
        match place.parts().and_then(|(directory, name)| how(directory, name)) {
            Ok(made) => {
                out.u32(0);
                out.boolean(true);
                self.handles.put(out, made.node);
                self.put_optional(out, Some(&made));
            }
            Err(status) => out.u32(status.code()),
        }
        self.put_wcc(out, &before, place.directory);
    }

    /// REMOVE (RFC 1813, 3.3.12).
    pub(crate) fn remove(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        self.take_away(call, out, |directory, name| self.volume.remove(directory, name))
    }

    /// RMDIR (RFC 1813, 3.3.13).
    pub(crate) fn remove_directory(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        self.take_away(call, out, |directory, name| self.volume.remove_directory(directory, name))
    }

    fn take_away(
        &self,
        call: &mut Reader<'_>,
        out: &mut Writer,
        remove: impl FnOnce(NodeId, &str) -> VolumeResult<()>,
    ) -> Result<(), XdrError> {
        let place = DirectoryName::get(self, call)?;
        let _lock = place.directory.ok().map(|directory| self.lock(directory));
        let before = place.directory.ok().and_then(|directory| self.before(directory));
        let done = place.parts().and_then(|(directory, name)| remove(directory, name).map_err(name_status));
        out.u32(done.map_or_else(NfsStatus::code, |()| 0));
        self.put_wcc(out, &before, place.directory);
        Ok(())
    }

    /// RENAME (RFC 1813, 3.3.14).
    pub(crate) fn rename(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let from = DirectoryName::get(self, call)?;
        let to = DirectoryName::get(self, call)?;
        let both = from.parts().and_then(|from| to.parts().map(|to| (from, to)));
        let _locks = both.ok().map(|((from, _), (to, _))| self.lock_both(from, to));
        let before = |place: &DirectoryName<'_>| -> Before { self.before(place.directory.ok()?) };
        let from_before = before(&from);
        let to_before = before(&to);
        let done = both.and_then(|((from, name), (to, new_name))| {
            self.volume.rename(from, name, to, new_name).map_err(name_status)
        });
        out.u32(done.map_or_else(NfsStatus::code, |()| 0));
        self.put_wcc(out, &from_before, from.directory);
        self.put_wcc(out, &to_before, to.directory);
        Ok(())
    }

    /// READLINK (RFC 1813, 3.3.5).
    pub(crate) fn read_link(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let link = self.handles.get(call)?;
        let target = link.and_then(|link| {
            let found = self.volume.attributes(link).map_err(node_status)?;
            if found.link { self.volume.read_link(link).map_err(node_status) } else { Err(NfsStatus::Inval) }
        });
        out.u32(target.as_ref().map_or_else(|status| status.code(), |_| 0));
        self.put_current(out, link);
        if let Ok(target) = target {
            out.opaque(&target);
        }
        Ok(())
    }

    /// SYMLINK (RFC 1813, 3.3.10). The target is text to the server.
    pub(crate) fn make_symbolic_link(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let place = DirectoryName::get(self, call)?;
        let set = SetFileAttributes::get(call)?;
        let target = call.opaque("target", MAX_WIRE_NAME)?;
        self.make(out, &place, |directory, name| {
            let made = self.volume.make_link(directory, name, target).map_err(name_status)?;
            // The mode of a link has no meaning.
            let change = SetAttributes { mode: None, size: None, ..volume_change(&set) };
            self.volume.complete(made, &change).map_err(node_status)
        });
        Ok(())
    }

    /// LINK (RFC 1813, 3.3.15).
    pub(crate) fn link(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let file = self.handles.get(call)?;
        let place = DirectoryName::get(self, call)?;
        let _lock = place.directory.ok().map(|directory| self.lock(directory));
        let before = place.directory.ok().and_then(|directory| self.before(directory));
        let linked = place.parts().and_then(|(directory, name)| {
            let found = self.volume.attributes(file?).map_err(node_status)?;
            if found.directory {
                return Err(NfsStatus::IsDir);
            }
            self.volume.add_name(found.node, directory, name).map_err(name_status)
        });
        out.u32(linked.map_or_else(NfsStatus::code, |_| 0));
        self.put_current(out, file);
        self.put_wcc(out, &before, place.directory);
        Ok(())
    }

    /// MKNOD (RFC 1813, 3.3.11), which is not supported: a volume has no special files.
    pub(crate) fn make_special_file(&self, call: &mut Reader<'_>, out: &mut Writer) -> Result<(), XdrError> {
        let place = DirectoryName::get(self, call)?;
        self.make(out, &place, |_, _| Err(NfsStatus::NotSupp));
        Ok(())
    }
}
