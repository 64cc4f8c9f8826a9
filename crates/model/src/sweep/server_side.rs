//! Tests of work that a server does by itself on the content of files: copies, clones and holes. They have a size of files
//! and no number of entries.

use super::declaration::{Declaration, EntryState, FileData, Requirement};
use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;

const fn server_side(test: MetadataTest, name: &'static str, about: &'static str) -> Declaration {
    Declaration::new(test, name, MetadataGroup::ServerSide, about)
}

pub(super) const SERVER_COPY: Declaration = Declaration {
    before: EntryState::Absent,
    after: EntryState::Copied,
    requirement: Some(Requirement::ServerCopies),
    ..server_side(
        MetadataTest::ServerCopy,
        "server-copy",
        "Lets the server copy a file: opens it, makes a new one, copies without the data crossing the wire, closes both.",
    )
};

pub(super) const CLONE: Declaration = Declaration {
    before: EntryState::Absent,
    after: EntryState::Copied,
    requirement: Some(Requirement::Clones),
    ..server_side(
        MetadataTest::Clone,
        "clone",
        "Lets the server clone a file, which shares the storage of its source: opens it, makes a new one, clones, closes both.",
    )
};

pub(super) const PUNCH_HOLE: Declaration = Declaration {
    before: EntryState::Filled,
    after: EntryState::Sparse,
    requirement: Some(Requirement::Holes),
    ..server_side(
        MetadataTest::PunchHole,
        "punch-hole",
        "Opens files, turns the middle of each into a hole, and closes them.",
    )
};

pub(super) const SPARSE_READ: Declaration = Declaration {
    before: EntryState::Sparse,
    after: EntryState::Sparse,
    file_data: FileData::Read,
    ..server_side(
        MetadataTest::SparseRead,
        "sparse-read",
        "Opens files with a hole, reads each whole, and closes it.",
    )
};
