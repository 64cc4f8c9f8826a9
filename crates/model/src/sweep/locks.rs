//! Tests of what users of one file or directory have to do with each other: locks, opens that deny a file, notifications and
//! semaphores. They work on one file or directory per job, or on one file of all jobs.

use super::declaration::{Declaration, Requirement, Succession};
use super::metadata_group::MetadataGroup;
use super::metadata_test::MetadataTest;

const fn locks(test: MetadataTest, name: &'static str, about: &'static str) -> Declaration {
    Declaration::new(test, name, MetadataGroup::Locks, about)
}

pub(super) const LOCK: Declaration = Declaration {
    operation: Some("a lock and its unlock"),
    requirement: Some(Requirement::Locks),
    ..locks(
        MetadataTest::Lock,
        "lock",
        "Locks a range of a file of the job's own and unlocks it; an operation is both.",
    )
};

pub(super) const LOCK_NEIGHBOURS: Declaration = Declaration {
    operation: Some("a lock and its unlock"),
    requirement: Some(Requirement::Locks),
    min_jobs: 2,
    ..locks(
        MetadataTest::LockNeighbours,
        "lock-neighbours",
        "Locks and unlocks a range of one file of all jobs, next to the ranges of the others; an operation is both.",
    )
};

pub(super) const LOCK_CONTENDED: Declaration = Declaration {
    operation: Some("a hand-over from the unlock of one job to the lock of another"),
    requirement: Some(Requirement::Locks),
    min_jobs: 2,
    succession: Succession::HandedOver,
    ..locks(
        MetadataTest::LockContended,
        "lock-contended",
        "Locks the same range of one file by all jobs; an operation is a hand-over, from the unlock of one job to the lock of another.",
    )
};

pub(super) const SHARE_CONFLICT: Declaration = Declaration {
    operation: Some("an open that the server rejects"),
    requirement: Some(Requirement::ShareModes),
    second_session: true,
    ..locks(
        MetadataTest::ShareConflict,
        "share-conflict",
        "Opens a file that another session denies to others; an operation is an open that the server rejects.",
    )
};

pub(super) const NOTIFY: Declaration = Declaration {
    operation: Some("the time from the start of a creation to its notification"),
    requirement: Some(Requirement::Notifications),
    second_session: true,
    // A job requests the next notification, and removes what it has created.
    succession: Succession::Interrupted,
    ..locks(
        MetadataTest::Notify,
        "notify",
        "Creates and removes a name in a directory that another session watches; an operation is from the start of the creation to the notification.",
    )
};

pub(super) const SEMAPHORE: Declaration = Declaration {
    operation: Some("a hand-over from the signal of one job to the unit of another"),
    requirement: Some(Requirement::Semaphores),
    min_jobs: 2,
    succession: Succession::HandedOver,
    ..locks(
        MetadataTest::Semaphore,
        "semaphore",
        "Takes one semaphore by all jobs; an operation is a hand-over, from the signal of one job to the unit of another.",
    )
};
