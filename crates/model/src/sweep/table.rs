//! The table of metadata tests, and what follows from their declarations.

use std::fmt;
use std::str::FromStr;

use super::declaration::{Declaration, EntryState, Succession};
use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;
use super::{caching, listings, locks, names, opened_files, server_side};
use crate::{Coordinates, axis};

/// Every test, in the order of [`MetadataTest`], in which plans run them and reports list them.
const TABLE: [&Declaration; 31] = [
    &names::MAKE_DIRECTORY,
    &opened_files::CREATE,
    &opened_files::CREATE_WRITE,
    &opened_files::OPEN_CLOSE,
    &names::STAT,
    &names::STAT_MISS,
    &names::SET_ATTRIBUTES,
    &listings::READ_DIRECTORY,
    &listings::READ_DIRECTORY_ATTRIBUTES,
    &listings::TREE_WALK,
    &names::RENAME,
    &names::RENAME_ACROSS,
    &names::LINK,
    &opened_files::TRUNCATE,
    &opened_files::OPEN_READ_CLOSE,
    &names::UNLINK,
    &names::REMOVE_DIRECTORY,
    &server_side::SERVER_COPY,
    &server_side::CLONE,
    &server_side::PUNCH_HOLE,
    &server_side::SPARSE_READ,
    &locks::LOCK,
    &locks::LOCK_NEIGHBOURS,
    &locks::LOCK_CONTENDED,
    &locks::SHARE_CONFLICT,
    &locks::NOTIFY,
    &caching::LEASE_GRANT,
    &caching::LEASE_BREAK,
    &caching::DELEGATION_GRANT,
    &caching::DELEGATION_RECALL,
    &locks::SEMAPHORE,
];

impl MetadataTest {
    /// Every test, in the order in which reports list them.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Semaphore; TABLE.len()];
        let mut at = 0;
        while at < TABLE.len() {
            all[at] = TABLE[at].test;
            assert!(all[at] as usize == at, "the table and the enum have the same order");
            at += 1;
        }
        all
    };

    /// The tests of a group.
    pub fn of_group(group: MetadataGroup) -> Vec<Self> {
        Self::ALL.into_iter().filter(|test| test.group() == group).collect()
    }

    /// The metadata test of a step; none if it is another test.
    pub fn from_coordinates(coordinates: &Coordinates) -> Option<Self> {
        coordinates.text(axis::TEST)?.parse().ok()
    }

    /// What is known of it.
    pub const fn declaration(self) -> &'static Declaration {
        TABLE[self as usize]
    }

    /// The name in plans, tables and databases.
    pub const fn name(self) -> &'static str {
        self.declaration().name
    }

    /// The group that the test belongs to.
    pub const fn group(self) -> MetadataGroup {
        self.declaration().group
    }

    /// True if an operation is the hand-over of one lock, or of a semaphore, from a job to another one.
    pub fn hands_over(self) -> bool {
        self.declaration().succession == Succession::HandedOver
    }

    /// True if the entries are made from one source.
    pub fn copies(self) -> bool {
        self.declaration().after == EntryState::Copied
    }

    /// True if a pass finds what the pass before it left, so that passes follow each other without preparation.
    pub fn repeats(self) -> bool {
        self.declaration().before == self.declaration().after
    }

    /// True if its files are empty, but may have content.
    pub fn takes_filled(self) -> bool {
        self.declaration().before == EntryState::Empty
    }

    /// True if the size of the entries matters.
    pub fn has_content(self) -> bool {
        let has = |state| matches!(state, EntryState::Filled | EntryState::Sparse | EntryState::Copied);
        has(self.declaration().before) || has(self.declaration().after)
    }
}

impl fmt::Display for MetadataTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for MetadataTest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|test| test.name() == text);
        found.ok_or_else(|| format!("'{text}' is no metadata test"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_is_found_by_its_name_and_in_its_group() {
        for test in MetadataTest::ALL {
            assert_eq!(test.name().parse(), Ok(test));
            assert_eq!(test.declaration().test, test);
        }
        let groups = MetadataGroup::ALL.map(MetadataTest::of_group);
        assert_eq!(groups.concat(), MetadataTest::ALL, "groups follow each other");
    }

    #[test]
    fn listings_and_tests_of_one_file_have_one_operation_in_flight() {
        for test in MetadataTest::ALL {
            let declaration = test.declaration();
            let overlaps = declaration.group == MetadataGroup::Names && !declaration.lists;
            assert_eq!(declaration.takes_depth, overlaps, "{test}");
        }
    }

    #[test]
    fn only_tests_of_one_entry_hand_over_or_have_a_second_session() {
        for test in MetadataTest::ALL.into_iter().filter(|test| test.group() != MetadataGroup::Locks) {
            let Declaration { succession, second_session, min_jobs, .. } = test.declaration();
            assert_eq!(
                (*succession, *second_session, *min_jobs),
                (Succession::Immediate, false, 1),
                "{test}"
            );
        }
    }
}
