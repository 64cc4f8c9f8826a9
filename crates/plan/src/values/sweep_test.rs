//! The tests that the words of a plan name: single tests and groups of them.

use std::str::FromStr;

use sharebench_model::{Access, MetadataGroup, MetadataTest, Test};

use super::{SweepPreset, nearest};

/// Name of several tests of records at once, and which they are.
struct Group(&'static str, fn(Test) -> bool);

const GROUPS: [Group; 5] = [
    Group("usual", |test| Test::USUAL.contains(&test)),
    Group("requests", |test| matches!(test.access(), Access::Request)),
    Group("streams", |test| matches!(test.access(), Access::Stream)),
    Group("mmap", |test| matches!(test.access(), Access::Mapping)),
    Group("all", |_| true),
];

/// The tests of records of a name: one test, or a group of them (`usual`, `requests`, `streams`, `mmap`, `all`).
pub fn record_tests(text: &str) -> Result<Vec<Test>, String> {
    record_tests_among(text, [])
}

/// As [`record_tests`], where the caller knows `further` names, which an error then offers.
fn record_tests_among(
    text: &str,
    further: impl IntoIterator<Item = &'static str>,
) -> Result<Vec<Test>, String> {
    if let Some(Group(_, belongs)) = GROUPS.iter().find(|group| group.0 == text) {
        return Ok(Test::ALL.into_iter().filter(|test| belongs(*test)).collect());
    }
    text.parse().map(|test| vec![test]).map_err(|_| unknown(text, further))
}

/// The error of a name that is no test, with the names that are.
fn unknown(text: &str, further: impl IntoIterator<Item = &'static str>) -> String {
    let names = Test::ALL.map(Test::name).into_iter().chain(GROUPS.map(|group| group.0));
    let known: Vec<&str> = names.chain(further).collect();
    // The list of all tests is too long for a message.
    let hint = match nearest(text, &known) {
        Some(name) => format!("did you mean '{name}'?"),
        None => format!("groups are {}", GROUPS.map(|group| group.0).join(", ")),
    };
    format!("'{text}' is not a test; {hint} (docs/measure/sweeps.md lists all)")
}

/// A test of a sweep: of the content of a file, or of names and attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepTest {
    /// Reads or writes records.
    Records(Test),
    /// Works on the entries of a directory.
    Metadata(MetadataTest),
}

impl SweepTest {
    /// The tests of a name: one test, or a group of them (those of [`record_tests`] or of [`MetadataGroup`]).
    pub fn named(text: &str) -> Result<Vec<Self>, String> {
        Self::named_among(text, &[])
    }

    /// As [`Self::named`], where the caller knows `further` names, which an error then offers.
    fn named_among(text: &str, further: &[&'static str]) -> Result<Vec<Self>, String> {
        if let Some(group) = MetadataGroup::from_name(text) {
            return Ok(MetadataTest::of_group(group).into_iter().map(Self::Metadata).collect());
        }
        if let Ok(test) = text.parse() {
            return Ok(vec![Self::Metadata(test)]);
        }
        let groups = MetadataGroup::ALL.map(MetadataGroup::name);
        let names = MetadataTest::ALL.map(MetadataTest::name).into_iter().chain(groups);
        let tests = record_tests_among(text, names.chain(further.iter().copied()))?;
        Ok(tests.into_iter().map(Self::Records).collect())
    }

    /// Divides a list into its two kinds; none of a kind that it does not name.
    pub fn divided(list: &[Self]) -> (Option<Vec<Test>>, Option<Vec<MetadataTest>>) {
        let records = list.iter().filter_map(|test| match test {
            Self::Records(test) => Some(*test),
            Self::Metadata(_) => None,
        });
        let metadata = list.iter().filter_map(|test| match test {
            Self::Records(_) => None,
            Self::Metadata(test) => Some(*test),
        });
        let records: Vec<Test> = records.collect();
        let metadata: Vec<MetadataTest> = metadata.collect();
        // An empty list is an error of its own, which is reported for the tests of records.
        let some = |is_empty: bool| !is_empty || list.is_empty();
        (some(records.is_empty()).then_some(records), (!metadata.is_empty()).then_some(metadata))
    }
}

/// What one word of `--tests` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SweepTestName {
    /// A test or a group of tests.
    Tests(Vec<SweepTest>),
    /// Tests with their axes, which stand alone.
    Preset(SweepPreset),
}

impl FromStr for SweepTestName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match SweepPreset::from_name(text) {
            Some(preset) => Ok(Self::Preset(preset)),
            None => SweepTest::named_among(text, &SweepPreset::NAMES).map(Self::Tests),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metadata_test_is_found_by_its_name_and_in_its_group() {
        for test in MetadataTest::ALL {
            assert_eq!(SweepTest::named(test.name()), Ok(vec![SweepTest::Metadata(test)]));
            assert!(Test::ALL.iter().all(|records| records.name() != test.name()), "{test} is used twice");
        }
        let groups = ["metadata", "server-side", "locks"].map(|group| SweepTest::named(group).unwrap());
        assert_eq!(groups.concat(), MetadataTest::ALL.map(SweepTest::Metadata));
        assert_eq!((groups[1].len(), groups[2].len()), (4, 10));
        assert_eq!(SweepTest::named("read"), Ok(vec![SweepTest::Records(Test::Read)]));
        assert!(SweepTest::named("creat").unwrap_err().contains("did you mean 'create'?"));
        assert!(SweepTest::named("lock-contend").unwrap_err().contains("did you mean 'lock-contended'?"));
    }

    #[test]
    fn every_test_of_records_is_found_by_its_name_and_in_its_groups() {
        for test in Test::ALL {
            assert_eq!(record_tests(test.name()), Ok(vec![test]));
        }
        let count = |group| record_tests(group).unwrap().len();
        assert_eq!((count("usual"), count("requests"), count("streams"), count("mmap")), (6, 10, 4, 6));
        assert_eq!(count("all"), Test::ALL.len());
        assert!(record_tests("raed").unwrap_err().contains("did you mean 'read'?"));
    }

    #[test]
    fn a_name_of_the_command_line_may_be_a_preset() {
        for name in SweepPreset::NAMES {
            assert!(matches!(name.parse(), Ok(SweepTestName::Preset(_))), "{name}");
        }
        assert_eq!("read".parse(), SweepTest::named("read").map(SweepTestName::Tests));
        assert!("io50".parse::<SweepTestName>().unwrap_err().contains("did you mean 'io500'?"));
    }

    #[test]
    fn a_list_is_divided_by_kind() {
        let list = [SweepTest::Metadata(MetadataTest::Stat), SweepTest::Records(Test::Read)];
        assert_eq!(SweepTest::divided(&list), (Some(vec![Test::Read]), Some(vec![MetadataTest::Stat])));
        assert_eq!(SweepTest::divided(&list[..1]), (None, Some(vec![MetadataTest::Stat])));
        assert_eq!(SweepTest::divided(&[]), (Some(vec![]), None));
    }
}
