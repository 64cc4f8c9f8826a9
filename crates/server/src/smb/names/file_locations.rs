//! The names by which a file is open: several if it has hard links.

use crate::NodeId;
use crate::smb::files::open_entries::ByOpen;

/// Directory and name of an open file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileLocation {
    pub(crate) directory: NodeId,
    /// Empty for the root.
    pub(crate) name: String,
    /// Path below the share with `\` between names.
    pub(crate) path: String,
    /// The node and the name of a stream.
    pub(crate) stream: Option<(NodeId, String)>,
}

/// The locations of the opens of a file. One of them is chosen: that of the first open, or of the one that requests the removal.
pub(crate) struct FileLocations {
    chosen: FileLocation,
    /// Those of opens by another name.
    others: ByOpen<FileLocation>,
}

impl FileLocations {
    pub(crate) fn new(first: &FileLocation) -> Self {
        Self { chosen: first.clone(), others: ByOpen::default() }
    }

    pub(crate) fn chosen(&self) -> &FileLocation {
        &self.chosen
    }

    /// The locations of all names by which the file is open.
    pub(crate) fn all(&self) -> impl Iterator<Item = &FileLocation> {
        std::iter::once(&self.chosen).chain(self.others.values())
    }

    /// The location of an open.
    pub(crate) fn of_open(&self, open: u64) -> &FileLocation {
        self.others.get(open).unwrap_or(&self.chosen)
    }

    /// The location of an open, to change it.
    pub(crate) fn of_open_mut(&mut self, open: u64) -> &mut FileLocation {
        self.others.get_mut(open).unwrap_or(&mut self.chosen)
    }

    /// Adds an open.
    pub(crate) fn add(&mut self, open: u64, location: &FileLocation) {
        if (self.chosen.directory, &self.chosen.name) != (location.directory, &location.name) {
            self.others.insert(open, location.clone());
        }
    }

    /// Removes an open.
    pub(crate) fn remove(&mut self, open: u64) {
        self.others.remove(open);
    }

    /// Chooses the location of an open.
    pub(crate) fn choose(&mut self, open: u64) {
        self.chosen = self.of_open(open).clone();
    }
}
