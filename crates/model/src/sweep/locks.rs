//! Tests of what users of one file or directory have to do with each other: locks, opens that deny a file, notifications, rights
//! to cache a file, and semaphores. They work on one file or directory per job, or on one file of all jobs.

use super::declaration::{Declaration, Requirement, Succession};
use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;

const fn locks(test: MetadataTest, name: &'static str, requirement: Requirement) -> Declaration {
    let requirement = Some(requirement);
    Declaration { requirement, ..Declaration::new(test, name, MetadataGroup::Locks) }
}

pub(super) const TESTS: &[Declaration] = &[
    Declaration {
        operation: Some("a lock and its unlock"),
        ..locks(MetadataTest::Lock, "lock", Requirement::Locks)
    },
    Declaration {
        operation: Some("a lock and its unlock"),
        min_jobs: 2,
        ..locks(MetadataTest::LockNeighbours, "lock-neighbours", Requirement::Locks)
    },
    Declaration {
        operation: Some("a hand-over from the unlock of one job to the lock of another"),
        min_jobs: 2,
        succession: Succession::HandedOver,
        ..locks(MetadataTest::LockContended, "lock-contended", Requirement::Locks)
    },
    Declaration {
        operation: Some("an open that the server rejects"),
        second_session: true,
        ..locks(MetadataTest::ShareConflict, "share-conflict", Requirement::ShareModes)
    },
    Declaration {
        operation: Some("the time from the start of a creation to its notification"),
        second_session: true,
        // A job requests the next notification, and removes what it has created.
        succession: Succession::Interrupted,
        ..locks(MetadataTest::Notify, "notify", Requirement::Notifications)
    },
    Declaration {
        operation: Some("an open with a request for a lease, and its close"),
        ..locks(MetadataTest::LeaseGrant, "lease-grant", Requirement::Leases)
    },
    Declaration {
        operation: Some("an open of a file whose lease another session gives back first"),
        second_session: true,
        // A job opens the file with the session that holds the lease, and closes it with both.
        succession: Succession::Interrupted,
        ..locks(MetadataTest::LeaseBreak, "lease-break", Requirement::WriteLeases)
    },
    Declaration {
        operation: Some("an open that requests a delegation, the return of the delegation and the close"),
        ..locks(MetadataTest::DelegationGrant, "delegation-grant", Requirement::Delegations)
    },
    Declaration {
        operation: Some("an open of a file whose delegation another session returns first"),
        second_session: true,
        // As for leases.
        succession: Succession::Interrupted,
        ..locks(MetadataTest::DelegationRecall, "delegation-recall", Requirement::Delegations)
    },
    Declaration {
        operation: Some("a hand-over from the signal of one job to the unit of another"),
        min_jobs: 2,
        succession: Succession::HandedOver,
        ..locks(MetadataTest::Semaphore, "semaphore", Requirement::Semaphores)
    },
];
