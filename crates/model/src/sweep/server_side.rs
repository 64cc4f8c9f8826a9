//! Tests of work that a server does by itself on the content of files: copies, clones and holes. They have a size of files
//! and no number of entries.

use super::declaration::EntryState::{Absent, Copied, Filled, Sparse};
use super::declaration::{Declaration, FileData, Requirement};
use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;

const fn server_side(test: MetadataTest, name: &'static str) -> Declaration {
    Declaration::new(test, name, MetadataGroup::ServerSide)
}

pub(super) const TESTS: &[Declaration] = &[
    Declaration {
        before: Absent,
        after: Copied,
        requirement: Some(Requirement::ServerCopies),
        ..server_side(MetadataTest::ServerCopy, "server-copy")
    },
    Declaration {
        before: Absent,
        after: Copied,
        requirement: Some(Requirement::Clones),
        ..server_side(MetadataTest::Clone, "clone")
    },
    Declaration {
        before: Filled,
        after: Sparse,
        requirement: Some(Requirement::Holes),
        ..server_side(MetadataTest::PunchHole, "punch-hole")
    },
    Declaration {
        before: Sparse,
        after: Sparse,
        file_data: FileData::Read,
        ..server_side(MetadataTest::SparseRead, "sparse-read")
    },
];
