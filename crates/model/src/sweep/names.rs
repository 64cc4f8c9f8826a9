//! Tests of names, attributes and directories.

use super::declaration::EntryState::{Absent, Directories, Filled};
use super::declaration::{Declaration, EntryChange, FileData, NameCache, Requirement};
use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;

const fn names(test: MetadataTest, name: &'static str) -> Declaration {
    Declaration::new(test, name, MetadataGroup::Names)
}

const fn listing(test: MetadataTest, name: &'static str) -> Declaration {
    Declaration { takes_depth: false, lists: true, ..names(test, name) }
}

pub(super) const TESTS: &[Declaration] = &[
    Declaration { before: Absent, after: Directories, ..names(MetadataTest::MakeDirectory, "mkdir") },
    Declaration { before: Absent, ..names(MetadataTest::Create, "create") },
    Declaration {
        before: Absent,
        after: Filled,
        file_data: FileData::Written,
        ..names(MetadataTest::CreateWrite, "create-write")
    },
    Declaration { name_cache: Some(NameCache::Opens), ..names(MetadataTest::OpenClose, "open-close") },
    Declaration { name_cache: Some(NameCache::Attributes), ..names(MetadataTest::Stat, "stat") },
    Declaration { name_cache: Some(NameCache::Missing), ..names(MetadataTest::StatMiss, "stat-miss") },
    Declaration {
        change: EntryChange::Modified,
        requirement: Some(Requirement::ModificationTimes),
        ..names(MetadataTest::SetAttributes, "set-attributes")
    },
    Declaration { name_cache: Some(NameCache::Listing), ..listing(MetadataTest::ReadDirectory, "readdir") },
    Declaration {
        name_cache: Some(NameCache::Listing),
        ..listing(MetadataTest::ReadDirectoryAttributes, "readdir-attributes")
    },
    listing(MetadataTest::TreeWalk, "tree-walk"),
    Declaration { change: EntryChange::Name, ..names(MetadataTest::Rename, "rename") },
    Declaration { change: EntryChange::Directory, ..names(MetadataTest::RenameAcross, "rename-across") },
    Declaration {
        before: Absent,
        requirement: Some(Requirement::HardLinks),
        ..names(MetadataTest::Link, "link")
    },
    Declaration { before: Filled, ..names(MetadataTest::Truncate, "truncate") },
    Declaration {
        before: Filled,
        after: Filled,
        file_data: FileData::Read,
        ..names(MetadataTest::OpenReadClose, "open-read-close")
    },
    Declaration {
        operation: Some("the request of a file's attributes, an open and its close"),
        ..names(MetadataTest::StatThenOpen, "stat-then-open")
    },
    Declaration { after: Absent, ..names(MetadataTest::Unlink, "unlink") },
    Declaration { before: Directories, after: Absent, ..names(MetadataTest::RemoveDirectory, "rmdir") },
];
