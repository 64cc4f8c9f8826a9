//! From node numbers to open files, one component at a time.

use std::path::Path;
use std::sync::{Arc, Mutex};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use sharebench_local::beneath::{Kind, NO_LINKS, Status};

use crate::volume::directory::DirectoryOptions;
use crate::volume::directory::linux::changes::Changes;
use crate::volume::directory::linux::dos_attributes;
use crate::volume::directory::linux::errno::volume_error;
use crate::volume::directory::linux::folded_names::FoldedNames;
use crate::volume::directory::linux::names::{Listings, Which};
use crate::volume::directory::linux::open_files::{OpenFiles, OpenNode};
use crate::volume::directory::linux::persistent::Scan;
use crate::volume::directory::linux::places::{NodeLocations, NodeName};
use crate::volume::directory::linux::status::attributes;
use crate::volume::directory::linux::streams::{Streams, is_stream};
use crate::{Attributes, DosAttributes, ListedIn, NodeId, ROOT, VolumeError, VolumeResult};

/// The open root, and what is known about the nodes below it.
pub(super) struct Tree {
    pub(super) root: Arc<OpenNode>,
    root_status: Status,
    pub(super) places: NodeLocations,
    pub(super) open_files: OpenFiles,
    pub(super) listings: Listings,
    pub(super) folded_names: FoldedNames,
    pub(super) changes: Changes,
    pub(super) streams: Streams,
    /// Symbolic links are part of the tree.
    pub(super) links: bool,
    pub(super) scan: Mutex<Scan>,
}

/// Flags for opening: do not follow a link, do not wait for the other end of a pipe.
const SAFELY: OFlags = NO_LINKS.union(OFlags::NONBLOCK);

impl Tree {
    /// Opens the root.
    pub(super) fn open(path: &Path, options: &DirectoryOptions) -> VolumeResult<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = openat(CWD, path, flags, Mode::empty()).map_err(volume_error)?;
        let root = OpenNode::new(fd, true, false);
        let root_status = Status::from_file(root.fd()).map_err(volume_error)?;
        Ok(Self {
            places: NodeLocations::new(root_status.identity),
            root,
            root_status,
            open_files: OpenFiles::new(options.open_files),
            listings: Listings::default(),
            folded_names: FoldedNames::default(),
            changes: Changes::default(),
            streams: Streams::default(),
            links: options.links,
            scan: Mutex::default(),
        })
    }

    /// The status of a name that is part of the tree; [`VolumeError::Denied`] for links, special files
    /// and other mounts.
    pub(super) fn status(&self, directory: &OpenNode, name: &str) -> VolumeResult<Status> {
        if !directory.directory {
            return Err(VolumeError::NotDirectory);
        }
        let status = Status::at(directory.fd(), name).map_err(volume_error)?;
        let served = match status.kind {
            Kind::File | Kind::Directory => true,
            Kind::Link => self.links,
            Kind::Other => false,
        };
        if !served || !status.same_mount(&self.root_status) {
            return Err(VolumeError::Denied);
        }
        Ok(status)
    }

    /// Attributes of a node with this status.
    pub(super) fn described(&self, status: &Status, id: NodeId) -> Attributes {
        let found = attributes(status, id, self.changes.number(id));
        Attributes { changed: self.changes.stated_time(id, found.changed), ..found }
    }

    /// The names that a listing has.
    pub(super) fn listed(&self) -> Which {
        if self.links { Which::WithLinks } else { Which::Served }
    }

    /// Attributes of a node: by its descriptor if it is open, otherwise by name.
    pub(super) fn attributes(&self, id: NodeId) -> VolumeResult<Attributes> {
        if is_stream(id) {
            return self.stream_attributes(id);
        }
        if id == ROOT {
            return Ok(self.described(&Status::from_file(self.root.fd()).map_err(volume_error)?, ROOT));
        }
        if let Some(open) = self.open_files.get(id) {
            let status = Status::from_file(open.fd()).map_err(volume_error)?;
            if status.links == 0 {
                self.node_removed(&status);
                return Err(VolumeError::Stale);
            }
            return Ok(self.described(&status, id));
        }
        loop {
            match self.attributes_by_name(id) {
                // The name is gone; the file may have another one.
                Err(VolumeError::Stale) if self.places.use_other_name(id) => {}
                attributes => return attributes,
            }
        }
    }

    /// The directory of a file that has one name, and has it there now.
    pub(super) fn listed_in(&self, id: NodeId) -> ListedIn {
        loop {
            match self.attributes_by_name(id) {
                Ok(found) if found.directory || found.links == 1 => {
                    let place = self.places.get(id);
                    return place.map_or(ListedIn::Unknown, |place| ListedIn::Directory(place.parent));
                }
                Ok(_) => return ListedIn::Unknown,
                Err(VolumeError::Stale) if self.places.use_other_name(id) => {}
                // Its name is not known, which includes a stream, or it is gone.
                Err(_) => break,
            }
        }
        match self.attributes(id) {
            Err(VolumeError::Stale | VolumeError::NotFound) => ListedIn::Nowhere,
            _ => ListedIn::Unknown,
        }
    }

    /// A directory that holds a node, and its name there now.
    pub(super) fn place(&self, id: NodeId) -> VolumeResult<(NodeId, String)> {
        loop {
            match self.attributes_by_name(id) {
                Ok(_) => {
                    let place = self.places.get(id)?;
                    return Ok((place.parent, place.name.to_string()));
                }
                Err(VolumeError::Stale) if self.places.use_other_name(id) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn attributes_by_name(&self, id: NodeId) -> VolumeResult<Attributes> {
        let place = self.places.get(id)?;
        let parent = self.node(place.parent)?;
        match self.status(&parent, &place.name) {
            Ok(status) if status.identity == place.identity => Ok(self.described(&status, id)),
            Ok(_) | Err(VolumeError::NotFound) => Err(VolumeError::Stale),
            Err(error) => Err(error),
        }
    }

    /// Attributes of DOS of a node: by its descriptor if it is open, otherwise by name.
    pub(super) fn dos_attributes(&self, id: NodeId) -> VolumeResult<DosAttributes> {
        if id == ROOT {
            return Ok(dos_attributes::read(self.root.fd()));
        }
        if let Some(open) = self.open_files.get(id) {
            return Ok(dos_attributes::read(open.fd()));
        }
        let place = self.places.get(id)?;
        Ok(dos_attributes::read_name(self.node(place.parent)?.fd(), &place.name))
    }

    /// Removes a file without a name.
    pub(super) fn node_removed(&self, status: &Status) {
        if let Some(id) = self.places.remove(status.identity) {
            self.open_files.remove(id);
        }
    }

    /// A node, open at least for reading.
    pub(super) fn node(&self, id: NodeId) -> VolumeResult<Arc<OpenNode>> {
        // Walk up to an open directory, then down again. Clients determine the depth of the tree, so this must not
        // recurse.
        let mut at = id;
        let mut way = Vec::new();
        let mut open = loop {
            if at == ROOT {
                break Arc::clone(&self.root);
            }
            if let Some(open) = self.open_files.get(at) {
                break open;
            }
            let place = self.places.get(at)?;
            let parent = place.parent;
            way.push((at, place));
            if way.len() > MAX_DEPTH {
                return Err(VolumeError::Stale);
            }
            at = parent;
        };
        for (at, place) in way.iter().rev() {
            open = match self.open_place(&open, place, false) {
                Err(VolumeError::Stale) if self.places.use_other_name(*at) => {
                    self.open_by_any_name(*at, false)?
                }
                opened => opened?,
            };
            self.open_files.insert(*at, Arc::clone(&open));
        }
        Ok(open)
    }

    /// Opens a file by the first of its names that still leads to it. Directories have one name, so that the parent's way is short and known.
    fn open_by_any_name(&self, id: NodeId, writable: bool) -> VolumeResult<Arc<OpenNode>> {
        loop {
            let place = self.places.get(id)?;
            let parent = self.node(place.parent)?;
            match self.open_place(&parent, &place, writable) {
                Err(VolumeError::Stale) if self.places.use_other_name(id) => {}
                opened => return opened,
            }
        }
    }

    /// A directory, open.
    pub(super) fn directory(&self, id: NodeId) -> VolumeResult<Arc<OpenNode>> {
        let open = self.node(id)?;
        if open.directory { Ok(open) } else { Err(VolumeError::NotDirectory) }
    }

    /// A file, open for reading or for both.
    pub(super) fn file(&self, id: NodeId, writable: bool) -> VolumeResult<Arc<OpenNode>> {
        let open = self.node(id)?;
        if open.directory {
            return Err(VolumeError::IsDirectory);
        }
        if open.link {
            return Err(VolumeError::IsLink);
        }
        if open.writable || !writable {
            return Ok(open);
        }
        // Open for writing only on the first write: on an overlay, opening for writing copies the file up.
        let open = self.open_by_any_name(id, true)?;
        self.open_files.insert(id, Arc::clone(&open));
        Ok(open)
    }

    /// Opens the object at a place, and checks that it is the expected one.
    fn open_place(&self, parent: &OpenNode, place: &NodeName, writable: bool) -> VolumeResult<Arc<OpenNode>> {
        let moved_away = |error| if error == VolumeError::NotFound { VolumeError::Stale } else { error };
        let status = self.status(parent, &place.name).map_err(moved_away)?;
        let directory = status.kind == Kind::Directory;
        let access = match (status.kind, writable) {
            // A reference to the link itself: nothing is followed.
            (Kind::Link, _) => OFlags::PATH,
            (_, true) => OFlags::RDWR,
            (_, false) => OFlags::RDONLY,
        };
        let fd = match openat(parent.fd(), &*place.name, access | SAFELY, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Err(VolumeError::Stale),
            Err(errno) => return Err(volume_error(errno)),
        };
        let open = if status.kind == Kind::Link {
            OpenNode::link(fd)
        } else {
            OpenNode::new(fd, directory, writable)
        };
        // The name may refer to another object between the two calls; the descriptor cannot.
        let open_status = Status::from_file(open.fd()).map_err(volume_error)?;
        if status.identity != place.identity || open_status.identity != place.identity {
            return Err(VolumeError::Stale);
        }
        Ok(open)
    }
}

/// Maximum depth of a file. The system's limit on paths is about 2048 components.
const MAX_DEPTH: usize = 4096;
