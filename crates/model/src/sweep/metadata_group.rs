//! Groups of metadata tests: the names that select several tests at once.

use crate::axis;

/// Metadata tests that one name selects. The tests of a group have the same axes and the same directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetadataGroup {
    /// Names and attributes.
    Names,
    /// Work that a server does by itself on the content of files.
    ServerSide,
    /// Locks of byte ranges, opens that deny a file to others, notifications of changes, and rights to cache files.
    Locks,
}

impl MetadataGroup {
    /// Every group, in the order of the tests.
    pub const ALL: [Self; 3] = [Self::Names, Self::ServerSide, Self::Locks];

    /// The name in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Names => "metadata",
            Self::ServerSide => "server-side",
            Self::Locks => "locks",
        }
    }

    /// The group with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.name() == name)
    }

    /// The only axis of the group's tests; none where they have several.
    pub const fn only_axis(self) -> Option<&'static str> {
        match self {
            Self::Names => None,
            // Their number of files is always the same.
            Self::ServerSide => Some(axis::FILE_SIZE),
            Self::Locks => Some(axis::JOBS),
        }
    }
}
