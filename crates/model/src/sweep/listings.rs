//! Tests that list directories.

use super::declaration::{Declaration, NameCache};
use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;

const fn listing(test: MetadataTest, name: &'static str, about: &'static str) -> Declaration {
    Declaration {
        takes_depth: false,
        lists: true,
        ..Declaration::new(test, name, MetadataGroup::Names, about)
    }
}

pub(super) const READ_DIRECTORY: Declaration = Declaration {
    name_cache: Some(NameCache::Listing),
    ..listing(MetadataTest::ReadDirectory, "readdir", "Lists the directory; an operation is an entry.")
};

pub(super) const READ_DIRECTORY_ATTRIBUTES: Declaration = Declaration {
    name_cache: Some(NameCache::Listing),
    ..listing(
        MetadataTest::ReadDirectoryAttributes,
        "readdir-attributes",
        "Lists the directory with the attributes of every entry, as `ls -l` does; an operation is an entry.",
    )
};

pub(super) const TREE_WALK: Declaration = listing(
    MetadataTest::TreeWalk,
    "tree-walk",
    "Walks all directories of the cell with the attributes of every entry, as `find` by size or time does; an operation is an entry.",
);
