//! Tests whose operation opens a file, uses it and closes it.

use super::declaration::{Declaration, EntryState, FileData, NameCache};
use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;

const fn opened(test: MetadataTest, name: &'static str, about: &'static str) -> Declaration {
    Declaration::new(test, name, MetadataGroup::Names, about)
}

pub(super) const CREATE: Declaration = Declaration {
    before: EntryState::Absent,
    ..opened(MetadataTest::Create, "create", "Creates empty files: opens each with a new name and closes it.")
};

pub(super) const CREATE_WRITE: Declaration = Declaration {
    before: EntryState::Absent,
    after: EntryState::Filled,
    file_data: FileData::Written,
    ..opened(
        MetadataTest::CreateWrite,
        "create-write",
        "Creates files, writes each in one go, and closes it.",
    )
};

pub(super) const OPEN_CLOSE: Declaration = Declaration {
    name_cache: Some(NameCache::Opens),
    ..opened(MetadataTest::OpenClose, "open-close", "Opens existing files and closes them.")
};

pub(super) const TRUNCATE: Declaration = Declaration {
    before: EntryState::Filled,
    ..opened(
        MetadataTest::Truncate,
        "truncate",
        "Opens files with content, sets their length to 0, and closes them.",
    )
};

pub(super) const OPEN_READ_CLOSE: Declaration = Declaration {
    before: EntryState::Filled,
    after: EntryState::Filled,
    file_data: FileData::Read,
    ..opened(
        MetadataTest::OpenReadClose,
        "open-read-close",
        "Opens small files, reads each whole, and closes it.",
    )
};
