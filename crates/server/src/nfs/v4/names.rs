//! Operations on names: LOOKUP, LOOKUPP, CREATE, REMOVE, RENAME, LINK (RFC 7530, 16.4, 16.9, 16.13, 16.14, 16.26, 16.27).

use sharebench_nfs::v4::attribute_types::FileType;
use sharebench_nfs::v4::bitmap::Bitmap;
use sharebench_nfs::v4::item::Item;
use sharebench_nfs::v4::names::{Create, Created, Link, Lookup, NewObject, Remove, Rename, Renamed};
use sharebench_nfs::v4::open::ChangeInfo;
use sharebench_nfs::v4::status::Nfs4Status;
use sharebench_nfs::xdr::{Reader, Writer};

use crate::nfs::handle::FileObject;
use crate::nfs::v4::compound::Compound;
use crate::nfs::v4::errors::{OpResult, of_name, of_node};
use crate::nfs::v4::set_attributes::volume_change;
use crate::{Attributes, MAX_NAME_BYTES, NodeId, ROOT, SetAttributes};

const DIRECTORY_MODE: u32 = 0o755;

/// A name that the volume can have (RFC 7530, 12.7).
pub(super) fn name(bytes: &[u8]) -> Result<&str, Nfs4Status> {
    if bytes.is_empty() {
        return Err(Nfs4Status::Inval);
    }
    if bytes.len() > MAX_NAME_BYTES {
        return Err(Nfs4Status::Nametoolong);
    }
    let name = std::str::from_utf8(bytes).map_err(|_| Nfs4Status::Inval)?;
    match name {
        "." | ".." => Err(Nfs4Status::Badname),
        _ if name.contains(['/', '\0']) => Err(Nfs4Status::Badname),
        _ => Ok(name),
    }
}

/// Change of a directory. It is atomic if the volume counts changes and there was exactly one.
pub(super) fn change_info(before: u64, after: u64) -> ChangeInfo {
    ChangeInfo { atomic: after == before.wrapping_add(1), before, after }
}

impl Compound<'_> {
    /// The change number of a directory; an error for another object.
    pub(super) fn directory_change(&self, directory: NodeId) -> Result<u64, Nfs4Status> {
        let attributes = self.volume().attributes(directory).map_err(of_node)?;
        match (attributes.directory, attributes.link) {
            (true, _) => Ok(attributes.change),
            // Clients follow links, the server does not.
            (_, true) => Err(Nfs4Status::Symlink),
            _ => Err(Nfs4Status::Notdir),
        }
    }

    /// The object of a name in a directory.
    pub(super) fn find(&self, directory: FileObject, bytes: &[u8]) -> Result<FileObject, Nfs4Status> {
        let name = name(bytes)?;
        match directory {
            FileObject::Pseudo(depth) => match self.v4().pseudo.entry(depth) {
                Some((entry, object)) if entry == name => Ok(object),
                _ => Err(Nfs4Status::Noent),
            },
            FileObject::Node(node) => {
                let found = self.volume().lookup(node, name).map_err(of_name);
                // A link in place of a directory.
                if found == Err(Nfs4Status::Notdir) {
                    self.directory_change(node)?;
                }
                found.map(|found| FileObject::Node(found.node))
            }
        }
    }

    /// The directory above a directory.
    pub(super) fn parent(&self, object: FileObject) -> Result<FileObject, Nfs4Status> {
        match object {
            FileObject::Node(node) if node != ROOT => {
                self.directory_change(node)?;
                self.volume().parent(node).map(FileObject::Node).map_err(of_node)
            }
            _ => self.v4().pseudo.parent(object).ok_or(Nfs4Status::Noent),
        }
    }

    /// LOOKUP.
    pub(super) fn lookup(&mut self, call: &mut Reader<'_>) -> OpResult {
        let args = Lookup::get(call)?;
        let found = self.find(self.object()?, args.name.0)?;
        self.enter(found);
        Ok(())
    }

    /// LOOKUPP.
    pub(super) fn lookup_parent(&mut self) -> OpResult {
        let parent = self.parent(self.object()?)?;
        self.enter(parent);
        Ok(())
    }

    /// CREATE: a directory or a symbolic link.
    pub(super) fn create(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Create::get(call)?;
        let directory = self.node()?;
        let name = name(args.name.0)?;
        let change = volume_change(&args.attributes)?;
        let permissions = change.mode.unwrap_or(DIRECTORY_MODE);
        let _lock = self.server.lock(directory);
        let before = self.directory_change(directory)?;
        let volume = self.volume();
        let made = match args.object {
            NewObject::Plain(FileType::Directory) => volume.make_directory(directory, name, permissions),
            NewObject::SymbolicLink(target) => volume.make_link(directory, name, target.0),
            NewObject::Plain(FileType::Socket | FileType::Fifo)
            | NewObject::Block(_)
            | NewObject::Character(_) => {
                return Err(Nfs4Status::Notsupp.into());
            }
            NewObject::Plain(_) => return Err(Nfs4Status::Badtype.into()),
        };
        let made = made.map_err(of_name)?;
        let rest = SetAttributes { mode: None, size: None, ..change };
        let made = volume.complete(made, &rest).map_err(of_node)?;
        let after = self.directory_change(directory)?;
        let set = args.attributes.mask().without(Bitmap::from_numbers(&[4]));
        Created { change: change_info(before, after), set }.put(out);
        self.enter(FileObject::Node(made.node));
        Ok(())
    }

    /// REMOVE: of a file, a link or an empty directory.
    pub(super) fn remove(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Remove::get(call)?;
        let directory = self.node()?;
        let name = name(args.name.0)?;
        let _lock = self.server.lock(directory);
        let before = self.directory_change(directory)?;
        let volume = self.volume();
        let found = volume.lookup(directory, name).map_err(of_name)?;
        if found.directory {
            volume.remove_directory(directory, name).map_err(of_name)?;
        } else {
            self.recall(found.node)?;
            volume.remove(directory, name).map_err(of_name)?;
        }
        let after = self.directory_change(directory)?;
        change_info(before, after).put(out);
        Ok(())
    }

    /// RENAME from the saved to the current directory.
    pub(super) fn rename(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Rename::get(call)?;
        let to = self.node()?;
        let from = self.saved_node(Nfs4Status::Xdev)?;
        let old = name(args.from.0)?;
        let new = name(args.to.0)?;
        let _locks = self.server.lock_both(from, to);
        let before = (self.directory_change(from)?, self.directory_change(to)?);
        let volume = self.volume();
        let moved = volume.lookup(from, old).map_err(of_name)?;
        self.recall(moved.node)?;
        if let Ok(replaced) = volume.lookup(to, new) {
            let fits = match (moved.directory, replaced.directory) {
                (true, true) | (false, false) => true,
                // A file and a directory exclude each other (RFC 7530, 16.27.5).
                (true, false) | (false, true) => false,
            };
            if !fits {
                return Err(Nfs4Status::Exist.into());
            }
            // Two names of one object: nothing changes (RFC 8881, 18.26.3).
            if moved.node == replaced.node {
                let unchanged = |change| change_info(change, change);
                Renamed { from: unchanged(before.0), to: unchanged(before.1) }.put(out);
                return Ok(());
            }
            self.recall(replaced.node)?;
        }
        volume.rename(from, old, to, new).map_err(|error| match of_name(error) {
            Nfs4Status::Notempty => Nfs4Status::Exist,
            status => status,
        })?;
        let after = (self.directory_change(from)?, self.directory_change(to)?);
        Renamed { from: change_info(before.0, after.0), to: change_info(before.1, after.1) }.put(out);
        Ok(())
    }

    /// LINK: a further name in the current directory for the saved file.
    pub(super) fn link(&mut self, call: &mut Reader<'_>, out: &mut Writer) -> OpResult {
        let args = Link::get(call)?;
        let directory = self.node()?;
        let file = self.saved_node(Nfs4Status::Isdir)?;
        let name = name(args.name.0)?;
        let _lock = self.server.lock(directory);
        let before = self.directory_change(directory)?;
        self.recall(file)?;
        let linked: Attributes = self.volume().add_name(file, directory, name).map_err(of_name)?;
        debug_assert_eq!(linked.node, file);
        let after = self.directory_change(directory)?;
        change_info(before, after).put(out);
        Ok(())
    }
}
