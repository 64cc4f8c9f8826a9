//! Tests of operations on one name each.

use super::declaration::{Declaration, EntryChange, EntryState, NameCache, Requirement};
use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;

const fn names(test: MetadataTest, name: &'static str, about: &'static str) -> Declaration {
    Declaration::new(test, name, MetadataGroup::Names, about)
}

pub(super) const MAKE_DIRECTORY: Declaration = Declaration {
    before: EntryState::Absent,
    after: EntryState::Directories,
    ..names(MetadataTest::MakeDirectory, "mkdir", "Makes directories.")
};

pub(super) const STAT: Declaration = Declaration {
    name_cache: Some(NameCache::Attributes),
    ..names(MetadataTest::Stat, "stat", "Reads the attributes of existing files.")
};

pub(super) const STAT_MISS: Declaration = Declaration {
    name_cache: Some(NameCache::Missing),
    ..names(MetadataTest::StatMiss, "stat-miss", "Requests the attributes of names that do not exist.")
};

pub(super) const SET_ATTRIBUTES: Declaration = Declaration {
    change: EntryChange::Modified,
    requirement: Some(Requirement::ModificationTimes),
    ..names(MetadataTest::SetAttributes, "set-attributes", "Sets the time of modification of existing files.")
};

pub(super) const RENAME: Declaration = Declaration {
    change: EntryChange::Name,
    ..names(MetadataTest::Rename, "rename", "Renames files within their directory.")
};

pub(super) const RENAME_ACROSS: Declaration = Declaration {
    change: EntryChange::Directory,
    ..names(MetadataTest::RenameAcross, "rename-across", "Renames files into another directory.")
};

pub(super) const LINK: Declaration = Declaration {
    before: EntryState::Absent,
    requirement: Some(Requirement::HardLinks),
    ..names(MetadataTest::Link, "link", "Makes hard links to one file.")
};

pub(super) const UNLINK: Declaration =
    Declaration { after: EntryState::Absent, ..names(MetadataTest::Unlink, "unlink", "Removes files.") };

pub(super) const REMOVE_DIRECTORY: Declaration = Declaration {
    before: EntryState::Directories,
    after: EntryState::Absent,
    ..names(MetadataTest::RemoveDirectory, "rmdir", "Removes empty directories.")
};
