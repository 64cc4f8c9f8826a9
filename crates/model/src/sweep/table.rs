//! The table of metadata tests, and what follows from their declarations.

use std::fmt;
use std::str::FromStr;

use super::declaration::{Declaration, EntryState, Succession};
use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;
use super::{locks, names, server_side};
use crate::{Coordinates, axis};

const GROUPS: [&[Declaration]; 3] = [names::TESTS, server_side::TESTS, locks::TESTS];
const COUNT: usize = names::TESTS.len() + server_side::TESTS.len() + locks::TESTS.len();

/// The declaration of every test, in the order of [`MetadataTest`].
const TABLE: [&Declaration; COUNT] = {
    let mut table = [&names::TESTS[0]; COUNT];
    let mut at = 0;
    let mut group = 0;
    while group < GROUPS.len() {
        let mut number = 0;
        while number < GROUPS[group].len() {
            table[at] = &GROUPS[group][number];
            assert!(table[at].test as usize == at, "the declarations have the order of the enum");
            at += 1;
            number += 1;
        }
        group += 1;
    }
    table
};

impl MetadataTest {
    /// Every test, in the order in which reports list them.
    pub const ALL: [Self; COUNT] = {
        let mut all = [TABLE[0].test; COUNT];
        let mut at = 0;
        while at < COUNT {
            all[at] = TABLE[at].test;
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
        found.ok_or_else(|| format!("'{text}' is not a metadata test"))
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
