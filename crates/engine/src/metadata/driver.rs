//! The table of drivers: how the jobs of a cell perform the operations of each test.

use sharebench_model::MetadataTest;

use crate::metadata::caching_operations::RequiredRight;
use crate::metadata::entry_test::{EntryTest, PerformPass, pass};
use crate::metadata::listing::ListingTest;
use crate::metadata::lock_operations::LockSubject;
use crate::metadata::names::{self, OneOperation};
use crate::metadata::opened_files::{self, OpenedFile};
use crate::metadata::server_side_tests;

/// How the jobs of a cell perform the operations of its test. It is looked up once for a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Driver {
    /// An operation for each entry of the batches.
    Entries(PerformPass),
    /// Whole directories are listed.
    Listing(ListingTest),
    /// Locks of files, opens of denied files, and semaphores.
    Locks(LockSubject),
    /// Changes in a directory that a second session watches.
    Notifications,
    /// Opens that request the right to cache a file, or take it back.
    Caching(RequiredRight),
}

impl Driver {
    /// The line of a test.
    pub fn of_test(test: MetadataTest) -> Self {
        match test {
            MetadataTest::MakeDirectory => entries::<OneOperation<names::MakeDirectory>>(),
            MetadataTest::Create => entries::<OpenedFile<opened_files::Create>>(),
            MetadataTest::CreateWrite => entries::<OpenedFile<opened_files::CreateWrite>>(),
            MetadataTest::OpenClose => entries::<OpenedFile<opened_files::OpenClose>>(),
            MetadataTest::Stat => entries::<OneOperation<names::Stat>>(),
            MetadataTest::StatMiss => entries::<OneOperation<names::StatMiss>>(),
            MetadataTest::SetAttributes => entries::<OneOperation<names::SetAttributes>>(),
            MetadataTest::ReadDirectory => Self::Listing(ListingTest::Names),
            MetadataTest::ReadDirectoryAttributes => Self::Listing(ListingTest::Attributes),
            MetadataTest::TreeWalk => Self::Listing(ListingTest::Walk),
            MetadataTest::Rename | MetadataTest::RenameAcross => entries::<OneOperation<names::Rename>>(),
            MetadataTest::Link => entries::<OneOperation<names::Link>>(),
            MetadataTest::Truncate => entries::<OpenedFile<opened_files::Truncate>>(),
            MetadataTest::OpenReadClose => entries::<OpenedFile<opened_files::OpenReadClose>>(),
            MetadataTest::StatThenOpen => entries::<opened_files::StatThenOpen>(),
            MetadataTest::Unlink => entries::<OneOperation<names::Unlink>>(),
            MetadataTest::RemoveDirectory => entries::<OneOperation<names::RemoveDirectory>>(),
            MetadataTest::ServerCopy => entries::<server_side_tests::ServerCopy>(),
            MetadataTest::Clone => entries::<server_side_tests::Clone>(),
            MetadataTest::PunchHole => entries::<server_side_tests::PunchHole>(),
            MetadataTest::SparseRead => entries::<server_side_tests::SparseRead>(),
            MetadataTest::Lock => Self::Locks(LockSubject::OwnFile),
            MetadataTest::LockNeighbours => Self::Locks(LockSubject::NeighbouringRanges),
            MetadataTest::LockContended => Self::Locks(LockSubject::SameRange),
            MetadataTest::ShareConflict => Self::Locks(LockSubject::DeniedFile),
            MetadataTest::Notify => Self::Notifications,
            MetadataTest::LeaseGrant => Self::Caching(RequiredRight::Lease),
            MetadataTest::LeaseBreak => Self::Caching(RequiredRight::WriteLease),
            MetadataTest::DelegationGrant | MetadataTest::DelegationRecall => {
                Self::Caching(RequiredRight::Delegation)
            }
            MetadataTest::Semaphore => Self::Locks(LockSubject::Semaphore),
        }
    }
}

fn entries<T: EntryTest>() -> Driver {
    Driver::Entries(pass::<T>)
}
