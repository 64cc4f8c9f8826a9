//! Tests of what users of one file or directory have to do with each other: locks, opens that deny a file, notifications, rights
//! to cache a file, and semaphores. They work on one file or directory per job, or on one file of all jobs.

use super::declaration::{Declaration, Requirement, Succession};
use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;

const fn locks(
    test: MetadataTest,
    name: &'static str,
    requirement: Requirement,
    operation: &'static str,
) -> Declaration {
    let locks = Declaration::new(test, name, MetadataGroup::Locks);
    Declaration { requirement: Some(requirement), operation: Some(operation), ..locks }
}

pub(super) const TESTS: &[Declaration] = &[
    locks(MetadataTest::Lock, "lock", Requirement::Locks, "a lock and its unlock"),
    Declaration {
        min_jobs: 2,
        ..locks(MetadataTest::LockNeighbours, "lock-neighbours", Requirement::Locks, "a lock and its unlock")
    },
    Declaration {
        min_jobs: 2,
        succession: Succession::HandedOver,
        ..locks(
            MetadataTest::LockContended,
            "lock-contended",
            Requirement::Locks,
            "a hand-over from the unlock of one job to the lock of another",
        )
    },
    Declaration {
        second_session: true,
        ..locks(
            MetadataTest::ShareConflict,
            "share-conflict",
            Requirement::ShareModes,
            "an open that the server rejects",
        )
    },
    // Between its operations a job requests the next notification, and removes what it has created.
    Declaration {
        second_session: true,
        succession: Succession::Interrupted,
        ..locks(
            MetadataTest::Notify,
            "notify",
            Requirement::Notifications,
            "the time from the start of a creation to its notification",
        )
    },
    locks(
        MetadataTest::LeaseGrant,
        "lease-grant",
        Requirement::Leases,
        "an open with a request for a lease, and its close",
    ),
    // Between its operations a job opens the file with the session that holds the right, and closes it with both.
    Declaration {
        second_session: true,
        succession: Succession::Interrupted,
        ..locks(
            MetadataTest::LeaseBreak,
            "lease-break",
            Requirement::WriteLeases,
            "an open of a file whose lease another session gives back first",
        )
    },
    locks(
        MetadataTest::DelegationGrant,
        "delegation-grant",
        Requirement::Delegations,
        "an open with the wish for a delegation, the return of the delegation and the close",
    ),
    Declaration {
        second_session: true,
        succession: Succession::Interrupted,
        ..locks(
            MetadataTest::DelegationRecall,
            "delegation-recall",
            Requirement::Delegations,
            "an open of a file whose delegation another session returns first",
        )
    },
    Declaration {
        min_jobs: 2,
        succession: Succession::HandedOver,
        ..locks(
            MetadataTest::Semaphore,
            "semaphore",
            Requirement::Semaphores,
            "a hand-over from the signal of one job to the unit of another",
        )
    },
];
