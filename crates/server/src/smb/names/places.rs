//! The names by which a file is open: several if it has hard links.

use crate::NodeId;

/// Directory and name of an open file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) directory: NodeId,
    /// Empty for the root.
    pub(crate) name: String,
    /// Path below the share with `\` between names.
    pub(crate) path: String,
    /// The node and the name of a stream.
    pub(crate) stream: Option<(NodeId, String)>,
}

/// The places of the opens of a file. One of them is chosen: that of the first open, or of the one that requests the removal.
pub(crate) struct Places {
    chosen: Place,
    /// Those of opens by another name.
    others: Vec<(u64, Place)>,
}

impl Places {
    pub(crate) fn new(first: &Place) -> Self {
        Self { chosen: first.clone(), others: Vec::new() }
    }

    pub(crate) fn chosen(&self) -> &Place {
        &self.chosen
    }

    /// The places of all names by which the file is open.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Place> {
        std::iter::once(&self.chosen).chain(self.others.iter().map(|(_, place)| place))
    }

    /// The place of an open.
    pub(crate) fn of(&self, open: u64) -> &Place {
        let other = self.others.iter().find(|(id, _)| *id == open);
        other.map_or(&self.chosen, |(_, place)| place)
    }

    /// The place of an open, to change it.
    pub(crate) fn of_mut(&mut self, open: u64) -> &mut Place {
        let other = self.others.iter_mut().find(|(id, _)| *id == open);
        other.map_or(&mut self.chosen, |(_, place)| place)
    }

    /// Adds an open.
    pub(crate) fn add(&mut self, open: u64, place: &Place) {
        if (self.chosen.directory, &self.chosen.name) != (place.directory, &place.name) {
            self.others.push((open, place.clone()));
        }
    }

    /// Removes an open.
    pub(crate) fn remove(&mut self, open: u64) {
        self.others.retain(|(id, _)| *id != open);
    }

    /// Chooses the place of an open.
    pub(crate) fn choose(&mut self, open: u64) {
        self.chosen = self.of(open).clone();
    }
}
