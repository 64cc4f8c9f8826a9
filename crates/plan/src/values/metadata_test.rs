//! Metadata tests: what a cell does to the entries of a directory.

use std::fmt;
use std::str::FromStr;

use super::{MetadataGroup, Test};

/// What the entries that a job works on are before a pass of a test, and after it. The other entries of the directory
/// only fill it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryState {
    /// They do not exist.
    Absent,
    /// Empty files.
    Empty,
    /// Files with content.
    Filled,
    /// Files with content whose middle is a hole.
    Sparse,
    /// Files with the content of one source.
    Copied,
    /// Empty directories.
    Directories,
}

/// All there is to know of a test: its name, the entries before and after a pass, and what it does.
struct Form(&'static str, EntryState, EntryState, &'static str);

macro_rules! tests {
    ($($variant:ident: $name:literal $before:ident $after:ident $about:literal;)+) => {
        /// What a cell does to the entries of a directory, in the terms of mdtest.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum MetadataTest {
            $(#[doc = $about] $variant,)+
        }

        impl MetadataTest {
            /// Every test, in the order in which reports list them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            const fn form(self) -> Form {
                match self {
                    $(Self::$variant => Form($name, EntryState::$before, EntryState::$after, $about),)+
                }
            }
        }
    };
}

tests! {
    MakeDirectory: "mkdir" Absent Directories "Makes directories.";
    Create: "create" Absent Empty "Creates empty files: opens each with a new name and closes it.";
    CreateWrite: "create-write" Absent Filled "Creates files, writes each in one go, and closes it.";
    OpenClose: "open-close" Empty Empty "Opens existing files and closes them.";
    Stat: "stat" Empty Empty "Reads the attributes of existing files.";
    StatMiss: "stat-miss" Empty Empty "Requests the attributes of names that do not exist.";
    SetAttributes: "set-attributes" Empty Empty "Sets the time of modification of existing files.";
    ReadDirectory: "readdir" Empty Empty "Lists the directory; an operation is an entry.";
    ReadDirectoryAttributes: "readdir-attributes" Empty Empty
        "Lists the directory with the attributes of every entry, as `ls -l` does; an operation is an entry.";
    TreeWalk: "tree-walk" Empty Empty
        "Walks all directories of the cell with the attributes of every entry, as `find` by size or time does; an operation is an entry.";
    Rename: "rename" Empty Empty "Renames files within their directory.";
    RenameAcross: "rename-across" Empty Empty "Renames files into another directory.";
    Link: "link" Absent Empty "Makes hard links to one file.";
    Truncate: "truncate" Filled Empty "Opens files with content, sets their length to 0, and closes them.";
    OpenReadClose: "open-read-close" Filled Filled "Opens small files, reads each whole, and closes it.";
    Unlink: "unlink" Empty Absent "Removes files.";
    RemoveDirectory: "rmdir" Directories Absent "Removes empty directories.";
    ServerCopy: "server-copy" Absent Copied
        "Lets the server copy a file: opens it, makes a new one, copies without the data crossing the wire, closes both.";
    Clone: "clone" Absent Copied
        "Lets the server clone a file, which shares the storage of its source: opens it, makes a new one, clones, closes both.";
    PunchHole: "punch-hole" Filled Sparse "Opens files, turns the middle of each into a hole, and closes them.";
    SparseRead: "sparse-read" Sparse Sparse "Opens files with a hole, reads each whole, and closes it.";
    Lock: "lock" Empty Empty "Locks a range of a file of the job's own and unlocks it; an operation is both.";
    LockNeighbours: "lock-neighbours" Empty Empty
        "Locks and unlocks a range of one file of all jobs, next to the ranges of the others; an operation is both.";
    LockContended: "lock-contended" Empty Empty
        "Locks the same range of one file by all jobs; an operation is a hand-over, from the unlock of one job to the lock of another.";
    ShareConflict: "share-conflict" Empty Empty
        "Opens a file that another session denies to others; an operation is an open that the server rejects.";
    Notify: "notify" Empty Empty
        "Creates and removes a name in a directory that another session watches; an operation is from the start of the creation to the notification.";
    LeaseGrant: "lease-grant" Empty Empty
        "Opens a file with a request for a lease on reads, writes and the handle, and closes it; an operation is both.";
    LeaseBreak: "lease-break" Empty Empty
        "Opens a file on which another session holds a lease, which the server breaks; an operation is that open.";
    DelegationGrant: "delegation-grant" Empty Empty
        "Opens a file with the wish for a delegation, returns it and closes the file; an operation is all of it.";
    DelegationRecall: "delegation-recall" Empty Empty
        "Opens a file of which another session holds a delegation, which the server recalls; an operation is that open.";
    Semaphore: "semaphore" Empty Empty
        "Takes one semaphore by all jobs; an operation is a hand-over, from the signal of one job to the unit of another.";
}

impl MetadataTest {
    /// The tests of a group.
    pub fn of_group(group: MetadataGroup) -> Vec<Self> {
        Self::ALL.into_iter().filter(|test| test.group() == group).collect()
    }

    /// The group that the test belongs to.
    pub const fn group(self) -> MetadataGroup {
        match self {
            Self::ServerCopy | Self::Clone | Self::PunchHole | Self::SparseRead => MetadataGroup::ServerSide,
            Self::Lock
            | Self::LockNeighbours
            | Self::LockContended
            | Self::ShareConflict
            | Self::Notify
            | Self::LeaseGrant
            | Self::LeaseBreak
            | Self::DelegationGrant
            | Self::DelegationRecall
            | Self::Semaphore => MetadataGroup::Locks,
            _ => MetadataGroup::Names,
        }
    }

    /// True if a job can have several operations of the test in flight. Those of a listing cannot overlap, because a page begins
    /// where the one before it ended. Those of locks and of files that the server copies are about one file at a time.
    pub fn takes_depth(self) -> bool {
        let lists = matches!(self, Self::ReadDirectory | Self::ReadDirectoryAttributes | Self::TreeWalk);
        self.group() == MetadataGroup::Names && !lists
    }

    /// True for the tests of work that a server does by itself on the content of files: copies, clones and holes. They have
    /// a size of files and no number of entries.
    pub fn is_server_side(self) -> bool {
        self.group() == MetadataGroup::ServerSide
    }

    /// True for the tests of what users of one file or directory have to do with each other: locks, opens that deny a file,
    /// notifications, and rights to cache a file. They work on one file or directory per job, or on one file of all jobs.
    pub fn is_of_locks(self) -> bool {
        self.group() == MetadataGroup::Locks
    }

    /// True if an operation is the hand-over of one lock, or of a semaphore, from a job to another one. These operations follow each other with the
    /// times between them in which a job holds the lock.
    pub const fn hands_over(self) -> bool {
        matches!(self, Self::LockContended | Self::Semaphore)
    }

    /// True if an operation ends with the notification of a change. Between these operations a job requests the next
    /// notification and removes what it has created.
    pub const fn awaits_change(self) -> bool {
        matches!(self, Self::Notify)
    }

    /// True for the tests of rights to cache a file.
    pub const fn is_of_caching(self) -> bool {
        matches!(self, Self::LeaseGrant | Self::LeaseBreak) || self.is_of_delegations()
    }

    /// True for the tests of the rights that NFSv4 has.
    pub const fn is_of_delegations(self) -> bool {
        matches!(self, Self::DelegationGrant | Self::DelegationRecall)
    }

    /// True if an operation is an open that takes back the right of another session. Between these operations a job opens the
    /// file with that session, and closes it with both.
    pub const fn takes_back(self) -> bool {
        matches!(self, Self::LeaseBreak | Self::DelegationRecall)
    }

    /// True if jobs do more than they measure, or wait for each other, so that the time between their operations is no idle time.
    pub const fn works_between(self) -> bool {
        self.hands_over() || self.awaits_change() || self.takes_back()
    }

    /// The least number of jobs with which the test has a meaning.
    pub const fn min_jobs(self) -> u32 {
        if self.hands_over() || matches!(self, Self::LockNeighbours) { 2 } else { 1 }
    }

    /// True if the entries are made from one source.
    pub const fn copies(self) -> bool {
        matches!(self, Self::ServerCopy | Self::Clone)
    }

    /// The name in plans, tables and stores.
    pub const fn name(self) -> &'static str {
        self.form().0
    }

    /// The entries that a pass needs.
    pub const fn before(self) -> EntryState {
        self.form().1
    }

    /// The entries that a pass leaves.
    pub const fn after(self) -> EntryState {
        self.form().2
    }

    /// One sentence on it.
    pub const fn about(self) -> &'static str {
        self.form().3
    }

    /// True if a pass finds what the pass before it left, so that passes follow each other without preparation.
    pub fn repeats(self) -> bool {
        self.before() == self.after()
    }

    /// True if its files are empty, but may have content.
    pub fn takes_filled(self) -> bool {
        self.before() == EntryState::Empty
    }

    /// True if the size of the entries matters.
    pub fn has_content(self) -> bool {
        let has = |state| matches!(state, EntryState::Filled | EntryState::Sparse | EntryState::Copied);
        has(self.before()) || has(self.after())
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

/// A test of a sweep: of the content of a file, or of names and attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepTest {
    /// Reads or writes records.
    Records(Test),
    /// Works on the entries of a directory.
    Metadata(MetadataTest),
}

impl SweepTest {
    /// The tests of a name: one test, or a group of them (those of [`Test::named`] or of [`MetadataGroup`]).
    pub fn named(text: &str) -> Result<Vec<Self>, String> {
        if let Some(group) = MetadataGroup::named(text) {
            return Ok(MetadataTest::of_group(group).into_iter().map(Self::Metadata).collect());
        }
        if let Ok(test) = text.parse() {
            return Ok(vec![Self::Metadata(test)]);
        }
        let groups = MetadataGroup::ALL.map(MetadataGroup::name);
        let further = MetadataTest::ALL.map(MetadataTest::name).into_iter().chain(groups);
        let tests = Test::named_among(text, further)?;
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
    fn a_list_is_divided_by_kind() {
        let list = [SweepTest::Metadata(MetadataTest::Stat), SweepTest::Records(Test::Read)];
        assert_eq!(SweepTest::divided(&list), (Some(vec![Test::Read]), Some(vec![MetadataTest::Stat])));
        assert_eq!(SweepTest::divided(&list[..1]), (None, Some(vec![MetadataTest::Stat])));
        assert_eq!(SweepTest::divided(&[]), (Some(vec![]), None));
    }
}
